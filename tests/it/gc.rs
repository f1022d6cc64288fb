//! Collecting what was left: what is provably left goes, everything else stays, and it is said why.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use lease_harness::harness::Made;
use lease_harness::store::StoreOptions;
use lease_tests::Lab;
use serde_json::{Value, json};

use crate::support::lab;

/// A laboratory whose folder is a repository with one commit.
fn scene() -> Lab {
    let lab = lab();
    git(&lab, lab.root(), &["init", "--quiet", "--initial-branch", "main"]);
    git(&lab, lab.root(), &["config", "user.name", "t"]);
    git(&lab, lab.root(), &["config", "user.email", "t@example.invalid"]);
    fs::write(lab.path(".gitignore"), "*\n!tracked\n").expect("the laboratory is writable");
    fs::write(lab.path("tracked"), "1\n").expect("the laboratory is writable");
    git(&lab, lab.root(), &["add", "tracked"]);
    git(&lab, lab.root(), &["commit", "--quiet", "-m", "one"]);
    lab
}

#[track_caller]
fn git(lab: &Lab, dir: &Path, args: &[&str]) -> String {
    let mut command = lab.command("git");
    command.arg("-C").arg(dir).args(args);
    lab.run(command).expect_success().stdout
}

fn made(lab: &Lab) -> Made {
    Made::in_store(&StoreOptions { store: Some(lab.store()), ..StoreOptions::default() }).expect("a store")
}

fn gc(lab: &Lab, options: &[&str]) -> Command {
    lab.lease(["gc", "--json"].iter().chain(options))
}

#[track_caller]
fn run(lab: &Lab, options: &[&str]) -> Vec<Value> {
    let finished = lab.run(gc(lab, options)).expect_success();
    let answer: Value = serde_json::from_str(&finished.stdout).expect("one document");
    answer["resources"].as_array().expect("a list").clone()
}

fn verdicts(found: &[Value]) -> Vec<&str> {
    found.iter().map(|finding| finding["verdict"].as_str().expect("a word")).collect()
}

fn records(lab: &Lab) -> PathBuf {
    lab.store().join(".resources")
}

/// Writes a record by hand.
fn write_record(lab: &Lab, maker: &str, resources: &Value) {
    let text = json!({"schemaVersion": 1, "resources": resources}).to_string();
    fs::create_dir_all(records(lab).join("made")).expect("the store is writable");
    fs::write(records(lab).join(format!("{maker}.json")), text).expect("the store is writable");
}

/// A descriptor of a folder whose owner has left it.
fn descriptor(path: &Path, more: &Value) -> Value {
    let found = fs::symlink_metadata(path);
    let identity = found.map(|found| format!("{}:{}", found.dev(), found.ino())).unwrap_or_default();
    let mut resource = json!({
        "resourceId": "r", "type": "temp_folder", "owner": {"kind": "process", "id": ID},
        "createdAt": "2026-01-01T00:00:00.000Z", "state": "abandoned", "path": path, "identity": identity,
    });
    for (name, value) in more.as_object().expect("members") {
        resource[name] = value.clone();
    }
    resource
}

const ID: &str = "6b2a0f0e-3b57-4c56-9df6-0e5f6a1d2c3b";

