//! `test` and `bench` on a real package.

use crate::lab::{Lab, PROGRAM, cargo, expect_code, has};

/// Writes its slot and its name down.
const LIB: &str = r#"
//! ```
//! assert_eq!(std::env::var("POOL_SLOT_ID").as_deref(), Ok("1"));
//! std::fs::write(format!("{}/doc-a", std::env::var("SEEN").unwrap()), std::process::id().to_string()).unwrap();
//! ```
//!
//! ```
//! assert_eq!(std::env::var("POOL_SLOT_ID").as_deref(), Ok("1"));
//! std::fs::write(format!("{}/doc-b", std::env::var("SEEN").unwrap()), std::process::id().to_string()).unwrap();
//! ```

pub fn seen(name: &str) {
    let slot = std::env::var("POOL_SLOT_ID").unwrap();
    std::fs::write(format!("{}/{name}", std::env::var("SEEN").unwrap()), slot).unwrap();
}

#[test]
fn unit() {
    seen("unit");
}
"#;

const INTEGRATION: &str = r#"
#[test]
fn integration() {
    scratch::seen("integration");
    assert_eq!(std::env::var("CARGO_PKG_NAME").as_deref(), Ok("scratch"));
    if std::env::var_os("FAIL").is_some() {
        panic!("as it was told");
    }
}
"#;

fn lab() -> Lab {
    let lab = Lab::new(1);
    lab.package(LIB, INTEGRATION);
    std::fs::create_dir(lab.path("seen")).expect("folder");
    lab
}

#[test]
fn every_binary_and_documentation_test_has_a_slot() {
    let lab = lab();
    let (out, err) = expect_code(lab.lease(&["--no-wait", "test"]).env("SEEN", lab.path("seen")), 0);
    has(&out, &["test unit ... ok", "test integration ... ok", "2 passed"]);
    assert!(!err.contains("WARNING"), "{err}");
    assert_eq!((lab.read("seen/unit"), lab.read("seen/integration")), ("1".to_owned(), "1".to_owned()));
    let (a, b) = (lab.read("seen/doc-a"), lab.read("seen/doc-b"));
    assert!(!a.is_empty() && a != b, "merged documentation tests keep a process each: {a} {b}");
    assert_eq!(lab.states(), ["free"]);

    let mut failing = lab.lease(&["test", "--test", "it", "--", "--nocapture"]);
    let (_, err) = expect_code(failing.env("SEEN", lab.path("seen")).env("FAIL", "1"), 101);
    has(&err, &["as it was told"]);
    assert_eq!(lab.states(), ["free"]);
}

#[test]
fn listing_takes_no_slot_and_no_slot_is_never_green() {
    let lab = lab();
    let _holder = lab.holder(&[]);
    let (out, _) = expect_code(&mut lab.lease(&["--no-wait", "test", "--test", "it", "--", "--list"]), 0);
    has(&out, &["integration: test"]);
    let (out, err) = expect_code(lab.lease(&["--no-wait", "test", "--test", "it"]).env("SEEN", lab.path("seen")), 1);
    assert!(!out.contains("running"), "{out}");
    has(&err, &["error: ", "lab"]);
    assert_eq!(lab.read("seen/integration"), "");
}

#[test]
fn the_users_runner_stays_in_place() {
    let lab = lab();
    lab.write("mine/runner", "#!/bin/sh\necho \"$POOL_SLOT_ID $1\" > \"$SEEN/runner\"\nshift\nexec \"$@\"\n");
    for runner in ["'mine/runner x'", "['mine/runner', 'x']"] {
        lab.write(".cargo/config.toml", &format!("[target.'cfg(unix)']\nrunner = {runner}\n"));
        let mut command = lab.lease(&["test", "--test", "it"]);
        expect_code(command.env("SEEN", lab.path("seen")), 0);
        assert_eq!(lab.read("seen/runner"), "1 x\n");
        std::fs::remove_file(lab.path("seen/runner")).expect("written");
    }
}

