//! The script of `examples/claims`.

use std::process::Command;

use lease_harness::ClaimRequest;
use lease_harness::claims::Mode;
use lease_tests::{binary, wait};

use crate::script_lab::ScriptLab;

#[test]
fn a_migration_waits_for_readers_and_for_no_other() {
    let scripts = ScriptLab::new();
    let migrate = |folder: &str, columns: &[&str]| {
        let mut command: Command = scripts.command("sh");
        command.arg(binary::workspace().join("examples/claims/migrate.sh")).arg(scripts.work().join(folder)).args(columns);
        command
    };
    let schema = |folder: &str| std::fs::read_to_string(scripts.work().join(folder).join("schema")).ok();
    scripts.lab.run(migrate("first", &["name"])).expect_success();
    assert_eq!(schema("first").as_deref(), Some("name\n"));
    // The scope is the folder that the script is started in: here is no repository.
    let scope = scripts.work().canonicalize().expect("a folder").display().to_string();
    let claim = |mode, key| {
        let request = ClaimRequest::new().store(scripts.lab.store()).scope(&scope);
        request.claim(mode, key).expect("a key").acquire().expect("nobody is in the way")
    };
    let other = claim(Mode::Write, "path:fixtures/users");
    scripts.lab.run(migrate("second", &["name", "born"])).expect_success();
    assert_eq!(schema("second").as_deref(), Some("name\nborn\n"));
    drop(other);
    let reader = claim(Mode::Read, "schema");
    let waiting = scripts.lab.start(migrate("third", &["name"]));
    let claims = ClaimRequest::new().store(scripts.lab.store()).scope(&scope).open().expect("a store");
    wait::until_true("a migration that waits", || claims.waiters().expect("readable").len() == 1);
    assert_eq!(schema("third"), None);
    reader.release().expect("ours");
    waiting.finish().expect_success();
    assert_eq!(schema("third").as_deref(), Some("name\n"));
}