#[test]
fn what_was_left_goes_and_a_dry_run_changes_nothing() {
    let lab = scene();
    let mine = made(&lab);
    let folder = mine.temp_folder().expect("a folder");
    fs::create_dir_all(folder.join("deep/er")).expect("writable");
    fs::write(folder.join("deep/er/file"), "x").expect("writable");
    let worktree = mine.worktree(lab.root()).expect("a worktree");
    assert!(worktree.join("tracked").exists());

    // As long as we live, all of it is ours.
    let alive = run(&lab, &["--apply"]);
    assert_eq!(verdicts(&alive), ["kept"; 3], "{alive:?}");
    assert!(alive.iter().all(|finding| finding["reason"].as_str().is_some_and(|why| why.contains("its owner lives"))));

    drop(mine);
    assert_eq!(verdicts(&run(&lab, &[])), ["would go"; 3]);
    assert!(folder.exists() && worktree.exists());
    let table = lab.run(lab.lease(["gc"])).expect_success().stdout;
    assert!(table.contains("would go") && table.contains("--apply does it"), "{table}");

    assert_eq!(verdicts(&run(&lab, &["--yes"])), ["gone"; 3]);
    assert!(!folder.exists() && !worktree.exists());
    assert_eq!(git(&lab, lab.root(), &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(&lab, lab.root(), &["branch", "--list", "lease/*"]), "");
    assert_eq!(run(&lab, &[]), Vec::<Value>::new());
    let left: Vec<_> = fs::read_dir(records(&lab)).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(left, ["made"]);
}

#[test]
fn what_has_a_retained_reason_or_a_time_stays() {
    let lab = scene();
    let mine = made(&lab);
    let folder = mine.temp_folder().expect("a folder");
    mine.retain(&folder, "somebody looks at it").expect("it is ours");
    drop(mine);
    let found = run(&lab, &["--apply"]);
    assert_eq!(verdicts(&found), ["kept"], "{found:?}");
    assert!(folder.exists());

    let path = records(&lab).join("made/x");
    fs::create_dir(&path).expect("writable");
    write_record(
        &lab,
        &format!("process.{ID}"),
        &json!([descriptor(&path, &json!({"cleanupAfter": "2999-01-01T00:00:00.000Z"}))]),
    );
    assert_reason(&lab, "x", "its time has not come: 2999-01-01");
    write_record(
        &lab,
        &format!("process.{ID}"),
        &json!([descriptor(&path, &json!({"cleanupAfter": "2026-01-02T00:00:00.000Z"}))]),
    );
    run(&lab, &["--apply"]);
    assert!(!path.exists());
}

/// Checks that the thing at this path of the store's `made` stays for this reason.
#[track_caller]
fn assert_reason(lab: &Lab, name: &str, reason: &str) {
    let found = run(lab, &["--apply"]);
    let is_about = |finding: &&Value| finding["what"].as_str().is_some_and(|what| what.ends_with(name));
    let finding = found.iter().find(is_about).unwrap_or_else(|| panic!("{name}: {found:?}"));
    assert_eq!(finding["verdict"], "kept", "{finding}");
    assert!(finding["reason"].as_str().is_some_and(|why| why.contains(reason)), "{finding}");
}

#[test]
fn work_that_is_not_saved_stays() {
    let lab = scene();
    let (dirty, untracked, ahead, moved, locked) = {
        let mine = made(&lab);
        let new = || mine.worktree(lab.root()).expect("a worktree");
        (new(), new(), new(), new(), new())
    };
    fs::write(dirty.join("tracked"), "2\n").expect("writable");
    fs::write(untracked.join(".gitignore"), "").expect("writable");
    fs::write(ahead.join("tracked"), "3\n").expect("writable");
    git(&lab, &ahead, &["commit", "--quiet", "-a", "-m", "ahead"]);
    git(&lab, &moved, &["switch", "--quiet", "--detach"]);
    git(&lab, lab.root(), &["worktree", "lock", &locked.display().to_string()]);
    // A branch goes only with its worktree, which a dry run knows as well.
    let would = run(&lab, &[]);
    let found = run(&lab, &["--apply"]);
    for (before, after) in would.iter().zip(&found) {
        assert_eq!(before["verdict"] == "kept", after["verdict"] == "kept", "{before} {after}");
    }
    let about = |end: &Path, kind: &str| {
        let name = end.file_name().expect("a name").to_string_lossy();
        let found = found.iter().find(|finding| finding["resourceId"] == format!("{kind}{name}").as_str());
        let finding = found.unwrap_or_else(|| panic!("{kind} {name}"));
        format!("{} {}", finding["verdict"].as_str().expect("a word"), finding["reason"].as_str().expect("a reason"))
    };
    for (path, why) in [
        (&dirty, "kept it has changes that are not committed:  M tracked"),
        (&untracked, "kept it has changes that are not committed: ?? .gitignore"),
        (&moved, "kept it is not on the branch"),
        (&locked, "kept it is locked"),
    ] {
        assert!(about(path, "worktree:").starts_with(why), "{}", about(path, "worktree:"));
        assert!(path.join("tracked").exists());
    }
    // The commit outlives its worktree, in its branch.
    assert!(about(&ahead, "worktree:").starts_with("gone"), "{found:?}");
    assert!(about(&ahead, "branch:lease/").contains("is not merged"), "{found:?}");
    git(
        &lab,
        lab.root(),
        &["merge", "--quiet", "--ff-only", &format!("lease/{}", ahead.file_name().expect("a name").to_string_lossy())],
    );
    git(&lab, &dirty, &["checkout", "--quiet", "tracked"]);
    run(&lab, &["--apply"]);
    assert!(!dirty.exists());
    assert_eq!(git(&lab, lab.root(), &["branch", "--list", "lease/*"]).lines().count(), 2, "of those that stay");
}

#[test]
fn a_worktree_of_another_repository_stays() {
    let lab = scene();
    let worktree = made(&lab).worktree(lab.root()).expect("a worktree");
    let elsewhere = tempfile::tempdir().expect("a temporary folder can be made");
    let mut command = gc(&lab, &["--apply"]);
    command.current_dir(elsewhere.path());
    let said = lab.run(command).expect_success().stdout;
    assert_eq!(said.matches("collect there").count(), 2, "{said}");
    assert!(worktree.exists());
}

/// Records that somebody has written to have something else removed.
#[test]
fn a_hostile_record_removes_nothing() {
    let lab = scene();
    let made = records(&lab).join("made");
    let outside = lab.path("precious");
    for folder in [&made, &outside] {
        fs::create_dir_all(folder).expect("writable");
    }
    fs::write(outside.join("file"), "x").expect("writable");
    symlink(&outside, made.join("link")).expect("writable");
    fs::create_dir(made.join("other")).expect("writable");
    fs::create_dir(lab.store().join(".alive")).expect("writable");
    let other = json!({"identity": "1:2"});
    let cases = [
        (outside.clone(), json!({}), "outside of where things are made"),
        (made.join("../../../precious"), json!({}), "no plain absolute path"),
        (PathBuf::from("precious"), json!({}), "outside of where things are made"),
        (PathBuf::from("/"), json!({}), "outside of where things are made"),
        (made.clone(), json!({}), "outside of where things are made"),
        (lab.store(), json!({}), "outside of where things are made"),
        (lab.store().join(".alive"), json!({}), "outside of where things are made"),
        (made.join("link"), json!({}), "is no folder"),
        (made.join("link/file"), json!({}), "outside of where things are made"),
        (made.join("other"), other, "is not what was recorded"),
        (made.join("other"), json!({"identity": "x/../../y:1"}), "what it was is not recorded"),
        (made.join("other"), json!({"identity": null}), "what it was is not recorded"),
        (made.join("other"), json!({"type": "worktree"}), "its repository is not recorded"),
        (made.join("other"), json!({"type": "folder"}), "its type is \"folder\", which is unknown"),
        (made.join("other"), json!({"state": "gone"}), "its state is \"gone\", which is unknown"),
        (made.join("other"), json!({"cleanupAfter": "soon"}), "its cleanupAfter is no time"),
        (made.join("other"), json!({"path": 5}), "its path is no text"),
        (made.join("other"), json!({"owner": {"kind": "process", "id": "other"}}), "names another owner"),
        (made.join("other"), json!({"state": "active"}), "cannot be told whether its owner is gone"),
        (made.join("other"), json!({"type": "session"}), "a session ends by itself"),
        (made.join("other"), json!({"type": "branch", "branch": "main", "repository": lab.root()}), "no branch of ours"),
        (made.join("other"), json!({"type": "branch", "branch": "lease/../main", "repository": lab.root()}), "no branch of ours"),
        (made.join("other"), json!({"type": "branch", "branch": "lease/a b", "repository": lab.root()}), "no name of a branch"),
    ];
    for (path, more, why) in cases {
        write_record(&lab, &format!("process.{ID}"), &json!([descriptor(&path, &more)]));
        for options in [&[][..], &["--apply"]] {
            let found = run(&lab, options);
            let kept = found.iter().find(|finding| finding["maker"] != "").expect("a finding");
            assert!(kept["verdict"] == "kept" && kept["reason"].as_str().is_some_and(|said| said.contains(why)), "{why}: {kept}");
        }
    }
    for text in ["", "{", "[]", "{\"schemaVersion\":2,\"resources\":[]}", "{\"schemaVersion\":1}"] {
        fs::write(records(&lab).join(format!("process.{ID}.json")), text).expect("writable");
        let found = run(&lab, &["--apply"]);
        assert!(found[0]["reason"].as_str().is_some_and(|said| said.starts_with("unknown: the record is damaged")), "{found:?}");
    }
    assert!(outside.join("file").exists() && made.join("other").exists() && lab.store().join(".alive").exists());
    assert_reason(&lab, "other", "no record names it");
}

#[test]
fn a_store_behind_a_link_inside_is_not_followed() {
    let lab = scene();
    let outside = lab.path("precious");
    fs::create_dir_all(outside.join("x")).expect("writable");
    fs::create_dir_all(records(&lab)).expect("writable");
    symlink(&outside, records(&lab).join("made")).expect("writable");
    let path = records(&lab).join("made/x");
    let resource = descriptor(&path, &json!({}));
    let text = json!({"schemaVersion": 1, "resources": [resource]}).to_string();
    fs::write(records(&lab).join(format!("process.{ID}.json")), text).expect("writable");
    let found = run(&lab, &[]);
    assert!(found[0]["reason"].as_str().is_some_and(|why| why.contains("is no folder, or a link to one")), "{found:?}");
    // A collector that is to remove does not even begin: the folder that it locks is none.
    let finished = lab.run(gc(&lab, &["--apply"]));
    assert!(outside.join("x").exists(), "{}", finished.account());
}

#[test]
fn the_folder_of_a_grant_is_seen() {
    let lab = scene();
    lab.write_pool(&json!({"slots": [{"id": "a"}]}));
    let request = || lease_harness::SlotRequest::from_file(lab.pool_file()).store(lab.store()).owner("o");
    let slot = request().acquire().expect("a slot");
    let folder = slot.temp_dir().expect("a folder");
    fs::write(folder.join("file"), "x").expect("writable");
    assert_reason(&lab, folder.file_name().expect("a name").to_str().expect("text"), "its owner lives: the grant");
    // Somebody who knows nothing of folders ends the grant.
    fs::remove_file(lab.store().join("slot-a.json")).expect("a record");
    let found = run(&lab, &["--apply"]);
    assert_eq!(verdicts(&found), ["gone"], "{found:?}");
    assert!(!folder.exists());
    drop(slot);
    // Given back as usual, nothing is left to collect.
    let slot = request().acquire().expect("a slot");
    slot.temp_dir().expect("a folder");
    slot.release().expect("it is ours");
    assert_eq!(run(&lab, &[]), Vec::<Value>::new());
}

#[test]
fn what_cannot_be_removed_is_said_and_tried_again() {
    let lab = scene();
    let folder = made(&lab).temp_folder().expect("a folder");
    let found = fs::metadata(&folder).expect("a folder");
    let in_the_way = records(&lab).join(format!("held-{}-{}", found.dev(), found.ino()));
    fs::create_dir(&in_the_way).expect("writable");
    let finished = lab.run(gc(&lab, &["--apply"])).expect_code(1);
    assert!(finished.stdout.contains("is in the way") && finished.stdout.contains(r#""ok":false"#), "{}", finished.account());
    fs::remove_dir(&in_the_way).expect("it is empty");
    assert_eq!(verdicts(&run(&lab, &["--apply"])), ["gone"]);
}

#[test]
fn only_one_collector_is_at_work() {
    let lab = scene();
    drop(made(&lab).temp_folder().expect("a folder"));
    let lock = fs::File::open(records(&lab).join("made")).expect("a folder");
    lock.lock().expect("nobody is at work");
    let refused = lab.run(gc(&lab, &["--apply"])).expect_code(1);
    assert!(refused.stderr.contains("another collector is at work"), "{}", refused.account());
}

/// Killed in front of every system call, one collector after the other: the last one ends it, and nothing else is touched.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn a_collector_that_is_killed_is_gone_on_from() {
    use crate::claims::traced::kill_at_call;
    let lab = scene();
    for step in 1.. {
        let (folder, worktree) = {
            let mine = made(&lab);
            (mine.temp_folder().expect("a folder"), mine.worktree(lab.root()).expect("a worktree"))
        };
        fs::write(folder.join("file"), "x").expect("writable");
        let was_killed = kill_at_call(gc(&lab, &["--apply"]), step * 11);
        // The git that a killed one had started may still be at it.
        lease_tests::wait::until_true("everything is gone", || {
            let found = run_or_nothing(&lab);
            found.is_some_and(|found| verdicts(&found).iter().all(|verdict| *verdict == "gone"))
        });
        assert!(!folder.exists() && !worktree.exists());
        assert_eq!(git(&lab, lab.root(), &["worktree", "list"]).lines().count(), 1, "{step}");
        assert_eq!(git(&lab, lab.root(), &["branch", "--list", "lease/*"]), "", "{step}");
        assert_eq!(run(&lab, &[]), Vec::<Value>::new(), "{step}");
        if !was_killed {
            assert!(5 < step, "it was killed at {step} places");
            return;
        }
    }
}

/// What a collector finds that ends well.
fn run_or_nothing(lab: &Lab) -> Option<Vec<Value>> {
    let finished = lab.run(gc(lab, &["--apply"]));
    let answer: Value = serde_json::from_str(&finished.stdout).ok()?;
    finished.status.success().then(|| answer["resources"].as_array().cloned())?
}
