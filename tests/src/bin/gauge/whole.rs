//! Whole processes: started, awaited, and timed from before the start to behind the end. N is the number of rounds.

use std::collections::HashMap;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::children::say;
use crate::figures::{Sample, now_ns};

/// Runs the alternatives in turn. Each is one command or several with ` ; ` between them; their words have blanks between them, and
/// `{key}` stands for what the document that the command before it printed has there.
pub(crate) fn compare(n_rounds: u64, alternatives: &[String]) {
    let mut runs: Vec<_> = alternatives.iter().map(|text| Runs::of(text)).collect();
    for _ in 0..n_rounds {
        runs.iter_mut().for_each(Runs::run);
    }
    for (number, runs) in runs.into_iter().enumerate() {
        say(&format!("{} peak_kib={}", Sample::new(runs.times).shown(&number.to_string()), runs.peak_kib));
    }
}

struct Runs<'a> {
    commands: Vec<Vec<&'a str>>,
    times: Vec<u64>,
    peak_kib: i64,
}

impl<'a> Runs<'a> {
    fn of(text: &'a str) -> Self {
        let commands = text.split(" ; ").map(|command| command.split_whitespace().collect()).collect();
        Self { commands, times: Vec::new(), peak_kib: 0 }
    }

    fn run(&mut self) {
        let (mut time, mut known) = (0, HashMap::new());
        for words in &self.commands {
            let words: Vec<String> = words.iter().map(|word| filled(word, &known)).collect();
            let began = now_ns();
            let (stdout, peak_kib) = run(&words);
            time += now_ns() - began;
            self.peak_kib = self.peak_kib.max(peak_kib);
            known = members(&stdout);
        }
        self.times.push(time);
    }
}

/// What it printed, and the most memory that it had.
#[expect(clippy::zombie_processes, reason = "it is awaited by a call that the lint does not know")]
fn run(words: &[String]) -> (String, i64) {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", words[0]));
    let mut stdout = String::new();
    let pipe = child.stdout.as_mut().expect("it is a pipe");
    pipe.read_to_string(&mut stdout).expect("what it prints is text");
    let (status, peak_kib) = wait(&child);
    assert_eq!(status, 0, "{words:?} has failed: {stdout}");
    (stdout, peak_kib)
}

/// Its status and its peak of memory, which only the kernel's own call tells of one child. It is no less than what this program
/// has, whose memory a child shares until it becomes another program.
fn wait(child: &Child) -> (i32, i64) {
    let pid = i32::try_from(child.id()).expect("a process id fits");
    let mut status = 0;
    // SAFETY: a structure of numbers, for which zeros are right.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both places are ours and live until the call returns; the child is not awaited by anybody else.
    let awaited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    assert_eq!(awaited, pid, "a child can be awaited");
    (status, usage.ru_maxrss)
}

fn members(stdout: &str) -> HashMap<String, String> {
    let document: Value = serde_json::from_str(stdout).unwrap_or_default();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let members = document.as_object().into_iter().flatten();
    members.map(|(key, value)| (key.clone(), text(value))).collect()
}

fn filled(word: &str, known: &HashMap<String, String>) -> String {
    let key = word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    key.map_or_else(|| word.to_owned(), |key| known.get(key).unwrap_or_else(|| panic!("no {key} was printed")).clone())
}
