use std::io::{BufRead, Write};
use std::process::{Child, ChildStderr, Command, Stdio};

use super::super::error::SlotErrorKind;
use super::*;
use crate::pool::{RUN_TOKEN, Wait};
use crate::sys::signal;

/// Names the socket to a process that asks there.
const ASKS: &str = "LEASE_TEST_ASKS";
const TEST: &str = "harness::proxy::tests::a_slot_is_held_as_long_as_the_process_lives";

/// A run with a pool of two slots.
struct Scene {
    dir: tempfile::TempDir,
    folder: RunFolder,
    proxy: Option<SlotProxy>,
}

/// A process that asks for a slot, says what it hears, and ends when its input does.
struct Asking {
    process: Child,
    said: BufReader<ChildStderr>,
}

impl Scene {
    /// None where slots cannot be held this way.
    fn new(wait: Wait) -> Option<Self> {
        if !SlotProxy::is_possible() {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let (file, store) = (dir.path().join("pool.json"), dir.path().join("store"));
        std::fs::write(&file, r#"{"name": "db", "slots": [{"id": 1}, {"id": 2}]}"#).unwrap();
        let request = move || SlotRequest::from_file(&file).store(&store).owner("me@here").wait(wait);
        let folder = RunFolder::create(dir.path()).unwrap();
        let proxy = Some(SlotProxy::start(&folder, move |asker| request().session(asker.what.clone())).unwrap());
        Some(Self { dir, folder, proxy })
    }

    fn ask(&self) -> Asking {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", TEST, "--nocapture"]).env(ASKS, SlotProxy::socket(&self.folder));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(process.stderr.take().unwrap());
        Asking { process, said }
    }

    fn granted(&self) -> (Asking, Vec<String>) {
        let mut asking = self.ask();
        let said = asking.hear();
        assert_eq!(said[0], "granted", "{said:?}");
        (asking, said)
    }

    fn records(&self) -> Vec<PathBuf> {
        let store = self.dir.path().join("store");
        let names = crate::sys::disk::names(&store).unwrap_or_default();
        names.into_iter().filter(|name| name.starts_with("slot-")).map(|name| store.join(name)).collect()
    }

    fn until_free(&self) {
        while !self.records().is_empty() {
            thread::sleep(PAUSE);
        }
    }

    fn end(mut self, ended: Option<&Ended>) -> Result<(), Vec<SlotError>> {
        self.proxy.take().unwrap().end(ended, &Ending::new(false, None).unwrap())
    }
}

impl Asking {
    fn hear(&mut self) -> Vec<String> {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim_end().split('\t').map(str::to_owned).collect()
    }

    fn end_by_itself(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }

    fn was_killed(mut self) -> bool {
        std::os::unix::process::ExitStatusExt::signal(&self.process.wait().unwrap()) == Some(9)
    }
}

/// What the asking process does.
fn ask_at(socket: &str) {
    let say = |words: &[String]| eprintln!("{}", words.join("\t"));
    let asker = Asker::this("/".into(), Some("api".to_owned()), "db::works".to_owned());
    match asker.ask(socket.as_ref(), |waiting| say(&["waits".to_owned(), waiting.position.to_string()])) {
        Asked::Granted(envs) => {
            let pair =
                |(name, value): &(std::ffi::OsString, std::ffi::OsString)| format!("{}={}", name.display(), value.display());
            say(&[vec!["granted".to_owned()], envs.iter().map(pair).collect()].concat());
        }
        Asked::Refused(error) => say(&[format!("{:?}", error.kind()), error.to_string()]),
        Asked::NobodyThere => say(&["nobody".to_owned()]),
    }
    io::stdin().lines().for_each(drop);
}

fn value<'a>(said: &'a [String], name: &str) -> &'a str {
    said.iter().find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).unwrap()
}

