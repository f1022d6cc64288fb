//! Who pays for the question: the program lists its tests once more, and only if it cannot be told without.

use lease_compositions::LISTINGS;

use crate::program::{Package, said};

#[track_caller]
fn check_listings(args: &[&str], expected: usize) {
    let package = Package::with_pool(r#"{"name": "behaviour", "slots": [{"id": "only"}]}"#);
    let listings = package.gate();
    let output = package.program(args).env(LISTINGS, &listings).output().unwrap();
    let text = std::fs::read_to_string(&listings).unwrap_or_default();
    assert_eq!(text.lines().count(), expected, "{args:?}: {}", said(&output));
}

#[test]
fn only_where_it_is_not_known() {
    check_listings(&["--exact", "scenario::below::case_1"], 0);
    check_listings(&["--exact", "scenario::below_with_values::case_1::more_1_10"], 0);
    check_listings(&["--exact", "scenario::only_values::case_1_10"], 0);
    check_listings(&["--exact", "scenario::above::case_1"], 0);
    check_listings(&["--exact", "scenario::by_hand::case_1", "scenario::by_macro::case_1"], 0);
    check_listings(&["--exact", "scenario::single::case_1"], 1);
    check_listings(&["--exact", "scenario::each::case_2"], 1);
    check_listings(&["--exact", "scenario::first::case_1", "--ignored"], 1);
    // The attribute of two cases stands at one place: below all of them, or a macro has repeated it.
    check_listings(&["--exact", "scenario::below::case_1", "scenario::above::case_1"], 0);
    check_listings(&["--exact", "scenario::repeated::case_1", "--ignored"], 0);
    check_listings(&["--exact", "scenario::repeated::case_3", "--ignored"], 2);
    // What comes of a generator above which the attribute stands is libtest's to say, if names do not select whole tests.
    check_listings(&["--exact", "scenario::above::case_1"], 0);
    check_listings(&["above::case_1"], 2);
    // And once more to know which of those left out are ignored.
    check_listings(&["--exact", "scenario::first::case_2", "--ignored"], 2);
}
