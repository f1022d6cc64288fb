//! What is left to do when the process is killed that holds the slots of its run's tests.

use super::super::request::SlotRequest;

/// How the first of these lines begins, among what a guard is told.
const POOL: &str = "pool ";

/// The pool whose slots were held.
pub(in crate::harness) struct Proxied {
    pub(super) file: String,
    pub(super) store: String,
    pub(super) owner: String,
}

impl Proxied {
    pub(super) fn to_lines(&self) -> String {
        let Self { file, store, owner } = self;
        format!("{POOL}{file}\n{store}\n{owner}\n")
    }

    /// Reads what a guard was told; none if it is about something else.
    pub(in crate::harness) fn of_lines(lines: &[String]) -> Option<Self> {
        let [file, store, owner] = lines else { return None };
        let file = file.strip_prefix(POOL)?.to_owned();
        Some(Self { file, store: store.clone(), owner: owner.clone() })
    }

    /// Ends the tests that work in slots of a holder who is gone, and nothing of those that had theirs before: as whoever waits for
    /// a slot would, if somebody did.
    pub(in crate::harness) fn end_tests(&self) {
        let request = SlotRequest::from_file(&self.file).store(&self.store);
        // What cannot be ended now is ended by the next who is granted the slot.
        let _ = request.open().map(|pool| pool.pump(&self.owner));
    }
}
