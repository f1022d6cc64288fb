//! No slot to be had: the command never runs, the exit code is not zero, there is one error on stderr, and the store is
//! as it was before.
//!
//! # What other programs of the format do carelessly, and we do not
//!
//! Each of these is a sentence of the format. Behind it stands the test that fails when it is broken; where no file is
//! named, the test is in this one.
//!
//! | the format says | the test |
//! | --- | --- |
//! | a request id that is no UUID is an unknown request | `deferred`: `an_id_that_is_no_uuid_is_an_unknown_request` |
//! | a grant, and its token, is shown to its owner only | `deferred`: `others_see_where_a_request_stands_and_never_its_token` |
//! | reset checks the owner | `pool_rules`: `only_the_holder_resets_a_slot` |
//! | leaving the queue checks the owner | `pool_rules`: `only_the_owner_of_an_entry_leaves_the_queue_for_it_or_is_granted_by_it` |
//! | `shellPrefix` must be an environment name | `pool/file/tests.rs`: `what_eval_would_run_is_no_shell_prefix` |
//! | a placeholder sees own attributes only | `pool/template.rs`: `only_own_attributes_are_seen` |
//! | two attributes of one name, one that overwrites id or kind, an alternation in the owner pattern: as recorded, with a warning on stderr | `what_is_doubtful_works_as_recorded_and_is_said_on_stderr` |
//! | unknown flags are usage errors, so is a flag without a value (repeated ones: see `vectors/decisions.rs`) | `cli/script/tests.rs` of `cargo-lease`: `mistakes_are_named_with_what_may_be_meant`; its `tests/it/usage.rs`: `mistakes_on_the_command_line` |
//! | a wait ends at its deadline, not at the next poll | `sys/watch.rs`: `no_pause_is_longer_than_what_is_left_of_the_wait` |
//! | a waiter ended by SIGTERM or Ctrl-C leaves the queue | `signals`: `a_waiter_that_is_interrupted_leaves_the_queue` |
//! | a forced release that will be refused deletes nothing | `pool_rules`: `a_forced_release_that_is_refused_deletes_nothing` |
//! | a queue of the wrong shape is reported by name, and no live entry that can be read is lost | `damage`: `a_damaged_queue_keeps_the_entries_that_can_be_read` |
//! | it is repaired under the lock | `damage`: `a_damaged_queue_is_repaired_under_the_lock` |
//! | so are statistics | `damage`: `damaged_statistics_keep_the_durations_that_can_be_read` |
//! | release works on a full disk | `a_slot_is_given_back_on_a_full_disk`, `a_new_process_gives_a_slot_back_on_a_full_disk`; `garbage`: `a_release_needs_no_proof_of_life` |
//! | half-written temporary files are removed | `life`: `what_dead_processes_left_is_cleared_away_and_what_the_living_need_stays`, `what_dead_processes_left_of_a_pool_is_cleared_away_too` |
//! | a wrong clock evicts no live holder | `life`: `a_wrong_clock_evicts_nobody_who_lives_and_works` |
//! | nor a live waiter | `life`: `a_waiter_that_lives_is_not_stale_and_one_that_is_gone_is_dropped_at_once` |
//! | two files that describe one pool differently are refused, both values shown | `pool_rules`: `two_files_that_describe_one_pool_differently_are_refused_while_it_is_in_use` |
//! | though one comes just before the other's slot is taken | `pool_rules`: `another_description_that_comes_just_before_a_slot_is_taken_is_seen`, `a_slot_that_is_taken_just_before_another_description_comes_is_seen` |
//! | a provision that outlasts the lifetime lets no second one start | `pool_rules`: `a_provision_that_outlasts_the_lifetime_keeps_its_slot`, `a_reset_that_outlasts_the_lifetime_keeps_its_slot` |
//! | nor does one whose process is suspended | `killing`: `a_suspended_run_provisions_its_slot_no_more_once_another_does`, `what_works_under_an_expired_lease_is_ended_before_the_slot_is_made_clean_again` |
//! | deeply nested JSON is not corrupt | `garbage`: `a_deeply_nested_record_is_a_lease_like_any_other`; `json/tests.rs`: `nesting_has_no_limit` |

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use lease_tests::snapshot::Snapshot;
use lease_tests::{Event, Finished, Lab, Running, binary, scratch};
use serde_json::json;

use crate::support::lab;

const REFUSED: i32 = 1;
const USAGE: i32 = 2;
const INTERNAL: i32 = 3;

#[test]
fn a_full_pool_refuses_who_does_not_wait() {
    let lab = lab();
    let holder = fill_pool(&lab);
    check_refused(&lab, &["--no-wait"], REFUSED, "pool pool");
    give_back(&lab, holder);
}

