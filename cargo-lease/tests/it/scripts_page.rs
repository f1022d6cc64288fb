//! The page for scripts shows what the operations really print.
//!
//! `SNAPSHOTS=overwrite cargo test -p cargo-lease --test it scripts_page` writes the outputs anew that differ.

use std::fs;
use std::path::PathBuf;

use crate::lab::{Lab, PROGRAM, expect_code};

/// Where the project of the examples lies.
const PROJECT: &str = "/home/me/app";
/// Printed behind each command of the session.
const MARK: &str = "\u{1}";

#[test]
fn every_example_prints_what_the_page_says() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/scripts.md");
    let page = fs::read_to_string(&path).expect("the page can be read");
    let lab = Lab::new(1);
    lab.write("pool.json", &block_below(&page, "<!-- file: pool.json -->"));
    let examples = examples(&page);
    assert!(examples.len() > 25, "only {} examples", examples.len());
    let outputs = run(&lab, &examples);
    let mut shown = String::new();
    let mut at = 0;
    for (example, output) in examples.iter().zip(outputs) {
        shown.push_str(&page[at..example.output.start]);
        let kept = &page[example.output.clone()];
        shown.push_str(if masked(kept) == masked(&output) { kept } else { &output });
        at = example.output.end;
    }
    shown.push_str(&page[at..]);
    if std::env::var_os("SNAPSHOTS").is_some_and(|wish| wish == "overwrite") {
        return fs::write(&path, &shown).expect("written");
    }
    let differs = shown.lines().zip(page.lines()).find(|(shown, kept)| shown != kept);
    assert!(shown == page, "{} differs: {differs:?}; SNAPSHOTS=overwrite writes it anew", path.display());
}

/// A command of a `console` block, and where its output stands.
struct Example<'a> {
    command: &'a str,
    output: std::ops::Range<usize>,
}

fn examples(page: &str) -> Vec<Example<'_>> {
    let mut examples: Vec<Example<'_>> = Vec::new();
    let (mut in_console, mut at) = (false, 0);
    for line in page.split_inclusive('\n') {
        let end = at + line.len();
        match line.trim_end() {
            "```console" => in_console = true,
            "```" => in_console = false,
            line if in_console && line.starts_with("$ ") => examples.push(Example { command: &line[2..], output: end..end }),
            _ if in_console => examples.last_mut().expect("a command stands before its output").output.end = end,
            _ => {}
        }
        at = end;
    }
    examples
}

fn block_below(page: &str, marker: &str) -> String {
    let below = &page[page.find(marker).expect("the marker") + marker.len()..];
    let lines = below.lines().skip_while(|line| !line.starts_with("```")).skip(1);
    lines.take_while(|line| !line.starts_with("```")).map(|line| format!("{line}\n")).collect()
}

/// What each command prints, all of it in one shell.
fn run(lab: &Lab, examples: &[Example<'_>]) -> Vec<String> {
    let mut script = format!("exec 2>&1\ncargo() {{ shift; '{PROGRAM}' \"$@\"; }}\n");
    for example in examples {
        script.push_str(&format!("{}\nprintf '{MARK}'\n", example.command));
    }
    let mut bash = lab.command("bash");
    bash.args(["-c", &script]).env_remove("LEASE_STORE").env_remove("LEASE_POOL_FILE").env_remove("LEASE_OWNER");
    bash.env("LEASE_POOL_FILE", "pool.json");
    let (out, _) = expect_code(&mut bash, 0);
    let folder = lab.path("");
    let folder = folder.to_str().expect("text").trim_end_matches('/');
    let outputs: Vec<String> = out.replace(folder, PROJECT).split_terminator(MARK).map(str::to_owned).collect();
    assert_eq!(outputs.len(), examples.len(), "{out}");
    outputs
}

/// A text without what differs from run to run: ids, times, and numbers of milliseconds that passed.
fn masked(text: &str) -> String {
    let mut text = text.to_owned();
    for key in ["\"expiresInMs\":", "\"movingAvgMs\":", "\"etaMs\":", "\"eta\":\"~", "\"waiter_pid\":"] {
        let mut parts = text.split(key);
        let before = parts.next().unwrap_or_default().to_owned();
        text = parts.fold(before, |done, rest| {
            let rest = rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            done + key + "_" + rest
        });
    }
    let is_id = |word: &str| word.len() == 36 && word.matches('-').count() == 4;
    let is_time = |word: &str| word.len() == 24 && word.starts_with("20") && word.ends_with('Z');
    let word = |word: &str| if is_id(word) || is_time(word) { "_" } else { word }.to_owned();
    text.split(['"', '\'']).map(word).collect::<Vec<_>>().join("\"")
}
