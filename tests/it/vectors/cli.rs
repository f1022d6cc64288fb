//! `cli.json`: the families for scripts, called as programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lease_harness::json::Json;
use lease_tests::environment::LAB_MARK;
use lease_tests::{Finished, Lab, Running, binary, wait};

use super::files::without_own_events;
use super::load::{Case, list, load, text};
use super::mask::mask;
use super::report;
use super::stage::{at_step, steps};
use super::symbols::Symbols;
use crate::support::lab;

const NO_ENTRIES: &str = "{\n  \"entries\": []\n}\n";

#[test]
fn command_lines_agree() {
    report::check(&load("cli"), 158, 131, replay);
}

/// Two folders, what was started in them, and what the recorded ids stand for.
struct Scene {
    lab: Lab,
    symbols: Symbols,
    started: BTreeMap<String, Running>,
    /// The requests of detached waiters, by the number of the process.
    requests: BTreeMap<String, String>,
}

fn replay(case: &Case) -> Result<(), String> {
    let mut scene = Scene::new(&case.body);
    for (n, step) in steps(&case.body).iter().enumerate() {
        scene.play(step).map_err(at_step(n, step))?;
    }
    Ok(())
}

impl Scene {
    fn new(case: &Json) -> Self {
        let lab = lab();
        let (store, work) = (lab.path("store"), lab.path("work"));
        let symbols = Symbols::new(&store, &work);
        for (key, folder) in [("files", &work), ("store_files", &store)] {
            fs::create_dir(folder).expect("the laboratory is writable");
            for (name, text) in case.get(key).and_then(Json::as_object).into_iter().flatten() {
                write(&folder.join(name), &symbols.fill(text.as_str().expect("a file is text")));
            }
        }
        Self { lab, symbols, started: BTreeMap::new(), requests: BTreeMap::new() }
    }

    fn play(&mut self, step: &Json) -> Result<(), String> {
        match text(step, "op") {
            "run" => {
                let finished = self.lab.run(self.command(step));
                return self.compare(step, &finished);
            }
            "start" => {
                let running = self.lab.start(self.command(step));
                self.started.insert(text(step, "id").to_owned(), running);
            }
            "join" => {
                let finished = self.started.remove(text(step, "id")).expect("it was started").finish();
                return self.compare(step, &finished);
            }
            "files" => return self.compare_files(step),
            "git" => {
                let mut git = self.lab.command("git");
                git.args(self.words(step)).current_dir(self.work()).env("HOME", self.work());
                self.lab.run(git).expect_success();
            }
            "mkdir" => fs::create_dir_all(self.path(text(step, "dir"))).expect("the laboratory is writable"),
            "write" => write(&self.path(text(step, "file")), &self.symbols.fill(text(step, "text"))),
            "sleep" => {
                let millis = step.get("ms").and_then(Json::as_f64).expect("a sleep has a length");
                std::thread::sleep(std::time::Duration::from_secs_f64(millis / 1e3));
            }
            "wait_queue" => {
                let (file, n) = (self.path(text(step, "file")), step.get("count").and_then(Json::as_f64));
                wait::until_true("a queue of the recorded length", || Some(entries(&file)) == n);
            }
            "wait_pid" => self.wait_for_waiter(&self.symbols.fill(text(step, "pid"))),
            other => panic!("an unknown step: {other}"),
        }
        Ok(())
    }

    fn work(&self) -> PathBuf {
        self.lab.path("work")
    }

    /// A path of a step; a relative one starts in the work folder.
    fn path(&self, recorded: &str) -> PathBuf {
        self.work().join(self.symbols.fill(recorded))
    }

    fn words(&self, step: &Json) -> Vec<String> {
        list(step, "args").iter().map(|word| self.symbols.fill(word.as_str().expect("a word is text"))).collect()
    }

