//! The same test, however it comes to be written: by a macro, under a condition, under another name of the crate.

use std::process::{ExitCode, Termination};

use lease_harness::leased_slot;

use crate::alone_in;

macro_rules! leased_test {
    ($name:ident, $pool:literal, |$slot:ident: $type:ty| $body:block) => {
        #[leased_slot(pool = $pool, wait = "10m")]
        #[test]
        fn $name($slot: $type) $body
    };
}

leased_test!(owned_from_a_macro, "pool.json", |slot: lease_harness::Slot| {
    drop(alone_in(&slot));
});

leased_test!(borrowed_from_a_macro, "pool.json", |mine: &lease_harness::Slot| {
    drop(alone_in(mine));
});

macro_rules! many {
    ($($name:ident)*) => {
        $(
            #[lease_harness::leased_slot(pool = "pool.json")]
            #[test]
            fn $name(slot: lease_harness::Slot) {
                let _alone = alone_in(&slot);
            }
        )*
    };
}

many!(one_of_many another_of_many);

#[cfg_attr(unix, leased_slot(pool = "pool.json"))]
#[test]
fn by_condition(#[cfg(unix)] slot: lease_harness::Slot) {
    let _alone = alone_in(&slot);
}

#[leased_slot(pool = "pool.json")]
#[cfg_attr(unix, tokio::test)]
async fn a_test_by_condition(slot: lease_harness::Slot) {
    let _alone = alone_in(&slot);
    tokio::task::yield_now().await;
}

#[::other_name::leased_slot(pool = "pool.json", crate = ::other_name)]
#[test]
fn by_another_name(slot: ::other_name::Slot) {
    let _alone = alone_in(&slot);
}

#[leased_slot(pool = "pool.json")]
#[test]
fn opaque(slot: other_name::Slot) -> impl Termination {
    let _alone = alone_in(&slot);
    ExitCode::SUCCESS
}

/// The lifetime is written, and means nothing: the slot is a local of the test.
#[leased_slot(pool = "pool.json")]
#[test]
fn r#type(r#mut: &'_ mut lease_harness::Slot) {
    let _alone = alone_in(r#mut);
}