#[test]
fn a_full_pool_refuses_who_waits_in_vain() {
    let lab = lab();
    let holder = fill_pool(&lab);
    check_refused(&lab, &["--wait-ms", "50"], REFUSED, "within 50ms");
    check_refused(&lab, &["--wait", "50ms"], REFUSED, "within 50ms");
    give_back(&lab, holder);
}

#[test]
fn a_broken_provision_refuses_and_gives_the_slot_back() {
    let lab = lab();
    lab.write_pool(&json!({"slots": [{"id": "a"}], "provision": "exit 7;"}));
    let run = refused(&lab, lab.lease_actor(&[], &["note", "ran"]), REFUSED);
    assert!(run.stderr.contains("slot a reset failed (provision command exit 7)"), "{}", run.account());
    lab.check_all_given_back();
}

#[test]
fn a_failing_health_check_refuses_and_gives_the_slot_back() {
    let lab = lab();
    lab.write_pool(&json!({"slots": [{"id": "a"}], "health": "exit 7;"}));
    let run = refused(&lab, lab.lease_actor(&[], &["note", "ran"]), REFUSED);
    assert!(run.stderr.contains("slot a health check failed"), "{}", run.account());
    lab.check_all_given_back();
}

#[test]
fn a_bad_pool_file_is_named_with_its_field_and_value() {
    let lab = lab();
    lab.write_slots(&["a"]);
    lab.run(lab.lease_actor(&[], &["note", "first"])).expect_success();
    for (text, said) in [
        ("not json", "pool.json"),
        ("{}", "slots"),
        ("{\"slots\": [{\"port\": 1}]}", "id"),
        ("{\"slots\": [{\"id\": 1}, {\"id\": \"1\"}]}", "1"),
        ("{\"slots\": [{\"id\": \"a\"}], \"ttlMinutes\": -5}", "ttlMinutes"),
        ("{\"slots\": [{\"id\": \"a\"}], \"name\": \"No Name\"}", "No Name"),
        ("{\"slots\": [{\"id\": \"a\"}], \"grantEnv\": {\"PORT\": \"{port}\"}}", "port"),
    ] {
        fs::write(lab.pool_file(), text).expect("the laboratory is writable");
        let run = check_refused(&lab, &[], USAGE, said);
        assert!(run.stderr.contains("pool.json"), "{text}: {}", run.account());
    }
}

#[test]
fn what_is_doubtful_works_as_recorded_and_is_said_on_stderr() {
    let lab = lab();
    lab.write_pool(&json!({"slots": [{"id": "a", "db": {"name": "x"}, "db-name": "y", "kInd": "z"}]}));
    for words in [&["status"][..], &["run", "--", env!("CARGO_BIN_EXE_actor"), "env", "POOL_SLOT_DB_NAME", "POOL_SLOT_KIND"]] {
        let mut command = lab.lease(["--owner", "ci-1"]);
        command.args(words).env("LEASE_OWNER_PATTERN", "^ci-|never$");
        let run = lab.run(command).expect_success();
        for said in [
            r#"warning: slot "a": attributes "db.name" and "db-name" both give POOL_SLOT_DB_NAME"#,
            r#"warning: slot "a": attribute "kInd" overwrites POOL_SLOT_KIND"#,
            r#"warning: owner pattern "^ci-|never$" has an alternation outside a group"#,
        ] {
            assert_eq!(run.stderr.matches(said).count(), 1, "{said}: {}", run.account());
        }
        assert!(words[0] == "status" || run.stdout == "POOL_SLOT_DB_NAME=y\nPOOL_SLOT_KIND=z\n", "{}", run.account());
    }
}

#[test]
fn a_pool_file_that_is_not_there_is_named() {
    let lab = lab();
    let run = check_refused(&lab, &[], USAGE, "pool.json");
    assert!(run.stderr.contains(lab.pool_file().to_str().expect("a path is text")), "{}", run.account());
    assert!(!lab.store().exists(), "nothing is created for a pool that is not there");
}

#[test]
fn without_a_pool_all_five_places_are_named() {
    let lab = lab();
    let mut command = lab.bare_lease(["run", "--"]);
    command.arg(env!("CARGO_BIN_EXE_actor")).args(["note", "ran"]);
    let run = refused(&lab, command, USAGE);
    for place in ["--pool", "LEASE_POOL_FILE", "package.metadata.lease", "workspace.metadata.lease", "pool.json"] {
        assert!(run.stderr.contains(place), "{place} is not named: {}", run.account());
    }
}

