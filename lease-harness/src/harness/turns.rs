//! A turn in one of the slots that a run holds: one test process at a time in each.
//!
//! Whoever runs tests hands the slots out by small numbers, but a configuration of its own can make it give one number to
//! two processes. So what counts is a lock on a file of the slot's, which belongs to a process as long as it lives, also
//! when it becomes another program. Beside it the file names the process: one that has closed the file lives on.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::error::{SlotError, SlotErrorKind};
use super::grants::OuterGrant;
use super::times::as_written;
use crate::pool::Wait;
use crate::store::{self, Env};
use crate::sys::lock::{LifeLock, LifeLook};
use crate::sys::process;
use crate::sys::watch::{Pauses, Watch};

/// What a slot's file says: nothing before the first turn. Behind it stands whose turn is or was the last one.
const USED: &str = "used";
/// It could not be made clean again, so nobody gets a turn any more.
const UNFIT: &str = "unfit";

/// Which test group a test is in, and the numbers that nextest gives it: unique among the tests that run, in its group and
/// altogether.
const GROUP: &str = "NEXTEST_TEST_GROUP";
const GROUP_SLOT: &str = "NEXTEST_TEST_GROUP_SLOT";
const GLOBAL_SLOT: &str = "NEXTEST_TEST_GLOBAL_SLOT";
/// How the names of nextest's test groups begin that `cargo lease nextest run` makes: nextest wants it so of those of a tool.
pub const NEXTEST_GROUPS: &str = "@tool:lease:";

/// The files of turns that this process has looked at; a process that has a turn keeps it, so that it never asks for a second.
/// A fork has them by its parent, as a program that a test starts does.
///
/// Each stays open once it is: to close one is to wake everybody who waits, and ends the turn of another thread.
static OPENED: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

struct Opened {
    path: PathBuf,
    lock: LifeLock,
    is_mine: bool,
}

/// A turn, and how the slot was found.
pub(super) struct Turn<'a> {
    pub(super) grant: &'a OuterGrant,
    pub(super) found: Condition,
    path: PathBuf,
}

/// How a slot is at the beginning of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// As it was granted to the run, or as another part of this process leaves it.
    AsItIs,
    /// As another process has left it.
    Used,
}

/// How asking for a turn ended.
pub(super) enum Asked<'a> {
    Has(Turn<'a>),
    GivenUp,
}

/// Waits for a turn in one of the slots that the grants, all of them with turns, are about.
pub(super) fn take<'a>(
    grants: &'a [OuterGrant],
    env: &Env,
    wait: Wait,
    mut is_given_up: impl FnMut() -> bool,
) -> Result<Asked<'a>, SlotError> {
    let begun = Instant::now();
    let mut waiting = None;
    loop {
        if let Some(turn) = try_take(grants, env)? {
            return Ok(Asked::Has(turn));
        }
        if is_given_up() {
            return Ok(Asked::GivenUp);
        }
        let left = time_left(wait, begun);
        if left == Some(Duration::ZERO) {
            return Err(all_in_use(grants.len(), wait));
        }
        let (watch, pauses) = waiting.get_or_insert_with(|| {
            let folders: Vec<_> = grants.iter().filter_map(|grant| grant.turn.as_ref()?.path.parent()).take(1).collect();
            let watch = Watch::new(&folders, Vec::new());
            let pauses = Pauses::new(&watch, None);
            (watch, pauses)
        });
        pauses.sleep(watch, left);
    }
}

fn time_left(wait: Wait, begun: Instant) -> Option<Duration> {
    match wait {
        Wait::Forever => None,
        Wait::No => Some(Duration::ZERO),
        Wait::For(limit) => Some(limit.saturating_sub(begun.elapsed())),
    }
}

fn all_in_use(n_slots: usize, wait: Wait) -> SlotError {
    let within = match wait {
        Wait::For(limit) if !limit.is_zero() => format!(" for {}", as_written(store::millis(limit))),
        _ => String::new(),
    };
    let message = format!("all slots that this run holds ({n_slots}) are in use by other tests of it{within}");
    SlotError::new(SlotErrorKind::Refused, message)
}

