//! Running a command under a grant so that nobody notices the wrapper.
//!
//! The command has our standard streams, working directory, process group, signal mask and ignored signals, and none of our
//! descriptors. Who signals the group reaches it; who signals only the wrapper reaches it too, and it is never signalled
//! twice. The wrapper waits for it and then ends as it ended.

mod exit;
mod loss;
mod relay;

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use super::ending::Ending;
use crate::sys::process::{Bound, ParentWatch, Witness, parent_gone_watch, sleep_until_readable};
use crate::sys::signal::{self, Caught, Held};

pub use exit::{exec, exit_like, heed_interrupts};
pub use loss::LossWatch;
use relay::Relay;

/// How long a command whose lease is lost may take to end after `SIGTERM`. Somebody else may hold its slot already.
pub(super) const LOST_GRACE: Duration = Duration::from_millis(500);
/// How long a command whose starter is gone may take to end after `SIGTERM`. A waiter is to have its slot within a second.
const ORPHANED_GRACE: Duration = Duration::from_millis(250);
/// How long a command that was asked to end before its starter went may go on cleaning up, before it is asked again.
/// Cargo does not wait for a test after Ctrl-C; this is as long as nextest waits for one.
pub(super) const CLEANUP_GRACE: Duration = Duration::from_secs(10);

/// How a command under a grant ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// The lease was lost, so that we ended it, or do not believe how it ended; the sentence for people.
    Lost(String),
    /// We ended it because the process that started us is gone.
    Orphaned,
}

impl Ended {
    /// Whether by a signal that asks a process to end: what else it has reached may be cleaning up.
    pub(super) fn was_asked_for(&self) -> bool {
        matches!(self, Self::Killed(signal) if signal::END_REQUESTS.iter().any(|request| request == *signal))
    }
}

/// A command to be run under a grant.
#[derive(Debug)]
pub struct Child {
    command: Command,
    heeds_nohup: bool,
    ending: Option<Ending>,
}

impl Child {
    /// Prepares `command`. What it does not say about its standard streams, environment and working directory is inherited.
    pub fn new(command: Command) -> Self {
        Self { command, heeds_nohup: false, ending: None }
    }

    /// Does not run the command if there is a reason to end by then: the signals that came before. It ends as if it had been
    /// ended by them.
    #[must_use]
    pub fn unless_asked(mut self, ending: &Ending) -> Self {
        self.ending = Some(ending.clone());
        self
    }

    /// Lets the command outlive the process that started us if `SIGHUP` is ignored, which is how `nohup` asks for that.
    ///
    /// Right for a command that somebody has started by hand. Wrong below a test runner: a test must not outlive its run,
    /// and a whole run can be below `nohup`.
    #[must_use]
    pub fn heed_nohup(mut self) -> Self {
        self.heeds_nohup = true;
        self
    }

    /// Runs the command to its end, which it also meets if one of `watches` tells of a loss or if the process that started us
    /// is gone.
    ///
    /// `SIGHUP`, `SIGINT`, `SIGQUIT`, `SIGTERM`, `SIGUSR1`, `SIGUSR2` and `SIGALRM` do not end us in the meantime, unless a handler that
    /// was there before does; those that are sent to us alone are passed on. One that is ignored stays ignored, here and there.
    /// Stop and continue signals are left alone. If one of `watches` has told of a loss, that is how it ended,
    /// whatever the command says.
    ///
    /// On Linux a second, idle process is in our group while the command runs; it tells signals to the group from those to
    /// us. Elsewhere all count as signals to the group.
    ///
    /// # Errors
    ///
    /// If the command cannot be started, or the system refuses a descriptor or a process. A command that has been started
    /// is killed then.
    ///
    /// # If the process dies
    ///
    /// On Linux the command is killed in the same moment, also if we get `SIGKILL`. What it has started lives on: the next
    /// holder of the slot ends that.
    pub fn run(self, watches: &[LossWatch]) -> io::Result<Ended> {
        let parent = self.watched_parent();
        if let Some(reason) = loss_among(watches) {
            return Ok(Ended::Lost(reason));
        }
        if parent.as_ref().is_some_and(ParentWatch::is_gone) {
            return Ok(Ended::Orphaned);
        }
        // Whatever comes until the command runs is delivered when all is in place.
        let held = Held::all()?;
        let caught = Caught::start()?;
        // One that comes behind this look is caught and passed on.
        if let Some(signal) = self.ending.as_ref().and_then(Ending::signal) {
            return Ok(Ended::Killed(signal));
        }
        Running::start(self.command, held, caught, parent, watches)?.wait_for_end()
    }

    fn watched_parent(&self) -> Option<ParentWatch> {
        let may_outlive = self.heeds_nohup && signal::is_hangup_ignored();
        (!may_outlive).then(parent_gone_watch)
    }
}

/// The watches that are to wake us. All of them until a loss has been noticed: one that comes after the last look, and before
/// we sleep, must wake us too.
fn awaited_losses<'a>(watches: &'a [LossWatch], ending: Option<&EndOfGrant>) -> impl Iterator<Item = &'a LossWatch> {
    let is_noticed = ending.is_some_and(|ending| !ending.is_orphaned);
    watches.iter().filter(move |_| !is_noticed)
}

