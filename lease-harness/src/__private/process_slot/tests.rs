//! What many tests ask of one process.

use std::time::Duration;

use super::*;

/// A pool file that is there; its content is not looked at.
const MANIFEST: &str = "Cargo.toml";

fn ask(sites: &[&'static Site]) -> Result<Option<Ask>, SlotError> {
    ask_for(sites)
}

fn site(build: impl FnOnce(Site) -> Site) -> &'static Site {
    Box::leak(Box::new(build(Site::new("my_crate", "works", MANIFEST))))
}

#[test]
fn nobody_asks_for_nothing() {
    assert!(ask(&[]).unwrap().is_none());
}

#[test]
fn the_longest_of_what_is_asked() {
    let sites = [site(|site| site.ttl_minutes(5.0).wait_millis(9)), site(|site| site.ttl_minutes(7.0).wait_not())];
    let asked = ask(&sites).unwrap().unwrap();
    assert_eq!((asked.ttl_minutes, asked.wait), (Some(7.0), Wait::For(Duration::from_millis(9))));

    let sites = [site(|site| site.wait_millis(9)), site(|site| site), site(|site| site.owner("ci"))];
    let asked = ask(&sites).unwrap().unwrap();
    assert_eq!((asked.ttl_minutes, asked.wait, asked.owner), (None, Wait::Forever, Some("ci")));
}

#[test]
fn one_file_under_two_names_is_one_pool() {
    let other_name: &'static Site = Box::leak(Box::new(Site::new("my_crate", "again", "./src/../Cargo.toml")));
    assert!(ask(&[site(|site| site), other_name]).is_ok());
}

#[track_caller]
fn check_refused(sites: &[&'static Site], parts: &[&str]) {
    let error = ask(sites).unwrap_err();
    assert_eq!(error.kind(), SlotErrorKind::Usage);
    for part in parts {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_process_has_one_environment() {
    let other: &'static Site = Box::leak(Box::new(Site::new("my_crate", "other", "src/lib.rs")));
    check_refused(&[site(|site| site), other], &["`works`", "`other`", "Cargo.toml", "lib.rs", "nextest", "slot: Slot"]);
    check_refused(&[site(|site| site.owner("a")), site(|site| site.owner("b"))], &["the owner: a, b"]);
    check_refused(&[Box::leak(Box::new(Site::new("my_crate", "works", "no/such.json")))], &["no/such.json"]);
}
