//! Whose turn it is. Pure.

/// Whether a waiter may take a slot now: there are more free ones than waiters before it.
pub(super) fn may_take(free_slots: usize, waiting_ahead: usize) -> bool {
    waiting_ahead < free_slots
}

/// How many wait before place `place` (from 0), not counting those that hold a slot already.
pub(super) fn waiting_ahead<'a>(queue: impl Iterator<Item = &'a str>, place: usize, holds_slot: impl Fn(&str) -> bool) -> usize {
    queue.take(place).filter(|id| !holds_slot(id)).count()
}

#[cfg(test)]
mod tests {
    use super::{may_take, waiting_ahead};

    #[test]
    fn first_come_first_served() {
        let queue = ["a", "b", "c"];
        let ahead = |place, holding: &str| waiting_ahead(queue.iter().copied(), place, |id| id == holding);
        assert_eq!([ahead(0, ""), ahead(1, ""), ahead(2, "")], [0, 1, 2]);
        assert_eq!(ahead(2, "a"), 1);
        assert!(may_take(1, 0) && may_take(2, 1) && !may_take(1, 1) && !may_take(0, 0));
    }
}
