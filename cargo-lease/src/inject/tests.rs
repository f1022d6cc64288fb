//! What is injected, read back by real cargo and nextest.
//!
//! A scratch package is built once for all cases. Each case is a folder of its own, from which cargo is started with
//! `--manifest-path`, so that each has its own configuration files. In place of our runner stands a script that writes
//! its arguments down, one a line, and starts the binary itself.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use super::*;
use crate::cli::Reader;
use crate::resolve::Surroundings;

fn words(text: &[&str]) -> Vec<OsString> {
    text.iter().map(OsString::from).collect()
}

#[test]
fn ours_go_last_but_before_the_dashes() {
    let table: [(&[&str], &[&str]); 4] = [
        (&[], &["X"]),
        (&["-p", "a"], &["-p", "a", "X"]),
        (&["name", "--", "--list"], &["name", "X", "--", "--list"]),
        (&["--", "--", "y"], &["X", "--", "--", "y"]),
    ];
    for (before, after) in table {
        assert_eq!(append(&words(before), words(&["X"])), words(after));
    }
}

#[test]
fn values_are_read_in_every_spelling_before_the_dashes() {
    let line = words(&["--target", "a", "--target=b", "-pc", "-p", "d", "-p=e", "--targets", "x", "--", "-p", "f"]);
    let own = OwnWords::new(&line);
    assert_eq!(own.texts(&["--target"]), ["a", "b"]);
    assert_eq!(own.texts(&["-p", "--package"]), ["c", "d", "e"]);
    assert!(own.has(&["--targets"]) && !own.has(&["f"]));
}

#[test]
fn the_first_free_word_is_no_options_value() {
    let line = words(&["--color", "never", "-v", "--profile=ci", "run", "x"]);
    assert_eq!(OwnWords::new(&line).first_free(takes_value), Some(4));
    assert_eq!(OwnWords::new(&words(&["--", "run"])).first_free(takes_value), None);
}

#[test]
fn options_are_left_out_in_every_spelling_before_the_dashes() {
    let line = words(&["run", "--file", "a", "-x", "--file=b", "--filed", "--flag", "c", "--", "--file", "d", "--flag"]);
    let kept = words(&["run", "-x", "--filed", "c", "--", "--file", "d", "--flag"]);
    assert_eq!(without(&line, &["--file"], &["--flag"]), kept);
}

/// One configuration, and the user's runner that must come out of it.
#[derive(Default)]
struct Case {
    name: &'static str,
    /// Files below the case's folder.
    files: &'static [(&'static str, &'static str)],
    env: &'static [(&'static str, &'static str)],
    words: &'static [&'static str],
    /// The user's runner in front of the binary, `{dir}` being the case's folder; none if empty.
    via: &'static [&'static str],
    /// The same for nextest where it differs.
    #[cfg_attr(not(feature = "test-nextest"), expect(dead_code, reason = "only nextest's test reads it"))]
    via_nextest: Option<&'static [&'static str]>,
}

