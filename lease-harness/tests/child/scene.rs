//! A wrapper with its command, in a process group of their own.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

use super::roles;

/// This program in one of its roles.
pub(crate) fn program(role: &str, arguments: &[&str]) -> Vec<OsString> {
    let me = std::env::current_exe().unwrap().into_os_string();
    [me, role.into()].into_iter().chain(arguments.iter().map(OsString::from)).collect()
}

/// A wrapper with these options around a command.
pub(crate) fn wrapped(options: &[&str], mut command: Vec<OsString>) -> Vec<OsString> {
    let mut words = program(roles::WRAP, options);
    words.push("--".into());
    words.append(&mut command);
    words
}

/// A wrapper around a command that can be talked to.
pub(crate) fn talking(options: &[&str]) -> Vec<OsString> {
    wrapped(&[], program(roles::TALK, options))
}

/// A program and its group, killed when dropped.
pub(crate) struct Scene {
    process: Child,
    has_ended: bool,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    stderr: ChildStderr,
}

/// How it went.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    /// What had not been read yet.
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Scene {
    pub(crate) fn start(words: Vec<OsString>) -> Self {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let stderr = process.stderr.take().unwrap();
        Self { process, has_ended: false, stdin, stdout, stderr }
    }

    /// Starts it and waits until the command is there.
    #[track_caller]
    pub(crate) fn ready(words: Vec<OsString>) -> (Self, Watched) {
        let mut scene = Self::start(words);
        let line = scene.line();
        let pid = line.strip_prefix("ready ").unwrap_or_else(|| panic!("not ready: {line:?}, {}", scene.complaint()));
        let command = Watched::new(pid.parse().unwrap());
        (scene, command)
    }

    fn complaint(&mut self) -> String {
        self.kill_group();
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).unwrap();
        text
    }

    /// The process that was started, whose number is the group's too.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// Its next line of output; empty at the end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    #[track_caller]
    pub(crate) fn expect(&mut self, line: &str) {
        assert_eq!(self.line(), line);
    }

    pub(crate) fn tell(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Sends a signal to the process alone.
    pub(crate) fn signal(&self, signal: i32) {
        kill_process(self.pid(), named(signal)).unwrap();
    }

    pub(crate) fn signal_group(&self, signal: i32) {
        kill_process_group(self.pid(), named(signal)).unwrap();
    }

    /// Waits for the process alone.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let status = self.process.wait().unwrap();
        self.has_ended = true;
        status
    }

    /// Waits until nobody can write to its output any more, and for the process.
    pub(crate) fn end(mut self) -> Outcome {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut stdout).unwrap();
        self.stderr.read_to_string(&mut stderr).unwrap();
        Outcome { status: self.wait(), stdout, stderr }
    }

    fn kill_group(&self) {
        let _ = kill_process_group(self.pid(), Signal::KILL);
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // Its number is not given to another group before the process is reaped.
        if !self.has_ended {
            self.kill_group();
            let _ = self.process.wait();
        }
    }
}

pub(crate) fn named(signal: i32) -> Signal {
    Signal::from_named_raw(signal).unwrap()
}

/// A process that is not our child.
pub(crate) struct Watched {
    pub(crate) pid: Pid,
    fd: OwnedFd,
}

impl Watched {
    pub(crate) fn new(number: i32) -> Self {
        let pid = Pid::from_raw(number).unwrap();
        Self { pid, fd: pidfd_open(pid, PidfdFlags::empty()).unwrap() }
    }

    /// Returns when it has ended.
    pub(crate) fn wait(&self) {
        let mut entries = [PollFd::new(&self.fd, PollFlags::IN)];
        poll(&mut entries, None).unwrap();
    }

    pub(crate) fn signal(&self, signal: i32) {
        rustix::process::pidfd_send_signal(&self.fd, named(signal)).unwrap();
    }

    /// `T` if it is stopped.
    pub(crate) fn state(&self) -> char {
        state_of(self.pid)
    }
}

pub(crate) fn state_of(pid: Pid) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap();
    stat[stat.rfind(')').unwrap() + 2..].chars().next().unwrap()
}
