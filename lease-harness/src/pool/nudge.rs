//! The nudge: tells the session that asked that its slot is ready. The grant's file is the truth; a nudge may fail.

use std::io::{self, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Pool;
use super::grant::Grant;
use super::hooks::first_of;
use crate::json::{Json, object};
use crate::sys::{disk, process};

const FILE: &str = "nudges.jsonl";
const LIMIT: Duration = Duration::from_secs(15);
/// What marks the processes of a nudge command. Not the mark of a grant: a session that the command wakes up goes on when
/// the slot is given back.
pub(crate) const NUDGE_MARK: &str = "POOL_NUDGE_REQUEST";

impl Pool {
    /// Writes the nudge down and runs the nudge command, if there is one. That it failed is told by the journal only.
    pub(super) fn nudge(&self, grant: &Grant, session: &str) {
        let line = object([
            ("event", Json::from(self.file.nudge_event())),
            ("session", Json::from(session)),
            ("request_id", Json::from(grant.request_id())),
            ("grant", grant.to_json()),
        ])
        .to_text();
        let written = disk::append_line(&self.path(FILE), &line).map_err(|error| error.to_string());
        let told = self.nudge_command().map_or(Ok(()), |command| self.run_nudge(&command, line, grant));
        for error in [written, told].into_iter().filter_map(Result::err) {
            let story = [("request_id", Json::from(grant.request_id())), ("error", Json::from(error))];
            self.journal_ours("nudge_failed", story);
        }
    }

    fn nudge_command(&self) -> Option<String> {
        let (flags, env) = (&self.commands, &self.env);
        let file = self.file.nudge_command().map(str::to_owned);
        first_of([flags.nudge.clone(), env.get("POOL_NUDGE_CMD"), env.get("E2E_LEASE_NUDGE_CMD"), file])
    }

    fn run_nudge(&self, command: &str, line: String, grant: &Grant) -> Result<(), String> {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command).current_dir(self.file.cwd_dir()).env_clear().envs(self.env.all());
        shell
            .env_remove(super::RUN_TOKEN)
            .env_remove(super::HELD_RUN)
            .env(NUDGE_MARK, grant.request_id())
            .stdin(Stdio::piped())
            .stdout(io::stderr());
        process::die_with_parent(&mut shell);
        let mut child = shell.spawn().map_err(|error| format!("the nudge command could not be run: {error}"))?;
        if let Some(mut input) = child.stdin.take() {
            // A command need not read, and a grant may be longer than a pipe.
            thread::spawn(move || input.write_all(line.as_bytes()));
        }
        match wait_within(&mut child, LIMIT) {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(status)) => Err(format!("the nudge command failed ({status})")),
            Ok(None) => {
                let _ = process::kill_where(&|found| found.has(NUDGE_MARK, grant.request_id()));
                let _ = child.kill().and_then(|()| child.wait());
                Err(format!("the nudge command was ended after {} s", LIMIT.as_secs()))
            }
            Err(error) => Err(format!("the nudge command cannot be waited for: {error}")),
        }
    }
}

fn wait_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        process::sleep_until_end(child, left)?;
    }
}
