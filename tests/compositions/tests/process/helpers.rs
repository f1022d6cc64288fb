//! Helpers that are leased themselves: generics, lifetimes, patterns, and what else a signature may have.

use std::fmt::Display;
use std::process::Command;

use lease_harness::leased_slot;

use crate::alone_in_the_slot;

#[leased_slot(pool = "pool.json")]
fn generic<'a, T, const N: usize>(
    text: &'a str,
    mut values: [T; N],
    (low, _): (u8, u8),
    more: &mut Vec<T>,
) -> (&'a str, usize, u8)
where
    T: Clone + 'a,
{
    let _alone = alone_in_the_slot();
    values.reverse();
    more.extend(values.iter().cloned());
    (text, N, low)
}

#[leased_slot(pool = "pool.json")]
pub(super) fn opaque<'a>(values: &'a [impl Display]) -> impl Iterator<Item = String> + 'a {
    let _alone = alone_in_the_slot();
    values.iter().map(ToString::to_string)
}

#[leased_slot(pool = "pool.json")]
async fn generic_async<T: Send>(value: &T) -> &T {
    let _alone = alone_in_the_slot();
    tokio::task::yield_now().await;
    value
}

/// An associated function without `self` is a function like others.
struct Suite<T>(T);

impl<T: Default> Suite<T> {
    #[leased_slot(pool = "pool.json")]
    fn new() -> Suite<T> {
        let _alone = alone_in_the_slot();
        Suite(T::default())
    }
}

/// Set for the process in which the helpers are called.
const CALLED: &str = "HELPERS_CALLED";

#[test]
fn signatures() {
    if std::env::var_os(CALLED).is_none() {
        return in_a_process_with_their_slot();
    }
    let mut more = Vec::new();
    assert_eq!(generic(&String::from("text"), ["a", "b"], (1, 2), &mut more), ("text", 2, 1));
    assert_eq!(more, ["b", "a"]);
    assert_eq!(opaque(&[1, 2]).collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(Suite::<u8>::new().0, 0);
}

#[tokio::test]
async fn async_signatures() {
    if std::env::var_os(CALLED).is_some() {
        assert_eq!(*generic_async(&7).await, 7);
    }
}

/// A process has its slot before `main`, and only for functions that its arguments name: one test alone does not say which
/// helpers it calls.
fn in_a_process_with_their_slot() {
    let names = ["helpers::generic", "helpers::signatures", "helpers::async_signatures"];
    let mut program = Command::new(std::env::current_exe().unwrap());
    let output = program.arg("--exact").args(names).env(CALLED, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("2 passed"), "{output:?}");
}

/// Without that it is refused, and told what a helper does instead.
#[test]
fn a_helper_of_nobody() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "helpers::signatures"])
        .env(CALLED, "1")
        .env_remove("NEXTEST_TEST_NAME")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && said.contains("a test with a `slot: Slot` takes one when it starts"), "{output:?}");
}
