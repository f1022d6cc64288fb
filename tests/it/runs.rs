//! Runs of ours that may be killed, and what is left of them.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use lease_tests::{Lab, Running, reap, wait};
use rustix::process::Signal;

/// What of a run is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Victim {
    /// Our process while it has no slot yet, or is just getting one.
    Waiter,
    /// Our process around a command.
    Wrapper,
    /// The command.
    Child,
    /// Both at once, as the kernel does it with a whole control group.
    Group,
}

impl Victim {
    pub(crate) const ALL: [Self; 4] = [Self::Waiter, Self::Wrapper, Self::Child, Self::Group];
    /// How many different ones there are once a run has its command.
    pub(crate) const N_AT_WORK: u64 = 3;
}

/// One `cargo-lease run`, told apart from all others by its name, which is also its owner.
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) process: Running,
}

impl Run {
    /// Starts one that writes so many lines while it has its slot, with 2 ms after each.
    pub(crate) fn start(lab: &Lab, name: String, n_lines: u64) -> Self {
        let mut command = lab.lease_actor(&["--owner", &name], &["work", &n_lines.to_string()]);
        command.env("LAB_RUN", &name);
        Self { process: lab.start(command), name }
    }

    pub(crate) fn if_living(&mut self) -> Option<&mut Self> {
        (!self.process.has_ended()).then_some(self)
    }

    /// Kills a part of a run that has not been awaited; `command` is the process of its command, if that has begun. Says
    /// which part it was, unless it was gone already.
    pub(crate) fn strike(&self, lab: &Lab, command: Option<u32>, choice: u64) -> Option<Victim> {
        let victim = match (command, choice % Victim::N_AT_WORK) {
            (None, _) => Victim::Waiter,
            (Some(_), 0) => Victim::Wrapper,
            (Some(_), 1) => Victim::Child,
            (Some(_), _) => Victim::Group,
        };
        let is_hit = match (victim, command) {
            (Victim::Child, Some(command)) => reap::kill_of_run(lab.id(), &self.name, command),
            (Victim::Group, _) => {
                self.process.signal_group(Signal::KILL);
                true
            }
            _ => {
                self.process.signal(Signal::KILL);
                true
            }
        };
        is_hit.then_some(victim)
    }
}

/// The next who comes gives back what the killed held, and whoever comes a minute later clears away what they had
/// half-written.
#[track_caller]
pub(crate) fn check_nothing_left(lab: &Lab) {
    // Whoever comes clears away what stands in the way; the rest has some seconds.
    let tidied = String::from("pool/.tidied");
    let run = || lab.run(lab.lease_actor(&[], &["note", "last"])).expect_success();
    if lab.store().join(&tidied).exists() {
        age(&lab.store().join(&tidied));
    }
    run();
    let (halves, left): (Vec<_>, Vec<_>) = left(lab).into_iter().partition(|name| is_half_written(name));
    assert!(left.is_empty(), "left by the killed: {left:?}, beside {halves:?}");
    self::left(lab).iter().chain([&tidied]).for_each(|name| age(&lab.store().join(name)));
    run();
    lab.check_all_given_back();
    assert_eq!(self::left(lab), Vec::<String>::new(), "left for more than a minute");
    wait::until_true("no process is left", || reap::marked(lab.id()).is_empty());
}

/// What nobody takes for a lease, a guard or a waiter: files before their rename, and guards after theirs.
fn is_half_written(name: &str) -> bool {
    let is_removed = name.starts_with(".guard-") && (name.contains(".release-") || name.contains(".reaped-"));
    is_removed || [".tmp-", ".room-", ".alive/.new-", "pool/.tmp-"].iter().any(|start| name.starts_with(start))
}

/// Leases, guards, proofs of life and what is half-written.
fn left(lab: &Lab) -> Vec<String> {
    let names = |folder: &str| {
        let listing = std::fs::read_dir(lab.store().join(folder)).into_iter().flatten();
        listing.map(|entry| entry.expect("the store can be read").file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let is_left =
        |name: &String| name.ends_with(".json") || [".guard-", ".tmp-", ".room-"].iter().any(|kind| name.starts_with(kind));
    let proofs = names(".alive").into_iter().map(|name| format!(".alive/{name}"));
    let halves = names("pool").into_iter().filter(|name| name.starts_with(".tmp-")).map(|name| format!("pool/{name}"));
    names("").into_iter().filter(is_left).chain(proofs).chain(halves).collect()
}

/// As if it had been there for some minutes already.
pub(crate) fn age(path: &Path) {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    file.set_modified(SystemTime::now() - Duration::from_secs(300)).expect("a modification time can be set");
}
