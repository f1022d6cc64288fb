//! Nothing but the standard library.

use std::fmt::Display;
use std::sync::Barrier;
use std::thread;

use lease_harness::{Slot, leased_slot};

use crate::alone_in;

#[leased_slot(pool = "pool.json")]
#[test]
fn owned(slot: Slot) {
    let _alone = alone_in(&slot);
}

#[leased_slot(pool = "pool.json")]
#[test]
fn borrowed(slot: &Slot) -> Result<(), String> {
    let _alone = alone_in(slot);
    Ok(())
}

#[leased_slot(pool = "pool.json")]
#[test]
fn mutable(#[allow(unused_mut)] mut mine: Slot) {
    let _alone = alone_in(&mine);
}

#[leased_slot(pool = "pool.json")]
#[test]
fn not_looked_at(_: Slot) {}

#[leased_slot(pool = "pool.json")]
#[deny(unfulfilled_lint_expectations)]
#[expect(dead_code, reason = "the compiler has to notice that #[test] was forgotten")]
fn without_test(_slot: Slot) {}

#[leased_slot(pool = "pool.json")]
#[test]
fn given_back_early(slot: Slot) {
    drop(alone_in(&slot));
    slot.release().unwrap();
}

#[leased_slot(pool = "pool.json")]
#[test]
#[should_panic(expected = "on purpose")]
fn should_panic(slot: Slot) {
    let _alone = alone_in(&slot);
    panic!("on purpose");
}

#[leased_slot(pool = "pool.json")]
#[test]
fn handed_to_a_thread(slot: Slot) {
    thread::spawn(move || drop(alone_in(&slot))).join().unwrap();
}

/// Helpers may be leased too; what they return and are given is theirs.
#[leased_slot(pool = "pool.json", wait = "5m", ttl = 1)]
fn helper<'a, T>(text: &'a str, slot: &'a Slot, mut values: Vec<T>, (low, _): (u8, u8)) -> (&'a str, String, u8)
where
    T: Into<String>,
{
    let _alone = alone_in(slot);
    (text, values.pop().unwrap().into(), low)
}

#[test]
fn a_generic_helper_with_patterns() {
    let text = String::from("text");
    assert_eq!(helper(&text, vec!["value"], (1, 2)), ("text", "value".to_owned(), 1));
}

#[leased_slot(pool = "pool.json")]
fn opaque_helper<const N: usize>(values: &[impl Display; N], slot: &Slot) -> Vec<String> {
    let _alone = alone_in(slot);
    values.iter().map(ToString::to_string).collect()
}

/// An associated function without `self` is a function like others.
struct Suite<'a, T>(&'a T);

impl<'a, T: Sync> Suite<'a, T> {
    #[leased_slot(pool = "pool.json")]
    fn with_slot(value: &'a T, slot: Slot) -> Suite<'a, T> {
        let _alone = alone_in(&slot);
        Suite(value)
    }
}

#[test]
fn helpers_of_every_kind() {
    assert_eq!(opaque_helper(&[1, 2]), ["1", "2"]);
    assert_eq!(*Suite::with_slot(&7).0, 7);
}

/// Two of a process's tests really hold two slots at once.
#[test]
fn as_many_at_once_as_the_pool_has() {
    #[leased_slot(pool = "pool.json")]
    fn meet(slot: Slot, meeting: &Barrier) -> String {
        meeting.wait();
        slot.id().to_owned()
    }
    if std::env::var_os("LEASE_GRANTS").is_some() {
        return; // Under an outer grant there is one slot.
    }
    let meeting = Barrier::new(2);
    let (one, other) = thread::scope(|scope| {
        let other = scope.spawn(|| meet(&meeting));
        (meet(&meeting), other.join().unwrap())
    });
    assert_ne!(one, other);
}

#[test]
fn a_pool_file_that_was_never_there() {
    #[leased_slot(pool = "pol.json")]
    fn helper(_: Slot) {}
    let payload = std::panic::catch_unwind(helper).unwrap_err();
    let said = payload.downcast_ref::<String>().unwrap();
    let near = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("pool.json");
    assert!(
        said.contains(&format!("; did you mean `{}`?; nor was there one when the test was compiled", near.display())),
        "{said}"
    );
}
