//! The program that becomes most tests of a run: built beside this one, carried in it, and kept in memory for each run.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio, id};

/// Empty where it could not be built.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/small-runner"));

/// A file in no folder: nobody can remove it during the run, and it can be started where what is in the temporary folder cannot.
pub(in crate::commands) struct SmallRunner {
    path: String,
    /// Stays as long as the run.
    _file: File,
}

impl SmallRunner {
    /// None if there is none, or it cannot be started: then each test is started by a larger program, which does the same.
    pub(super) fn provide() -> Option<Self> {
        let file = (!PROGRAM.is_empty()).then(in_memory)?.ok()?;
        let path = format!("/proc/{}/fd/{}", id(), file.as_raw_fd());
        can_be_started(&path).then_some(Self { path, _file: file })
    }

    /// Where it is, for whoever is started by this process or below.
    pub(in crate::commands) fn path(&self) -> &str {
        &self.path
    }
}

#[cfg(target_os = "linux")]
fn in_memory() -> io::Result<File> {
    use std::io::Write as _;

    use rustix::fs::{MemfdFlags, memfd_create};

    let mut file = File::from(memfd_create("lease-runner", MemfdFlags::CLOEXEC | MemfdFlags::EXEC)?);
    file.write_all(PROGRAM)?;
    Ok(file)
}

