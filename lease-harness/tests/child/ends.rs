//! The wrapper ends as its command ended, and the command ends when it has to.

use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;

use libc::{SIGINT, SIGKILL, SIGRTMIN, SIGSTOP, SIGUSR1};
use libtest_mimic::Trial;

use super::roles::{START, TALK, UNDER};
use super::scene::{Outcome, Scene, Watched, program, talking, wrapped};

pub(crate) fn tests() -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        ("an_exit_code_is_passed_on", an_exit_code_is_passed_on),
        ("a_killed_wrapper_takes_the_command_with_it", a_killed_wrapper_takes_the_command_with_it),
        ("a_command_that_cannot_be_run_is_named", a_command_that_cannot_be_run_is_named),
        ("without_its_starter_a_command_is_ended", without_its_starter_a_command_is_ended),
        ("without_its_starter_a_stubborn_command_is_killed", without_its_starter_a_stubborn_command_is_killed),
        ("a_command_that_was_asked_to_end_may_clean_up", a_command_that_was_asked_to_end_may_clean_up),
        ("nothing_is_started_once_the_starter_is_gone", nothing_is_started_once_the_starter_is_gone),
        ("nohup_is_heeded_if_wanted", nohup_is_heeded_if_wanted),
        ("a_loss_ends_the_command", a_loss_ends_the_command),
        ("a_loss_kills_a_stubborn_command", a_loss_kills_a_stubborn_command),
        ("a_loss_ends_a_stopped_command", a_loss_ends_a_stopped_command),
        ("after_a_loss_no_exit_code_counts", after_a_loss_no_exit_code_counts),
        ("nothing_is_started_after_a_loss", nothing_is_started_after_a_loss),
    ];
    let signals = (1..=31).filter(|signal| ends_a_process(*signal)).chain([SIGRTMIN(), SIGRTMIN() + 3]);
    let by_signal = signals.map(|signal| {
        Trial::test(format!("ends::a_death_by_signal_{signal}_is_passed_on"), move || {
            a_death_is_passed_on(signal);
            Ok(())
        })
    });
    let fixed = tests.iter().map(|(name, run)| {
        Trial::test(format!("ends::{name}"), || {
            run();
            Ok(())
        })
    });
    fixed.chain(by_signal).collect()
}

fn ends_a_process(signal: i32) -> bool {
    let stops = [SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
    let others = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];
    !stops.contains(&signal) && !others.contains(&signal)
}

fn an_exit_code_is_passed_on() {
    for code in [0, 1, 3, 75, 101, 255] {
        let (mut scene, _) = Scene::ready(talking(&[]));
        scene.tell(&format!("exit {code}"));
        let outcome = scene.end();
        assert_eq!((outcome.status.code(), outcome.stderr), (Some(code), format!("Exited({code})\n")));
    }
}

fn a_death_is_passed_on(signal: i32) {
    let (mut scene, _) = Scene::ready(talking(&[]));
    scene.tell(&format!("raise {signal}"));
    let outcome = scene.end();
    assert_eq!((outcome.status.signal(), outcome.stderr), (Some(signal), format!("Killed({signal})\n")));
    assert!(!outcome.status.core_dumped());
}

fn a_killed_wrapper_takes_the_command_with_it() {
    let (scene, command) = Scene::ready(talking(&["--count=15", "--ignore=1"]));
    scene.signal(SIGKILL);
    command.wait();
    let outcome = scene.end();
    assert_eq!((outcome.status.signal(), outcome.stdout.as_str()), (Some(SIGKILL), ""));
}

fn a_command_that_cannot_be_run_is_named() {
    let outcome = Scene::start(wrapped(&[], vec!["/no/such/program".into()])).end();
    assert_eq!(outcome.status.code(), Some(127));
    assert!(outcome.stderr.starts_with("NotFound: cannot run /no/such/program: "), "{}", outcome.stderr);
}

/// A starter with a wrapper whose command can be talked to. Killing the starter leaves the other two to the system.
fn started(options: &[&str], talk: &[&str]) -> (Scene, Watched) {
    Scene::ready(starter(options, talk))
}

fn starter(options: &[&str], talk: &[&str]) -> Vec<std::ffi::OsString> {
    let mut words = program(START, &[]);
    words.append(&mut wrapped(options, program(TALK, talk)));
    words
}

fn without_its_starter_a_command_is_ended() {
    let (scene, command) = started(&[], &[]);
    scene.signal(SIGKILL);
    command.wait();
    assert_eq!(scene.end().stderr, "Orphaned\n");
}

