//! Deferred requests and kept leases from a shell, with their real processes: they outlive who started them, hold nothing of
//! his, and end when they should.

use std::fs;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;

use lease_tests::{Finished, Lab, process, reap, wait};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::lab;

fn one_slot() -> Lab {
    let lab = lab();
    lab.write_slots(&["a"]);
    lab
}

fn answer(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {}", finished.account()))
}

/// The answer of an operation that succeeds.
fn pool(lab: &Lab, words: &[&str]) -> Value {
    answer(&lab.run(lab.lease([&["pool"], words].concat())).expect_success())
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value}"))
}

fn pid(requested: &Value) -> u32 {
    u32::try_from(requested["waiter_pid"].as_u64().expect("a request names its waiter")).expect("a process number")
}

/// Claims until the request is granted.
fn claimed(lab: &Lab, request: &str, owner: &str) -> Value {
    wait::until("a granted request", || {
        let answer = pool(lab, &["claim", "--request", request, "--owner", owner]);
        answer["queued"].is_null().then_some(answer)
    })
}

fn wait_until_free(lab: &Lab) {
    wait::until_true("a free slot", || lab.record("slot-a").is_none());
}

fn wait_until_gone(lab: &Lab, pid: u32) {
    wait::until_true("the end of a process", || !reap::marked(lab.id()).contains(&pid));
}

fn journal(lab: &Lab) -> String {
    fs::read_to_string(lab.store().join("pool/pool.log")).unwrap_or_default()
}

#[test]
fn a_killed_waiter_makes_way_for_the_next_in_line() {
    let lab = one_slot();
    let holder = pool(&lab, &["acquire", "--owner", "holder"]);
    let first = pool(&lab, &["request", "--owner", "first"]);
    let second = pool(&lab, &["request", "--owner", "second"]);
    assert_eq!((&first["position"], &second["position"]), (&json!(1), &json!(2)));
    process::kill(pid(&first));
    lab.wait_for_queue(1);
    assert_eq!(Lab::queue(&lab.store(), "pool")[0]["id"], second["request_id"]);
    pool(&lab, &["release", "--slot", "a", "--owner", "holder", "--token", text(&holder, "token")]);
    let granted = claimed(&lab, text(&second, "request_id"), "second");
    assert_eq!(text(&granted, "owner"), "second");
    let gone = lab.run(lab.lease(["pool", "claim", "--owner", "first", "--request", text(&first, "request_id")]));
    assert_eq!(answer(&gone.expect_code(1))["code"], "unknown_request");
}

#[test]
fn a_waiter_killed_after_the_grant_frees_the_slot() {
    let lab = one_slot();
    let requested = pool(&lab, &["request", "--owner", "first"]);
    wait::until_true("the grant", || journal(&lab).contains("granted"));
    process::kill(pid(&requested));
    wait_until_gone(&lab, pid(&requested));
    lab.run(lab.lease_actor(&[], &["note", "next"])).expect_success();
    let lost = lab.run(lab.lease(["pool", "claim", "--owner", "first", "--request", text(&requested, "request_id")]));
    assert_eq!(answer(&lost.expect_code(1))["state"], "lease_lost");
}