#[cfg(not(target_os = "linux"))]
fn in_memory() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A system may forbid it, and the program knows one system only. Without words it does nothing.
fn can_be_started(path: &str) -> bool {
    let tried = Command::new(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::PathBuf;
    use std::process::Output;
    use std::thread;

    use lease_harness::harness::Asker;
    use tempfile::TempDir;

    use super::*;

    const WAITS: u32 = 1;
    const GRANTED: u32 = 2;

    /// A small runner, and what stands for the large one: it prints its words, its sockets and what it knows of a grant.
    struct Place {
        above: TempDir,
        runner: SmallRunner,
    }

    impl Place {
        fn new() -> Self {
            let above = tempfile::tempdir().expect("folder");
            let runner =
                SmallRunner::provide().expect("it could be built and can be started: without it runs only take more time");
            let place = Self { above, runner };
            let large = "echo large $LEASE_GRANTS \"$@\"\nls -l /proc/$$/fd | grep -o socket\n";
            std::fs::write(place.path("large"), large).expect("file");
            place
        }

        fn path(&self, name: &str) -> PathBuf {
            self.above.path().join(name)
        }

        /// Runs it with these options and a test.
        fn run(&self, options: &[&str], test: &[&str], env: &[(&str, &str)]) -> Output {
            let mut command = Command::new(self.runner.path());
            command.arg("/bin/sh").arg(self.path("large")).arg("--for=nextest").args(options).arg("--").args(test);
            command.env_clear().env("PATH", "/usr/bin:/bin").envs(env.iter().copied()).current_dir(self.above.path());
            command.stdin(Stdio::null()).output().expect("it can be started")
        }

        /// The same with somebody who answers this to whoever asks; what it printed, and what was asked.
        fn asked(&self, answer: &[u8], test: &[&str], env: &[(&str, &str)]) -> (String, Vec<u8>) {
            let listener = UnixListener::bind(self.path("slots")).expect("socket");
            thread::scope(|scope| {
                let heard = scope.spawn(move || {
                    let mut stream = listener.accept().expect("somebody asks").0;
                    let heard = request(&mut stream);
                    stream.write_all(answer).expect("he hears");
                    heard
                });
                let option = format!("--proxy={}", self.path("slots").display());
                let output = self.run(&["--store=s", &option], test, env);
                (said(&output), heard.join().expect("it was asked"))
            })
        }
    }

    /// Options, a test and an environment.
    type Case<'a> = (&'a [&'a str], &'a str, &'a [(&'a str, &'a str)]);

    const IN_RUN: [(&str, &str); 3] =
        [("NEXTEST_TEST_PHASE", "run"), ("NEXTEST_TEST_NAME", "m::t"), ("CARGO_PKG_NAME", "package")];

    fn said(output: &Output) -> String {
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn message(kind: u32, texts: &[&str]) -> Vec<u8> {
        let number = |number: usize| u32::try_from(number).expect("few").to_le_bytes();
        let mut message = [kind.to_le_bytes(), number(texts.len())].concat();
        texts.iter().for_each(|text| message.extend([&number(text.len())[..], text.as_bytes()].concat()));
        message
    }

    fn request(stream: &mut UnixStream) -> Vec<u8> {
        let mut bytes = vec![0; 1 << 16];
        let n = stream.read(&mut bytes).expect("he says what he wants");
        bytes.truncate(n);
        bytes
    }

    /// It cannot take them from the library.
    #[test]
    fn it_tells_of_the_variables_that_the_library_wants() {
        let place = Place::new();
        let env = Asker::VARIABLES.map(|name| (name, "x"));
        let env: Vec<_> = IN_RUN.into_iter().filter(|(name, _)| !Asker::VARIABLES.contains(name)).chain(env).collect();
        let (_, asked) = place.asked(b"", &["/bin/true"], &env);
        let folder = place.above.path().to_str().expect("text").to_owned();
        let told = Asker::VARIABLES.iter().flat_map(|name| [*name, "x"]);
        let texts: Vec<&str> = [folder.as_str(), "package", "x"].into_iter().chain(told).collect();
        assert_eq!(asked, message(0, &texts));
    }

    #[test]
    fn it_becomes_the_test_in_a_slot() {
        let place = Place::new();
        let granted = message(GRANTED, &["LEASE_GRANTS", "g=1", "OLD", "new", "EMPTY", ""]);
        let test = [
            "/bin/sh",
            "-c",
            "echo \"$0 $1 $LEASE_GRANTS $OLD ${EMPTY-none} $OLDER\"; ls -l /proc/$$/fd | grep -o socket",
            "a b",
        ];
        let env = [&IN_RUN[..], &[("OLD", "old"), ("OLDER", "older")]].concat();
        let (said, asked) = place.asked(&granted, &test, &env);
        assert_eq!(said, "a b  g=1 new  older");
        let folder = place.above.path().to_str().expect("text");
        assert_eq!(asked, message(0, &[folder, "package", "m::t", "NEXTEST_TEST_NAME", "m::t"]));
    }

    #[test]
    fn a_long_answer_comes_in_pieces() {
        let place = Place::new();
        let long = "x".repeat(100_000);
        let (said, _) = place.asked(&message(GRANTED, &["LONG", &long]), &["/bin/sh", "-c", "echo ${#LONG}"], &IN_RUN);
        assert_eq!(said, "100000");
    }

    #[test]
    fn the_large_runner_hears_of_waits_and_refusals() {
        for kind in [WAITS, 3] {
            let place = Place::new();
            let (said, _) = place.asked(&message(kind, &["p"]), &["/bin/true", "--exact"], &IN_RUN);
            let (words, rest) = said.split_once(" --asked=").expect("which socket it is");
            assert_eq!(words, format!("large --for=nextest --store=s --proxy={}", place.path("slots").display()));
            let number = rest.strip_suffix(" -- /bin/true --exact\nsocket").expect("it is still there");
            assert!(number.parse::<u32>().is_ok(), "{number}");
        }
    }

    #[test]
    fn the_large_runner_says_why_a_test_cannot_be_started() {
        let place = Place::new();
        let (said, _) = place.asked(&message(GRANTED, &["LEASE_GRANTS", "g=1"]), &["/nowhere/test"], &IN_RUN);
        assert!(said.starts_with("large g=1 --for=nextest ") && said.ends_with(" -- /nowhere/test"), "{said}");
    }

    #[test]
    fn a_slot_that_is_too_large_is_not_asked_for_twice() {
        let too_long = "x".repeat(1 << 18);
        let huge = "x".repeat(1 << 21);
        for value in [too_long, huge] {
            let place = Place::new();
            let listener = UnixListener::bind(place.path("slots")).expect("socket");
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut stream = listener.accept().expect("somebody asks").0;
                    request(&mut stream);
                    // He may hear no more of it than he has room for.
                    let _ = stream.write_all(&message(GRANTED, &["LEASE_GRANTS", "g=1", "LONG", &value]));
                });
                let option = format!("--proxy={}", place.path("slots").display());
                let output = place.run(&[&option], &["/bin/true"], &IN_RUN);
                let why = String::from_utf8_lossy(&output.stderr).into_owned();
                assert_eq!(why, "error: cannot run /bin/true: Argument list too long (os error 7)\n");
                assert_eq!(output.status.code(), Some(126));
            });
        }
    }

    #[test]
    fn with_very_many_variables_the_large_runner_asks() {
        let place = Place::new();
        let names: Vec<_> = (0..9000).map(|number| format!("V{number}")).collect();
        let env: Vec<_> = names.iter().map(|name| (name.as_str(), "")).chain(IN_RUN).collect();
        let output = place.run(&["--proxy=/nowhere"], &["/bin/true"], &env);
        assert!(said(&output).starts_with("large --for=nextest "), "{output:?}");
    }

    #[test]
    fn a_large_runner_that_is_gone_is_told_of() {
        let place = Place::new();
        let output = Command::new(place.runner.path()).args(["/nowhere/cargo-lease", "__runner", "--", "/bin/true"]).output();
        let output = output.expect("it can be started");
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(why, "error: cannot run /nowhere/cargo-lease: No such file or directory (os error 2)\n");
        assert_eq!(output.status.code(), Some(127));
    }

    #[test]
    fn what_takes_no_slot_is_become_at_once() {
        let place = Place::new();
        let output = place.run(&["--proxy=/nowhere"], &["/bin/echo", "--list"], &[("NEXTEST_TEST_PHASE", "list")]);
        assert_eq!(said(&output), "--list");
    }

    #[test]
    fn all_else_is_for_the_large_runner() {
        let place = Place::new();
        let without = |name: &str| IN_RUN.into_iter().filter(|(other, _)| *other != name).collect::<Vec<_>>();
        let under_grants = [&IN_RUN[..], &[("LEASE_GRANTS", "g=2")]].concat();
        let proxy = "--proxy=/nowhere/slots";
        let far = format!("--proxy=/{}", "d".repeat(200));
        let table: [Case<'_>; 9] = [
            (&[proxy], "/bin/true", &IN_RUN),
            (&[&far], "/bin/true", &IN_RUN),
            (&[], "/bin/true", &IN_RUN),
            (&[proxy, "--via=qemu"], "/bin/true", &IN_RUN),
            (&[proxy, "--wrap=a"], "/bin/true", &IN_RUN),
            (&[proxy], "true", &IN_RUN),
            (&[proxy], "/bin/true", &under_grants),
            (&[proxy], "/bin/true", &without("NEXTEST_TEST_PHASE")),
            (&[proxy], "/bin/true", &without("NEXTEST_TEST_NAME")),
        ];
        for (options, test, env) in table {
            let grants = env.iter().find(|(name, _)| *name == "LEASE_GRANTS").map(|(_, value)| *value);
            let words = ["large"].into_iter().chain(grants).chain(["--for=nextest"]).chain(options.iter().copied());
            let words: Vec<_> = words.chain(["--"]).chain([test]).collect();
            assert_eq!(said(&place.run(options, &[test], env)), words.join(" "));
        }
    }

    #[test]
    fn who_is_not_answered_holds_his_slot_himself() {
        let place = Place::new();
        let (said, _) = place.asked(b"", &["/bin/true"], &IN_RUN);
        assert!(said.starts_with("large --for=nextest ") && !said.contains("asked") && !said.contains("socket"), "{said}");
    }
}
