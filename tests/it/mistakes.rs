//! What the compiler says of wrong leased tests, where another attribute or the compiler itself has its word. They are compiled
//! as tests, which programs that are only checked are not.

use std::fs;
use std::path::PathBuf;

use lease_tests::Lab;

use crate::mimic::run;
use crate::support::{lab, words_for};

/// The compiled libraries that a snippet may name: those of a test that is built with the workspace.
pub(crate) fn libraries(lab: &Lab) -> Vec<(&'static str, PathBuf)> {
    const NAMES: [&str; 3] = ["lease_harness", "tokio", "rstest"];
    let command = lab.cargo(words_for(&["test", "--no-run"], "mimic", &["--message-format", "json-render-diagnostics"]));
    let output = run(lab, command).stdout;
    let library = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let name = message.get("target")?.get("name")?.as_str()?;
        let name = NAMES.into_iter().find(|known| *known == name)?;
        let files = message.get("filenames")?.as_array()?.iter().filter_map(|file| file.as_str());
        let file = files.into_iter().find(|file| file.ends_with(".rlib"))?;
        Some((name, PathBuf::from(file)))
    };
    let libraries: Vec<_> = output.lines().filter_map(library).collect();
    assert!(NAMES.iter().all(|name| libraries.iter().any(|(known, _)| known == name)), "{libraries:?}");
    libraries
}

/// What the compiler says of these tests; nothing is well.
fn compile(snippet: &str) -> String {
    let lab = lab();
    let source = lab.path("snippet.rs");
    fs::write(&source, format!("use lease_harness::leased_slot;\n{snippet}\n")).expect("the laboratory is writable");
    let mut command = lab.command_of_rustc(["--test", "--edition=2024", "--emit=metadata", "--crate-name=snippet", "-Dwarnings"]);
    command.arg(&source).arg("--out-dir").arg(lab.path("."));
    for (name, file) in libraries(&lab) {
        command.arg("--extern").arg(format!("{name}={}", file.display()));
        command.arg("-L").arg(format!("dependency={}", file.with_file_name("").join("deps").display()));
        command.arg("-L").arg(format!("dependency={}", file.with_file_name("").display()));
    }
    lab.run(command).stderr
}

#[track_caller]
fn check(snippet: &str, expected: &[&str]) {
    let said = compile(snippet);
    for part in expected {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    assert_eq!(said.is_empty(), expected.is_empty(), "{said}");
}

#[test]
fn an_async_test_without_a_runtime() {
    let snippet = r#"#[leased_slot(pool = "pool.json")] #[test] async fn works() {}"#;
    check(snippet, &["an `async fn` needs a runtime", "#[tokio::test]", "async functions cannot be used for tests"]);
    check(&snippet.replace("works()", "works(slot: lease_harness::Slot)"), &["an `async fn` needs a runtime"]);
    check(&format!("use tokio::test; {snippet}"), &[]);
    check(&snippet.replace("#[test]", "#[tokio::test]"), &[]);
    // A helper, which somebody awaits.
    check(&snippet.replace("#[test]", "pub"), &[]);
}

#[test]
fn a_parameter_that_is_nobodys() {
    let snippet = r#"#[leased_slot(pool = "pool.json")] #[test] fn works(number: u32) {}"#;
    check(snippet, &["functions used as tests can not have any arguments"]);
}

#[test]
fn another_type_of_that_name() {
    let snippet = r#"struct Slot; #[leased_slot(pool = "pool.json")] #[test] fn works(_slot: Slot) {}"#;
    check(snippet, &["mismatched types", "lease_harness::Slot", "snippet.rs:2:"]);
}

/// A slot as a parameter stands in the way of what takes none.
#[test]
fn below_a_test_attribute() {
    let snippet = r#"#[test] #[leased_slot(pool = "pool.json")] fn works(_slot: lease_harness::Slot) {}"#;
    check(snippet, &["functions used as tests can not have any arguments"]);
}

/// So a case cannot be left out there.
#[test]
fn a_case_that_is_not_leased() {
    let snippet = r#"
        #[rstest::rstest]
        #[leased_slot(pool = "pool.json")]
        #[case(1)]
        #[case(2)]
        fn works(#[case] _case: u32, #[ignore] _slot: lease_harness::Slot) {}
    "#;
    check(snippet, &["functions used as tests can not have any arguments"]);
    check(&snippet.replace("#[case(2)]", ""), &[]);
}

/// Archives move, and files with them: that there is none here and now is no mistake yet.
#[test]
fn a_pool_file_that_is_not_there() {
    check(r#"#[leased_slot(pool = "no/such/pool.json")] #[test] fn works() {}"#, &[]);
}