const CASES: &[Case] = &[
    Case { name: "nothing", files: &[], env: &[], words: &[], via: &[], via_nextest: None },
    Case {
        name: "file-array",
        files: &[(".cargo/config.toml", "[target.HOST]\nrunner = ['env', 'A=with space']")],
        via: &["env", "A=with space"],
        ..EMPTY
    },
    Case {
        name: "file-string",
        files: &[(".cargo/config.toml", "[target.HOST]\nrunner = 'env A=1'")],
        via: &["env", "A=1"],
        ..EMPTY
    },
    Case {
        name: "file-relative",
        files: &[(".cargo/config.toml", "target.HOST.runner = ['bin/env', 'A=1']"), ("bin/env", PASS_ON)],
        via: &["{dir}/bin/env", "A=1"],
        ..EMPTY
    },
    Case {
        name: "file string relative in a folder with a space",
        files: &[(".cargo/config.toml", "target.HOST.runner = 'bin/env A=1'"), ("bin/env", PASS_ON)],
        via: &["{dir}/bin/env", "A=1"],
        ..EMPTY
    },
    Case {
        name: "cfg",
        files: &[(".cargo/config.toml", "[target.'cfg(unix)']\nrunner = 'env A=1'\n[target.'cfg(windows)']\nrunner = ['wine']")],
        via: &["env", "A=1"],
        ..EMPTY
    },
    Case {
        name: "triple-beats-cfg",
        files: &[(".cargo/config.toml", "[target.'cfg(unix)']\nrunner = 'env A=cfg'\n[target.HOST]\nrunner = 'env A=triple'")],
        via: &["env", "A=triple"],
        ..EMPTY
    },
    Case {
        name: "env-beats-files",
        files: &[(".cargo/config.toml", "[target.HOST]\nrunner = 'env A=file'")],
        env: &[("CARGO_TARGET_HOST_RUNNER", "env  A=env")],
        via: &["env", "A=env"],
        ..EMPTY
    },
    Case {
        name: "words-beat-env",
        env: &[("CARGO_TARGET_HOST_RUNNER", "env A=env")],
        words: &["--config", "target.HOST.runner=['env','A=first']", "--config=target.HOST.runner=['env','A=last']"],
        via: &["env", "A=last"],
        via_nextest: Some(&["env", "A=first"]),
        ..EMPTY
    },
    Case { name: "words-string", words: &["--config", "target.HOST.runner='env A=words'"], via: &["env", "A=words"], ..EMPTY },
    Case {
        name: "words-file",
        files: &[("conf/extra.toml", "target.HOST.runner = ['bin/env', 'A=1']"), ("bin/env", PASS_ON)],
        words: &["--config", "conf/extra.toml"],
        via: &["{dir}/bin/env", "A=1"],
        ..EMPTY
    },
    Case {
        name: "include",
        files: &[
            (".cargo/config.toml", "include = ['a.toml', { path = 'b.toml' }, { path = 'no.toml', optional = true }]"),
            (".cargo/a.toml", "[target.HOST]\nrunner = 'env A=a'"),
            (".cargo/b.toml", "[target.HOST]\nrunner = 'env A=b'"),
        ],
        via: &["env", "A=b"],
        via_nextest: Some(&[]),
        ..EMPTY
    },
    Case {
        name: "inner-file-beats-outer",
        files: &[
            (".cargo/config.toml", "[target.HOST]\nrunner = ['env', 'A=outer']"),
            ("inner/.cargo/config.toml", "[target.HOST]\nrunner = ['env', 'A=inner']"),
        ],
        via: &["env", "A=inner"],
        ..EMPTY
    },
    Case {
        name: "target-word",
        files: &[(".cargo/config.toml", "[target.HOST]\nrunner = 'env A=1'")],
        words: &["--target", "HOST"],
        via: &["env", "A=1"],
        ..EMPTY
    },
    Case {
        name: "target-in-file",
        files: &[(".cargo/config.toml", "[build]\ntarget = 'HOST'\n[target.HOST]\nrunner = ['env']")],
        via: &["env"],
        ..EMPTY
    },
    Case { name: "target-in-env", env: &[("CARGO_BUILD_TARGET", "HOST")], ..EMPTY },
    Case {
        name: "manifest-option-after-runner",
        files: &[("config", "not read: it lies in no .cargo folder")],
        words: &["--", "--nocapture"],
        ..EMPTY
    },
];

const EMPTY: Case = Case { name: "", files: &[], env: &[], words: &[], via: &[], via_nextest: None };

const PASS_ON: &str = "#!/bin/sh\nexec env \"$@\"\n";

/// Stands where our runner would.
const RECORDER: &str = "#!/bin/sh
printf '%s\\n' \"$@\" >> \"$RECORD\"
while [ \"$1\" != -- ]; do shift; done
shift
exec \"$@\"
";

/// A package with one test, built into a target folder of its own.
fn host(cargo: &OsStr, around: &Surroundings) -> String {
    let config = CargoConfig::read(&OwnWords::new(&[]), around, Reader::Cargo).expect("configuration");
    AskedHost::ask(cargo, around).and_then(|asked| asked.told(&config)).expect("host")
}

#[test]
fn where_no_compiler_can_be_asked_cargo_says_its_host() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let around = |env: &[(&str, &str)]| Surroundings::of_test(folder.path(), env);
    let expected = host(&cargo, &around(&[]));
    assert!(expected.contains('-'), "{expected}");
    assert_eq!(host(&cargo, &around(&[("RUSTC", "/no/such/rustc")])), expected);
    write(folder.path(), ".cargo/config.toml", "[build]\nrustc = \"false\"\n");
    assert_eq!(host(&cargo, &around(&[])), expected);
}

