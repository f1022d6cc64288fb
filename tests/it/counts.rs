//! What the rows of the table in `docs/performance.md` cost, as counts: system calls by strace, instructions by valgrind, wakeups by
//! the kernel's own books. A count says the same on every machine and under every load, where a time says nothing. What is counted
//! is the program `gauge`, which does one row so many times, and the command line.

#[cfg(feature = "nextest")]
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lease_tests::{Lab, binary, environment};

use crate::support::{in_workspace, lab};

/// A store's lease, acquired and released. The target of the table is 20; reached are 19 on ext4, where files are written anew, and
/// 15 elsewhere. Two more where a machine is so slow that each guard has to be given the present time.
const STORE_PAIR: f64 = 21.0;
/// One beat of a lease.
const HEARTBEAT: f64 = 15.0;
/// A slot of a pool, acquired and released. The target of the table is 60; reached are 60 on ext4 and 48 elsewhere, and more on a
/// slow machine.
const POOL_PAIR: f64 = 62.0;
/// So many calls more are still flat.
const FEW: f64 = 5.0;
/// A queue of a thousand costs at most so many times what an empty one does.
const TIMES_AN_EMPTY_QUEUE: f64 = 5.0;
/// What twice as much of something may cost, if no part of it grows with the square.
const TWICE: f64 = 2.2;
/// `pool acquire --no-wait` and `pool release`, both processes from their start. Reached are 257 on ext4.
const ACQUIRE_AND_RELEASE: usize = 275;
/// `run -- true`, all processes of it from their start.
const RUN_TRUE: usize = 345;
/// A process with one leased test, beyond one with a test that is not leased. Reached are 112 on ext4.
const LEASED_TEST: usize = 120;
/// The same in instructions of programs that are not optimised, as tests are. Reached are 1.44 million.
const LEASED_TEST_INSTRUCTIONS: usize = 1_480_000;
/// A test that `cargo lease nextest run` runs in a slot, beyond one of a plain run; reached are 73 on ext4: with a slot that the run's parent holds, and
/// with a process of ours around it, where the system does not allow for the former.
#[cfg(feature = "nextest")]
const WRAPPED_TEST: [f64; 2] = [85.0, 440.0];
/// How often a waiter for whom nothing happens may wake in a second, and what it may ask of the kernel then.
const IDLE_WAKES: f64 = 6.0;
const IDLE_CALLS: f64 = 60.0;
/// The most memory of a command, in KiB. The programs of the tests are not optimised, and are larger than those of users.
const PEAK_KIB: f64 = 12.0 * 1024.0;
/// What a user builds who depends on the library, without its features.
const CRATES: usize = 16;

/// Calls by which libc gets memory and begins and ends threads, and waits of one thread for another: how many there are is a
/// matter of chance, or of the allocator.
const NOISE: [&str; 18] = [
    "brk",
    "mmap",
    "munmap",
    "mremap",
    "mprotect",
    "madvise",
    "futex",
    "rseq",
    "set_robust_list",
    "sigaltstack",
    "rt_sigprocmask",
    "exit",
    "gettid",
    "sched_getaffinity",
    "sched_yield",
    "restart_syscall",
    "getrandom",
    "prctl",
];

/// Left out too: whether a thread is begun for the next lease depends on whether that for the last one has found out that it is over.
const BEGINS_A_THREAD: &str = "CLONE_THREAD";

/// And what the standard library asks before it closes a descriptor, where it is built to check itself.
const CHECKS_ITSELF: &str = "F_GETFD";

/// Cargo names folders to its tests in which every program would look for its libraries first.
const LIBRARIES: &str = "LD_LIBRARY_PATH";

#[test]
fn a_lease_of_a_store() {
    let counted = Counted::new();
    check("store-pair", counted.calls("store-pair", 20), STORE_PAIR);
    check("store-heartbeat", counted.calls("store-heartbeat", 20), HEARTBEAT);
}

