//! Runs of archives where only the manifests are.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use lease_tests::{Finished, Lab};
use serde_json::json;

use crate::solo::package;
use crate::support::lab;

/// It writes down where it looks for libraries, and works in its slot.
const TESTS: &str = r#"
#[test]
fn looks() {
    let found = std::env::var("NEXTEST_LD_LIBRARY_PATH").unwrap_or_default();
    std::fs::write(std::env::var_os("LAB_FOUND").expect("LAB_FOUND names a file"), found).expect("it can be written");
    actor(&["note", "ran"]);
}
"#;

/// An archive, and a folder with the package's manifest and a pool and nothing else.
struct Scene {
    lab: Lab,
    archive: String,
    elsewhere: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let lab = lab();
        let folder = package(&lab, TESTS);
        let archive = lab.path("tests.tar.zst").display().to_string();
        let mut command = lab.cargo(["nextest", "archive", "--archive-file", &archive]);
        command.env("CARGO_TARGET_DIR", folder.join("target")).current_dir(&folder);
        lab.run(command).expect_success();
        let elsewhere = lab.path("elsewhere");
        fs::create_dir(&elsewhere).expect("the laboratory is writable");
        fs::copy(folder.join("Cargo.toml"), elsewhere.join("Cargo.toml")).expect("the laboratory is writable");
        fs::remove_dir_all(folder).expect("the laboratory is writable");
        fs::create_dir(lab.path("tmp")).expect("the laboratory is writable");
        let scene = Self { lab, archive, elsewhere };
        scene.write_pool("pool");
        scene
    }

    fn write_pool(&self, name: &str) {
        let pool = json!({"name": name, "slots": [{"id": name}]});
        fs::write(self.elsewhere.join(format!("{name}.json")), pool.to_string()).expect("the laboratory is writable");
    }

    /// A run of the archive; where the test looked for libraries, below the folder where it was unpacked.
    fn run(&self, command: Command, more: &[&str]) -> (Finished, Vec<String>) {
        let run = self.try_run(command, more).expect_success();
        let found = fs::read_to_string(self.lab.path("found")).expect("the test has run");
        let below = |path: &str| path.split_once("/target/").map_or(path, |(_, below)| below).to_owned();
        (run, found.split(':').map(below).collect())
    }

    fn try_run(&self, mut command: Command, more: &[&str]) -> Finished {
        command.args(["nextest", "run", "--archive-file", &self.archive, "--workspace-remap", "."]).args(more);
        command.env("LEASE_STORE", self.lab.store()).env("TMPDIR", self.lab.path("tmp"));
        command.env("LAB_FOUND", self.lab.path("found")).current_dir(&self.elsewhere);
        self.lab.run(command)
    }

    fn ours(&self, options: &[&str]) -> Command {
        self.lab.bare_lease(options)
    }

    fn slot_of_last(&self) -> String {
        self.lab.history().all("ran").last().expect("it ran").get("slot").to_owned()
    }

    /// How many folders are left among the temporary files.
    fn n_left(&self) -> usize {
        fs::read_dir(self.lab.path("tmp")).expect("it is there").count()
    }
}

fn n_unpacked(run: &Finished) -> usize {
    format!("{}{}", run.stdout, run.stderr).matches("Extracting").count()
}

#[test]
fn an_archive_is_unpacked_once_for_listing_and_run() {
    let scene = Scene::new();
    let (_, expected) = scene.run(scene.lab.cargo::<&str>([]), &[]);
    assert!(expected.iter().any(|path| path.contains("libdirs")), "the compiler's libraries are in it: {expected:?}");
    let folder = scene.lab.path("unpacked");
    fs::create_dir(&folder).expect("the laboratory is writable");
    let folder = folder.to_str().expect("the laboratory's path is text");
    let table: [&[&str]; 4] = [
        &[],
        &["--extract-to", folder],
        &["--extract-to", folder, "--extract-overwrite", "--archive-format", "tar-zst"],
        &["--status-level", "all", "--", "looks"],
    ];
    for more in table {
        let (run, found) = scene.run(scene.ours(&[]), more);
        assert_eq!(n_unpacked(&run), 1, "{more:?}: {}", run.account());
        assert_eq!((found, scene.slot_of_last()), (expected.clone(), "pool".to_owned()), "{more:?}");
        assert_eq!(scene.n_left(), 0, "{more:?}");
    }
    let (run, _) = scene.run(scene.ours(&["--hold", "run"]), &[]);
    assert_eq!((n_unpacked(&run), scene.slot_of_last().as_str(), scene.n_left()), (1, "pool", 0), "{}", run.account());
    let (run, _) = scene.run(scene.ours(&[]), &["--persist-extract-tempdir"]);
    assert_eq!((n_unpacked(&run), scene.n_left()), (1, 1), "the user wants it kept: {}", run.account());
    scene.lab.check_all_given_back();
}

#[test]
fn what_the_manifest_says_counts_without_the_sources() {
    let scene = Scene::new();
    scene.write_pool("own");
    let manifest = scene.elsewhere.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("it is there");
    for (tables, slot) in [("pool = \"own.json\"", "own"), ("wrap = \"annotated\"", "-")] {
        fs::write(&manifest, format!("{text}\n[package.metadata.lease]\n{tables}\n")).expect("the laboratory is writable");
        let (run, _) = scene.run(scene.ours(&[]), &[]);
        assert_eq!(scene.slot_of_last(), slot, "{}", run.account());
    }
}

#[test]
fn why_an_archive_cannot_be_unpacked_is_said_once_and_as_nextest_says_it() {
    let scene = Scene::new();
    fs::write(&scene.archive, "no archive").expect("the laboratory is writable");
    let plain = scene.try_run(scene.lab.cargo::<&str>([]), &[]);
    let ours = scene.try_run(scene.ours(&[]), &[]);
    assert_eq!(ours.status.code(), plain.status.code(), "{}", ours.account());
    assert_eq!(ours.stderr.matches("error extracting archive").count(), 1, "{}", ours.account());
    assert_eq!(scene.n_left(), 0);
}
