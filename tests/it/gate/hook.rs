//! The pre-push hook, in real repositories with a real remote.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use lease_tests::{Event, Finished};

use crate::script_lab::ScriptLab;

/// The end-to-end tests: they tell which state of the tree they saw and what git would take for the repository, and end as the tree says.
const TESTS: &str =
    "\"$LAB_ACTOR\" note \"$(cat version)\" && \"$LAB_ACTOR\" note \"git-dir:${GIT_DIR-none}\"; exit \"$(cat verdict)\"";

/// A repository with the hook, and its remote.
struct Project {
    lab: ScriptLab,
    main: PathBuf,
    remote: PathBuf,
}

impl Project {
    fn new() -> Self {
        let lab = ScriptLab::new();
        let (main, remote) = (lab.work().join("it's \"main\""), lab.work().join("remote"));
        let project = Self { lab, main, remote };
        project.git(&project.lab.work(), &["init", "--quiet", "--bare", "remote"]);
        let main = &project.main;
        fs::create_dir_all(main).unwrap();
        project.git(main, &["init", "--quiet", "--initial-branch", "main"]);
        project.git(main, &["remote", "add", "origin", project.remote.to_str().expect("a text")]);
        project.git(main, &["config", "lease.test", "sh ./end-to-end.sh"]);
        let hook = main.join(".git/hooks/pre-push");
        fs::create_dir_all(main.join(".git/hooks")).unwrap();
        fs::copy(project.lab.path_of("pre-push"), &hook).unwrap();
        assert!(fs::metadata(&hook).unwrap().permissions().mode() & 0o111 != 0, "git runs what may be executed");
        fs::write(main.join("end-to-end.sh"), TESTS).unwrap();
        project.commit(main, "first", "0");
        project
    }

    fn command(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = self.lab.storeless("git");
        command.args(["-c", "user.name=lab", "-c", "user.email=lab@example.org"]).args(args).current_dir(folder);
        command
    }

    #[track_caller]
    fn git(&self, folder: &Path, args: &[&str]) -> String {
        self.lab.lab.run(self.command(folder, args)).expect_success().stdout
    }

    /// Commits a state of the tree whose tests end with `verdict`.
    fn commit(&self, folder: &Path, version: &str, verdict: &str) {
        fs::write(folder.join("version"), version).unwrap();
        fs::write(folder.join("verdict"), verdict).unwrap();
        self.git(folder, &["add", "."]);
        self.git(folder, &["commit", "--quiet", "--message", version]);
    }

    fn push(&self, args: &[&str]) -> Finished {
        self.lab.lab.run(self.command(&self.main, &[&["push", "--quiet", "origin"], args].concat()))
    }

    /// The push went through.
    #[track_caller]
    fn pushes(&self, args: &[&str]) {
        self.push(args).expect_success();
        self.check_tidy();
    }

    /// The push did not, and `why` says why not, in one line.
    #[track_caller]
    fn refuses(&self, args: &[&str], why: &str) {
        let before = self.refs();
        let push = self.push(args).expect_code(1);
        let told: Vec<_> = push.stderr.lines().filter(|line| line.starts_with("pre-push: not pushed: ")).collect();
        assert!(told.len() == 1 && told[0].contains(why), "{}", push.account());
        assert_eq!(self.refs(), before);
        self.check_tidy();
    }

    fn refs(&self) -> String {
        self.git(&self.remote, &["for-each-ref", "--format", "%(refname:short) %(subject)"])
    }

    /// What states of the tree were tested, in this order.
    fn tested(&self) -> Vec<String> {
        let words = self.lab.lab.history().events().into_iter().map(|event| event.word);
        words.filter(|word| word != "provision" && !word.starts_with("git-dir:")).collect()
    }

    /// No worktree, no temporary file and nothing for git to see is left.
    #[track_caller]
    fn check_tidy(&self) {
        self.lab.check_no_files();
        assert!(!self.git(&self.main, &["worktree", "list"]).contains("/tmp it's"));
        assert_eq!(self.lab.lab.history().all("git-dir:none").len(), self.tested().len(), "no test sees the hook's repository");
        let slot = self.store().join("slot-a.json");
        assert!(!slot.exists() || fs::read_to_string(slot).unwrap().contains("other"));
    }

    fn store(&self) -> PathBuf {
        self.main.join("logs/leases")
    }
}

#[test]
fn a_push_whose_tests_pass_goes_through_after_they_ran_in_a_slot() {
    let project = Project::new();
    project.pushes(&["main"]);
    assert_eq!(project.refs(), "main first\n");
    assert_eq!(project.tested(), ["first"]);
    assert_eq!(project.lab.lab.history().all("first")[0].get("slot"), "a");
    assert_eq!(project.git(&project.main, &["status", "--porcelain"]), "", "the leases are not to be committed");
}

#[test]
fn a_push_whose_tests_fail_is_refused() {
    let project = Project::new();
    project.commit(&project.main, "second", "7");
    project.refuses(&["main"], "failed with 7");
    assert_eq!(project.tested(), ["second"]);
}