/// As when a project builds `cargo-lease` itself: cargo replaces the program while it runs.
#[test]
fn a_program_that_is_built_anew_meanwhile_is_found_again() {
    let lab = lab();
    let ours = lab.path("built/cargo-lease");
    std::fs::create_dir(lab.path("built")).expect("folder");
    std::fs::copy(PROGRAM, &ours).expect("copied");
    let script =
        "#!/bin/sh\nmkdir \"$OURS.anew\" 2> /dev/null && rm \"$OURS\" && cp \"$BUILT\" \"$OURS\"\nexec \"$REAL\" \"$@\"\n";
    let replacing = lab.write("tools/cargo", script);
    let mut command = lab.command(ours.to_str().expect("text"));
    command.args(["test", "--test", "it"]).env("SEEN", lab.path("seen"));
    command.env("OURS", &ours).env("BUILT", PROGRAM).env("CARGO", replacing).env("REAL", cargo());
    expect_code(&mut command, 0);
    assert_eq!(lab.read("seen/integration"), "1");
    assert!(lab.path("built/cargo-lease.anew").exists(), "it was replaced");
}

#[test]
fn benches_are_wrapped_too() {
    let lab = lab();
    let bench = "fn main() { assert!(std::env::args().any(|word| word == \"--bench\")); scratch::seen(\"bench\"); }\n";
    lab.write("benches/own.rs", bench);
    let manifest = lab.read("Cargo.toml") + "[[bench]]\nname = \"own\"\nharness = false\n";
    lab.write("Cargo.toml", &manifest);
    expect_code(lab.lease(&["bench", "--bench", "own"]).env("SEEN", lab.path("seen")), 0);
    assert_eq!(lab.read("seen/bench"), "1");
}

#[test]
fn the_pool_is_found_in_the_manifest() {
    let lab = lab();
    let manifest = lab.read("Cargo.toml") + "[package.metadata.lease]\npool = \"pool.json\"\n";
    lab.write("Cargo.toml", &manifest);
    let mut command = lab.lease(&["test", "--test", "it"]);
    command.env_remove("LEASE_POOL_FILE").current_dir(lab.path("tests")).env("SEEN", lab.path("seen"));
    expect_code(&mut command, 0);
    assert_eq!(lab.read("seen/integration"), "1");
}

/// Two binaries, one that wants a slot and one that must have none.
fn lab_with_a_bystander() -> Lab {
    let lab = Lab::new(1);
    let lib = "#[test]\nfn bystander() { assert_eq!(std::env::var(\"POOL_SLOT_ID\").ok(), None); }\n";
    let integration = "#[test]\nfn user() { println!(\"slot {:?}\", std::env::var(\"POOL_SLOT_ID\").ok()); }\n";
    lab.package(lib, integration);
    lab
}

#[test]
fn only_the_named_binaries_are_wrapped() {
    let lab = lab_with_a_bystander();
    let (out, _) = expect_code(&mut lab.lease(&["--wrap", "scratch::it", "test", "--", "--nocapture"]), 0);
    has(&out, &["test bystander ... ok", "slot Some(\"1\")"]);

    let holder = lab.holder(&[]);
    let words = ["--wrap", "scratch::it", "--no-wait", "test"];
    expect_code(lab.lease(&words).args(["--lib"]), 0);
    expect_code(lab.lease(&words).args(["--test", "it"]), 1);
    assert_eq!(holder.end().code(), Some(0));

    let manifest = lab.read("Cargo.toml") + "[workspace.metadata.lease]\nwrap = [\"scratch::it\"]\n";
    lab.write("Cargo.toml", &manifest);
    let (out, _) = expect_code(&mut lab.lease(&["test", "--", "--nocapture"]), 0);
    has(&out, &["test bystander ... ok", "slot Some(\"1\")"]);
}

#[test]
fn annotated_leaves_it_to_the_tests_and_hands_the_settings_on() {
    let lab = lab_with_a_bystander();
    let integration = "#[test]\nfn user() {
        assert_eq!(std::env::var(\"POOL_SLOT_ID\").ok(), None);
        assert_eq!(std::env::var(\"POOL_TTL_MINUTES\").as_deref(), Ok(\"5\"));
        assert_eq!(std::env::var(\"LEASE_OWNER\").as_deref(), Ok(\"somebody\"));
    }\n";
    lab.write("tests/it.rs", integration);
    expect_code(&mut lab.lease(&["--wrap", "annotated", "--ttl", "5", "--owner", "somebody", "test"]), 0);
    let (_, err) = expect_code(&mut lab.lease(&["--wrap", "annotated", "--no-wait", "test"]), 2);
    has(&err, &["error: --no-wait has no effect"]);
}
