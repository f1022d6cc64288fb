//! Signals to the group and to the wrapper alone reach the command, once.

use libc::{SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
use libtest_mimic::Trial;
use std::os::unix::process::ExitStatusExt;

use super::roles::{TALK, UNDER};
use super::scene::{Scene, program, state_of, talking, wrapped};

const RELAYED: [i32; 7] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM];

#[derive(Clone, Copy, Debug)]
enum To {
    Group,
    Wrapper,
}

pub(crate) fn tests() -> Vec<Trial> {
    let mut tests = vec![
        trial("signals::several_in_a_row_arrive_one_by_one", several_in_a_row_arrive_one_by_one),
        trial("signals::a_command_that_left_the_group_is_not_forgotten", a_command_that_left_the_group_is_not_forgotten),
        trial("signals::an_ignored_signal_stays_ignored", an_ignored_signal_stays_ignored),
        trial("signals::the_whole_group_stops_and_goes_on", the_whole_group_stops_and_goes_on),
        trial("signals::a_second_run_relays_too", a_second_run_relays_too),
        trial("signals::after_a_run_the_defaults_are_back", after_a_run_the_defaults_are_back),
        trial("signals::a_handler_from_before_is_still_called", a_handler_from_before_is_still_called),
        trial("signals::the_witness_is_silent_and_has_its_own_name", the_witness_is_silent_and_has_its_own_name),
    ];
    for signal in RELAYED {
        for to in [To::Group, To::Wrapper] {
            let name = |what| format!("signals::{what}_{signal}_to_the_{to:?}").to_lowercase();
            tests.push(trial(&name("default"), move || a_command_with_the_default_dies_of(signal, to)));
            tests.push(trial(&name("ignored"), move || a_command_may_ignore(signal, to)));
            tests.push(trial(&name("counted"), move || a_command_gets_it_once(signal, to)));
        }
    }
    tests
}

fn trial(name: &str, run: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        run();
        Ok(())
    })
}

fn send(scene: &Scene, signal: i32, to: To) {
    match to {
        To::Group => scene.signal_group(signal),
        To::Wrapper => scene.signal(signal),
    }
}

/// A signal by which a test sees that the wrapper has done with all earlier ones.
fn probe_for(signal: i32) -> i32 {
    if signal == SIGUSR1 { SIGUSR2 } else { SIGUSR1 }
}

/// Two, since what came shortly before the first may be decided together with it.
#[track_caller]
fn settle(scene: &mut Scene, probe: i32) {
    for _ in 0..2 {
        scene.signal(probe);
        scene.expect(&format!("got {probe}"));
    }
}

fn a_command_with_the_default_dies_of(signal: i32, to: To) {
    let (scene, command) = Scene::ready(talking(&[]));
    send(&scene, signal, to);
    let outcome = scene.end();
    assert_eq!((outcome.status.signal(), outcome.stderr.trim_end()), (Some(signal), format!("Killed({signal})").as_str()));
    command.wait();
}

fn a_command_may_ignore(signal: i32, to: To) {
    let probe = probe_for(signal);
    let (mut scene, _) = Scene::ready(talking(&[&format!("--ignore={signal}"), &format!("--count={probe}")]));
    send(&scene, signal, to);
    settle(&mut scene, probe);
    scene.tell("exit 3");
    let outcome = scene.end();
    assert_eq!((outcome.status.code(), outcome.stdout.as_str()), (Some(3), ""));
}

fn a_command_gets_it_once(signal: i32, to: To) {
    let probe = probe_for(signal);
    let (mut scene, _) = Scene::ready(talking(&[&format!("--count={signal}"), &format!("--count={probe}")]));
    send(&scene, signal, to);
    scene.expect(&format!("got {signal}"));
    settle(&mut scene, probe);
    scene.tell("exit 3");
    let outcome = scene.end();
    assert_eq!((outcome.status.code(), outcome.stdout.as_str()), (Some(3), ""));
}

fn several_in_a_row_arrive_one_by_one() {
    let (mut scene, _) = Scene::ready(talking(&["--count=2", "--count=15", "--count=10"]));
    for round in 0..12 {
        let to = if [0, 1, 4, 6, 7, 11].contains(&round) { To::Group } else { To::Wrapper };
        let signal = if round % 3 == 0 { SIGTERM } else { SIGINT };
        send(&scene, signal, to);
        scene.expect(&format!("got {signal}"));
        settle(&mut scene, SIGUSR1);
    }
    // Without a pause between them.
    for _ in 0..6 {
        scene.signal_group(SIGINT);
        scene.expect("got 2");
    }
    settle(&mut scene, SIGUSR1);
    scene.tell("exit 0");
    assert_eq!(scene.end().stdout, "");
}

