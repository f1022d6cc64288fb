//! Under a slot that somebody else holds, as below `cargo lease`.

use std::collections::BTreeSet;

use lease_harness::mimic::Trial;

use crate::program::{NONE, Package, code, said};
use crate::scenario::N_MANY;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        check("trials_take_turns_on_the_outer_slot_and_find_it_clean", turns),
        check("an_outer_slot_that_is_gone_is_not_used", gone),
    ]
}

fn check(name: &str, body: fn()) -> Trial {
    Trial::test(format!("joined::{name}"), move || {
        body();
        Ok(())
    })
}

fn turns() {
    let reset = "f() { echo cleaned >> cleanings; }; f";
    let pool = format!(r#"{{"name": "behaviour", "slots": [{{"id": "outer"}}, {{"id": "other"}}], "reset": "{reset}"}}"#);
    let package = Package::with_pool(&pool);
    let outer = package.request().acquire().unwrap();
    let cleanings = || std::fs::read_to_string(package.pool_file().with_file_name("cleanings")).unwrap_or_default();
    let before = cleanings().lines().count();
    let output = package.program_under(&outer, &["many", "--test-threads", "4"]).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    let slots: BTreeSet<_> = package.entered().into_iter().map(|(_, slot)| slot).collect();
    assert_eq!((package.entered().len(), slots), (N_MANY, ["outer".to_owned()].into()));
    assert_eq!(package.n_grants(), 1);
    assert_eq!(cleanings().lines().count() - before, N_MANY - 1, "clean for the first, cleaned for the others");
    outer.release().unwrap();
    assert_eq!(package.held(), NONE);
}

fn gone() {
    let package = Package::with_pool(r#"{"name": "behaviour", "slots": [{"id": "outer"}]}"#);
    let outer = package.request().acquire().unwrap();
    let mut program = package.program_under(&outer, &["--exact", "plain"]);
    outer.release().unwrap();
    let output = program.output().unwrap();
    assert_eq!(code(&output), Some(101), "{}", said(&output));
    assert_eq!(package.entered(), []);
}