struct Scratch {
    dir: TempDir,
    cargo: OsString,
    host: String,
}

impl Scratch {
    fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("in ject").tempdir().expect("temporary folder");
        write(dir.path(), "Cargo.toml", "[package]\nname = \"scratch\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n");
        write(dir.path(), "src/lib.rs", "#[test]\nfn passes() {}\n");
        write(dir.path(), "our runner/record", RECORDER);
        write(dir.path(), "home/empty", "");
        let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
        let around = Surroundings::of_process().expect("surroundings");
        let host = host(&cargo, &around);
        Self { dir, cargo, host }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Runs the case as `cargo <subcommand>` and gives back what our runner saw, a list for each time it ran.
    fn run(&self, subcommand: &[&str], reader: Reader, case: &Case) -> Vec<Vec<String>> {
        let folder = self.path(&format!("{}/{}", subcommand.join("-"), case.name));
        fs::create_dir_all(&folder).expect("folder");
        for (path, text) in case.files {
            write(&folder, path, &self.named(text));
        }
        let cwd = if folder.join("inner").exists() { folder.join("inner") } else { folder.clone() };
        let record = folder.join("record.txt");
        let env = self.env(case);
        let pairs: Vec<(&str, &str)> = env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let around = Surroundings::of_test(&cwd, &pairs);
        let typed: Vec<OsString> = case.words.iter().map(|word| self.named(word).into()).collect();
        let own = OwnWords::new(&typed);
        let config = CargoConfig::read(&own, &around, reader).expect("configuration");
        let program = self.path("our runner/record").to_str().expect("text").to_owned();
        let ours = [program, crate::cli::RUNNER.to_owned(), "--session=a \"b\" $c #d".to_owned()];
        let injected = runner_words(&ours, &config, &own, &self.host).expect("words");
        let mut command = Command::new(&self.cargo);
        command.args(subcommand);
        match reader {
            Reader::Cargo => command.args(append(&typed, injected)),
            Reader::Nextest => command.args(injected).args(typed),
        };
        command.current_dir(&cwd).env("RECORD", &record);
        clean(&mut command, &env);
        let output = command.output().expect("cargo starts");
        assert!(output.status.success(), "{}: {}", case.name, said(&output));
        let text = fs::read_to_string(&record).unwrap_or_else(|_| panic!("{}: not run: {}", case.name, said(&output)));
        let mut runs: Vec<Vec<String>> = Vec::new();
        for line in text.lines() {
            if line == crate::cli::RUNNER {
                runs.push(Vec::new());
            }
            runs.last_mut().expect("the runner's name comes first").push(line.to_owned());
        }
        runs
    }

    fn named(&self, text: &str) -> String {
        text.replace("HOST", &self.host)
    }

    fn env(&self, case: &Case) -> BTreeMap<String, String> {
        let text = |path: PathBuf| path.into_os_string().into_string().expect("text");
        let mut env = BTreeMap::from([
            ("CARGO_HOME".to_owned(), text(self.path("home"))),
            ("CARGO_TARGET_DIR".to_owned(), text(self.path("target"))),
        ]);
        let host = self.host.replace('-', "_").to_uppercase();
        for (name, value) in case.env {
            env.insert(name.replace("HOST", &host), self.named(value));
        }
        env
    }

    /// What the runner must see before the binary.
    fn expected(&self, subcommand: &[&str], case: &Case, via: &[&str]) -> Vec<String> {
        let folder = self.path(&format!("{}/{}", subcommand.join("-"), case.name));
        let mut line = vec![crate::cli::RUNNER.to_owned(), "--session=a \"b\" $c #d".to_owned()];
        line.extend(via.iter().map(|word| format!("--via={}", word.replace("{dir}", folder.to_str().expect("text")))));
        line.push("--".to_owned());
        line
    }
}

fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().expect("inside")).expect("folder");
    fs::write(&path, text).expect("file");
    if text.starts_with("#!") {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    }
}

/// Takes out what the outer cargo or nextest set, and what would point to another configuration.
fn clean(command: &mut Command, env: &BTreeMap<String, String>) {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO") || name.starts_with("NEXTEST") || name.starts_with("RUSTFLAGS") {
            command.env_remove(name);
        }
    }
    command.envs(env);
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn cargo_starts_our_runner_with_the_users_in_it() {
    let scratch = Scratch::new();
    for case in CASES {
        let runs = scratch.run(&["test", "--lib"], Reader::Cargo, case);
        let expected = scratch.expected(&["test", "--lib"], case, case.via);
        assert_eq!(runs.len(), 1, "{}: {runs:?}", case.name);
        assert_eq!(runs[0][..expected.len()], expected, "{}", case.name);
        let binary = Path::new(&runs[0][expected.len()]);
        assert!(binary.starts_with(scratch.path("target")), "{}: {binary:?}", case.name);
    }
}

#[cfg(feature = "test-nextest")]
#[test]
fn nextest_starts_our_runner_with_the_users_in_it() {
    let scratch = Scratch::new();
    for case in CASES {
        let subcommand = ["nextest", "run"];
        let runs = scratch.run(&subcommand, Reader::Nextest, case);
        let expected = scratch.expected(&subcommand, case, case.via_nextest.unwrap_or(case.via));
        // Twice to list, at the same time, and once to run.
        for run in &runs {
            assert_eq!(run[..expected.len()], expected, "{}", case.name);
        }
        assert!(!runs.is_empty(), "{}", case.name);
    }
}

#[test]
fn two_matching_cfg_runners_are_refused_by_name() {
    let scratch = Scratch::new();
    let text = "[target.'cfg(unix)']\nrunner = 'a'\n[target.'cfg(not(windows))']\nrunner = 'b'\n";
    write(scratch.dir.path(), ".cargo/config.toml", text);
    let around = Surroundings::of_test(scratch.dir.path(), &[("CARGO_HOME", "home")]);
    let config = CargoConfig::read(&OwnWords::new(&[]), &around, Reader::Cargo).expect("configuration");
    let error = config.user_runner(&scratch.host).expect_err("two").to_string();
    assert!(error.contains("cfg(unix)") && error.contains("cfg(not(windows))"), "{error}");
}

#[test]
fn a_broken_configuration_file_is_named() {
    let dir = tempfile::tempdir().expect("temporary folder");
    write(dir.path(), ".cargo/config.toml", "[target\n");
    let around = Surroundings::of_test(dir.path(), &[("CARGO_HOME", "home")]);
    let error = CargoConfig::read(&OwnWords::new(&[]), &around, Reader::Cargo).expect_err("broken").to_string();
    assert!(error.contains(".cargo/config.toml"), "{error}");
}

#[test]
fn each_target_gets_its_runner_and_custom_ones_go_by_their_stem() {
    let around = Surroundings::of_test("/nowhere/at/all", &[]);
    let line = words(&["--target", "specs/my.board.json", "--target=wasm32-wasip1", "--target", "host-tuple"]);
    let own = OwnWords::new(&line);
    let config = CargoConfig::read(&own, &around, Reader::Cargo).expect("configuration");
    let targets = config.targets(&own, "x86_64-host").expect("targets");
    assert_eq!(targets, ["x86_64-host", "my.board", "wasm32-wasip1"]);
    let injected = runner_words(&["/r", "__runner"].map(str::to_owned), &config, &own, "x86_64-host").expect("words");
    let injected: Vec<&str> = injected.iter().filter_map(|word| word.to_str()).collect();
    let expected = [
        "--config",
        "target.x86_64-host.runner=[\"/r\",\"__runner\",\"--\"]",
        "--config",
        "target.\"my.board\".runner=[\"/r\",\"__runner\",\"--\"]",
        "--config",
        "target.wasm32-wasip1.runner=[\"/r\",\"__runner\",\"--\"]",
    ];
    assert_eq!(injected, expected);
}
