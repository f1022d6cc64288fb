//! Slots that one process holds for a whole run of tests.
//!
//! The run's environment says which they are, with a file for each; a test process has its turn in one of them. Nothing is
//! acquired for a test, and it may become the test itself: what tells that it works in a slot is a lock that belongs to it
//! as long as it lives.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::child::{CLEANUP_GRACE, Ended, LossWatch};
use super::error::{SlotError, SlotErrorKind};
use super::grants::{self, BetweenTests, TurnFile};
use super::proxy::Proxied;
use super::slot::{Slot, Survivors};
use super::turns;
use crate::pool::{self, HELD_RUN};
use crate::store::Env;
use crate::sys::clock::Ids;
use crate::sys::disk;
use crate::sys::lock::{LifeLook, LockedPlace};
use crate::sys::watch::{Pauses, Watch};

/// The folder of these folders in the store; its name starts with a dot, so that other programs ignore it.
const FOLDER: &str = ".held";
/// A folder that is not locked yet is nobody's; after this long its maker is gone.
const MAKING: &str = ".new-";
const MAKING_LIMIT: Duration = Duration::from_secs(60);
/// What a guard is told when there is nothing to do for it.
const DONE: &str = "done";

/// Slots of one pool that this process holds for a run of tests, until the run has ended.
///
/// # If the process dies
/// A [guard](guard_run) ends what works in the slots. They are given to the next in line, who does that as well.
#[derive(Debug)]
pub struct HeldRun {
    /// What marks the run's processes that are in no slot yet.
    id: String,
    folder: PathBuf,
    /// Tells others that we live.
    _place: LockedPlace,
    slots: Vec<Slot>,
    between: BetweenTests,
}

impl HeldRun {
    /// Lets test processes have turns in these slots, which are of one pool in one store.
    ///
    /// # Errors
    /// When the store cannot be written; the slots are given back then.
    pub fn of(slots: Vec<Slot>, between: BetweenTests) -> Result<Self, SlotError> {
        let above = slots.first().map(|slot| slot.store_dir().join(FOLDER)).unwrap_or_default();
        let id = Ids::random().fresh();
        let (folder, place) = make_folder(&above, &id, &slots).map_err(|error| {
            let message = format!("cannot make a folder for the run in {}: {error}", above.display());
            SlotError::new(SlotErrorKind::Internal, message)
        })?;
        Ok(Self { id, folder, _place: place, slots, between })
    }

    /// What the run is told by its environment. It does not say that it works in a slot: only who has a turn does.
    #[must_use]
    pub fn envs(&self) -> Vec<(&'static str, String)> {
        let documents = self.slots.iter().map(|slot| {
            let turn = TurnFile { path: turn_file(&self.folder, slot), between: self.between };
            slot.grant_document_with(Some(turn))
        });
        let mark = pool::for_run(Env::Process.get(HELD_RUN).as_deref(), &self.id);
        vec![(HELD_RUN, mark), (grants::VARIABLE, grants::with(&Env::Process, documents))]
    }

    /// Tell of the loss of any of the slots.
    #[must_use]
    pub fn loss_watches(&self) -> Vec<LossWatch> {
        self.slots.iter().map(Slot::loss_watch).collect()
    }

    /// What a [guard](guard_run) has to know, to be written to it when it starts. Whoever is to see it may act on the leases.
    #[must_use]
    pub fn told_to_guard(&self) -> String {
        let tokens = self.slots.iter().filter(|slot| !slot.is_joined()).map(Slot::token);
        let lines = [self.folder.to_str().unwrap_or_default()].into_iter().chain(tokens);
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// What a guard is told when the run has ended and nothing is left to do for it.
    #[must_use]
    pub fn last_told_to_guard() -> String {
        format!("{DONE}\n")
    }

    /// Ends what the run has left behind in its slots and gives them back. Of a run that was cut off, everything it has
    /// started is ended; tests that a terminal's signal has asked to end, and that nobody waits for any more, may clean up
    /// before.
    ///
    /// # Errors
    /// `Lost` when one of the slots was lost, else the first failure; all of them are given back as far as that is possible.
    pub fn give_back(self, ended: Option<&Ended>) -> Result<(), SlotError> {
        if ended.is_some_and(Ended::was_asked_for) {
            self.wait_for_tests();
        }
        let mut failures = Vec::new();
        let failed = |error| SlotError::new(SlotErrorKind::Internal, format!("cannot end what the run left: {error}"));
        // In slots of an outer grant the run may not end everybody.
        let of_run = match ended {
            Some(Ended::Exited(_)) => pool::end_processes_in_slots_of_run(&self.id),
            _ => pool::end_processes_of_run(&self.id),
        };
        failures.extend(of_run.map_err(failed).err());
        for slot in self.slots.iter().filter(|slot| !slot.is_joined()) {
            failures.extend(match ended {
                // A test may have been cut off although the run was not.
                Some(Ended::Exited(_)) => slot.end_processes_in_it().err(),
                _ => slot.end_survivors().err(),
            });
        }
        failures.extend(self.slots.into_iter().filter_map(|slot| slot.release().err()));
        let _ = fs::remove_dir_all(&self.folder);
        let lost = failures.iter().position(|error| error.kind() == SlotErrorKind::Lost);
        failures.into_iter().nth(lost.unwrap_or(0)).map_or(Ok(()), Err)
    }

    /// Waits until no process has a turn, but not for ever.
    fn wait_for_tests(&self) {
        let until = Instant::now() + CLEANUP_GRACE;
        let watch = Watch::new(&[&self.folder], Vec::new());
        let mut pauses = Pauses::new(&watch, None);
        // A file that cannot be looked at tells nothing.
        let looks: Vec<_> = self.slots.iter().filter_map(|slot| LifeLook::open(&turn_file(&self.folder, slot)).ok()).collect();
        while looks.iter().any(|look| turns::is_taken(look).unwrap_or_default()) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.slots.iter().any(Slot::is_lost) {
                return;
            }
            pauses.sleep(&watch, Some(left));
        }
    }
}

