//! What this program is when it is not the test.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lease_harness::harness::{Child, LossWatch, exec, exit_like};
use signal_hook::{flag, low_level};

type Role = fn(Vec<OsString>) -> ExitCode;

pub(crate) const WRAP: &str = "__wrap";
pub(crate) const TALK: &str = "__talk";
pub(crate) const START: &str = "__start";
pub(crate) const UNDER: &str = "__under";
pub(crate) const EXEC: &str = "__exec";

pub(crate) fn named(name: &OsStr) -> Option<Role> {
    match name.to_str()? {
        WRAP => Some(wrap),
        TALK => Some(talk),
        START => Some(start),
        UNDER => Some(under),
        EXEC => Some(|arguments| fail(&exec(command(&arguments)))),
        _ => None,
    }
}

fn fail(error: &io::Error) -> ExitCode {
    eprintln!("{:?}: {error}", error.kind());
    ExitCode::from(127)
}

/// The options before `--`, and what comes after.
fn options(mut arguments: Vec<OsString>) -> (Vec<String>, Vec<OsString>) {
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let rest = arguments.split_off(end).into_iter().skip(1).collect();
    (arguments.into_iter().map(|option| option.into_string().unwrap()).collect(), rest)
}

fn command(words: &[OsString]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// The wrapper. Says on stderr how the command ended.
fn wrap(arguments: Vec<OsString>) -> ExitCode {
    let (options, words) = options(arguments);
    let is_set = |name: &str| options.iter().any(|option| option == name);
    let own_usr1 = Arc::new(AtomicUsize::new(0));
    if is_set("--own-handler") {
        flag::register_usize(libc::SIGUSR1, Arc::clone(&own_usr1), 1).unwrap();
    }
    if is_set("--late") {
        let parent = parent_id();
        say("late");
        while parent_id() == parent {
            std::thread::yield_now();
        }
    }
    let watch = LossWatch::new().unwrap();
    if let Some(socket) = options.iter().find_map(|option| option.strip_prefix("--lose=")) {
        lose_when_told(UnixStream::connect(socket).unwrap(), watch.clone());
    }
    if is_set("--lost-before") {
        watch.declare("lost before");
    }
    let n_runs = if is_set("--twice") { 2 } else { 1 };
    for run_idx in 0..n_runs {
        let mut child = Child::new(command(&words));
        if is_set("--heed-nohup") {
            child = child.heed_nohup();
        }
        let ended = match child.run(std::slice::from_ref(&watch)) {
            Ok(ended) => ended,
            Err(error) => return fail(&error),
        };
        eprintln!("{ended:?}");
        if is_set("--own-handler") {
            eprintln!("own handler: {}", own_usr1.load(Ordering::SeqCst));
        }
        if is_set("--linger") {
            say("lingering");
            loop {
                std::thread::park();
            }
        }
        if run_idx + 1 == n_runs {
            return exit_like(&ended);
        }
    }
    unreachable!("the last run returns")
}

fn lose_when_told(socket: UnixStream, watch: LossWatch) {
    std::thread::spawn(move || {
        let mut reason = String::new();
        BufReader::new(socket).read_line(&mut reason).unwrap();
        watch.declare(reason.trim_end());
    });
}

/// The command: says that it is there and which signals come, and does what it is told by its standard input.
fn talk(arguments: Vec<OsString>) -> ExitCode {
    let (options, _) = options(arguments);
    leave_no_core();
    for option in &options {
        match option.split_once('=') {
            Some(("--count", signal)) => count(signal.parse().unwrap()),
            Some(("--ignore", signal)) => dispose(signal.parse().unwrap(), libc::SIG_IGN),
            Some(("--succeed-on", signal)) => succeed_on(signal.parse().unwrap()),
            _ => assert_eq!(option, "--own-group"),
        }
    }
    if options.iter().any(|option| option == "--own-group") {
        rustix::process::setpgid(None, None).unwrap();
    }
    say(&format!("ready {}", std::process::id()));
    for line in io::stdin().lines() {
        let line = line.unwrap();
        match line.split_once(' ') {
            Some(("exit", code)) => return ExitCode::from(code.parse::<u8>().unwrap()),
            Some(("raise", signal)) => die_of(signal.parse().unwrap()),
            _ => say(&line),
        }
    }
    ExitCode::SUCCESS
}

fn say(line: &str) {
    let mut stdout = io::stdout().lock();
    stdout.write_all(format!("{line}\n").as_bytes()).unwrap();
    stdout.flush().unwrap();
}

/// Tells of every single delivery of `signal`.
fn count(signal: i32) {
    let line = format!("got {signal}\n");
    // SAFETY: the handler writes text that exists already, in one system call.
    unsafe {
        low_level::register(signal, move || {
            libc::write(libc::STDOUT_FILENO, line.as_ptr().cast(), line.len());
        })
    }
    .unwrap();
}

fn succeed_on(signal: i32) {
    // SAFETY: the handler only ends the process, without running anything of it.
    unsafe { low_level::register(signal, || low_level::exit(0)) }.unwrap();
}

/// Who starts us in the background of a script, or with `nohup`, lets us inherit ignored signals, and so would the commands.
pub(crate) fn ignore_nothing() {
    let signals = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];
    signals.into_iter().chain([libc::SIGCHLD, libc::SIGTSTP, libc::SIGCONT]).for_each(|signal| dispose(signal, libc::SIG_DFL));
}

fn dispose(signal: i32, action: libc::sighandler_t) {
    // SAFETY: neither of the two actions is a function.
    unsafe { libc::signal(signal, action) };
}

fn die_of(signal: i32) -> ! {
    dispose(signal, libc::SIG_DFL);
    // SAFETY: the calls take a number; the set is initialised before it is used.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        libc::raise(signal);
    }
    unreachable!("signal {signal} did not end us")
}

pub(crate) fn leave_no_core() {
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    rustix::process::setrlimit(rustix::process::Resource::Core, none).unwrap();
}

/// Who starts the wrapper, and waits for it as a shell does.
fn start(arguments: Vec<OsString>) -> ExitCode {
    command(&arguments).status().unwrap();
    ExitCode::SUCCESS
}

/// Becomes a program that finds some signals ignored or blocked.
fn under(arguments: Vec<OsString>) -> ExitCode {
    let (options, words) = options(arguments);
    let mut command = command(&words);
    let prepare = move || {
        for option in &options {
            match option.split_once('=').unwrap() {
                ("--ignore", signal) => dispose(signal.parse().unwrap(), libc::SIG_IGN),
                ("--block", signal) => block(signal.parse().unwrap()),
                other => unreachable!("{other:?}"),
            }
        }
        Ok(())
    };
    // SAFETY: nothing is forked.
    unsafe { command.pre_exec(prepare) };
    fail(&command.exec())
}

fn block(signal: i32) {
    // SAFETY: the set is initialised before it is used.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}