#[test]
fn a_push_is_refused_when_the_tests_could_not_run() {
    let project = Project::new();
    let mut take = project.lab.storeless("cargo-lease");
    take.args(["pool", "acquire", "--owner", "other"]).current_dir(&project.main);
    project.lab.lab.run(take).expect_success();
    project.git(&project.main, &["config", "lease.wait", "20ms"]);
    project.refuses(&["main"], "did not run (cargo-lease ended with 1)");
    project.git(&project.main, &["config", "--unset", "lease.test"]);
    project.refuses(&["main"], "git config lease.test COMMAND");
    assert_eq!(project.tested(), Vec::<String>::new());
}

#[test]
fn a_push_whose_tests_lost_their_slot_is_refused() {
    let project = Project::new();
    let steal = "cargo-lease pool release --slot a --force --owner ops >&2; exec \"$LAB_ACTOR\" hold never";
    project.git(&project.main, &["config", "lease.test", steal]);
    let mut push = project.command(&project.main, &["push", "origin", "main"]);
    push.env("POOL_TTL_MINUTES", "0.1");
    let push = project.lab.lab.run(push).expect_code(1);
    assert!(push.stderr.contains("lost their slot (75)"), "{}", push.account());
    assert_eq!(project.refs(), "");
}

#[test]
fn deleting_a_branch_tests_nothing() {
    let project = Project::new();
    project.pushes(&["main", "main:gone"]);
    assert_eq!(project.tested(), ["first"], "one commit, one test");
    project.git(&project.main, &["config", "--unset", "lease.test"]);
    project.pushes(&["--delete", "gone"]);
    assert_eq!(project.refs(), "main first\n");
    assert_eq!(project.tested(), ["first"]);
}

#[test]
fn every_commit_of_a_push_is_tested_once_and_not_what_lies_around() {
    let project = Project::new();
    project.git(&project.main, &["checkout", "--quiet", "-b", "topic"]);
    project.commit(&project.main, "second", "0");
    project.git(&project.main, &["tag", "--annotate", "--message", "a tag", "v1"]);
    fs::write(project.main.join("version"), "not committed").unwrap();
    project.pushes(&["main", "topic", "v1", "topic:copy"]);
    let mut tested = project.tested();
    tested.sort();
    assert_eq!(tested, ["first", "second"]);
    assert_eq!(fs::read_to_string(project.main.join("version")).unwrap(), "not committed");
}

#[test]
fn one_red_commit_holds_the_whole_push_back() {
    let project = Project::new();
    project.git(&project.main, &["checkout", "--quiet", "-b", "topic"]);
    project.commit(&project.main, "second", "1");
    project.refuses(&["main", "topic"], "failed with 1");
}

#[test]
fn what_is_no_commit_is_not_pushed() {
    let project = Project::new();
    let blob = project.git(&project.main, &["rev-parse", "HEAD:version"]);
    project.git(&project.main, &["tag", "blob", blob.trim()]);
    project.refuses(&["blob"], "refs/tags/blob is no commit");
    assert_eq!(project.tested(), Vec::<String>::new());
}

#[test]
fn a_linked_worktree_shares_the_store_also_when_git_names_the_repository() {
    let project = Project::new();
    let linked = project.lab.work().join("linked tree");
    project.git(&project.main, &["worktree", "add", "--quiet", "-b", "topic", linked.to_str().expect("a text")]);
    project.commit(&linked, "second", "0");
    let git_dir = project.git(&linked, &["rev-parse", "--absolute-git-dir"]);
    let mut push = project.command(&linked, &["push", "--quiet", "origin", "topic"]);
    push.env("GIT_DIR", git_dir.trim())
        .env("GIT_WORK_TREE", &linked)
        .env("GIT_INDEX_FILE", Path::new(git_dir.trim()).join("index"));
    project.lab.lab.run(push).expect_success();
    assert_eq!(project.tested(), ["second"]);
    assert!(project.store().join("pool").is_dir(), "the leases are those of the main checkout");
    assert!(!linked.join("logs").exists());
    project.check_tidy();
    // Not what is checked out here: it is tested in a worktree of its own, which has the same store.
    project.lab.lab.run(project.command(&linked, &["push", "--quiet", "origin", "main"])).expect_success();
    assert_eq!(project.tested(), ["second", "first"]);
    project.check_tidy();
}

#[test]
fn an_interrupted_push_is_none_and_leaves_nothing() {
    let project = Project::new();
    fs::write(project.main.join("other"), "so that the tests run elsewhere").unwrap();
    project.git(&project.main, &["config", "lease.test", "exec \"$LAB_ACTOR\" hold never"]);
    let push = project.lab.lab.start(project.command(&project.main, &["push", "--quiet", "origin", "main"]));
    project.lab.lab.history().wait_for("start", |_| true);
    push.signal_group(rustix::process::Signal::INT);
    assert!(!push.finish().status.success());
    assert_eq!(project.refs(), "");
    lease_tests::wait::until_true("all have ended", || lease_tests::reap::marked(project.lab.lab.id()).is_empty());
    assert_eq!(project.lab.lab.history().all("end"), Vec::<Event>::new());
    project.lab.check_no_files();
    assert!(!project.store().join("slot-a.json").exists());
}