#[test]
fn a_slot_is_held_as_long_as_the_process_lives() {
    if let Ok(socket) = std::env::var(ASKS) {
        return ask_at(&socket);
    }
    let Some(scene) = Scene::new(Wait::Forever) else { return };
    let ((one, at_one), (two, at_two)) = (scene.granted(), scene.granted());
    assert_ne!(value(&at_one, "POOL_RUN_SLOT"), value(&at_two, "POOL_RUN_SLOT"));
    assert_ne!(value(&at_one, RUN_TOKEN), value(&at_two, RUN_TOKEN));
    let record = std::fs::read_to_string(&scene.records()[0]).unwrap();
    assert!(record.contains("db::works") && record.contains("me@here"), "{record}");
    let mut third = scene.ask();
    assert_eq!(third.hear(), ["waits", "1"]);
    one.end_by_itself();
    assert_eq!(value(&third.hear(), "POOL_RUN_SLOT"), value(&at_one, "POOL_RUN_SLOT"));
    two.end_by_itself();
    third.end_by_itself();
    scene.until_free();
    scene.end(Some(&Ended::Exited(0))).unwrap();
}

/// Nobody's place is free in the moment of a death, and nobody is granted what becomes free after it.
#[test]
fn who_dies_while_it_waits_is_not_granted() {
    let Some(scene) = Scene::new(Wait::Forever) else { return };
    let ((one, at_one), (two, _)) = (scene.granted(), scene.granted());
    let mut third = scene.ask();
    assert_eq!(third.hear(), ["waits", "1"]);
    third.process.kill().unwrap();
    third.process.wait().unwrap();
    one.end_by_itself();
    let (next, at_next) = scene.granted();
    let number = |said: &[String]| value(said, "POOL_RUN_FENCE").parse::<u64>().unwrap();
    assert_eq!(number(&at_next), number(&at_one) + 1);
    [two, next].into_iter().for_each(Asking::end_by_itself);
    scene.until_free();
    scene.end(Some(&Ended::Exited(0))).unwrap();
}

/// Who runs tests starts the next one when it knows of the end of the one before.
#[test]
fn the_slot_of_a_test_that_has_ended_is_free_for_the_next() {
    let Some(scene) = Scene::new(Wait::No) else { return };
    let (_other, _) = scene.granted();
    let (mut test, _) = scene.granted();
    for _ in 0..20 {
        test.process.kill().unwrap();
        test.process.wait().unwrap();
        test = scene.granted().0;
    }
    scene.end(Some(&Ended::Exited(0))).unwrap();
}

#[test]
fn a_refusal_is_told_with_its_kind() {
    let Some(scene) = Scene::new(Wait::No) else { return };
    let tests = [scene.granted().0, scene.granted().0];
    let mut third = scene.ask();
    let said = third.hear();
    assert_eq!(said[0], format!("{:?}", SlotErrorKind::Refused));
    assert!(said[1].contains("pool db is saturated"), "{said:?}");
    third.end_by_itself();
    tests.into_iter().for_each(Asking::end_by_itself);
    scene.end(Some(&Ended::Exited(0))).unwrap();
}

/// Also who shows nothing of its grant, as these: what the kernel shows of an environment is that of the start.
#[test]
fn behind_the_run_nothing_goes_on() {
    let Some(scene) = Scene::new(Wait::Forever) else { return };
    let (test, said) = scene.granted();
    let mut left = Command::new("cat").env(RUN_TOKEN, value(&said, RUN_TOKEN)).stdin(Stdio::piped()).spawn().unwrap();
    scene.end(Some(&Ended::Killed(9))).unwrap();
    assert!(test.was_killed(), "the run is over");
    assert!(!left.wait().unwrap().success(), "it carries the mark of a grant that was cut off");
}

/// If nobody hurries, for an hour.
#[test]
fn a_test_may_clean_up_until_somebody_hurries() {
    let Some(mut scene) = Scene::new(Wait::Forever) else { return };
    let [(cleans_up, _), (hangs, _)] = [scene.granted(), scene.granted()];
    let given_up = Arc::new(AtomicBool::new(false));
    let hurry = Ending::new(false, Some(Arc::clone(&given_up))).unwrap();
    let proxy = scene.proxy.take().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| proxy.shared.end(Some(Patience { grace: Duration::from_secs(3600), hurry })));
        cleans_up.end_by_itself();
        while 1 < scene.records().len() {
            thread::sleep(PAUSE);
        }
        given_up.store(true, Ordering::Release);
    });
    assert!(hangs.was_killed());
    assert_eq!(scene.records(), Vec::<PathBuf>::new());
}