#[test]
fn a_slot_of_a_pool_whatever_its_size_and_its_past() {
    let counted = Counted::new();
    let small = counted.calls("pool-pair:slots=4", 20);
    check("pool-pair:slots=4", small, POOL_PAIR);
    check("pool-pair:slots=1000", counted.calls("pool-pair:slots=1000", 10), small + FEW);
    // Those who make the past are not counted.
    let past = Counted::new();
    past.gauge(1, "pool-pair:slots=4,past=10000");
    check("pool-pair:past=10000", past.calls_there("pool-pair:slots=4", 10), small + FEW);
}

#[test]
fn the_instructions_of_a_slot_whatever_the_size_of_the_pool() {
    let counted = Counted::new();
    let small = counted.instructions("pool-pair:slots=4", 2);
    check("pool-pair:slots=1000", counted.instructions("pool-pair:slots=1000", 2), small * 1.5);
}

#[test]
fn a_turn_in_a_queue_whatever_its_length() {
    let counted = Counted::new();
    for row in ["queue-join", "queue-turn"] {
        let empty = counted.calls(row, 4);
        let long = format!("{row}:waiters=1000");
        check(&long, counted.calls(&long, 2), empty * TIMES_AN_EMPTY_QUEUE);
    }
}

#[test]
fn the_instructions_of_a_queue_grow_with_its_length_and_not_faster() {
    let counted = Counted::new();
    for row in ["queue-turn", "queue-status"] {
        let [short, long] = [50, 100].map(|n_waiters| counted.instructions(&format!("{row}:waiters={n_waiters}"), 1));
        check(&format!("{row}:waiters=100"), long, short * TWICE);
    }
}

#[test]
fn waiters_for_whom_nothing_happens() {
    let counted = Counted::new();
    let row = "idle:waiters=100";
    check(row, figure(&counted.gauge(3, row), "wakes_each_a_second"), IDLE_WAKES);
    check("idle:waiters=2", counted.calls("idle:waiters=2", 2) / 2.0, IDLE_CALLS);
}

/// One is handed the slot, and the others sleep on: all of them together wake less often than if each were woken once.
#[test]
fn who_waits_behind_the_head_of_the_line() {
    let row = "hand-over:waiters=30";
    check(row, figure(&Counted::new().gauge(4, row), "wakes"), 30.0);
}

#[test]
fn two_commands_that_acquire_and_release() {
    let lab = with_slots();
    let pair = || {
        let (grant, n_acquire) = calls_of(&lab, lease(&lab, &["pool", "acquire", "--no-wait", "--owner", "counts"]));
        let grant: serde_json::Value = serde_json::from_str(&grant).expect("a grant is a document");
        let token = grant["token"].as_str().expect("a grant has a token");
        let slot = grant["slot_id"].to_string();
        let n_dear = n_dear_in(&lab.path("calls"));
        let (_, n_release) =
            calls_of(&lab, lease(&lab, &["pool", "release", "--slot", &slot, "--owner", "counts", "--token", token]));
        (n_acquire + n_release, n_dear + n_dear_in(&lab.path("calls")))
    };
    // The first finds no store.
    assert!(5 < pair().1, "it makes the folders that stay");
    let (n_calls, n_dear) = pair();
    check("pool acquire and release", as_count(n_calls), as_count(ACQUIRE_AND_RELEASE));
    check("folders and threads of theirs", as_count(n_dear), 0.0);
}

#[test]
fn a_command_in_a_slot() {
    let lab = with_slots();
    let run = || calls_of(&lab, lease(&lab, &["run", "--", "true"])).1;
    run();
    check("run -- true", as_count(run()), as_count(RUN_TRUE));
}

#[test]
fn the_memory_of_a_command() {
    let lab = with_slots();
    let counted = Counted { lab };
    let command = format!("{} pool status", binary::cargo_lease().display());
    let mut gauge = counted.command(&[], &counted.lab.path("0"), 3, &["whole", &command]);
    gauge.env("LEASE_STORE", counted.lab.store()).env("LEASE_POOL_FILE", counted.lab.pool_file());
    let said = counted.lab.run(gauge).expect_success().stdout;
    check("pool status, KiB", figure(&said, "peak_kib"), PEAK_KIB);
}

