//! A temporary folder with a pool and a store, and the commands that the tests start in it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_cargo-lease");

/// Variables that a test run, or a lease around it, sets: a test starts without them.
const FOREIGN: [&str; 7] = ["CARGO", "NEXTEST", "LEASE_", "POOL_", "E2E_LEASE", "RUST_TEST", "RUSTDOC"];

pub(crate) struct Lab {
    dir: TempDir,
}

impl Lab {
    /// A pool of so many slots, each with a `port`.
    pub(crate) fn new(slots: usize) -> Self {
        lease_tests::running::hand_on_no_ignored_signals();
        let lab = Self { dir: tempfile::tempdir().expect("temporary folder") };
        let slots: Vec<String> = (1..=slots).map(|id| format!(r#"{{"id": {id}, "port": {}}}"#, 4000 + id)).collect();
        lab.write("pool.json", &format!(r#"{{"name": "lab", "slots": [{}]}}"#, slots.join(", ")));
        lab
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("folder").join(path)
    }

    /// Writes a file; one that starts with `#!` is a program.
    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("inside")).expect("folder");
        fs::write(&path, text).expect("file");
        if text.starts_with("#!") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("program");
        }
        path
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    /// `cargo-lease` with these words, in the lab's folder, on the lab's pool.
    pub(crate) fn lease(&self, words: &[&str]) -> Command {
        let mut command = self.command(PROGRAM);
        command.args(words);
        command
    }

    /// Checks that each of these calls is refused as wrong use, with the parts in its error, and that nothing was created.
    #[track_caller]
    pub(crate) fn expect_usage_errors(&self, table: &[(&[&str], &[&str])]) {
        for (words, parts) in table {
            let (out, err) = expect_code(&mut self.lease(words), 2);
            assert_eq!(out, "");
            assert!(err.starts_with("error: "), "{err}");
            has(&err, parts);
        }
        assert!(!self.path("store").exists(), "nothing was created");
    }

    /// Any program, in the same place.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path("")).stdin(Stdio::null());
        clean(&mut command);
        command.env("LEASE_POOL_FILE", self.path("pool.json")).env("LEASE_STORE", self.path("store"));
        command.env("LEASE_OWNER", "tester").env("CARGO_TARGET_DIR", self.path("target"));
        command
    }

    /// Takes a slot and keeps it until it is told to end.
    pub(crate) fn holder(&self, words: &[&str]) -> Holder {
        let mut line = vec!["run"];
        line.extend(words);
        line.extend(["--", "sh", "-c", "echo \"$POOL_SLOT_ID\"; read wait; exit 0"]);
        let mut child = Started(
            self.lease(&line)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("cargo-lease starts"),
        );
        let mut out = BufReader::new(child.0.stdout.take().expect("piped"));
        let mut slot = String::new();
        out.read_line(&mut slot).expect("text");
        assert!(!slot.is_empty(), "the holder got no slot: {:?}", child.0.wait());
        Holder { child, slot: slot.trim().to_owned(), _out: out }
    }

    /// What `status --json` says.
    pub(crate) fn status(&self) -> Value {
        let output = self.lease(&["status", "--json"]).output().expect("cargo-lease starts");
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).expect("one JSON object")
    }

    /// The states of the slots, in their order.
    pub(crate) fn states(&self) -> Vec<String> {
        let status = self.status();
        let slots = status["slots"].as_array().expect("slots");
        slots.iter().map(|slot| slot["state"].as_str().expect("state").to_owned()).collect()
    }

    /// A package with tests, a workspace of its own, beside the pool.
    pub(crate) fn package(&self, lib: &str, integration: &str) {
        let manifest = "[package]\nname = \"scratch\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
        self.write("Cargo.toml", manifest);
        self.write("src/lib.rs", lib);
        self.write("tests/it.rs", integration);
    }
}

/// A process that is ended, by its id, when the test is over.
pub(crate) struct Started(pub(crate) Child);

impl Drop for Started {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}

/// A `cargo lease run` that holds a slot.
pub(crate) struct Holder {
    pub(crate) child: Started,
    pub(crate) slot: String,
    _out: BufReader<ChildStdout>,
}

impl Holder {
    /// Lets it end by itself.
    pub(crate) fn end(mut self) -> ExitStatus {
        drop(self.child.0.stdin.take());
        self.child.0.wait().expect("ended")
    }
}

/// Takes out what the run around this test set.
pub(crate) fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if FOREIGN.iter().any(|prefix| text.starts_with(prefix)) && text != "CARGO_HOME" {
            command.env_remove(&name);
        }
    }
}

/// Outputs that cannot be written, and the system's name for why.
pub(crate) fn broken_outputs() -> [(Stdio, &'static str); 2] {
    let full = File::options().write(true).open("/dev/full").expect("there is such a device");
    let (_, without_reader) = std::io::pipe().expect("a pipe");
    [(full.into(), "[ENOSPC]"), (without_reader.into(), "[EPIPE]")]
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
pub(crate) fn finished(command: &mut Command) -> Output {
    command.output().expect("cargo-lease starts")
}

/// Runs it, checks its exit code, and gives back what it printed on standard output and error.
#[track_caller]
pub(crate) fn expect_code(command: &mut Command, code: i32) -> (String, String) {
    let output = finished(command);
    let (out, err) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(code), "{command:?}\nstdout: {out}\nstderr: {err}");
    (out, err)
}

#[track_caller]
pub(crate) fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

/// A folder for `PATH` in which only these programs are found.
pub(crate) fn path_with(lab: &Lab, programs: &[(&str, &Path)]) -> PathBuf {
    let folder = lab.path("only");
    fs::create_dir_all(&folder).expect("folder");
    for (name, program) in programs {
        std::os::unix::fs::symlink(program, folder.join(name)).expect("link");
    }
    folder
}

/// The real cargo, not a proxy that chooses one.
pub(crate) fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

/// Adds a folder in front of `PATH`.
pub(crate) fn path_behind(folder: &Path) -> std::ffi::OsString {
    let old = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(OsStr::new(&old)));
    std::env::join_paths(folders).expect("no colon in it")
}