#[test]
fn a_store_that_is_a_file_is_refused() {
    let lab = lab();
    lab.write_slots(&["a"]);
    fs::write(lab.store(), "in the way").expect("the laboratory is writable");
    let run = refused(&lab, lab.lease_actor(&[], &["note", "ran"]), INTERNAL);
    assert!(run.stderr.contains(lab.store().to_str().expect("a path is text")), "{}", run.account());
    assert_eq!(fs::read_to_string(lab.store()).expect("it is still there"), "in the way");
}

#[test]
fn a_read_only_store_is_refused() {
    let lab = lab();
    lab.write_slots(&["a"]);
    lab.run(lab.lease_actor(&[], &["note", "first"])).expect_success();
    let command = powerless(&lab);
    set_writable(&lab.store(), false);
    let before = Snapshot::of(&lab.store());
    let run = refused(&lab, command, INTERNAL);
    let after = Snapshot::of(&lab.store());
    set_writable(&lab.store(), true);
    assert_eq!(before.differences(&after), Vec::<String>::new());
    assert!(run.stderr.contains("ermission denied"), "{}", run.account());
}

#[cfg(feature = "namespaces")]
#[test]
fn a_store_on_a_full_disk_is_refused() {
    let lab = lab();
    lab.write_slots(&["a"]);
    fs::create_dir(lab.store()).expect("the laboratory is writable");
    // The store is only in this namespace, so what is to be compared is copied out of it.
    let script = "set -e; mount -t tmpfs -o size=64k lease-full \"$LEASE_STORE\"
        \"$LEASE\" run -- \"$LAB_ACTOR\" note first
        cat /dev/zero > \"$LEASE_STORE/.ballast\" 2> /dev/null || true
        cp -r \"$LEASE_STORE\" before
        code=0; \"$LEASE\" run -- \"$LAB_ACTOR\" note ran || code=$?
        cp -r \"$LEASE_STORE\" after
        exit $code";
    let run = refused(&lab, in_namespace(&lab, script), INTERNAL);
    let differences = Snapshot::of(&lab.path("before")).differences(&Snapshot::of(&lab.path("after")));
    assert_eq!(differences, Vec::<String>::new(), "{}", run.account());
    assert!(run.stderr.contains("No space left"), "{}", run.account());
}

#[cfg(feature = "namespaces")]
#[test]
fn a_slot_is_given_back_on_a_full_disk() {
    let lab = lab();
    lab.write_slots(&["a"]);
    fs::create_dir(lab.store()).expect("the laboratory is writable");
    let script = "set -e; mount -t tmpfs -o size=64k lease-full \"$LEASE_STORE\"
        \"$LEASE\" run -- sh -c 'cat /dev/zero > \"$LEASE_STORE/.ballast\" 2> /dev/null || true; \"$LAB_ACTOR\" note ran'
        ls -A \"$LEASE_STORE\"";
    let run = lab.run(in_namespace(&lab, script)).expect_success();
    assert_eq!(lab.history().all("ran").len(), 1);
    assert!(!run.stdout.contains("slot-a.json"), "{}", run.account());
}