#[test]
fn a_process_with_a_leased_test() {
    let lab = lab();
    // As few features as a user has, and as the tests of scheduling build them.
    let build = ["--package", "lease-compositions", "--features", "crowd"];
    let n_calls = |target: &str| {
        let program = composition(&lab, target, &build);
        one_test(&lab, &program, strace(&lab, &lab.path("calls")));
        one_test(&lab, &program, strace(&lab, &lab.path("calls")));
        n_calls_in(&lab.path("calls"))
    };
    let (leased, plain) = (n_calls("crowd"), n_calls("bystanders"));
    check("a leased test", as_count(leased), as_count(plain + LEASED_TEST));
}

#[test]
fn the_instructions_of_a_process_with_a_leased_test() {
    let lab = lab();
    // With what valgrind needs.
    let features = "lease-compositions/crowd,lease-tests/counts";
    let build = ["--package", "lease-compositions", "--package", "lease-tests", "--features", features];
    let n_instructions = |target: &str| {
        let program = composition(&lab, target, &build);
        one_test(&lab, &program, wrapped(&lab, &callgrind_words()));
        n_instructions_in(&one_test(&lab, &program, wrapped(&lab, &callgrind_words())))
    };
    let (leased, plain) = (n_instructions("crowd"), n_instructions("bystanders"));
    check("a leased test, instructions", as_count(leased), as_count(plain + LEASED_TEST_INSTRUCTIONS));
}

/// Runs the first test of a program, and nothing else; what was said on stderr.
fn one_test(lab: &Lab, program: &Path, mut wrapped: Command) -> String {
    let tests = lab.run(list(lab, program)).stdout;
    let test = tests.lines().find_map(|line| line.strip_suffix(": test")).expect("it has tests");
    wrapped.arg(program).args(["--exact", test]);
    wrapped.env("LEASE_STORE", lab.store()).env("CARGO_MANIFEST_DIR", compositions()).current_dir(compositions());
    lab.run(wrapped).expect_success().stderr
}

/// What a test of nextest's costs more if it runs in a slot. Both runs list the tests and look whether they are built.
#[cfg(feature = "nextest")]
#[test]
fn a_test_of_a_leased_run_of_nextest() {
    let lab = with_slots();
    let calls_a_test = |program: &Path| {
        let of = |modules: &[&str]| {
            let mut traced = strace(&lab, &lab.path("calls"));
            traced.arg(program).args(["nextest", "run", "--package", "lease-compositions", "--features", "crowd"]);
            traced.args(["--test", "bystanders", "--test-threads", "1"]).args(modules);
            traced.env("LEASE_STORE", lab.store()).env("LEASE_POOL_FILE", lab.pool_file()).env("CARGO", environment::cargo());
            in_workspace(&mut traced);
            lab.run(traced).expect_success();
            let calls = fs::read_to_string(lab.path("calls")).expect("strace has written it");
            as_count(without_nextest(&calls).filter(is_counted).count())
        };
        of(&["m0::"]);
        (of(&["m0::", "m1::", "m2::"]) - of(&["m0::"])) / 20.0
    };
    let (plain, leased) = (calls_a_test(Path::new(&environment::cargo())), calls_a_test(binary::cargo_lease()));
    let ceiling = WRAPPED_TEST[usize::from(!lease_harness::harness::SlotProxy::is_possible())];
    check("a test in a slot", leased, plain + ceiling);
}

#[test]
fn the_crates_that_a_user_builds() {
    let mut tree = lab().cargo(["tree", "--package", "lease-harness", "--edges", "normal,build", "--prefix", "none"]);
    tree.args(["--no-default-features", "--format", "{p}"]).current_dir(binary::workspace());
    let lab = lab();
    let printed = lab.run(tree).expect_success().stdout;
    let mut crates: Vec<_> = printed.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.is_empty()).collect();
    crates.sort_unstable();
    crates.dedup();
    check(&format!("crates: {crates:?}"), as_count(crates.len()), as_count(CRATES));
}