fn loss_among(watches: &[LossWatch]) -> Option<String> {
    watches.iter().find_map(LossWatch::reason).map(str::to_owned)
}

/// A command while it runs. The fields are dropped in this order: first the command, if something failed.
struct Running<'a> {
    child: Bound,
    relay: Relay,
    parent: Option<ParentWatch>,
    watches: &'a [LossWatch],
    ending: Option<EndOfGrant>,
}

/// That and how we end the command.
struct EndOfGrant {
    is_orphaned: bool,
    next: Step,
    at: Instant,
}

/// What we do next to end it.
enum Step {
    Ask { grace: Duration },
    Kill,
    Wait,
}

impl<'a> Running<'a> {
    fn start(
        command: Command,
        held: Held,
        caught: Caught,
        parent: Option<ParentWatch>,
        watches: &'a [LossWatch],
    ) -> io::Result<Self> {
        let name = command.get_program().to_owned();
        let witness = Witness::start()?;
        let child = Bound::spawn(command, held.before(), &caught, &witness)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot run {}: {error}", name.display())))?;
        Ok(Self { child, relay: Relay::new(caught, witness), parent, watches, ending: None })
    }

    fn wait_for_end(mut self) -> io::Result<Ended> {
        loop {
            self.sleep()?;
            if let Some(status) = self.child.try_wait()? {
                return Ok(self.verdict(status));
            }
            self.relay.turn(&self.child)?;
            self.notice_end_of_grant();
            self.end_if_due()?;
        }
    }

    fn sleep(&self) -> io::Result<()> {
        let mut fds = vec![self.child.end_fd(), Some(self.relay.as_fd())];
        // What has been noticed stays readable and must not wake us again.
        let is_ending = self.ending.is_some();
        fds.extend(self.parent.iter().filter(|_| !is_ending).map(ParentWatch::end_fd));
        fds.extend(awaited_losses(self.watches, self.ending.as_ref()).map(|watch| Some(watch.as_fd())));
        let due = self.ending.as_ref().filter(|ending| !matches!(ending.next, Step::Wait)).map(|ending| ending.at);
        sleep_until_readable(&fds, due.into_iter().chain(self.relay.due()).min())
    }

    fn notice_end_of_grant(&mut self) {
        let now = Instant::now();
        let is_lost = self.watches.iter().any(LossWatch::is_lost);
        // The loss of a lease is more urgent than the loss of a parent.
        if is_lost && self.ending.as_ref().is_none_or(|ending| ending.is_orphaned) {
            self.ending = Some(EndOfGrant { is_orphaned: false, next: Step::Ask { grace: LOST_GRACE }, at: now });
        } else if self.ending.is_none() && self.parent.as_ref().is_some_and(ParentWatch::is_gone) {
            let at = if self.relay.has_asked_to_end() { now + CLEANUP_GRACE } else { now };
            self.ending = Some(EndOfGrant { is_orphaned: true, next: Step::Ask { grace: ORPHANED_GRACE }, at });
        }
    }

    fn end_if_due(&mut self) -> io::Result<()> {
        let Some(ending) = self.ending.as_mut().filter(|ending| ending.at <= Instant::now()) else { return Ok(()) };
        match ending.next {
            Step::Ask { grace } => {
                self.child.send(signal::TERMINATE)?;
                // A stopped command hears nothing before it goes on.
                self.child.send(signal::CONTINUE)?;
                ending.next = Step::Kill;
                ending.at += grace;
            }
            Step::Kill => {
                self.child.send(signal::KILL)?;
                ending.next = Step::Wait;
            }
            Step::Wait => {}
        }
        Ok(())
    }

    fn verdict(&self, status: ExitStatus) -> Ended {
        if let Some(reason) = loss_among(self.watches) {
            return Ended::Lost(reason);
        }
        match &self.ending {
            Some(EndOfGrant { is_orphaned: true, next: Step::Kill | Step::Wait, .. }) => Ended::Orphaned,
            _ => ended_by_itself(status),
        }
    }
}

fn ended_by_itself(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exited(code),
        (None, Some(signal)) => Ended::Killed(signal),
        (None, None) => unreachable!("a process that has ended has an exit code or a signal: {status:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_not_started_behind_a_signal() {
        let ending = Ending::on_signals().unwrap();
        let thread = std::fs::read_link("/proc/thread-self").unwrap();
        let thread = thread.file_name().unwrap().to_str().unwrap().parse().unwrap();
        signal::send_to_thread(thread, signal::TERMINATE);
        let command = Command::new("/there/is/no/such/command");
        let ended = Child::new(command).unless_asked(&ending).run(&[]).unwrap();
        assert_eq!(ended, Ended::Killed(signal::TERMINATE));
    }

    #[test]
    fn a_loss_wakes_us_until_it_has_been_noticed() {
        let watches = [LossWatch::new().unwrap(), LossWatch::new().unwrap()];
        watches[1].declare("lost after the last look");
        let ending = |is_orphaned| EndOfGrant { is_orphaned, next: Step::Wait, at: Instant::now() };
        assert_eq!(awaited_losses(&watches, None).count(), 2);
        assert_eq!(awaited_losses(&watches, Some(&ending(true))).count(), 2);
        assert_eq!(awaited_losses(&watches, Some(&ending(false))).count(), 0);
    }
}