    /// The call of a step. The recorded environment is complete, but for some variables that every call had.
    fn command(&self, step: &Json) -> Command {
        let family = if text(step, "cli") == "lease" { "store" } else { "pool" };
        let mut command = Command::new(binary::cargo_lease());
        command.arg(family).args(self.words(step)).env_clear().env(LAB_MARK, self.lab.id());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.work());
        command.env("TZ", "UTC").env("LANG", "C.UTF-8");
        for (name, value) in step.get("env").and_then(Json::as_object).into_iter().flatten() {
            command.env(name, self.symbols.fill(value.as_str().expect("a variable is text")));
        }
        command.current_dir(self.path(step.get("cwd").and_then(Json::as_str).unwrap_or_default()));
        command.stdin(std::process::Stdio::null());
        command
    }

    fn compare(&mut self, step: &Json, finished: &Finished) -> Result<(), String> {
        let code = finished.status.code().map(f64::from);
        let exit = step.get("exit").and_then(Json::as_f64);
        if code != exit {
            return Err(format!("recorded exit {exit:?}, but is {}", finished.account()));
        }
        self.symbols.compare(text(step, "stdout"), &mask(&finished.stdout))?;
        self.remember_waiter(&finished.stdout);
        let says = |part: &Json| finished.stderr.contains(&self.symbols.fill(part.as_str().expect("a part is text")));
        if let Some(part) = list(step, "stderr_has").iter().find(|part| !says(part)) {
            return Err(format!("recorded {} on standard error, but is {:?}", part.to_text(), finished.stderr));
        }
        let is_silent = step.get("stderr_empty").and_then(Json::as_bool) == Some(true);
        if is_silent && !finished.stderr.is_empty() {
            return Err(format!("recorded nothing on standard error, but is {:?}", finished.stderr));
        }
        Ok(())
    }

    fn remember_waiter(&mut self, stdout: &str) {
        let document = Json::parse(stdout).unwrap_or_default();
        let (waiter, request) = (document.get("waiter_pid"), document.get("request_id"));
        if let (Some(waiter), Some(request)) = (waiter, request.and_then(Json::as_str)) {
            self.requests.insert(waiter.to_text(), request.to_owned());
        }
    }

    /// Waits until the request of a waiter is granted, failed or gone, or the waiter is.
    fn wait_for_waiter(&self, pid: &str) {
        let request = &self.requests[pid];
        let is_told = |file: &str| file.ends_with(&format!("/grants/{request}.json"));
        wait::until_true("the end of a request", || {
            let is_running = lease_tests::reap::marked(self.lab.id()).iter().any(|marked| marked.to_string() == pid);
            !is_running || names(self.lab.root()).iter().any(|file| is_told(file))
        });
    }

    /// Compares the files below a folder. What a detached waiter does after the grant comes in its own time.
    fn compare_files(&mut self, step: &Json) -> Result<(), String> {
        if self.requests.is_empty() {
            return self.compare_files_now(step);
        }
        let begun = std::time::Instant::now();
        loop {
            match self.compare_files_now(step) {
                Err(_) if begun.elapsed() < wait::PATIENCE / 10 => std::thread::yield_now(),
                compared => return compared,
            }
        }
    }

    fn compare_files_now(&mut self, step: &Json) -> Result<(), String> {
        let folder = self.path(text(step, "dir"));
        let is_missing = step.get("missing").and_then(Json::as_bool) == Some(true);
        if folder.exists() == is_missing {
            return Err(format!("{} is {}", folder.display(), if is_missing { "there" } else { "missing" }));
        }
        let mut actual = names(&folder);
        let recorded: Vec<_> = list(step, "names").iter().filter_map(Json::as_str).map(|name| self.symbols.fill(name)).collect();
        // No file is an empty queue, and the grant of a blocking call may be gone with its lease.
        let is_held = recorded.iter().any(|name| is_lease(name));
        let may_be_gone = |name: &str| is_queue(name) || !is_held && name.contains("/grants/");
        for name in recorded.iter().filter(|name| may_be_gone(name) && !actual.contains(name)).cloned().collect::<Vec<_>>() {
            actual.push(name);
        }
        actual.retain(|name| recorded.contains(name) || !is_queue(name) || read(&folder.join(name)) != NO_ENTRIES);
        actual.sort();
        if actual != recorded {
            return Err(format!("recorded the files {recorded:?}, but are {actual:?}"));
        }
        for (name, recorded) in step.get("read").and_then(Json::as_object).into_iter().flatten() {
            let mut actual = read(&folder.join(self.symbols.fill(name)));
            match is_queue(name) {
                true if actual.is_empty() => actual = NO_ENTRIES.to_owned(),
                _ if name.ends_with(".log") => actual = without_own_events(&actual),
                _ => {}
            }
            let compared = self.symbols.compare(recorded.as_str().expect("a file is text"), &mask(&actual));
            compared.map_err(|difference| format!("the file {name}: {difference}"))?;
        }
        Ok(())
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("the laboratory is writable");
    fs::write(path, text).expect("the laboratory is writable");
}

/// The text of a file; none is empty.
fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

fn entries(queue: &Path) -> f64 {
    let document = Json::parse(&read(queue)).unwrap_or_default();
    let n_entries = document.get("entries").and_then(Json::as_array).map_or(0, <[Json]>::len);
    u32::try_from(n_entries).map_or(f64::NAN, f64::from)
}

fn is_queue(name: &str) -> bool {
    name.ends_with("/queue.json")
}

fn is_lease(name: &str) -> bool {
    name.ends_with(".json") && !name.contains('/')
}

/// The names of all files below a folder, without those that we add.
fn names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') && !name.starts_with(".guard-") && !name.starts_with(".tmp-") {
            continue;
        }
        match entry.path().is_dir() {
            true => names.extend(self::names(&entry.path()).into_iter().map(|below| format!("{name}/{below}"))),
            false => names.push(name),
        }
    }
    names.sort();
    names
}
