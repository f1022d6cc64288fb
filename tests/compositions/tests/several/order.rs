//! Pools are taken in one order, whatever order they were written in.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::program::{NONE, PATIENCE, said};
use crate::scene::Scene;

/// Slow enough that each has one slot before anybody has two.
const SLOW: &str = r#""provision": "sleep 0.02; :", "ttlMinutes": 60"#;

/// All end by themselves, and well.
#[track_caller]
fn all_end(children: Vec<Child>) {
    let begun = Instant::now();
    let mut children = children;
    while !children.iter_mut().all(|child| child.try_wait().unwrap().is_some()) {
        if PATIENCE < begun.elapsed() {
            children.iter_mut().for_each(|child| drop(child.kill()));
            panic!("they wait for each other");
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }
}

fn start(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn check(scenarios: &[&[&str]], n_rounds: usize) {
    let scene = Scene::new();
    scene.write("db", &format!(r#""grantEnv": {{"DB": "{{id}}"}}, {SLOW}"#));
    scene.write("ports", &format!(r#""grantEnv": {{"PORT": "{{id}}"}}, {SLOW}"#));
    for _ in 0..n_rounds {
        all_end(scenarios.iter().map(|names| start(scene.package.program(&[&["--exact"], *names].concat()))).collect());
    }
    let n_scenarios: usize = scenarios.iter().map(|names| names.len()).sum();
    assert_eq!(scene.package.entered().len(), n_scenarios * n_rounds);
    assert_eq!(scene.package.held(), NONE);
}

#[test]
fn processes_that_name_them_the_other_way_round_do_not_wait_for_each_other() {
    check(&[&["scenario::process"], &["scenario::process_reversed"], &["scenario::slots"], &["scenario::slots_reversed"]], 12);
}

#[test]
fn nor_do_tests_of_one_process() {
    let all = ["scenario::slots", "scenario::slots_reversed", "scenario::slots_async"];
    check(&[&all, &all], 8);
    check(&[&["scenario::process", "scenario::process_reversed", "scenario::process_async", "scenario::slots_reversed"]], 2);
}
