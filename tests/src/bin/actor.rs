//! The people of the tests: a program that writes into the history, holds on, or works on and on.
//!
//! `note WORD [SLOT]` writes one line; `hold GATE` writes `start` and `end` around a wait for the file GATE;
//! `work N` writes `start` and `end` around N lines; `tick WHO` writes lines until it is killed; `daemon WHO` leaves a `tick WHO` behind in a session of its own;
//! `fail CODE` ends with that exit code; `env NAME…` prints variables; `at-gate PIPE PROGRAM ARGS…` writes `ready`, waits
//! until somebody opens the pipe for writing, and becomes the program.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["note", word, ref rest @ ..] => note(word, rest.last().copied()),
        ["hold", gate] => hold(Path::new(gate)),
        ["work", n_lines] => work(n_lines.parse().expect("an amount of work is a number")),
        ["tick", who] => tick(who),
        ["tick-in-own-session", who] => {
            rustix::process::setsid().expect("a fresh process can begin a session");
            tick(who);
        }
        ["daemon", who] => daemon(who),
        ["fail", code] => {
            return ExitCode::from(code.parse::<u8>().expect("an exit code is a number"));
        }
        ["env", ref names @ ..] => print_variables(names),
        ["at-gate", gate, program, ref args @ ..] => at_gate(Path::new(gate), program, args),
        ref other => {
            eprintln!("actor: cannot do {other:?}");
            return ExitCode::from(64);
        }
    }
    ExitCode::SUCCESS
}

/// Appends one line with the pid and what the environment says about the grant. One write call, so that the kernel
/// puts the line whole behind the one before it.
fn line(word: &str, slot: Option<&str>, who: &str) {
    let variable = |name| std::env::var(name).unwrap_or_else(|_| "-".to_owned());
    let slot = slot.map_or_else(|| variable("POOL_RUN_SLOT"), str::to_owned);
    let (token, run) = (variable("POOL_RUN_TOKEN"), variable("LAB_RUN"));
    let text = format!("{word} slot={slot} pid={} who={who} token={token} run={run}\n", std::process::id());
    let path = std::env::var_os("LAB_HISTORY").expect("LAB_HISTORY names the history");
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("the history can be opened");
    file.write_all(text.as_bytes()).expect("the history can be written");
}

fn note(word: &str, slot: Option<&str>) {
    line(word, slot, "-");
}

fn hold(gate: &Path) {
    line("start", None, "holder");
    while !gate.exists() {
        thread::sleep(Duration::from_millis(2));
    }
    line("end", None, "holder");
}

fn work(n_lines: u32) {
    line("start", None, "worker");
    for _ in 0..n_lines {
        line("tick", None, "worker");
        thread::sleep(Duration::from_millis(2));
    }
    line("end", None, "worker");
}

fn tick(who: &str) {
    loop {
        line("tick", None, who);
        thread::sleep(Duration::from_millis(2));
    }
}

/// The child outlives us in a session of its own and holds none of our files: what a careless test leaves behind.
#[expect(clippy::zombie_processes, reason = "the child is to outlive us, and we end at once")]
fn daemon(who: &str) {
    let itself = std::env::current_exe().expect("a program knows its path");
    let mut command = Command::new(itself);
    command.args(["tick-in-own-session", who]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("a program can start itself");
}

/// All who wait at a pipe go on at the same moment.
fn at_gate(gate: &Path, program: &str, args: &[&str]) {
    line("ready", None, "asker");
    drop(File::open(gate).expect("the gate is a pipe"));
    panic!("cannot become {program}: {}", Command::new(program).args(args).exec());
}

fn print_variables(names: &[&str]) {
    let mut out = std::io::stdout().lock();
    for name in names {
        let value = std::env::var(name).unwrap_or_else(|_| "(unset)".to_owned());
        writeln!(out, "{name}={value}").expect("stdout can be written");
    }
}