fn turn_file(folder: &Path, slot: &Slot) -> PathBuf {
    folder.join(slot.kind())
}

/// It gets its name when it is locked, so that nobody takes it for one that was left while we live.
fn make_folder(above: &Path, id: &str, slots: &[Slot]) -> io::Result<(PathBuf, LockedPlace)> {
    fs::create_dir_all(above)?;
    remove_left(above);
    let (making, folder) = (above.join(format!("{MAKING}{id}")), above.join(id));
    fs::create_dir(&making)?;
    let place = LockedPlace::lock(&making)?.ok_or(io::ErrorKind::WouldBlock)?;
    for slot in slots {
        fs::write(turn_file(&making, slot), "")?;
    }
    fs::rename(&making, &folder)?;
    Ok((folder, place))
}

/// Removes the folders of runs whose holders are gone. What cannot be removed is in nobody's way.
fn remove_left(above: &Path) {
    for name in disk::names(above).unwrap_or_default() {
        let folder = above.join(&name);
        let is_old = || matches!(disk::age_of(&folder), Ok(Some(age)) if MAKING_LIMIT < age);
        if name.starts_with(MAKING) && !is_old() {
            continue;
        }
        if let Ok(Some(place)) = LockedPlace::lock(&folder)
            && place.is_at(&folder)
        {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

/// Guards a run: waits until its holder says that all is done, or is gone without a word. Then whatever works in the run's
/// slots, or is about to, is ended.
///
/// `told` is what the holder writes, of which nobody else may have the writing end: by its end we learn of the holder's.
pub fn guard_run(told: impl BufRead) {
    let lines: Vec<String> = told.lines().map_while(Result::ok).collect();
    let Some((folder, rest)) = lines.split_first().filter(|_| lines.last().is_none_or(|line| line != DONE)) else { return };
    match Proxied::of_lines(rest) {
        Some(proxied) => proxied.end_tests(),
        None => end_run(folder, rest),
    }
    let _ = fs::remove_dir_all(folder);
}

fn end_run(folder: &str, tokens: &[String]) {
    // Also in slots of an outer grant, whose token others carry as well.
    let _ = pool::end_processes_of_run(Path::new(folder).file_name().and_then(OsStr::to_str).unwrap_or_default());
    for token in tokens {
        // What cannot be ended is found by the next who is granted the slot.
        let _ = Survivors::of(token).end();
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn folders_of_runs_that_are_over_are_removed_and_no_others() {
        let temp = tempfile::tempdir().unwrap();
        let above = temp.path().join(FOLDER);
        let (folder, place) = make_folder(&above, "lives", &[]).unwrap();
        let [left, making, old] = ["left", ".new-making", ".new-old"].map(|name| above.join(name));
        for folder in [&left, &making, &old] {
            fs::create_dir(folder).unwrap();
        }
        let long_ago = SystemTime::now() - MAKING_LIMIT * 2;
        fs::File::open(&old).unwrap().set_modified(long_ago).unwrap();
        let (next, _place) = make_folder(&above, "next", &[]).unwrap();
        let are_there = [&folder, &left, &making, &old, &next].map(|folder| folder.exists());
        assert_eq!(are_there, [true, false, true, false, true]);
        drop(place);
        remove_left(&above);
        assert!(!folder.exists());
    }

    #[test]
    fn a_guard_that_is_told_of_the_end_does_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let told = format!("{}\n", temp.path().display());
        guard_run(format!("{told}{}", HeldRun::last_told_to_guard()).as_bytes());
        assert!(temp.path().exists());
        guard_run(told.as_bytes());
        assert!(!temp.path().exists());
    }
}
