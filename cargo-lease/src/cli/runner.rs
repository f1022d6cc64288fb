//! The words of the hidden runner, read without clap.
//!
//! Nobody types them: they are those that `cargo lease` has put in front of each test binary, and clap's whole definition would
//! be made once a test, which takes longer than anything else the runner does by itself.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::{LeaseOptions, RUNNER, Reader, RunnerArgs};

/// What the words behind the program's name say; none if clap is to say what is wrong with them.
pub(super) fn parse(words: &[OsString]) -> Option<RunnerArgs> {
    let (name, words) = words.split_first()?;
    let dashes = words.iter().position(|word| word == "--").filter(|_| name == RUNNER)?;
    let (options, binary) = (&words[..dashes], &words[dashes + 1..]);
    let mut read = Read::default();
    options.iter().try_for_each(|word| read.take(word))?;
    let Read { lease, starter, wrap, proxy, asked, via } = read;
    let binary = binary.to_vec();
    (!binary.is_empty()).then_some(RunnerArgs { lease, starter: starter?, wrap, proxy, asked, via, binary })
}

#[derive(Default)]
struct Read {
    lease: LeaseOptions,
    starter: Option<Reader>,
    wrap: Option<String>,
    proxy: Option<PathBuf>,
    asked: Option<i32>,
    via: Vec<OsString>,
}

impl Read {
    /// None for a word that is not one of those that [`crate::resolve::Settings::to_words`] and its callers write.
    fn take(&mut self, word: &OsStr) -> Option<()> {
        let word = word.to_str()?;
        if let Some(starter) = [Reader::Cargo, Reader::Nextest].into_iter().find(|starter| starter.to_word() == word) {
            return once(&mut self.starter, starter);
        }
        let lease = &mut self.lease;
        if word == "--no-wait" {
            return (!std::mem::replace(&mut lease.no_wait, true)).then_some(());
        }
        let (name, value) = word.split_once('=')?;
        let text = match name {
            "--via" => {
                self.via.push(value.into());
                return Some(());
            }
            "--pool" => return once(&mut lease.pool, PathBuf::from(value)),
            "--proxy" => return once(&mut self.proxy, PathBuf::from(value)),
            "--asked" => return once(&mut self.asked, value.parse().ok()?),
            "--store" => return once(&mut lease.store, PathBuf::from(value)),
            "--wrap" => &mut self.wrap,
            "--owner" => &mut lease.owner,
            "--owner-pattern" => &mut lease.owner_pattern,
            "--session" => &mut lease.session,
            "--ttl" => &mut lease.ttl,
            "--wait-ms" => &mut lease.wait_ms,
            "--heartbeat-secs" => &mut lease.heartbeat_secs,
            "--provision-cmd" => &mut lease.provision_cmd,
            "--reset-cmd" => &mut lease.reset_cmd,
            "--health-cmd" => &mut lease.health_cmd,
            "--nudge-cmd" => &mut lease.nudge_cmd,
            _ => return None,
        };
        once(text, value.to_owned())
    }
}

/// Sets what is said for the first time.
fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}
