//! The merge baton: one session has it, others see who and why, and nobody else can give it away.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use lease_tests::{Event, Finished, Running, process, scratch, wait};
use rustix::process::Signal;
use serde_json::json;

use crate::script_lab::{SHELLS, ScriptLab};
use crate::support::Target;

/// What a reason must survive.
const WHY: &str = "Merge \"1.4\" it's $HOME `id` $(id) \\n \\u0041 %s\n\tnext line – ☃ 𝄞 {\"why\":\"no\"}";

/// Two worktrees of one repository.
struct Sessions {
    lab: ScriptLab,
    main: PathBuf,
    linked: PathBuf,
}

impl Sessions {
    fn new() -> Self {
        let lab = ScriptLab::new();
        let main = lab.work().join("it's \"main\"");
        fs::create_dir(&main).unwrap();
        scratch::into_repository(&lab.lab, &main);
        let linked = scratch::add_worktree(&lab.lab, &main, "linked");
        Self { lab, main, linked }
    }

    fn command(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = self.lab.storeless("bash");
        command.arg(self.lab.path_of("baton")).args(args).current_dir(folder);
        command
    }

    fn baton(&self, folder: &Path, args: &[&str]) -> Finished {
        self.lab.lab.run(self.command(folder, args))
    }

    #[track_caller]
    fn status(&self) -> String {
        self.baton(&self.linked, &["status"]).expect_success().stdout
    }

    fn record(&self) -> Option<serde_json::Value> {
        let text = fs::read_to_string(self.main.join("logs/leases/merge-baton.json")).ok()?;
        Some(serde_json::from_str(&text).expect("a record is JSON"))
    }

    fn steal(&self) {
        for args in [&["release", "--force"][..], &["acquire", "--owner", "thief", "--ttl", "5"]] {
            let mut command = self.lab.storeless("cargo-lease");
            command.args(["store", "--kind", "merge-baton"]).args(args).current_dir(&self.main);
            self.lab.lab.run(command).expect_success();
        }
    }

    /// Starts a command under the baton that waits for ever.
    fn start(&self, shell: &[&str]) -> (Running, u32) {
        let mut command = self.lab.storeless("bash");
        command.args(shell).arg(self.lab.path_of("baton")).args(["with", WHY, "--", env!("CARGO_BIN_EXE_actor"), "hold", "gate"]);
        let run = self.lab.lab.start({
            command.current_dir(&self.main);
            command
        });
        let holder = self.lab.lab.history().wait_for("start", |_| true).pid();
        (run, holder)
    }

    #[track_caller]
    fn check_free(&self) {
        assert_eq!(self.status(), "nobody has the baton\n");
        wait::until_true("all processes have ended", || lease_tests::reap::marked(self.lab.lab.id()).is_empty());
        self.lab.check_no_files();
        assert_eq!(scratch::changes(&self.lab.lab, &self.main), "");
    }
}

#[test]
fn one_session_has_it_and_the_other_is_told_who_and_why() {
    let sessions = Sessions::new();
    let Sessions { main, linked, .. } = &sessions;
    assert_eq!(sessions.status(), "nobody has the baton\n");
    sessions.baton(main, &["take", WHY]).expect_success();
    let record = sessions.record().expect("it is taken");
    assert_eq!(record["payload"]["why"], WHY, "unchanged");
    assert_eq!((&record["payload"]["branch"], &record["payload"]["session"]), (&json!("main"), &json!(main.to_str().unwrap())));
    let refused = sessions.baton(linked, &["take", "Me too"]).expect_code(1).stderr;
    for told in [&refused, &sessions.status()] {
        let since = format!("acme has the baton since {}, until ", record["acquiredAt"].as_str().unwrap());
        assert!(told.contains(&since) && told.contains("branch main") && told.contains(&format!(": {WHY}\n")), "{told}");
        assert!(!told.contains(record["token"].as_str().unwrap()), "the token is not for others");
    }
    sessions.baton(linked, &["pass"]).expect_code(1);
    sessions.baton(linked, &["with", "Me too", "--", "true"]).expect_code(1);
    assert_eq!(sessions.record(), Some(record), "nothing of that did anything to it");
    sessions.baton(main, &["pass"]).expect_success();
    sessions.baton(linked, &["take", "Now me"]).expect_success();
    assert_eq!(sessions.record().unwrap()["payload"]["branch"], "linked");
    sessions.baton(linked, &["drop"]).expect_success();
    sessions.check_free();
}

#[test]
fn who_has_it_may_take_it_again_to_have_it_for_longer() {
    let sessions = Sessions::new();
    sessions.baton(&sessions.main, &["take", "--ttl", "60", WHY]).expect_success();
    let before = sessions.record().unwrap();
    sessions.baton(&sessions.main, &["take", "another reason"]).expect_success();
    let after = sessions.record().unwrap();
    assert_eq!((&after["token"], &after["payload"]), (&before["token"], &before["payload"]));
    assert_ne!(after["heartbeat"], before["heartbeat"]);
    assert_eq!(after["ttlMinutes"], 60);
}

#[test]
fn the_token_is_for_this_session_only() {
    let sessions = Sessions::new();
    let as_session = |name: &str, args: &[&str]| {
        let mut command = sessions.command(&sessions.main, args);
        // A hook's variables do not change whose baton it is.
        command.env("BATON_SESSION", name).env("GIT_DIR", sessions.linked.join(".git"));
        sessions.lab.lab.run(command)
    };
    as_session("one", &["take", WHY]).expect_success();
    let file = sessions.main.join(".git/baton/one");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&file).unwrap().trim(), sessions.record().unwrap()["token"].as_str().unwrap());
    for name in ["two", "", "../one"] {
        assert!(!as_session(name, &["pass"]).status.success(), "{name:?}");
    }
    assert!(sessions.status().contains("session one"));
    as_session("one", &["pass"]).expect_success();
    assert!(!file.exists());
    sessions.check_free();
}