/// It has neither a proof of life nor a room for its guard yet, and there is no place for them: not for their bytes, and
/// not for their names.
#[cfg(feature = "namespaces")]
#[test]
fn a_new_process_gives_a_slot_back_on_a_full_disk() {
    for release in ["--owner o --token \"$token\"", "--owner o --force"] {
        let lab = lab();
        lab.write_slots(&["a"]);
        fs::create_dir(lab.store()).expect("the laboratory is writable");
        let script = format!(
            "set -e; mount -t tmpfs -o size=64k,nr_inodes=64 lease-full \"$LEASE_STORE\"
            token=$(\"$LEASE\" pool acquire --owner o --no-wait | sed 's/.*\"token\":\"\\([^\"]*\\)\".*/\\1/')
            cat /dev/zero > \"$LEASE_STORE/.ballast\" 2> /dev/null || true
            n=0; while mkdir \"$LEASE_STORE/.full-$n\" 2> /dev/null; do n=$((n + 1)); done
            \"$LEASE\" pool release --slot a {release}; ls -A \"$LEASE_STORE\""
        );
        let run = lab.run(in_namespace(&lab, &script)).expect_success();
        assert!(run.stdout.contains(r#""released":true"#) && !run.stdout.contains("slot-a.json"), "{}", run.account());
        assert!(!run.stdout.lines().any(|name| name.starts_with(".guard-")), "{}", run.account());
    }
}

/// A shell in a mount namespace of its own, where it may mount.
#[cfg(feature = "namespaces")]
pub(crate) fn in_namespace(lab: &Lab, script: &str) -> Command {
    let in_namespace = |script: &str| {
        let mut command = lab.command("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command
    };
    // Some machines give a namespace, but no right to mount in it.
    let probe = in_namespace("mount -t tmpfs -o size=64k lease-probe .").output();
    let said = probe.as_ref().map_or_else(ToString::to_string, |probe| String::from_utf8_lossy(&probe.stderr).into_owned());
    assert!(
        probe.is_ok_and(|probe| probe.status.success()),
        "this test needs `unshare` and the right to mount in a namespace of its own, which this machine does not give \
         (without the feature `namespaces` it is left out): {said}"
    );
    let mut command = in_namespace(script);
    command.env("LEASE", binary::cargo_lease()).env("LEASE_STORE", lab.store()).env("LEASE_POOL_FILE", lab.pool_file());
    command
}

#[test]
fn a_test_that_gets_no_slot_does_not_run_and_is_not_green() {
    let lab = lab();
    let holder = fill_pool(&lab);
    let folder = scratch::fixture(&lab, "solo", "solo");
    let mut command = lab.lease(["--no-wait", "test", "--test", "solo", "ends_at_once"]);
    command.current_dir(&folder);
    let run = lab.run(command);
    assert!(!run.status.success() && !run.stdout.contains("test result: ok"), "{}", run.account());
    #[cfg(feature = "nextest")]
    {
        let mut command = lab.lease(["--no-wait", "nextest", "run", "ends_at_once"]);
        command.current_dir(&folder);
        let run = lab.run(command).expect_code(100);
        assert!(run.stderr.contains("1 test run: 0 passed, 1 failed"), "{}", run.account());
    }
    assert_eq!(lab.history().all("ran"), Vec::<Event>::new());
    give_back(&lab, holder);
}

/// A pool whose only slot is held.
fn fill_pool(lab: &Lab) -> Running {
    lab.write_slots(&["a"]);
    let gate = lab.path("gate").display().to_string();
    let holder = lab.start(lab.lease_actor(&[], &["hold", &gate]));
    lab.history().wait_for("start", |_| true);
    holder
}

fn give_back(lab: &Lab, holder: Running) {
    lab.open("gate");
    holder.finish().expect_success();
    lab.check_all_given_back();
}

/// Runs a command with these options that must be refused, and compares every byte of the store.
#[track_caller]
fn check_refused(lab: &Lab, options: &[&str], code: i32, said: &str) -> Finished {
    let before = Snapshot::of(&lab.store());
    let run = refused(lab, lab.lease_actor(options, &["note", "ran"]), code);
    let differences = before.differences(&Snapshot::of(&lab.store()));
    assert_eq!(differences, Vec::<String>::new(), "the store is not as before: {}", run.account());
    assert!(run.stderr.contains(said), "{said:?} is not said: {}", run.account());
    run
}

/// Runs a command that must be refused before it begins.
#[track_caller]
fn refused(lab: &Lab, command: Command, code: i32) -> Finished {
    let run = lab.run(command).expect_code(code);
    assert_eq!(lab.history().all("ran"), Vec::<Event>::new(), "the command ran: {}", run.account());
    assert_eq!(run.stdout, "", "{}", run.account());
    let n_errors = run.stderr.lines().filter(|line| line.starts_with("error")).count();
    assert_eq!(n_errors, 1, "{}", run.account());
    assert!(!run.stderr.contains("panicked"), "{}", run.account());
    run
}

/// The command as somebody whom file permissions bind. The superuser is not, so then it runs as nobody, and finds
/// everything that it needs in the laboratory.
fn powerless(lab: &Lab) -> Command {
    const NOBODY: u32 = 65_534;
    let (program, actor) = (lab.path("cargo-lease"), lab.path("actor"));
    fs::copy(binary::cargo_lease(), &program).expect("the laboratory is writable");
    fs::copy(env!("CARGO_BIN_EXE_actor"), &actor).expect("the laboratory is writable");
    fs::set_permissions(lab.root(), fs::Permissions::from_mode(0o755)).expect("the laboratory is ours");
    let mut command = lab.command(program);
    command.env("LEASE_STORE", lab.store()).env("LEASE_POOL_FILE", lab.pool_file());
    command.args(["run", "--"]).arg(actor).args(["note", "ran"]);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Lets everybody write into every folder of the store, or nobody.
fn set_writable(folder: &Path, is_writable: bool) {
    for entry in fs::read_dir(folder).expect("the store can be read") {
        let path = entry.expect("the store can be read").path();
        if path.is_dir() {
            set_writable(&path, is_writable);
        } else if !is_writable {
            fs::set_permissions(path, fs::Permissions::from_mode(0o444)).expect("the store is ours");
        }
    }
    let mode = if is_writable { 0o755 } else { 0o555 };
    fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("the store is ours");
}