#[test]
fn a_test_that_lost_its_lease_is_ended_and_the_loss_is_told() {
    let Some(scene) = Scene::new(Wait::Forever) else { return };
    let (test, _) = scene.granted();
    std::fs::remove_file(&scene.records()[0]).unwrap();
    test.end_by_itself();
    let failures = scene.end(Some(&Ended::Exited(0))).unwrap_err();
    assert_eq!(failures.iter().map(SlotError::kind).collect::<Vec<_>>(), [SlotErrorKind::Lost]);
}

/// When this process is killed, whoever looks at the pool ends the tests: here the guard, which finds another holder in its place.
#[test]
fn a_guard_ends_who_works_in_a_slot_of_the_dead() {
    let Some(scene) = Scene::new(Wait::Forever) else { return };
    let (test, _) = scene.granted();
    let path = scene.records().remove(0);
    let alive = scene.dir.path().join("store/.alive").join(uuid::Uuid::nil().to_string());
    std::fs::write(&alive, "").unwrap();
    let record = std::fs::read_to_string(&path).unwrap();
    let proof =
        crate::sys::disk::names(alive.parent().unwrap()).unwrap().into_iter().find(|name| !alive.ends_with(name)).unwrap();
    std::fs::write(&path, record.replace(&proof, &uuid::Uuid::nil().to_string())).unwrap();
    let told = scene.proxy.as_ref().unwrap().told_to_guard();
    super::super::guard_run(told.as_bytes());
    assert!(test.was_killed());
    assert_eq!(scene.records(), Vec::<PathBuf>::new());
}

#[test]
fn whoever_is_not_one_of_us_is_no_trouble() {
    let Some(scene) = Scene::new(Wait::Forever) else { return };
    let connect = || UnixStream::connect(SlotProxy::socket(&scene.folder)).unwrap();
    let (silent, mut wrong, gone) = (connect(), connect(), connect());
    wrong.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    drop(gone);
    assert!(wire::receive(&mut wrong).is_err());
    scene.granted().0.end_by_itself();
    scene.until_free();
    drop(silent);
    scene.end(Some(&Ended::Exited(0))).unwrap();
}

/// A signal that the process handles must not keep a thread that listens.
#[test]
fn who_is_woken_by_a_signal_listens_on() {
    let _caught = signal::Caught::start().unwrap();
    let Some(scene) = Scene::new(Wait::Forever) else { return };
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().map(|entry| entry.unwrap().path());
    let listens = |path: &PathBuf| std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim_end() == "lease-proxy");
    let number = |path: PathBuf| path.file_name()?.to_str()?.parse::<i32>().ok();
    for thread in threads().filter(listens).filter_map(number) {
        for _ in 0..3 {
            signal::send_to_thread(thread, signal::TERMINATE);
        }
    }
    scene.granted().0.end_by_itself();
    scene.until_free();
    scene.end(Some(&Ended::Exited(0))).unwrap();
}

#[test]
fn where_nobody_listens_nobody_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let asker = Asker::this("/".into(), None, "db::works".to_owned());
    assert!(matches!(asker.ask(&dir.path().join("slots"), |_| {}), Asked::NobodyThere));
    let listener = UnixListener::bind(dir.path().join("slots")).unwrap();
    let closes = thread::spawn(move || drop(listener.accept()));
    assert!(matches!(asker.ask(&dir.path().join("slots"), |_| {}), Asked::NobodyThere), "nobody answers");
    closes.join().unwrap();
    assert!(matches!(asker.ask(&dir.path().join("slots"), |_| {}), Asked::NobodyThere));
}