fn a_command_that_left_the_group_is_not_forgotten() {
    let (mut scene, _) = Scene::ready(talking(&["--own-group", "--count=2", "--count=10"]));
    for to in [To::Group, To::Wrapper, To::Group] {
        send(&scene, SIGINT, to);
        scene.expect("got 2");
        settle(&mut scene, SIGUSR1);
    }
    scene.tell("exit 3");
    let outcome = scene.end();
    assert_eq!((outcome.status.code(), outcome.stdout.as_str()), (Some(3), ""));
}

fn an_ignored_signal_stays_ignored() {
    let mut words = program(UNDER, &["--ignore=1", "--"]);
    words.append(&mut talking(&["--count=10"]));
    let (mut scene, _) = Scene::ready(words);
    for to in [To::Group, To::Wrapper] {
        send(&scene, SIGHUP, to);
        settle(&mut scene, SIGUSR1);
    }
    scene.tell("exit 3");
    assert_eq!(scene.end().status.code(), Some(3));
}

fn the_whole_group_stops_and_goes_on() {
    let (mut scene, command) = Scene::ready(talking(&[]));
    scene.signal_group(SIGTSTP);
    // Nobody tells us when a process stops that is no child of ours.
    while command.state() != 'T' || state_of(scene.pid()) != 'T' {
        std::thread::yield_now();
    }
    scene.tell("still there");
    scene.signal_group(SIGCONT);
    scene.expect("still there");
    scene.signal(SIGTERM);
    assert_eq!(scene.end().status.signal(), Some(SIGTERM));
}

fn a_second_run_relays_too() {
    let (mut scene, _) = Scene::ready(wrapped(&["--twice"], program(TALK, &[])));
    scene.signal(SIGINT);
    assert!(scene.line().starts_with("ready "), "the second command");
    scene.signal(SIGTERM);
    let outcome = scene.end();
    assert_eq!((outcome.status.signal(), outcome.stderr.as_str()), (Some(SIGTERM), "Killed(2)\nKilled(15)\n"));
}

fn after_a_run_the_defaults_are_back() {
    for signal in RELAYED {
        let (mut scene, _) = Scene::ready(wrapped(&["--linger"], program(TALK, &[])));
        scene.tell("exit 0");
        scene.expect("lingering");
        scene.signal(signal);
        assert_eq!(scene.end().status.signal(), Some(signal));
    }
}

fn a_handler_from_before_is_still_called() {
    let (mut scene, _) = Scene::ready(wrapped(&["--own-handler"], program(TALK, &["--count=10"])));
    settle(&mut scene, SIGUSR1);
    scene.tell("exit 3");
    let outcome = scene.end();
    assert_eq!((outcome.status.code(), outcome.stderr.as_str()), (Some(3), "Exited(3)\nown handler: 1\n"));
}

fn the_witness_is_silent_and_has_its_own_name() {
    let (mut scene, command) = Scene::ready(talking(&[]));
    let wrapper = scene.pid().as_raw_pid();
    let children = std::fs::read_to_string(format!("/proc/{wrapper}/task/{wrapper}/children")).unwrap();
    let others: Vec<_> = children.split_whitespace().filter(|pid| *pid != command.pid.to_string()).collect();
    let [witness] = others[..] else { panic!("one witness expected: {others:?}") };
    let about = |what: &str| std::fs::read(format!("/proc/{witness}/{what}")).unwrap();
    // It gives itself its name when it is there, beside all else that goes on.
    let begun = std::time::Instant::now();
    while about("comm") != b"lease-witness\n" || !about("cmdline").starts_with(b"lease-witness\0") {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "it keeps the name {:?}", about("comm"));
        std::thread::yield_now();
    }
    let arguments = String::from_utf8(about("cmdline")).unwrap();
    assert_eq!(arguments.trim_end_matches('\0'), "lease-witness");
    assert_eq!(std::fs::read_dir(format!("/proc/{witness}/fd")).unwrap().count(), 0);
    scene.tell("exit 0");
    assert_eq!(scene.end().status.code(), Some(0));
    assert!(!std::fs::exists(format!("/proc/{witness}")).unwrap(), "it ends with the run");
}
