//! More of this program, as processes of their own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// One of them. Dropping it kills it, and waits for its end.
pub(crate) struct Helper {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Helper {
    pub(crate) fn start(folder: &Path, row: &str) -> Self {
        let itself = std::env::current_exe().expect("a program knows its path");
        let mut command = Command::new(itself);
        command.arg(folder).args(["1", row]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a program can start itself");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("it is a pipe"));
        Self { child, stdin, stdout }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line that it prints.
    ///
    /// # Panics
    ///
    /// If it ends instead.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("what it prints is text");
        assert!(line.ends_with('\n'), "a helper has ended: {:?}", self.child.wait());
        line.truncate(line.len() - 1);
        line
    }

    /// What it prints until its end.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let lines = (&mut self.stdout).lines().map(|line| line.expect("what it prints is text")).collect();
        let status = self.child.wait().expect("a child can be awaited");
        assert!(status.success(), "a helper has ended with {status}");
        lines
    }

    pub(crate) fn tell(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("it still listens");
        stdin.write_all(format!("{line}\n").as_bytes()).expect("it listens");
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("a child can be killed");
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prints a line at once.
pub(crate) fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(format!("{line}\n").as_bytes()).expect("whoever started this listens");
    stdout.flush().expect("whoever started this listens");
}

/// Waits for a line of whoever started this; none if it has nothing to say any more.
pub(crate) fn hear() -> Option<String> {
    let mut line = String::new();
    let n_read = std::io::stdin().read_line(&mut line).expect("what we are told is text");
    (0 < n_read).then(|| line.trim_end().to_owned())
}