fn without_its_starter_a_stubborn_command_is_killed() {
    let (scene, command) = started(&[], &["--count=15"]);
    scene.signal(SIGKILL);
    command.wait();
    let outcome = scene.end();
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("got 15\n", "Orphaned\n"));
}

fn a_command_that_was_asked_to_end_may_clean_up() {
    let (mut scene, command) = started(&[], &["--count=2", "--count=15", "--count=10"]);
    let wrapper = wrapper_of(&command);
    // As with Ctrl-C below cargo, which ends at once.
    scene.signal_group(SIGINT);
    scene.expect("got 2");
    assert_eq!(scene.wait().signal(), Some(SIGINT));
    for _ in 0..2 {
        wrapper.signal(SIGUSR1);
        scene.expect("got 10");
    }
    scene.tell("exit 3");
    let outcome = scene.end();
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", "Exited(3)\n"));
}

fn wrapper_of(command: &Watched) -> Watched {
    let status = std::fs::read_to_string(format!("/proc/{}/status", command.pid.as_raw_pid())).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
    Watched::new(parent.trim().parse().unwrap())
}

fn nothing_is_started_once_the_starter_is_gone() {
    let mut scene = Scene::start(starter(&["--late"], &[]));
    scene.expect("late");
    scene.signal(SIGKILL);
    let outcome = scene.end();
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", "Orphaned\n"));
}

fn nohup_is_heeded_if_wanted() {
    let under_nohup = |options: &[&str]| {
        let mut words = program(UNDER, &["--ignore=1", "--"]);
        words.append(&mut starter(options, &["--count=10"]));
        let (mut scene, command) = Scene::ready(words);
        let wrapper = wrapper_of(&command);
        scene.signal(SIGKILL);
        scene.wait();
        (scene, wrapper)
    };
    let (mut scene, wrapper) = under_nohup(&["--heed-nohup"]);
    for _ in 0..2 {
        wrapper.signal(SIGUSR1);
        scene.expect("got 10");
    }
    scene.tell("exit 3");
    assert_eq!(scene.end().stderr, "Exited(3)\n");
    let (scene, _) = under_nohup(&[]);
    assert_eq!(scene.end().stderr, "Orphaned\n");
}

/// A wrapper whose lease can be lost by writing the reason to the socket.
struct Leased {
    scene: Scene,
    command: Watched,
    lose: UnixStream,
    _dir: tempfile::TempDir,
}

impl Leased {
    fn start(talk: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lose");
        let listener = UnixListener::bind(&path).unwrap();
        let option = format!("--lose={}", path.display());
        let (scene, command) = Scene::ready(wrapped(&[&option], program(TALK, talk)));
        Self { scene, command, lose: listener.accept().unwrap().0, _dir: dir }
    }

    fn lose(mut self) -> Outcome {
        self.lose.write_all(b"slot 1 is somebody else's\n").unwrap();
        self.command.wait();
        self.scene.end()
    }
}

#[track_caller]
fn assert_lost(outcome: &Outcome) {
    assert_eq!(outcome.status.code(), Some(75));
    assert_eq!(outcome.stderr, "Lost(\"slot 1 is somebody else's\")\n");
}

fn a_loss_ends_the_command() {
    let outcome = Leased::start(&[]).lose();
    assert_lost(&outcome);
}

fn a_loss_kills_a_stubborn_command() {
    let outcome = Leased::start(&["--count=15"]).lose();
    assert_lost(&outcome);
    assert_eq!(outcome.stdout, "got 15\n");
}

fn a_loss_ends_a_stopped_command() {
    let leased = Leased::start(&["--count=15", "--count=18"]);
    leased.command.signal(SIGSTOP);
    while leased.command.state() != 'T' {
        std::thread::yield_now();
    }
    let outcome = leased.lose();
    assert_lost(&outcome);
    let mut got: Vec<_> = outcome.stdout.lines().collect();
    got.sort_unstable();
    assert_eq!(got, ["got 15", "got 18"]);
}

fn after_a_loss_no_exit_code_counts() {
    assert_lost(&Leased::start(&["--succeed-on=15"]).lose());
}

fn nothing_is_started_after_a_loss() {
    let outcome = Scene::start(wrapped(&["--lost-before"], program(TALK, &[]))).end();
    assert_eq!((outcome.status.code(), outcome.stdout.as_str()), (Some(75), ""));
    assert_eq!(outcome.stderr, "Lost(\"lost before\")\n");
}
