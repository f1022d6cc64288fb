//! `cargo lease status`: slots, holders and the queue.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use lease_harness::pool::PoolStatus;

use super::cargo::cargo_program;
use crate::cli::{LeaseOptions, StatusArgs};
use crate::exit::{self, Failure};
use crate::render;
use crate::resolve::{Manifests, Settings, Surroundings, find_pool_file};

/// How often a watched status is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Clears a terminal.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Prints the status, once or until interrupted.
pub(super) fn run(lease: &LeaseOptions, args: &StatusArgs, around: &Surroundings) -> Result<ExitCode, Failure> {
    let settings = Settings::read(lease, around)?;
    let cargo = cargo_program(around).ok();
    let pool_file = find_pool_file(lease.pool.as_deref(), around, &Manifests::new(&[], around, cargo.as_deref()))?;
    settings.request(&pool_file).warnings()?.iter().for_each(|warning| exit::warn(warning));
    let status = || Ok::<_, Failure>(settings.request(&pool_file).status()?);
    let mut out = Output { json: args.json, terminal: io::stdout().is_terminal(), shown: None };
    if !args.watch {
        return out.print(&status()?).map(|_| ExitCode::SUCCESS);
    }
    while out.print_change(&status()?)?.is_some() {
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(ExitCode::SUCCESS)
}

struct Output {
    json: bool,
    terminal: bool,
    /// What was printed last, apart from how old it is.
    shown: Option<String>,
}

impl Output {
    /// Prints it if it is news, or if it stands on a screen; `None` once nobody reads any more.
    fn print_change(&mut self, status: &PoolStatus) -> Result<Option<()>, Failure> {
        let news = render::status_news(status);
        let on_screen = self.terminal && !self.json;
        if self.shown.as_ref() == Some(&news) && !on_screen {
            return Ok(Some(()));
        }
        let first = self.shown.replace(news).is_none();
        let before = match (on_screen, first || self.json) {
            (true, _) => CLEAR,
            (false, true) => "",
            (false, false) => "\n",
        };
        self.write(&format!("{before}{}", self.text(status)))
    }

    fn print(&mut self, status: &PoolStatus) -> Result<Option<()>, Failure> {
        self.write(&self.text(status))
    }

    fn text(&self, status: &PoolStatus) -> String {
        match self.json {
            true => format!("{}\n", status.to_json().to_text()),
            false => render::status_table(status, SystemTime::now()),
        }
    }

    fn write(&self, text: &str) -> Result<Option<()>, Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(Some(())),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
            Err(error) => Err(Failure::internal("cannot write to standard output", error)),
        }
    }
}