#[test]
fn a_request_outlives_its_requester_and_its_shell_and_not_its_limit() {
    let lab = one_slot();
    let cargo_lease = lease_tests::binary::cargo_lease();
    // 0.005 minutes are 300 ms. The shell leads a session of its own, and the whole of that is killed.
    let script = format!("{} pool request --owner first --claim-within 0.005; kill -9 0", cargo_lease.display());
    let mut shell = lab.command("setsid");
    shell.args(["--wait", "sh", "-c", &script]).env("LEASE_STORE", lab.store()).env("LEASE_POOL_FILE", lab.pool_file());
    let killed = lab.run(shell);
    let requested = answer(&killed);
    wait::until_true("the grant", || journal(&lab).contains(r#""event":"granted""#));
    wait_until_free(&lab);
    wait_until_gone(&lab, pid(&requested));
    let told = journal(&lab);
    assert!(told.contains(r#""event":"grant_unclaimed""#) && told.contains("nobody claimed it within 0.3 s"), "{told}");
}

#[test]
fn a_waiter_outlives_the_slot_that_it_was_started_in() {
    let lab = one_slot();
    let other = lab.path("other.json").display().to_string();
    fs::write(&other, r#"{"name":"other","slots":[{"id":"b","kind":"other-b"}]}"#).unwrap();
    pool(&lab, &["acquire", "--pool", &other, "--owner", "holder"]);
    let cargo_lease = lease_tests::binary::cargo_lease();
    let script = format!("{} pool request --pool {other} --owner later && exec tail -f /dev/null", cargo_lease.display());
    let run = lab.start(lab.lease(["run", "--", "sh", "-c", &script]));
    wait::until_true("a request", || run.stdout().ends_with('\n'));
    let requested: Value = serde_json::from_str(&run.stdout()).unwrap();
    process::kill(run.pid());
    run.finish();
    // Whoever clears a lost slot ends what still works on it.
    wait::until_true("a cleared slot", || {
        pool(&lab, &["pump", "--owner", "ops"]);
        lab.record("slot-a").is_none()
    });
    assert_eq!(Lab::queue(&lab.store(), "other")[0]["id"], requested["request_id"]);
    assert!(reap::marked(lab.id()).contains(&pid(&requested)));
}

#[test]
fn a_waiter_holds_nothing_of_who_started_it() {
    let lab = one_slot();
    let (_reader, writer) = std::io::pipe().unwrap();
    let inherited = writer.as_raw_fd();
    let pipe = fs::read_link(format!("/proc/self/fd/{inherited}")).unwrap();
    let mut request = lab.lease(["pool", "request", "--owner", "first"]);
    // SAFETY: one system call on a descriptor that is open until the command has started.
    unsafe {
        request.pre_exec(move || match libc::fcntl(inherited, libc::F_SETFD, 0) {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    let requested = answer(&lab.run(request).expect_success());
    let folder = format!("/proc/{}", pid(&requested));
    wait::until_true("a waiter that has let go", || fs::read_link(format!("{folder}/fd/1")).is_ok_and(|to| to.ends_with("null")));
    let open: Vec<_> =
        fs::read_dir(format!("{folder}/fd")).unwrap().filter_map(|fd| fs::read_link(fd.unwrap().path()).ok()).collect();
    assert!(!open.contains(&pipe), "{open:?}");
    for stream in ["0", "1", "2"] {
        assert_eq!(fs::read_link(format!("{folder}/fd/{stream}")).unwrap().to_str(), Some("/dev/null"));
    }
    assert_eq!(fs::read_link(format!("{folder}/cwd")).unwrap().to_str(), Some("/"));
}

#[test]
fn sigterm_takes_a_waiter_out_of_the_queue_and_gives_an_unclaimed_slot_back() {
    let lab = one_slot();
    let granted = pool(&lab, &["request", "--owner", "first"]);
    wait::until_true("the grant", || journal(&lab).contains("granted"));
    let queued = pool(&lab, &["request", "--owner", "second"]);
    for (requested, what) in [(&queued, "queued"), (&granted, "granted")] {
        let process = rustix::process::Pid::from_raw(i32::try_from(pid(requested)).unwrap()).unwrap();
        rustix::process::kill_process(process, Signal::TERM).unwrap_or_else(|error| panic!("{what}: {error}"));
        wait_until_gone(&lab, pid(requested));
    }
    lab.check_all_given_back();
    assert!(journal(&lab).contains("nobody had claimed it when its waiter was ended"), "{}", journal(&lab));
}

#[test]
fn a_waiter_gives_up_when_its_time_is_over() {
    let lab = one_slot();
    pool(&lab, &["acquire", "--owner", "holder"]);
    let mut request = lab.lease(["pool", "request", "--owner", "first"]);
    request.env("POOL_WAITER_TIMEOUT_MS", "50");
    let requested = answer(&lab.run(request).expect_success());
    wait_until_gone(&lab, pid(&requested));
    lab.wait_for_queue(0);
    assert!(journal(&lab).contains(r#""event":"request_not_granted""#), "{}", journal(&lab));
    let mut request = lab.lease(["pool", "request", "--owner", "first"]);
    request.env("POOL_WAITER_TIMEOUT_MS", "soon");
    let refused = lab.run(request).expect_code(2);
    assert!(refused.stderr.contains("POOL_WAITER_TIMEOUT_MS 'soon'"), "{}", refused.account());
}

#[test]
fn a_refused_request_says_why_and_leaves_no_process() {
    let lab = one_slot();
    let refused = lab.run(lab.lease(["pool", "request", "--owner", "not an owner"])).expect_code(2);
    assert!(refused.stderr.contains("invalid owner"), "{}", refused.account());
    assert_eq!(refused.stdout, "");
    lab.write_pool(&json!({"slots": []}));
    let refused = lab.run(lab.lease(["pool", "request", "--owner", "first"])).expect_code(2);
    assert_eq!(refused.stderr.matches("error:").count(), 1, "{}", refused.account());
    assert_eq!(reap::marked(lab.id()), [0; 0]);
}

#[test]
fn a_nudged_session_claims_its_slot_by_itself() {
    let lab = one_slot();
    let nudge = format!(
        "request=$(sed 's/.*\"request_id\":\"\\([^\"]*\\)\".*/\\1/') && {} pool claim --owner first --request \"$request\" > claimed",
        lease_tests::binary::cargo_lease().display()
    );
    let requested = pool(&lab, &["request", "--owner", "first", "--nudge-cmd", &nudge]);
    wait_until_gone(&lab, pid(&requested));
    let claimed: Value = serde_json::from_str(&fs::read_to_string(lab.path("claimed")).unwrap()).unwrap();
    assert_eq!(claimed["request_id"], requested["request_id"]);
    assert!(lab.record("slot-a").is_some(), "it is still held when its waiter has gone");
}

#[test]
fn who_was_started_with_the_end_of_children_ignored_learns_how_they_ended() {
    let lab = lab();
    lab.write_pool(&json!({"slots": [{"id": "a"}], "provision": "true", "nudgeCommand": "true"}));
    let run = |words: &[&str]| {
        let mut command = lab.lease(words);
        // SAFETY: one system call.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGCHLD, libc::SIG_IGN);
                Ok(())
            });
        }
        lab.run(command)
    };
    run(&["run", "--", "true"]).expect_success();
    let refused = run(&["pool", "request", "--owner", "not an owner"]).expect_code(2);
    assert_eq!(refused.stderr.matches("error:").count(), 1, "{}", refused.account());
    let requested = answer(&run(&["pool", "request", "--owner", "first"]).expect_success());
    claimed(&lab, text(&requested, "request_id"), "first");
    wait_until_gone(&lab, pid(&requested));
    assert!(!journal(&lab).contains("nudge_failed"), "{}", journal(&lab));
}

/// A shell that takes a slot for as long as it lives, says so, and waits.
fn keeping_shell(lab: &Lab, how: &str) -> lease_tests::Running {
    let cargo_lease = lease_tests::binary::cargo_lease();
    let script = format!("exec 3>&1; grant=$({} {how} --keep $$) || exit; echo taken; read -r line", cargo_lease.display());
    let mut shell = lab.command("sh");
    shell.args(["-c", &script]).env("LEASE_STORE", lab.store()).env("LEASE_POOL_FILE", lab.pool_file());
    shell.stdin(std::process::Stdio::piped());
    let shell = lab.start(shell);
    wait::until_true("a taken lease", || shell.stdout().contains("taken"));
    shell
}

#[test]
fn a_kept_slot_lives_and_dies_with_its_process() {
    let lab = one_slot();
    // 0.05 minutes are 3 s: a heartbeat every half second.
    let mut shell = keeping_shell(&lab, "pool acquire --owner first --ttl 0.05");
    let before = lab.record("slot-a").expect("it is held");
    wait::until_true("a heartbeat", || lab.record("slot-a").expect("it is held")["heartbeat"] != before["heartbeat"]);
    let saturated = lab.run(lab.lease(["pool", "acquire", "--owner", "second", "--no-wait"])).expect_code(1);
    assert_eq!(answer(&saturated)["code"], "saturated");
    shell.close_stdin();
    shell.finish();
    wait_until_free(&lab);
    // It tells when the slot is free already, and is the last to go.
    wait::until_true("no process is left", || reap::marked(lab.id()).is_empty());
    assert!(journal(&lab).contains("the process that it followed has ended"), "{}", journal(&lab));
}

#[test]
fn a_kept_slot_dies_with_a_killed_process_and_with_a_killed_keeper() {
    let lab = one_slot();
    let shell = keeping_shell(&lab, "pool acquire --owner first");
    process::kill(shell.pid());
    shell.finish();
    wait_until_free(&lab);

    let shell = keeping_shell(&lab, "pool acquire --owner first");
    let keeper = reap::marked(lab.id()).into_iter().find(|pid| *pid != shell.pid()).expect("a keeper");
    process::kill(keeper);
    wait_until_gone(&lab, keeper);
    lab.run(lab.lease_actor(&[], &["note", "next"])).expect_success();
}

#[test]
fn a_kept_lease_of_the_store_lives_and_dies_with_its_process() {
    let lab = one_slot();
    for payload in ["null", r#"{"why":"merging"}"#] {
        let mut shell =
            keeping_shell(&lab, &format!("store acquire --kind baton --owner first --ttl 0.05 --payload '{payload}'"));
        let before = lab.record("baton").expect("it is held");
        wait::until_true("a heartbeat", || lab.record("baton").expect("it is held")["heartbeat"] != before["heartbeat"]);
        shell.close_stdin();
        shell.finish();
        wait::until_true("a free lease", || lab.record("baton").is_none());
    }
}

#[test]
fn a_claimed_slot_can_be_kept_and_released_by_hand() {
    let lab = one_slot();
    let requested = pool(&lab, &["request", "--owner", "first"]);
    wait::until_true("the grant", || journal(&lab).contains("granted"));
    let own = std::process::id().to_string();
    let claim = ["claim", "--owner", "first", "--request", text(&requested, "request_id"), "--keep", &own];
    let grant = pool(&lab, &claim);
    wait_until_gone(&lab, pid(&requested));
    assert!(lab.record("slot-a").expect("it is held")["payload"]["alive"].is_string(), "its keeper vouches for it");
    pool(&lab, &["release", "--slot", "a", "--owner", "first", "--token", text(&grant, "token")]);
    wait::until_true("no process is left", || reap::marked(lab.id()).is_empty());
    lab.check_all_given_back();
}

#[test]
fn who_cannot_be_followed_gets_no_slot() {
    let lab = one_slot();
    let mut child = lab.command("true").spawn().unwrap();
    child.wait().unwrap();
    let gone = child.id().to_string();
    for words in
        [["pool", "acquire", "--owner", "first", "--keep", &gone], ["pool", "acquire", "--owner", "first", "--keep", "-1"]]
    {
        let refused = lab.run(lab.lease(words)).expect_code(2);
        assert_eq!(refused.stdout, "");
    }
    lab.run(lab.lease(["pool", "status"])).expect_success();
    assert!(lab.record("slot-a").is_none());
}

/// Who asked is killed while he tries to say what his request is called.
#[test]
fn a_request_that_nobody_came_to_know_of_leaves_the_queue() {
    let lab = one_slot();
    pool(&lab, &["acquire", "--owner", "holder"]);
    let (_reader, full) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&full, true).unwrap();
    while (&full).write(&[b'x'; 4096]).is_ok() {}
    rustix::io::ioctl_fionbio(&full, false).unwrap();
    let mut request = lab.lease(["pool", "request", "--owner", "first"]).stdout(full).spawn().unwrap();
    wait::until_true("a queued request", || journal(&lab).contains("request_queued"));
    lab.wait_for_queue(1);
    request.kill().and_then(|()| request.wait()).unwrap();
    lab.wait_for_queue(0);
    wait::until_true("no process is left", || reap::marked(lab.id()).is_empty());
}

#[test]
fn an_answer_that_nobody_hears_leaves_nothing_behind() {
    let lab = one_slot();
    for words in ["pool acquire --owner first", "pool acquire --owner first --keep $PPID", "pool request --owner first"] {
        let script = format!("{} {words} > /dev/full", lease_tests::binary::cargo_lease().display());
        let mut shell = lab.command("sh");
        shell.args(["-c", &script]).env("LEASE_STORE", lab.store()).env("LEASE_POOL_FILE", lab.pool_file());
        lab.run(shell).expect_code(3);
        wait::until_true("no process is left", || reap::marked(lab.id()).is_empty());
        lab.check_all_given_back();
    }
}

#[test]
fn a_request_told_to_end_while_its_slot_is_made_ready_is_no_failure_of_the_slot() {
    let lab = lab();
    lab.write_pool(&json!({"slots": [{"id": "a"}], "provision": "touch begun; exec tail -f /dev/null; :"}));
    let requested = pool(&lab, &["request", "--owner", "first"]);
    wait::until_true("a slot that is being made ready", || lab.path("begun").exists());
    let process = rustix::process::Pid::from_raw(i32::try_from(pid(&requested)).unwrap()).unwrap();
    rustix::process::kill_process(process, Signal::TERM).unwrap();
    wait_until_gone(&lab, pid(&requested));
    let gone = lab.run(lab.lease(["pool", "claim", "--owner", "first", "--request", text(&requested, "request_id")]));
    assert_eq!(answer(&gone.expect_code(1))["code"], "unknown_request");
    let told = journal(&lab);
    assert!(told.contains("grant_cancelled") && !told.contains("grant_reset_failed"), "{told}");
    lab.check_all_given_back();
}

#[test]
fn nobody_waits_for_a_process_that_has_ended() {
    let lab = one_slot();
    let holder = pool(&lab, &["acquire", "--owner", "holder"]);
    let mut followed = lab.command("sleep").arg("600").spawn().unwrap();
    let waiting = lab.start(lab.lease(["pool", "acquire", "--owner", "first", "--keep", &followed.id().to_string()]));
    lab.wait_for_queue(1);
    followed.kill().unwrap();
    followed.wait().unwrap();
    let refused = waiting.finish().expect_code(1);
    assert_eq!(answer(&refused)["code"], "cancelled");
    assert!(refused.stderr.contains("has ended"), "{}", refused.account());
    lab.wait_for_queue(0);
    pool(&lab, &["release", "--slot", "a", "--owner", "holder", "--token", text(&holder, "token")]);
    wait::until_true("no process is left", || reap::marked(lab.id()).is_empty());
}

#[test]
fn a_claim_for_a_process_that_has_ended_says_so_and_can_be_made_again() {
    let lab = one_slot();
    let holder = pool(&lab, &["acquire", "--owner", "holder"]);
    let requested = pool(&lab, &["request", "--owner", "first"]);
    let mut followed = lab.command("sleep").arg("600").spawn().unwrap();
    let number = followed.id().to_string();
    let claim = ["claim", "--owner", "first", "--request", text(&requested, "request_id")];
    let keep = ["--wait-ms", "600000", "--keep", &number];
    let claiming = lab.start(lab.lease([&["pool"], &claim[..], &keep[..]].concat()));
    let waiter = pid(&requested);
    // It catches signals when it has seen that the process which it follows is there.
    let follows =
        |id: &u32| process::arguments_of(*id).iter().any(|word| word == "--detached") && process::catches(*id, Signal::TERM);
    let keeper = || reap::marked(lab.id()).into_iter().filter(|id| *id != waiter).find(follows);
    let keeper = wait::until("a keeper that follows", keeper);
    followed.kill().unwrap();
    followed.wait().unwrap();
    wait_until_gone(&lab, keeper);
    pool(&lab, &["release", "--slot", "a", "--owner", "holder", "--token", text(&holder, "token")]);
    assert_eq!(answer(&claiming.finish().expect_code(1))["code"], "cancelled");
    assert_eq!(pool(&lab, &claim)["state"], "ready");
}

#[test]
fn a_blocking_request_is_cancelled_while_its_slot_is_made_ready() {
    let lab = lab();
    lab.write_pool(&json!({"slots": [{"id": "a"}], "provision": "touch begun; exec tail -f /dev/null; :"}));
    let acquiring = lab.start(lab.lease(["pool", "acquire", "--owner", "first"]));
    wait::until_true("a slot that is being made ready", || lab.path("begun").exists());
    let record = lab.record("slot-a").expect("it is held");
    pool(&lab, &["cancel", "--owner", "first", "--request", text(&record["payload"], "requestId")]);
    let cancelled = acquiring.finish().expect_code(1);
    assert_eq!(answer(&cancelled)["state"], "cancelled", "{}", cancelled.account());
    lab.check_all_given_back();
}

#[test]
fn a_claim_waits_for_its_grant_as_long_as_it_is_told() {
    let lab = one_slot();
    let holder = pool(&lab, &["acquire", "--owner", "holder"]);
    let requested = pool(&lab, &["request", "--owner", "first"]);
    let claim = ["pool", "claim", "--owner", "first", "--request", text(&requested, "request_id"), "--wait-ms"];
    let late = lab.run(lab.lease([&claim[..], &["40"]].concat())).expect_code(1);
    assert_eq!((&answer(&late)["code"], &answer(&late)["waitedMs"]), (&json!("timeout"), &json!(40)));
    let waiting = lab.start(lab.lease([&claim[..], &["600000"]].concat()));
    pool(&lab, &["release", "--slot", "a", "--owner", "holder", "--token", text(&holder, "token")]);
    assert_eq!(answer(&waiting.finish().expect_success())["state"], "ready");
}
