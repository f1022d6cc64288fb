//! Who waits in a line of many: only the first in it hears of everything, and the others rely on him as long as he is there.

use lease_tests::{Lab, Running, wait};
use rustix::process::Signal;

use crate::support::lab;

/// More than those who look at everything.
const MANY: usize = 7;

/// A line of waiters for the slots of a laboratory, all of which are held until the gate opens.
struct Line {
    lab: Lab,
    holders: Vec<Running>,
    waiters: Vec<Running>,
}

impl Line {
    fn before(slots: &[&str]) -> Self {
        let lab = lab();
        lab.write_slots(slots);
        let holders = slots.iter().map(|_| lab.start(lab.lease_actor(&[], &["hold", "gate"]))).collect();
        wait::until_true("all slots are held", || lab.history().all("start").len() == slots.len());
        let mut line = Self { lab, holders, waiters: Vec::new() };
        for n in 1..=MANY {
            line.waiters.push(line.lab.start(line.lab.lease_actor(&[], &["note", "ran"])));
            line.lab.wait_for_queue(n);
        }
        line
    }

    fn open_the_gate(&mut self) {
        self.lab.open("gate");
        self.holders.drain(..).for_each(|holder| drop(holder.finish().expect_success()));
    }

    fn finish(self) {
        self.waiters.into_iter().for_each(|waiter| drop(waiter.finish().expect_success()));
        self.lab.check_all_given_back();
    }
}

/// Nobody is left who would look after the pool for the last one.
#[test]
fn who_stands_behind_the_killed_is_served() {
    let mut line = Line::before(&["a"]);
    for killed in line.waiters.drain(..MANY - 1) {
        killed.signal(Signal::KILL);
        assert!(!killed.finish().status.success());
    }
    line.open_the_gate();
    line.finish();
}

/// The first in line holds back nobody but himself as long as there is another slot.
#[test]
fn who_stands_behind_one_that_is_suspended_is_served_by_the_other_slots() {
    let mut line = Line::before(&["a", "b"]);
    let first = line.waiters.remove(0);
    first.signal(Signal::STOP);
    line.open_the_gate();
    wait::until_true("the others are served", || line.lab.history().all("ran").len() == MANY - 1);
    first.signal(Signal::CONT);
    line.waiters.push(first);
    line.finish();
}

/// As many as there are who look at everything.
#[test]
fn who_stands_behind_several_that_are_suspended_is_served_as_well() {
    let mut line = Line::before(&["a", "b", "c", "d", "e", "f"]);
    let suspended: Vec<_> = line.waiters.drain(..4).collect();
    suspended.iter().for_each(|waiter| waiter.signal(Signal::STOP));
    line.open_the_gate();
    wait::until_true("two slots are left for the others", || line.lab.history().all("ran").len() == MANY - suspended.len());
    suspended.iter().for_each(|waiter| waiter.signal(Signal::CONT));
    line.waiters.extend(suspended);
    line.finish();
}

#[test]
fn who_does_not_wait_has_a_slot_where_the_line_is_dead() {
    let mut line = Line::before(&["a", "b"]);
    line.waiters[0].signal(Signal::STOP);
    for killed in line.waiters.drain(1..) {
        killed.signal(Signal::KILL);
        assert!(!killed.finish().status.success());
    }
    line.open_the_gate();
    line.lab.run(line.lab.lease_actor(&["--no-wait"], &["note", "ran"])).expect_success();
    line.waiters[0].signal(Signal::CONT);
    line.finish();
}

#[test]
fn who_gives_up_wakes_the_next() {
    let mut line = Line::before(&["a"]);
    for gone in line.waiters.drain(..MANY - 1).rev() {
        gone.signal(Signal::TERM);
        assert!(!gone.finish().status.success());
    }
    line.lab.wait_for_queue(1);
    line.open_the_gate();
    line.finish();
}