/// A row costs what it may.
#[track_caller]
fn check(row: &str, found: f64, ceiling: f64) {
    eprintln!("{row}: {found:.1} of {ceiling:.1}");
    assert!(found <= ceiling, "{row}: {found:.1}, which is more than {ceiling:.1}");
}

/// Where `gauge` is run and counted.
struct Counted {
    lab: Lab,
}

impl Counted {
    fn new() -> Self {
        Self { lab: lab() }
    }

    /// System calls of one pass.
    fn calls(&self, row: &str, n_passes: usize) -> f64 {
        self.a_pass(n_passes, &|n| self.n_calls(&self.folder(), n, row))
    }

    /// The same in the store that is there already.
    fn calls_there(&self, row: &str, n_passes: usize) -> f64 {
        self.a_pass(n_passes, &|n| self.n_calls(&self.lab.path("gauge"), n, row))
    }

    /// Instructions of one pass.
    fn instructions(&self, row: &str, n_passes: usize) -> f64 {
        self.a_pass(n_passes, &|n| self.n_instructions(n, row))
    }

    /// What the start of the program costs is in both.
    fn a_pass(&self, n_passes: usize, count: &dyn Fn(usize) -> usize) -> f64 {
        let (once, twice) = (count(n_passes), count(2 * n_passes));
        (as_count(twice) - as_count(once)) / as_count(n_passes)
    }

    fn n_calls(&self, folder: &Path, n_passes: usize, row: &str) -> usize {
        let calls = self.lab.path("calls");
        let wrapper = strace_words(&calls);
        self.lab.run(self.command(&wrapper, folder, n_passes, &[row])).expect_success();
        n_calls_in(&calls)
    }

    fn n_instructions(&self, n_passes: usize, row: &str) -> usize {
        n_instructions_in(
            &self.lab.run(self.command(&callgrind_words(), &self.folder(), n_passes, &[row])).expect_success().stderr,
        )
    }

    /// What it prints.
    fn gauge(&self, n: usize, row: &str) -> String {
        self.lab.run(self.command(&[], &self.folder(), n, &[row])).expect_success().stdout
    }

    fn command(&self, wrapper: &[String], folder: &Path, n: usize, rows: &[&str]) -> Command {
        let words: Vec<String> = wrapper.iter().cloned().chain([env!("CARGO_BIN_EXE_gauge").to_owned()]).collect();
        check_is_here(&words[0]);
        let mut command = self.lab.command(&words[0]);
        command.env_remove(LIBRARIES).args(&words[1..]).arg(folder).arg(n.to_string()).args(rows);
        command
    }

    /// An empty one.
    fn folder(&self) -> PathBuf {
        let folder = self.lab.path("gauge");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("the laboratory is writable");
        folder
    }
}

fn with_slots() -> Lab {
    let lab = lab();
    lab.write_pool(&serde_json::json!({"slots": [{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}]}));
    lab
}

/// `cargo-lease`, traced.
fn lease(lab: &Lab, args: &[&str]) -> Command {
    let mut traced = strace(lab, &lab.path("calls"));
    traced.arg(binary::cargo_lease()).args(args);
    traced.env("LEASE_STORE", lab.store()).env("LEASE_POOL_FILE", lab.pool_file()).env("CARGO", environment::cargo());
    traced
}

/// What a traced command prints, and its system calls.
fn calls_of(lab: &Lab, traced: Command) -> (String, usize) {
    let finished = lab.run(traced).expect_success();
    (finished.stdout, n_calls_in(&lab.path("calls")))
}

fn strace(lab: &Lab, calls: &Path) -> Command {
    wrapped(lab, &strace_words(calls))
}

fn wrapped(lab: &Lab, words: &[String]) -> Command {
    check_is_here(&words[0]);
    let mut command = lab.command(&words[0]);
    command.env_remove(LIBRARIES).args(&words[1..]);
    command
}

fn strace_words(calls: &Path) -> Vec<String> {
    let calls = calls.display().to_string();
    ["strace", "--follow-forks", "--quiet=all", "--signal=none", "--output", &calls].map(str::to_owned).to_vec()
}