fn try_take<'a>(grants: &'a [OuterGrant], env: &Env) -> Result<Option<Turn<'a>>, SlotError> {
    let first = own(grants).unwrap_or_else(|| hint(|name| env.get(name), grants.len()));
    let mut n_unfit = 0;
    for grant in grants[first..].iter().chain(&grants[..first]) {
        match try_one(grant)? {
            Tried::Has(turn) => return Ok(Some(turn)),
            Tried::InUse => {}
            Tried::Unfit => n_unfit += 1,
        }
    }
    if n_unfit == grants.len() {
        let message = "no slot that this run holds could be made clean again; the test that found that out says why";
        return Err(SlotError::new(SlotErrorKind::Refused, message));
    }
    Ok(None)
}

/// The place of the slot that this process has a turn in already.
fn own(grants: &[OuterGrant]) -> Option<usize> {
    let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_mine = |grant: &OuterGrant| {
        let path = grant.turn.as_ref().map(|turn| &turn.path);
        opened.iter().any(|opened| opened.is_mine && Some(&opened.path) == path)
    };
    grants.iter().position(is_mine)
}

enum Tried<'a> {
    Has(Turn<'a>),
    InUse,
    Unfit,
}

fn try_one(grant: &OuterGrant) -> Result<Tried<'_>, SlotError> {
    let path = &grant.turn.as_ref().expect("only grants with turns are asked for").path;
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let tried = opened_at(&mut opened, path).and_then(Opened::try_turn).map_err(|error| unusable(path, &error))?;
    Ok(match tried {
        Lock::Has(found) => Tried::Has(Turn { grant, found, path: path.clone() }),
        Lock::InUse => Tried::InUse,
        Lock::Unfit => Tried::Unfit,
    })
}

fn opened_at<'a>(opened: &'a mut Vec<Opened>, path: &Path) -> io::Result<&'a mut Opened> {
    let known = opened.iter().position(|opened| opened.path == path);
    let idx = match known {
        Some(idx) => idx,
        None => {
            opened.push(Opened { path: path.to_owned(), lock: LifeLock::open(path)?, is_mine: false });
            opened.len() - 1
        }
    };
    Ok(&mut opened[idx])
}

/// What the lock of a slot's file says.
enum Lock {
    Has(Condition),
    InUse,
    Unfit,
}

impl Opened {
    fn try_turn(&mut self) -> io::Result<Lock> {
        if self.is_mine {
            return Ok(Lock::Has(Condition::AsItIs));
        }
        if !self.lock.take()? {
            return Ok(Lock::InUse);
        }
        let text = self.lock.text()?;
        if text == UNFIT || is_in_use(&text) {
            self.lock.give_back()?;
            return Ok(if text == UNFIT { Lock::Unfit } else { Lock::InUse });
        }
        let found = if text.starts_with(USED) { Condition::Used } else { Condition::AsItIs };
        self.lock.set_text(&format!("{USED} {}", process::identity().unwrap_or_default()))?;
        self.is_mine = true;
        Ok(Lock::Has(found))
    }
}

/// A test that closes descriptors that it does not know ends its lock too, and yet works on.
fn is_in_use(text: &str) -> bool {
    text.strip_prefix(USED).is_some_and(|whose| process::is_another_alive(whose.trim_start()))
}

/// Whether another process has its turn, for who waits only for the end of that.
pub(super) fn is_taken(look: &LifeLook) -> io::Result<bool> {
    Ok(look.is_held()? || is_in_use(&look.text()?))
}

fn unusable(path: &Path, error: &io::Error) -> SlotError {
    if error.kind() == io::ErrorKind::NotFound {
        let message = "the run that held slots for this test (LEASE_GRANTS) is over".to_owned();
        return SlotError::new(SlotErrorKind::Lost, message);
    }
    SlotError::new(SlotErrorKind::Internal, format!("cannot use {}: {error}", path.display()))
}

impl Turn<'_> {
    /// Ends the turn of a slot that could not be made clean; it is the last one in it.
    pub(super) fn end_unfit(self) {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(idx) = opened.iter().position(|opened| opened.path == self.path) {
            // If it cannot be said, the next one tries to make it clean, and finds out.
            let _ = opened.swap_remove(idx).lock.set_text(UNFIT);
        }
    }
}

/// Lets the program that this process becomes next keep the turns.
pub(super) fn outlive_this_program() -> io::Result<()> {
    let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut mine = opened.iter().filter(|opened| opened.is_mine).peekable();
    if mine.peek().is_none() {
        return Ok(());
    }
    // Before Linux 5.11 such a lock was lost if another thread was there when the program changed.
    store::quiesce();
    mine.try_for_each(|opened| opened.lock.outlive_this_program())
}

