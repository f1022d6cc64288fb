//! Two worktrees of one repository whose tests share a pool of two slots.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lease_tests::lab::check_nothing_held;
use lease_tests::{Finished, Lab, Running, ports, scratch, wait};
use serde_json::{Value, json};

use crate::support::lab;

/// The tests of one worktree.
pub(crate) const N_TESTS: usize = 20;

/// How the tests of a worktree are spread over test binaries: cargo starts a process a binary, nextest one a test.
#[derive(Clone, Copy)]
pub(crate) enum Spread {
    /// One test in each binary.
    OneEach,
    /// All tests in one binary.
    #[cfg_attr(not(feature = "nextest"), expect(dead_code, reason = "only nextest starts a process a test"))]
    Together,
}

/// The laboratory, the repository, and what the slots are.
pub(crate) struct Crowd {
    pub(crate) lab: Lab,
    pub(crate) worktrees: [PathBuf; 2],
    pub(crate) slots: Vec<Value>,
}

impl Crowd {
    /// A repository with a linked worktree, built in both. The pool file lies beside the manifest and is committed;
    /// nothing tells our programs where pool and store are.
    pub(crate) fn new(spread: Spread) -> Self {
        let lab = lab();
        let slots = two_slots(&lab);
        let provision = "rm -rf \"$POOL_SLOT_SCRATCH\" && mkdir \"$POOL_SLOT_SCRATCH\" && :";
        let env = json!({"PORT": "{port}", "SCRATCH": "{scratch}"});
        Self::with_pool(lab, spread, &json!({"slots": slots, "provision": provision, "grantEnv": env}))
    }

    /// The same with this pool file.
    pub(crate) fn with_pool(lab: Lab, spread: Spread, pool: &Value) -> Self {
        let main = scratch::fixture(&lab, "crowd", "main");
        write_tests(&main, spread);
        fs::write(main.join("pool.json"), pool.to_string()).expect("the laboratory is writable");
        let build = |folder: &Path| {
            let mut command = lab.cargo(["test", "--no-run"]);
            command.current_dir(folder);
            lab.run(command).expect_success();
        };
        build(&main);
        scratch::into_repository(&lab, &main);
        let linked = scratch::add_worktree(&lab, &main, "linked");
        build(&linked);
        let slots = pool["slots"].as_array().expect("a pool has slots").clone();
        Self { lab, worktrees: [main, linked], slots }
    }

    /// Where all worktrees of the repository find the store by themselves.
    pub(crate) fn store(&self) -> PathBuf {
        self.worktrees[0].join("logs/leases")
    }

    /// A command of ours in one of the worktrees, which finds pool and store by itself.
    pub(crate) fn lease(&self, worktree: usize, args: &[&str]) -> Command {
        let mut command = self.lab.bare_lease(args);
        command.current_dir(&self.worktrees[worktree]).env("LAB_RUN", format!("worktree-{worktree}"));
        command
    }

    /// Runs `args` in both worktrees at once. The `n_free` slots that nobody holds are held until `n_waiters` stand in
    /// the queue, so that both runs are there before the first test begins.
    pub(crate) fn run_in_both(&self, args: &[&str], n_free: usize, n_waiters: usize) -> [Finished; 2] {
        let holders = self.hold_slots(n_free);
        let runs = [0, 1].map(|worktree| self.lab.start(self.lease(worktree, args)));
        wait::until_true("both runs wait for a slot", || Lab::queue(&self.store(), "pool").len() == n_waiters);
        self.lab.open("gate");
        for holder in holders {
            holder.finish().expect_success();
        }
        runs.map(Running::finish)
    }

    fn hold_slots(&self, n: usize) -> Vec<Running> {
        let gate = self.lab.path("gate").display().to_string();
        let actor = env!("CARGO_BIN_EXE_actor");
        let start = |_| {
            let mut command = self.lease(0, &["run", "--", actor, "hold", &gate]);
            command.env("LAB_RUN", "holder");
            self.lab.start(command)
        };
        let holders: Vec<_> = (0..n).map(start).collect();
        let held = || self.lab.history().all("start").iter().filter(|event| event.get("run") == "holder").count();
        wait::until_true("all slots are held", || held() == n);
        holders
    }

    /// Checks what the tests wrote down: every test ran once, alone in its slot and with its slot's port, both
    /// worktrees were at work at the same time, and everything was given back.
    #[track_caller]
    pub(crate) fn check_history(&self) {
        let history = self.lab.history();
        history.check_one_user_a_slot();
        history.check_interleaved("run", "worktree-0", "worktree-1");
        let mut uses: Vec<_> = history.all("start").into_iter().filter(|event| event.fields.contains_key("test")).collect();
        for event in &uses {
            assert_eq!(event.get("port"), self.port_of(event.get("slot")), "{event:?}");
        }
        uses.sort_by_key(|event| (event.get("run").to_owned(), event.get("test").to_owned()));
        uses.dedup_by_key(|event| (event.get("run").to_owned(), event.get("test").to_owned()));
        assert_eq!(uses.len(), 2 * N_TESTS, "{uses:#?}");
        check_nothing_held(&self.store());
    }

    /// Checks that leases never show up in anybody's `git status`.
    #[track_caller]
    pub(crate) fn check_unseen_by_git(&self) {
        for worktree in &self.worktrees {
            assert_eq!(scratch::changes(&self.lab, worktree), "", "leases show up in the status of a repository");
        }
    }

    fn port_of(&self, slot: &str) -> String {
        let slot = self.slots.iter().find(|candidate| candidate["id"] == slot);
        slot.unwrap_or_else(|| panic!("a slot that the pool has not"))["port"].to_string()
    }
}

/// Two slots, each with a port and a folder.
pub(crate) fn two_slots(lab: &Lab) -> Vec<Value> {
    let slot = |(id, port): (&str, u16)| json!({"id": id, "port": port, "scratch": lab.path(format!("scratch-{id}"))});
    ["a", "b"].into_iter().zip(ports::free(2)).map(slot).collect()
}

fn write_tests(folder: &Path, spread: Spread) {
    let tests = folder.join("tests");
    fs::create_dir(&tests).expect("the laboratory is writable");
    let names: Vec<_> = (0..N_TESTS).map(|n| format!("t{n:02}")).collect();
    let test = |name: &String| format!("#[test]\nfn {name}() {{\n    crowd::use_slot(\"{name}\");\n}}\n");
    let write = |file: &str, text: String| fs::write(tests.join(file), text).expect("the laboratory is writable");
    match spread {
        Spread::OneEach => names.iter().for_each(|name| write(&format!("{name}.rs"), test(name))),
        Spread::Together => write("all.rs", names.iter().map(test).collect()),
    }
}
