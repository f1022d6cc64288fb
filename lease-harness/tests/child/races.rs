//! Signals in the moments when a command begins and ends.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use libc::{SIGINT, SIGTERM};
use libtest_mimic::Trial;

use super::roles::TALK;
use super::scene::{Scene, program, talking, wrapped};

const ROUNDS: u32 = 100;

pub(crate) fn tests() -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        ("a_signal_at_the_end_changes_nothing_else", a_signal_at_the_end_changes_nothing_else),
        ("a_signal_at_the_start_is_not_lost", a_signal_at_the_start_is_not_lost),
        ("two_signals_at_once_end_a_command_once", two_signals_at_once_end_a_command_once),
    ];
    let trial = |(name, run): &(&str, fn())| {
        let run = *run;
        Trial::test(format!("races::{name}"), move || {
            run();
            Ok(())
        })
    };
    tests.iter().map(trial).collect()
}

/// Spends a time that grows with the rounds, to meet another moment in each of them.
fn spend(round: u32, step: Duration) {
    let until = Instant::now() + step * round;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

fn signal(scene: &Scene, signal: i32, round: u32) {
    if round.is_multiple_of(2) {
        scene.signal_group(signal);
    } else {
        scene.signal(signal);
    }
}

fn a_signal_at_the_end_changes_nothing_else() {
    for round in 0..ROUNDS {
        let (mut scene, command) = Scene::ready(talking(&[]));
        scene.tell("exit 7");
        spend(round, Duration::from_micros(20));
        signal(&scene, SIGTERM, round);
        command.wait();
        let outcome = scene.end();
        let how = (outcome.status.code(), outcome.status.signal());
        assert!(how == (Some(7), None) || how == (None, Some(SIGTERM)), "round {round}: {how:?}, {}", outcome.stderr);
    }
}

/// The command waits for ever; if a signal were lost, so would the test.
fn a_signal_at_the_start_is_not_lost() {
    for round in 0..ROUNDS {
        let scene = Scene::start(wrapped(&[], program(TALK, &[])));
        spend(round, Duration::from_micros(60));
        signal(&scene, SIGTERM, round);
        let outcome = scene.end();
        assert_eq!(outcome.status.signal(), Some(SIGTERM), "round {round}: {}", outcome.stderr);
    }
}

/// As `timeout` does it: to the wrapper, then to the group.
fn two_signals_at_once_end_a_command_once() {
    for round in 0..ROUNDS {
        let (scene, command) = Scene::ready(talking(&[]));
        scene.signal(SIGINT);
        spend(round, Duration::from_micros(20));
        scene.signal_group(SIGINT);
        command.wait();
        assert_eq!(scene.end().status.signal(), Some(SIGINT), "round {round}");
    }
}
