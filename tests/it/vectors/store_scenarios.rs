//! `store-scenarios.json`: calls on one lease store.

use lease_harness::store::LeaseStore;

use super::failure::{self, Failure};
use super::load::{Case, list, load, millis, text};
use super::report;
use super::stage::{Stage, args_of, at_step, steps};

#[test]
fn store_scenarios_agree() {
    report::check(&load("store-scenarios"), 206, 164, replay);
}

fn replay(case: &Case) -> Result<(), String> {
    let stage = Stage::new();
    // A store that cannot be opened fails at every call, as the recorded one did.
    let open = || LeaseStore::open(&stage.store_options(case.body.get("store")));
    let store = open().ok();
    for (n, step) in steps(&case.body).iter().enumerate() {
        if stage.do_file_step(step) {
            continue;
        }
        stage.set_time(millis(step, "at_ms").expect("a call has a time"));
        stage.plan_interruption(list(step, "inside_guard"));
        let answer = match &store {
            Some(store) => stage.call_store(store, text(step, "op"), &args_of(step)).expect("a call of the store"),
            None => open().map(|_| String::new()).map_err(Failure::from),
        };
        failure::compare(step, &answer, &mut stage.symbols()).map_err(at_step(n, step))?;
    }
    stage.compare_store(&case.body, |_: &str, _: Option<&str>| false)
}
