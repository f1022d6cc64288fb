//! Nothing but the standard library.

use std::error::Error;
use std::process::{ExitCode, Termination};

use lease_compositions::Alone;
use lease_harness::leased_slot;

use crate::alone_in_the_slot;

#[leased_slot(pool = "pool.json")]
#[test]
fn above_test() {
    let _alone = alone_in_the_slot();
}

#[test]
#[leased_slot(pool = "pool.json", ttl = 2.5, wait = "1h30m")]
fn below_test() {
    let _alone = alone_in_the_slot();
}

/// Documented.
#[leased_slot(pool = "./pool.json")]
#[test]
fn the_same_file_under_another_name() {
    let _alone = alone_in_the_slot();
}

#[lease_harness::leased_slot(pool = "pool.json")]
#[test]
fn by_its_path() -> Result<(), Box<dyn Error>> {
    #![allow(clippy::unnecessary_wraps)]
    let _alone = alone_in_the_slot();
    let port: u16 = std::env::var("POOL_SLOT_SIDE_PORT")?.parse()?;
    if port == 1 {
        return Ok(());
    }
    Ok(())
}

/// A connection, whose end must come before the slot is given back.
struct Client(Alone);

impl Client {
    fn connect() -> Self {
        Self(alone_in_the_slot())
    }

    fn query(&self) -> Result<(), String> {
        let Alone { .. } = &self.0;
        Ok(())
    }
}

#[leased_slot(pool = "pool.json")]
#[test]
fn a_temporary_in_the_last_expression() -> Result<(), String> {
    Client::connect().query()
}

#[leased_slot(pool = "pool.json")]
#[test]
fn opaque() -> impl Termination {
    let _alone = alone_in_the_slot();
    ExitCode::SUCCESS
}

#[test]
#[leased_slot(pool = "pool.json")]
fn an_exit_code() -> ExitCode {
    let _alone = alone_in_the_slot();
    ExitCode::SUCCESS
}

#[leased_slot(pool = "pool.json")]
#[test]
#[should_panic(expected = "on purpose")]
fn should_panic_below() {
    let _alone = alone_in_the_slot();
    panic!("on purpose");
}

#[should_panic(expected = "on purpose")]
#[test]
#[leased_slot(pool = "pool.json")]
fn should_panic_above() {
    let _alone = alone_in_the_slot();
    panic!("on purpose");
}

#[test]
#[leased_slot(pool = "pool.json")]
#[cfg_attr(unix, should_panic)]
fn should_panic_by_condition() {
    let _alone = alone_in_the_slot();
    panic!("on purpose");
}

#[cfg_attr(unix, leased_slot(pool = "pool.json"))]
#[test]
fn leased_by_condition() {
    let _alone = alone_in_the_slot();
}

#[cfg_attr(windows, leased_slot(pool = "no such pool.json"))]
#[test]
fn not_leased_by_condition() {}

#[leased_slot(pool = "pool.json")]
#[cfg_attr(unix, test)]
fn a_test_by_condition() {
    let _alone = alone_in_the_slot();
}

macro_rules! leased_test {
    ($name:ident, $pool:literal, $ttl:expr, $body:block) => {
        #[leased_slot(pool = $pool, ttl = $ttl)]
        #[test]
        fn $name() $body
    };
}

leased_test!(from_a_macro, "pool.json", 3, {
    let _alone = alone_in_the_slot();
});

mod deeper {
    #[lease_harness::leased_slot(pool = "pool.json")]
    #[test]
    fn r#type() {
        let _alone = crate::alone_in_the_slot();
    }
}

#[leased_slot(pool = "pool.json")]
#[test]
#[should_panic(expected = "would wait for itself")]
fn a_leased_test_that_calls_another() {
    above_test();
}
