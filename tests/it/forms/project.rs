//! The package with tests of every form. It is built once and stays beside our own build: each test has a store of its own,
//! and the package is only read.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use lease_tests::{Finished, Lab, binary, environment, reap, scratch, wait};

use super::cells::Seen;
use crate::support::lab;

/// The words of cargo that say what kind of build it is, for who builds here as well.
pub(crate) const BUILD: [(&str, &str); 2] = [("CARGO_INCREMENTAL", "0"), ("CARGO_PROFILE_DEV_DEBUG", "0")];

/// Where everything is built that depends on the library and is no part of its workspace.
pub(crate) fn target_folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("scratch-target")
}

/// The package, and a laboratory with a store for one test.
pub(crate) struct Project {
    pub(crate) lab: Lab,
    pub(crate) folder: PathBuf,
}

impl Project {
    /// Builds it, if it is not fresh.
    pub(crate) fn new() -> Self {
        let lab = lab();
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("forms");
        fs::create_dir_all(&home).expect("the folder of the build is writable");
        let project = Self { lab, folder: home.join("package") };
        let lock = File::create(home.join("lock")).expect("the folder of the build is writable");
        lock.lock().expect("a file can be locked");
        project.write();
        // The setup script and the examples of the manual call the program by its name.
        binary::cargo_lease();
        project.run(project.cargo(&["test", "--no-run"]));
        project
    }

    /// Only what has changed, or all would be built again.
    fn write(&self) {
        let library = binary::workspace().join("lease-harness").display().to_string();
        scratch::write_fixture("forms", &self.folder, &|from, to| {
            let text = fs::read_to_string(from).expect("the fixture can be read");
            write_changed(to, text.replace("LEASE_HARNESS", &library).as_bytes());
        });
        let (locked, origin) = (binary::workspace().join("Cargo.lock"), self.folder.join("Cargo.lock.origin"));
        let versions = fs::read(locked).expect("the workspace has a lock file");
        if write_changed(&origin, &versions) {
            // Cargo takes out what is not needed, and keeps the versions of the rest.
            fs::write(self.folder.join("Cargo.lock"), versions).expect("the folder of the build is writable");
        }
    }

    /// `cargo` with these words.
    pub(crate) fn cargo(&self, words: &[&str]) -> Command {
        self.within(self.lab.cargo(words))
    }

    /// `cargo lease` with these words. Not through cargo, for which our own workspace has an alias of that name.
    pub(crate) fn lease(&self, words: &[&str]) -> Command {
        self.within(self.lab.bare_lease(words))
    }

    /// A command in the package's folder, with the laboratory's store.
    pub(crate) fn within(&self, mut command: Command) -> Command {
        let programs = binary::cargo_lease().parent().expect("it lies in a folder").to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(programs).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders).expect("no colon in it"));
        command.env("FORMS_LOG", self.lab.path("log")).env("LEASE_STORE", self.lab.store());
        command.envs(BUILD).env("CARGO_TARGET_DIR", target_folder()).current_dir(&self.folder);
        command
    }

    /// Runs a command that ends well.
    #[track_caller]
    pub(crate) fn run(&self, command: Command) -> Finished {
        self.lab.run(command).expect_success()
    }

    /// The test binary of a form.
    pub(crate) fn binary(&self, form: &str) -> PathBuf {
        let words = ["test", "--no-run", "--message-format", "json", "--test", form];
        let built = self.run(self.cargo(&words));
        let executable = |line: &str| -> Option<PathBuf> {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            Some(message.get("executable")?.as_str()?.into())
        };
        built.stdout.lines().filter_map(executable).next_back().expect("cargo names the binary")
    }

    /// Waits until nobody is left that the commands have left behind, as the keeper of a run is for a moment.
    pub(crate) fn wait_for_keepers(&self) {
        wait::until_true("nobody is left", || reap::marked(self.lab.id()).is_empty());
    }

    /// What the tests saw, and nothing is held any more.
    #[track_caller]
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.lab.check_all_given_back();
        let text = fs::read_to_string(self.lab.path("log")).expect("a test ran");
        text.lines().map(Seen::parse).collect()
    }

    /// How many slots of a pool were granted.
    pub(crate) fn n_granted(&self, pool: &str) -> usize {
        let journal = fs::read_to_string(self.lab.store().join(pool).join("pool.log")).unwrap_or_default();
        journal.matches("\"event\":\"granted\"").count()
    }
}

fn write_changed(path: &Path, bytes: &[u8]) -> bool {
    let is_changed = fs::read(path).map_or(true, |old| old != bytes);
    if is_changed {
        fs::write(path, bytes).expect("the folder of the build is writable");
    }
    is_changed
}

/// The cargo of this toolchain, for a command line that begins with another program.
pub(crate) fn cargo() -> String {
    environment::cargo().to_string_lossy().into_owned()
}