#[test]
fn a_session_that_lost_it_is_told_and_touches_nothing_of_its_successor() {
    let sessions = Sessions::new();
    sessions.baton(&sessions.main, &["take", WHY]).expect_success();
    sessions.steal();
    let told = sessions.baton(&sessions.main, &["pass"]).expect_code(1).stderr;
    assert!(told.contains("had it no more"), "{told}");
    assert_eq!(sessions.record().unwrap()["owner"], "thief");
    let told = sessions.baton(&sessions.main, &["take", "again"]).expect_code(1).stderr;
    assert!(told.contains("thief has the baton"), "{told}");
}

#[test]
fn a_command_has_it_as_long_as_it_runs() {
    for shell in SHELLS {
        let sessions = Sessions::new();
        fs::write(sessions.lab.lab.path("input"), "given\n").unwrap();
        let words = [
            "with",
            WHY,
            "--",
            "sh",
            "-c",
            "cat; printf '%s\\n' \"$1\" \"$sign\"; cargo-lease store status --kind merge-baton; exit 7",
        ];
        let mut command = sessions.lab.storeless("bash");
        command.args(shell).arg(sessions.lab.path_of("baton")).args(words).args(["x", "a  b\n'"]).current_dir(&sessions.main);
        command.stdin(File::open(sessions.lab.lab.path("input")).unwrap()).env("sign", "kept");
        let run = sessions.lab.lab.run(command).expect_code(7);
        let status = run.stdout.strip_prefix("given\na  b\n'\nkept\n").unwrap_or_else(|| panic!("{}", run.account()));
        let status: serde_json::Value = serde_json::from_str(status).expect("the answer is JSON");
        assert_eq!((&status["state"], &status["record"]["payload"]["why"]), (&json!("held"), &json!(WHY)));
        assert_eq!(run.stderr, "", "{}", run.account());
        sessions.check_free();
    }
}

#[test]
fn it_is_dropped_however_the_command_ends() {
    for (signal, target) in [Signal::INT, Signal::TERM].into_iter().flat_map(|signal| Target::ALL.map(|target| (signal, target)))
    {
        let sessions = Sessions::new();
        let (run, _) = sessions.start(&[]);
        target.send(&run, signal);
        let run = run.finish();
        assert_eq!(run.status.signal(), Some(signal.as_raw()), "{target:?}: {}", run.account());
        sessions.check_free();
    }
}

#[test]
fn who_is_killed_takes_the_command_along_and_drops_it() {
    for target in Target::ALL {
        let sessions = Sessions::new();
        let (run, holder) = sessions.start(&[]);
        target.send(&run, Signal::KILL);
        run.finish();
        wait::until_true("it is dropped", || sessions.record().is_none());
        assert!(process::arguments_of(holder).is_empty(), "the command had ended before");
        if matches!(target, Target::Leader) {
            sessions.check_free();
        }
    }
}

#[test]
fn a_lost_baton_stops_the_command() {
    for shell in SHELLS {
        let sessions = Sessions::new();
        let (run, holder) = sessions.start(shell);
        sessions.steal();
        let run = run.finish().expect_code(75);
        assert!(run.stderr.contains("the baton was lost"), "{}", run.account());
        assert!(process::arguments_of(holder).is_empty(), "the command was stopped");
        assert_eq!(sessions.lab.lab.history().all("end"), Vec::<Event>::new(), "in the middle of its work");
        assert_eq!(sessions.record().unwrap()["owner"], "thief");
    }
}

#[test]
fn a_baton_that_was_lost_just_before_the_end_is_noticed() {
    let sessions = Sessions::new();
    let drop_it = "exec cargo-lease store release --force --kind merge-baton";
    sessions.baton(&sessions.main, &["with", WHY, "--", "sh", "-c", drop_it]).expect_code(75);
    sessions.check_free();
}

#[test]
fn commands_take_turns() {
    let sessions = Sessions::new();
    let actor = env!("CARGO_BIN_EXE_actor");
    let with = |folder: &PathBuf| {
        sessions.lab.lab.start(sessions.command(folder, &["with", "--wait-ms", "200000", WHY, "--", actor, "work", "20"]))
    };
    let runs: Vec<_> = [&sessions.main, &sessions.linked, &sessions.main].into_iter().map(with).collect();
    runs.into_iter().for_each(|run| drop(run.finish().expect_success()));
    assert_eq!(sessions.lab.lab.history().check_one_user_a_slot(), 3);
    sessions.check_free();
}

#[test]
fn wrong_use_is_told() {
    let sessions = Sessions::new();
    for (args, what) in [
        (&[][..], "no operation"),
        (&["grab"], "unknown operation \"grab\""),
        (&["take"], "say why"),
        (&["take", "one", "two"], "put it in quotes"),
        (&["take", "--ttl", "soon", "why"], "invalid ttlMinutes"),
        (&["take", "--tll", "5", "why"], "unknown option \"--tll\""),
        (&["with", "why"], "no command"),
        (&["with", "--", "true"], "say why"),
    ] {
        let told = sessions.baton(&sessions.main, args).expect_code(2);
        assert!(told.stderr.contains(what), "{args:?}: {}", told.account());
    }
    let outside = sessions.baton(&sessions.lab.work(), &["take", "why"]).expect_code(2);
    assert!(outside.stderr.contains("not in a git repository"), "{}", outside.account());
    sessions.check_free();
}
