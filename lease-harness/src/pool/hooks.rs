//! What makes a slot clean and says whether it is: commands of the pool file, or functions of the caller.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::panic;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use super::Pool;
use super::slot::SlotDef;
use crate::json::plain_text;
use crate::sys::disk::errno_name;
use crate::sys::process;

/// A function in place of a command; its error is the failure's text.
pub type Hook = Arc<dyn Fn(&SlotDef) -> Result<(), String> + Send + Sync>;

/// Functions in place of the pool file's commands. What is `None` runs the command.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Makes a slot clean before it is granted.
    pub provision: Option<Hook>,
    /// Makes a held slot clean again.
    pub reset: Option<Hook>,
    /// Says whether a slot is fit for use.
    pub health: Option<Hook>,
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooks")
    }
}

/// Why an action did not make a slot ready.
#[derive(Debug)]
pub(super) struct Unready {
    pub(super) text: String,
    /// What the system said, if the command could not even be run.
    pub(super) source: Option<io::Error>,
}

impl From<String> for Unready {
    fn from(text: String) -> Self {
        Self { text, source: None }
    }
}

/// Asked while a command runs: whether to end it and give up.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

/// How often it is asked.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Commands that beat the environment and the pool file. An empty one counts as not given.
#[derive(Clone, Debug, Default)]
pub struct CommandOverrides {
    /// Instead of the file's `provision`.
    pub provision: Option<String>,
    /// Instead of the file's `reset`.
    pub reset: Option<String>,
    /// Instead of the file's `health`.
    pub health: Option<String>,
    /// Instead of the file's `nudgeCommand`.
    pub nudge: Option<String>,
}

/// What is done to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Provision,
    Reset,
    Health,
}

impl Action {
    fn word(self) -> &'static str {
        match self {
            Self::Provision => "provision",
            Self::Reset => "reset",
            Self::Health => "health",
        }
    }

    fn failure(self, slot: &SlotDef, why: &str) -> String {
        let what = if self == Self::Health { "health check" } else { "reset" };
        format!("slot {} {what} failed ({why})", slot.id_text())
    }
}

/// The first that is given and not empty.
pub(super) fn first_of<const N: usize>(candidates: [Option<String>; N]) -> Option<String> {
    candidates.into_iter().flatten().find(|command| !command.is_empty())
}

impl Pool {
    /// Makes a slot ready for its next holder; the failure's text otherwise. `mark` is put into the commands'
    /// environment, so that what they start can be found again.
    pub(super) fn run_action(&self, action: Action, slot: &SlotDef, mark: Option<&str>) -> Result<(), Unready> {
        let hook = match action {
            Action::Provision => &self.hooks.provision,
            Action::Reset => &self.hooks.reset,
            Action::Health => &self.hooks.health,
        };
        if let Some(hook) = hook {
            // A panic would leave the lease to its TTL; as a failure it is given back.
            let ended = panic::catch_unwind(panic::AssertUnwindSafe(|| hook(slot)));
            let panicked = |_| Err(format!("slot {} {} hook panicked", slot.id_text(), action.word()));
            return ended.unwrap_or_else(panicked).map_err(Unready::from);
        }
        match self.command_for(action) {
            None => Ok(()),
            Some(command) => self.run_command(action, &command, slot, mark),
        }
    }

    /// The same pool, whose commands end also when `stop` says so.
    #[must_use]
    pub fn stopped_by(&self, stop: Option<Stop>) -> Self {
        let both = match (self.stop.clone(), stop) {
            (Some(ours), Some(other)) => Some(Arc::new(move || ours() || other()) as Stop),
            (ours, other) => ours.or(other),
        };
        Self { stop: both, ..self.clone() }
    }

    /// Whether its commands are to end, and nothing is to begin.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop())
    }

    /// Whether anything is to be done with a slot before it is granted.
    pub(crate) fn makes_clean(&self) -> bool {
        let has_hook = self.hooks.provision.is_some() || self.hooks.health.is_some();
        has_hook || [Action::Provision, Action::Health].into_iter().any(|action| self.command_for(action).is_some())
    }

    fn command_for(&self, action: Action) -> Option<String> {
        let (flags, env, file) = (&self.commands, &self.env, &self.file);
        let owned = |command: Option<&str>| command.map(str::to_owned);
        match action {
            Action::Provision => first_of([
                flags.provision.clone(),
                env.get("POOL_PROVISION_CMD"),
                env.get("E2E_LEASE_RESET_CMD"),
                owned(file.provision()),
                owned(file.reset()),
            ]),
            Action::Reset => first_of([flags.reset.clone(), env.get("POOL_RESET_CMD"), owned(file.reset())])
                .or_else(|| self.command_for(Action::Provision)),
            Action::Health => first_of([flags.health.clone(), env.get("POOL_HEALTH_CMD"), owned(file.health())]),
        }
    }

    fn run_command(&self, action: Action, command: &str, slot: &SlotDef, mark: Option<&str>) -> Result<(), Unready> {
        let word = action.word();
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("{command} \"$1\"")).arg(format!("pool-{word}")).arg(plain_text(slot.id_text()).as_ref());
        shell.current_dir(self.file.cwd_dir()).stdin(Stdio::null()).env_clear().envs(self.command_env(action, slot, mark));
        process::die_with_parent(&mut shell);
        let ended = self.run_to_end(shell.stdout(io::stderr()), mark);
        let status = ended.map_err(|error| self.not_run(action, slot, error))?;
        if status.success() {
            return Ok(());
        }
        let code = status.code().map_or_else(|| "null".to_owned(), |code| code.to_string());
        Err(Unready::from(match action {
            Action::Health => action.failure(slot, &format!("{command} exit {code}")),
            _ => action.failure(slot, &format!("{word} command exit {code}")),
        }))
    }

    fn not_run(&self, action: Action, slot: &SlotDef, error: io::Error) -> Unready {
        let name = errno_name(&error).map_or_else(String::new, |name| format!("{name}: "));
        let (word, folder) = (action.word(), self.file.cwd_dir().display());
        let text = action.failure(slot, &format!("{word} command could not be run in {folder}: {name}{error}"));
        Unready { text, source: Some(error) }
    }

    /// Waits for a command; ends it, with all that it started, if we are told to stop.
    fn run_to_end(&self, shell: &mut Command, mark: Option<&str>) -> io::Result<ExitStatus> {
        let Some(stop) = &self.stop else { return shell.status() };
        let mut child = shell.spawn()?;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if stop() {
                // Whatever of it cannot be ended, the command itself has ended when we go on.
                let marked = mark.map(super::end_processes_of).transpose();
                child.kill()?;
                let status = child.wait()?;
                return marked.map(|_| status);
            }
            process::sleep_until_end(&child, ASK_EVERY)?;
        }
    }

    /// Of several values for one variable the last one counts.
    fn command_env(&self, action: Action, slot: &SlotDef, mark: Option<&str>) -> Vec<(OsString, OsString)> {
        let mut env = self.env.all();
        env.extend(slot.env().iter().map(|(name, value)| (name.into(), plain_text(value).into_owned().into())));
        env.push(("POOL_ACTION".into(), action.word().into()));
        if let Some(token) = mark.filter(|_| self.store.has_additions()) {
            env.push((super::RUN_TOKEN.into(), token.into()));
        }
        env
    }
}
