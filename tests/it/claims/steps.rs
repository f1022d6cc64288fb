//! SIGKILL in front of every system call of an operation on ten claims: the set is never seen in part, and no number is used
//! twice.

use std::collections::HashMap;
use std::process::Command;

use lease_harness::claims::{ClaimLease, ClaimStore};
use lease_harness::store::{LeaseStore, StoreOptions};
use lease_tests::Lab;
use serde_json::Value;

use crate::support::lab;

const N_CLAIMS: usize = 10;

#[test]
fn a_set_appears_as_a_whole() {
    let scene = Scene::new();
    scene.kill_everywhere("acquire", &scene.acquire_words(), |scene| {
        // What a killed one left is held by its time; the next one begins without it.
        scene.run(&["release", "--owner", "a"]);
    });
}

#[test]
fn a_set_is_renewed_as_a_whole() {
    let scene = Scene::new();
    scene.run(&scene.acquire_words());
    scene.kill_everywhere("renew", &["renew", "--owner", "a", "--ttl-ms", "3600000"], |_| {});
    assert_eq!(scene.list().len(), N_CLAIMS);
}

#[test]
fn a_set_goes_as_a_whole() {
    let scene = Scene::new();
    scene.run(&scene.acquire_words());
    scene.kill_everywhere("release", &["release", "--owner", "a"], |scene| {
        if scene.list().is_empty() {
            scene.run(&scene.acquire_words());
        }
    });
}

struct Scene {
    lab: Lab,
    words: Vec<String>,
}

impl Scene {
    fn new() -> Self {
        let claim = |claim_idx: usize| match claim_idx % 3 {
            0 => format!("--claim=write:k{claim_idx}"),
            1 => format!("--claim=read:path:src/{claim_idx}"),
            _ => format!("--claim=exclusive:device:{claim_idx}"),
        };
        Self { lab: lab(), words: (0..N_CLAIMS).map(claim).collect() }
    }

    fn acquire_words(&self) -> Vec<&str> {
        let fixed = ["acquire", "--owner", "a", "--ttl-ms", "600000"];
        fixed.into_iter().chain(self.words.iter().map(String::as_str)).collect()
    }

    fn command(&self, words: &[&str]) -> Command {
        self.lab.lease(["claims", "--scope", "scope"].iter().chain(words))
    }

    #[track_caller]
    fn run(&self, words: &[&str]) -> Value {
        let finished = self.lab.run(self.command(words)).expect_success();
        serde_json::from_str(&finished.stdout).expect("one document")
    }

    fn list(&self) -> Vec<ClaimLease> {
        let options = StoreOptions { store: Some(self.lab.store()), ..StoreOptions::default() };
        let store = LeaseStore::open(&options).expect("the store opens");
        ClaimStore::new(store, "scope").expect("a scope").list().expect("it can be read")
    }

    /// Kills the operation in front of its first system call inside the lock, then of its second, and so on, until one ends
    /// by itself.
    fn kill_everywhere(&self, name: &str, words: &[&str], between: impl Fn(&Self)) {
        let mut last: HashMap<String, ClaimLease> = HashMap::new();
        for step in 1.. {
            let was_killed = traced::kill_at_call(self.command(words), step);
            let leases = self.list();
            assert!([0, N_CLAIMS].contains(&leases.len()), "{name} {step}: {leases:?}");
            let same = |what: fn(&ClaimLease) -> i64| leases.iter().all(|lease| what(lease) == what(&leases[0]));
            assert!(same(|lease| lease.expires_at) && same(|lease| lease.heartbeat_at), "{name} {step}: {leases:?}");
            for lease in leases {
                // A lease that was there before is the same, and a new one has a larger number.
                let before = last.insert(lease.resource_key.clone(), lease.clone());
                let is_sound = |before: &ClaimLease| before.id == lease.id || before.token < lease.token;
                assert!(before.as_ref().is_none_or(is_sound), "{name} {step}: {before:?} {lease:?}");
            }
            if !was_killed {
                assert!(10 < step, "{name} makes {step} calls inside the lock");
                return;
            }
            between(self);
        }
    }
}

/// A program that is stopped at each of its system calls: ptrace(2).
pub(crate) mod traced {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    /// A stop at a system call, told from others.
    const AT_CALL: i32 = libc::SIGTRAP | 0x80;

    /// Kills the program in front of its system call number `step` after its first `flock`; whether it got so far.
    #[expect(clippy::zombie_processes, reason = "it is awaited by its number, which also tells of stops")]
    pub(crate) fn kill_at_call(mut command: Command, step: usize) -> bool {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let trace_me = || match request(libc::PTRACE_TRACEME, 0, 0) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        };
        // SAFETY: ptrace(2) is a system call, which is all that may be done between fork and exec.
        unsafe { command.pre_exec(trace_me) };
        let mut child = command.spawn().expect("the program starts, stopped");
        let pid = i32::try_from(child.id()).expect("a process id fits");
        assert!(libc::WIFSTOPPED(wait(pid)), "it is stopped when it has become the program");
        let options = i64::from(libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL);
        assert_eq!(request(libc::PTRACE_SETOPTIONS, pid, options), 0);
        let mut calls = 0;
        loop {
            assert_eq!(request(libc::PTRACE_SYSCALL, pid, 0), 0);
            let status = wait(pid);
            if !libc::WIFSTOPPED(status) {
                assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "it ended by itself with {status:#x}");
                return false;
            }
            if libc::WSTOPSIG(status) == AT_CALL && counts(pid, &mut calls) && calls == step {
                child.kill().expect("it is stopped");
                let status = wait(pid);
                assert!(libc::WIFSIGNALED(status), "{status:#x}");
                return true;
            }
        }
    }

    /// Whether it stands in front of a system call that counts; the first is `flock`.
    fn counts(pid: i32, calls: &mut usize) -> bool {
        let Some(number) = entered_call(pid) else { return false };
        if *calls > 0 || number == u64::try_from(libc::SYS_flock).expect("a number") {
            *calls += 1;
            return true;
        }
        false
    }

    fn entered_call(pid: i32) -> Option<u64> {
        let mut info = std::mem::MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
        // SAFETY: the kernel writes no more than the size that it is given to where it is told to.
        let written = unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, size_of_val(&info), info.as_mut_ptr()) };
        assert!(written > 0, "{}", std::io::Error::last_os_error());
        // SAFETY: zeroes are a valid value of every member, and the kernel has written over some.
        let info = unsafe { info.assume_init() };
        if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
            return None;
        }
        // SAFETY: `entry` is what the kernel writes where it says so.
        Some(unsafe { info.u.entry.nr })
    }

    fn request(request: libc::c_uint, pid: i32, data: i64) -> i64 {
        // SAFETY: none of these requests reads or writes memory of ours.
        unsafe { libc::ptrace(request, pid, 0, data) }
    }

    fn wait(pid: i32) -> i32 {
        let mut status = 0;
        // SAFETY: the status is written to where it is told to.
        let waited = unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) };
        assert_eq!(waited, pid, "{}", std::io::Error::last_os_error());
        status
    }
}
