//! One started program.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Once};

use rustix::process::{Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::wait;

/// A program that was started. What it prints goes to files, so that it never blocks on us and can be read while it runs.
#[derive(Debug)]
pub struct Running {
    child: Child,
    name: String,
    stdout: PathBuf,
    stderr: PathBuf,
}

/// How a program ended and what it had printed.
#[derive(Debug)]
pub struct Finished {
    /// Exit code or signal.
    pub status: ExitStatus,
    /// What it printed on stdout.
    pub stdout: String,
    /// What it printed on stderr.
    pub stderr: String,
    name: String,
}

impl Running {
    /// Starts `command` as the leader of a process group of its own; its output goes to `<log>.out` and `<log>.err`.
    pub(crate) fn start(mut command: Command, log: &std::path::Path) -> Self {
        hand_on_no_ignored_signals();
        let (stdout, stderr) = (log.with_extension("out"), log.with_extension("err"));
        let name = shown(&command);
        let child = command
            .process_group(0)
            .stdout(File::create(&stdout).expect("the laboratory is writable"))
            .stderr(File::create(&stderr).expect("the laboratory is writable"))
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {name}: {error}"));
        Self { child, name, stdout, stderr }
    }

    /// Its process id, which is also the id of its group.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has printed on stdout so far.
    pub fn stdout(&self) -> String {
        text(&self.stdout)
    }

    /// What it has printed on stderr so far.
    pub fn stderr(&self) -> String {
        text(&self.stderr)
    }

    /// Sends it a signal. It is our child and not yet awaited, so the id cannot have been given to another process.
    pub fn signal(&self, signal: Signal) {
        rustix::process::kill_process(self.raw_pid(), signal).expect("a child can be signalled");
    }

    /// Sends a signal to its whole group, as a terminal does.
    pub fn signal_group(&self, signal: Signal) {
        rustix::process::kill_process_group(self.raw_pid(), signal).expect("a child's group can be signalled");
    }

    /// Closes its standard input, if that is a pipe.
    pub fn close_stdin(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Whether it ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be awaited").is_some()
    }

    /// Waits for its end.
    ///
    /// # Panics
    ///
    /// If it does not end within the test's patience; the message holds what it printed.
    #[track_caller]
    pub fn finish(mut self) -> Finished {
        drop(self.child.stdin.take());
        let what = format!("the end of {}", self.name);
        let status = wait::until(&what, || self.child.try_wait().expect("a child can be awaited"));
        Finished { status, stdout: self.stdout(), stderr: self.stderr(), name: std::mem::take(&mut self.name) }
    }

    fn raw_pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Running {
    /// A test that failed half-way leaves no child behind; what the child started is ended by the laboratory.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Finished {
    /// Checks that it ended with `code`.
    ///
    /// # Panics
    ///
    /// If it did not; the message holds what it printed.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{}", self.account());
        self
    }

    /// Checks that it ended well.
    ///
    /// # Panics
    ///
    /// If it did not; the message holds what it printed.
    #[track_caller]
    pub fn expect_success(self) -> Self {
        self.expect_code(0)
    }

    /// What ran, how it ended and what it printed, for the message of a failed check.
    pub fn account(&self) -> String {
        format!("{}\n{}\n--- stdout\n{}\n--- stderr\n{}", self.name, self.status, self.stdout, self.stderr)
    }
}

/// Gives a command an empty standard input.
pub fn no_stdin(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null())
}

/// Who starts the tests in the background of a script, or with `nohup`, lets them inherit ignored signals, and so would
/// what they start. A signal that is caught is not ignored in a new program, and to us it means as little as before.
pub fn hand_on_no_ignored_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or_default();
        let ignored = u64::from_str_radix(mask.trim(), 16).unwrap_or_default();
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter().filter(|signal| ignored & (1 << (signal - 1)) != 0) {
            signal_hook::flag::register(signal, Arc::default()).expect("this signal can be caught");
        }
    });
}

/// Program and arguments; the environment is too long to be read.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn text(path: &PathBuf) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