/// Where to begin: the place that nobody else has, if the runner's numbers are about these slots.
fn hint(env: impl Fn(&str) -> Option<String>, n_slots: usize) -> usize {
    let is_ours = env(GROUP).is_some_and(|group| group.starts_with(NEXTEST_GROUPS));
    let number = env(if is_ours { GROUP_SLOT } else { GLOBAL_SLOT });
    let number: usize = number.and_then(|number| number.parse().ok()).unwrap_or_default();
    number % n_slots.max(1)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Child, Command, Stdio};

    use super::super::grants::{BetweenTests, TurnFile};
    use super::*;
    use crate::json::Json;

    /// The file of a slot, for a process that only holds it or only waits.
    const HOLDS: &str = "LEASE_TEST_HOLDS";
    const WAITS: &str = "LEASE_TEST_WAITS";
    const TEST: &str = "harness::turns::tests::who_waits_looks_when_something_changes_and_wakes_nobody";
    const WAIT: Wait = Wait::For(Duration::from_secs(1));
    /// So many looks a second are made where nobody wakes the waiter, and some more where something changes at times.
    const N_LOOKS: usize = 40;

    fn grant(path: &Path) -> OuterGrant {
        let turn = Some(TurnFile { path: path.to_owned(), between: BetweenTests::Nothing });
        let text = |text: &str| text.to_owned();
        OuterGrant { slot_id: Json::from("a"), kind: text("slot-a"), owner: text("o"), token: text("t"), turn }
    }

    fn env() -> Env {
        Env::Fixed([].into())
    }

    /// The test once more, as a process that does only this.
    fn process(does: &str, path: &Path) -> (Child, BufReader<std::process::ChildStderr>) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", TEST, "--nocapture"]).env(does, path);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        (child, said)
    }

    /// Has a turn, says so, and keeps it until its input ends.
    fn hold(path: &Path) {
        assert!(matches!(take(&[grant(path)], &env(), Wait::No, || false), Ok(Asked::Has(_))));
        eprintln!("has it");
        io::stdin().read_to_end(&mut Vec::new()).unwrap();
    }

    fn holder(path: &Path) -> Child {
        let (child, mut said) = process(HOLDS, path);
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "has it\n");
        child
    }

    #[test]
    fn who_waits_looks_when_something_changes_and_wakes_nobody() {
        let count = |path: &Path| {
            let mut n_looks = 0;
            let grants = [grant(path)];
            let asked = take(&grants, &env(), WAIT, || {
                n_looks += 1;
                false
            });
            assert!(asked.is_err_and(|error| error.to_string().contains("in use by other tests")));
            n_looks
        };
        if let Some(path) = std::env::var_os(HOLDS) {
            return hold(path.as_ref());
        }
        if let Some(path) = std::env::var_os(WAITS) {
            let n_looks = count(path.as_ref());
            assert!(n_looks < N_LOOKS, "{n_looks} looks");
            return;
        }
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("slot-a");
        std::fs::write(&path, "").unwrap();
        let mut holder = holder(&path);
        let (mut other, mut said) = process(WAITS, &path);
        let n_looks = count(&path);
        assert!(n_looks < N_LOOKS, "{n_looks} looks");
        let mut text = String::new();
        said.read_to_string(&mut text).unwrap();
        assert!(other.wait().unwrap().success(), "{text}");
        drop(holder.stdin.take());
        holder.wait().unwrap();
        let grants = [grant(&path)];
        let Ok(Asked::Has(turn)) = take(&grants, &env(), Wait::No, || false) else { panic!("it is free") };
        assert_eq!(turn.found, Condition::Used);
    }

    #[test]
    fn the_number_in_our_group_is_where_one_begins() {
        let table: [(&[(&str, &str)], usize); 6] = [
            (&[(GROUP, "@tool:lease:db"), (GROUP_SLOT, "2"), (GLOBAL_SLOT, "1")], 2),
            (&[(GROUP, "mine"), (GROUP_SLOT, "2"), (GLOBAL_SLOT, "1")], 1),
            (&[(GROUP, "@global"), (GROUP_SLOT, "none"), (GLOBAL_SLOT, "4")], 1),
            (&[(GROUP, "@tool:lease:db"), (GROUP_SLOT, "none")], 0),
            (&[(GLOBAL_SLOT, "-1")], 0),
            (&[], 0),
        ];
        for (variables, expected) in table {
            let env = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(hint(env, 3), expected, "{variables:?}");
        }
    }
}