fn callgrind_words() -> Vec<String> {
    ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"].map(str::to_owned).to_vec()
}

/// What callgrind says at its end.
fn n_instructions_in(said: &str) -> usize {
    let line = said.lines().find_map(|line| line.split_once("Collected : "));
    line.and_then(|(_, number)| number.trim().parse().ok()).unwrap_or_else(|| panic!("no number of instructions: {said}"))
}

#[track_caller]
fn check_is_here(program: &str) {
    let is_here = Command::new(program).arg("--version").output().is_ok();
    assert!(is_here, "{program} is not here, so nothing can be counted; on Debian or Ubuntu: apt-get install {program}");
}

/// The lines of strace that are the beginning of a call, without the noise.
fn n_calls_in(calls: &Path) -> usize {
    fs::read_to_string(calls).expect("strace has written it").lines().filter(is_counted).count()
}

fn is_counted(line: &&str) -> bool {
    let Some((name, arguments)) = line.split_once(' ').and_then(|(_, call)| call.trim_start().split_once('(')) else {
        return false;
    };
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word && !NOISE.contains(&name) && ![BEGINS_A_THREAD, CHECKS_ITSELF].iter().any(|noise| arguments.contains(noise))
}

/// All but the lines of nextest's own threads, which wake each other as often as chance has it.
#[cfg(feature = "nextest")]
fn without_nextest(calls: &str) -> impl Iterator<Item = &str> {
    let mut threads = HashSet::new();
    let mut begins = HashSet::new();
    calls.lines().filter(move |line| {
        let (thread, call) = line.split_once(' ').expect("a line begins with the number of a thread");
        let starts = |word: &str| call.trim_start().starts_with("execve(") && call.contains(word);
        if starts("/cargo-nextest\", ") && !starts("__double-spawn") {
            threads.insert(thread);
        }
        // A call in two lines says what it does in the first and whom it has begun in the second.
        if threads.contains(thread) && (call.contains(BEGINS_A_THREAD) || begins.remove(thread)) {
            match call.rsplit_once(" = ") {
                Some((_, begun)) => threads.insert(begun.trim_end()),
                None => begins.insert(thread),
            };
        }
        !threads.contains(thread)
    })
}

/// How often a folder was made or removed, or a thread or process begun. There are file systems where the removal of a folder costs
/// more than everything else that a lease does.
fn n_dear_in(calls: &Path) -> usize {
    const DEAR: [&str; 7] = [" mkdir(", " mkdirat(", " rmdir(", "AT_REMOVEDIR", " clone(", " clone3(", " vfork("];
    let text = fs::read_to_string(calls).expect("strace has written it");
    let is_dear = |line: &&str| !line.contains(" = -1 ") && DEAR.iter().any(|call| line.contains(call));
    text.lines().filter(is_dear).count()
}

/// A figure of what `gauge` prints.
fn figure(said: &str, name: &str) -> f64 {
    let found = said.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok());
    found.unwrap_or_else(|| panic!("no {name}: {said}"))
}

fn as_count(n: usize) -> f64 {
    f64::from(u32::try_from(n).expect("not so many"))
}

fn compositions() -> PathBuf {
    binary::workspace().join("tests/compositions")
}

/// One of their programs, built so.
fn composition(lab: &Lab, name: &str, packages: &[&str]) -> PathBuf {
    let mut build = lab.cargo(["test", "--no-run"]);
    build.args(packages).args(["--test", name, "--message-format", "json-render-diagnostics"]);
    in_workspace(&mut build);
    let built = lab.run(build).expect_success().stdout;
    let executable = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(message.get("executable")?.as_str()?.into())
    };
    built.lines().filter_map(executable).next_back().expect("cargo names the program")
}

fn list(lab: &Lab, program: &Path) -> Command {
    let mut list = lab.command(program);
    list.args(["--list", "--format", "terse"]).env("CARGO_MANIFEST_DIR", compositions()).current_dir(compositions());
    list
}
