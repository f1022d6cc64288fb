//! A laboratory for the shell scripts in `examples`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use lease_tests::binary::{cargo_lease, workspace};
use lease_tests::{Lab, reap, wait};
use serde_json::json;

use crate::support::lab;

/// How bash is started for a script: as usual, and with what scripts set for themselves.
pub(crate) const SHELLS: [&[&str]; 2] = [&[], &["-euo", "pipefail"]];

/// Part of every folder's name: what a careless script stumbles over.
const ODD: &str = "it's a \"$HOME\" * & more";

/// The scripts, the folder that they are started in, their temporary files and the program on the path lie in folders with
/// odd names.
pub(crate) struct ScriptLab {
    pub(crate) lab: Lab,
}

impl ScriptLab {
    pub(crate) fn new() -> Self {
        let scripts = Self { lab: lab() };
        for folder in ["bin", "scripts", "work", "tmp"] {
            fs::create_dir(scripts.odd(folder)).expect("the laboratory is writable");
        }
        symlink(cargo_lease(), scripts.odd("bin").join("cargo-lease")).expect("the laboratory is writable");
        for file in ["gate/gate.sh", "gate/keep.sh", "gate/pre-push", "baton/baton"] {
            let from = workspace().join("examples").join(file);
            fs::copy(&from, scripts.path_of(from.file_name().expect("a file has a name"))).expect("an example can be copied");
        }
        scripts.write_slot();
        scripts
    }

    /// One slot, and a grant with variables that a careless script stumbles over.
    fn write_slot(&self) {
        let env = json!({"POOL_RUN_SLOT": "{id}", "ODD": "it's \"$HOME\" `id`\n$(id)", "token": "of the grant", "prefix": "x"});
        let slot =
            json!({"slots": [{"id": "a"}], "grantEnv": env, "shellPrefix": "SLOT_OF", "provision": self.lab.note("provision")});
        self.lab.write_pool(&slot);
    }

    fn odd(&self, name: &str) -> PathBuf {
        self.lab.path(format!("{name} {ODD}"))
    }

    /// The folder that scripts are started in.
    pub(crate) fn work(&self) -> PathBuf {
        self.odd("work")
    }

    /// Where the copy of a script lies.
    pub(crate) fn path_of(&self, script: impl AsRef<Path>) -> PathBuf {
        self.odd("scripts").join(script)
    }

    /// A command that finds `cargo-lease` on its path, and by variables the pool and the store.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = self.storeless(program);
        command.env("LEASE_STORE", self.lab.store());
        command
    }

    /// The same, but the store is where the program looks by itself.
    pub(crate) fn storeless(&self, program: &str) -> Command {
        let mut command = self.lab.command(program);
        let mut path = self.odd("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        command.env("PATH", path).env("TMPDIR", self.odd("tmp")).env("LEASE_POOL_FILE", self.lab.pool_file());
        command.env("LEASE_OWNER", "acme").current_dir(self.work());
        command
    }

    /// A script in a bash that was started in this way.
    pub(crate) fn script(&self, shell: &[&str], script: &str, args: &[&str]) -> Command {
        let mut command = self.command("bash");
        command.args(shell).arg(self.path_of(script)).args(args);
        command
    }

    /// Runs `cargo-lease` to its end and gives what it printed.
    #[track_caller]
    pub(crate) fn lease(&self, args: &[&str]) -> String {
        let mut command = self.command("cargo-lease");
        command.args(args);
        self.lab.run(command).expect_success().stdout
    }

    /// Takes the slot away from whoever has it, and gives it to a thief.
    pub(crate) fn steal(&self) {
        self.lease(&["pool", "release", "--slot", "a", "--force", "--owner", "ops"]);
        self.lease(&["pool", "acquire", "--owner", "thief"]);
    }

    /// Checks that no lease, no temporary file and no process is left, as soon as what goes on by itself has ended.
    #[track_caller]
    pub(crate) fn check_nothing_left(&self) {
        wait::until_true("all processes have ended", || reap::marked(self.lab.id()).is_empty());
        self.lab.check_all_given_back();
        self.check_no_files();
    }

    #[track_caller]
    pub(crate) fn check_no_files(&self) {
        let left: Vec<_> = fs::read_dir(self.odd("tmp")).expect("the laboratory is readable").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
