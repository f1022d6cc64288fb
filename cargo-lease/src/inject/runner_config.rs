//! The `--config` words that make cargo and nextest start our runner.

use std::ffi::OsString;

use super::{CargoConfig, OwnWords};
use crate::exit::Failure;

/// The words that put our runner in front of the binaries of each target that the command builds for.
///
/// `ours` is the runner's program with its words. The user's own runner goes between us and the binary.
pub(crate) fn runner_words(
    ours: &[String],
    config: &CargoConfig<'_>,
    words: &OwnWords<'_>,
    host: &str,
) -> Result<Vec<OsString>, Failure> {
    let mut injected = Vec::new();
    for target in config.targets(words, host)? {
        let theirs = config.user_runner(&target)?.unwrap_or_default();
        let runner = runner_line(ours, &theirs);
        let value = if config.runner_is_string(&target) { toml_text(&one_string(&runner)) } else { toml_list(&runner) };
        injected.push("--config".into());
        injected.push(format!("target.{}.runner={value}", toml_key(&target)).into());
    }
    Ok(injected)
}

fn runner_line(ours: &[String], theirs: &[String]) -> Vec<String> {
    let mut line = ours.to_vec();
    line.extend(theirs.iter().map(|word| format!("--via={word}")));
    line.push("--".to_owned());
    line
}

/// The runner as the string that cargo splits at white space, without any quoting.
///
/// Cargo refuses to merge a list with the string of a configuration file, so ours must be a string where theirs is.
/// Words with white space (a path with a space in it) go through `env -S`, which has quotes and a sign for a space.
fn one_string(words: &[String]) -> String {
    if words.iter().all(|word| !word.is_empty() && !word.contains(char::is_whitespace)) {
        return words.join(" ");
    }
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{}\"", escaped_for_env(word))).collect();
    format!("/usr/bin/env -S{}", quoted.join("\\_"))
}

fn escaped_for_env(word: &str) -> String {
    let mut text = String::new();
    for c in word.chars() {
        match c {
            ' ' => text.push_str("\\_"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\u{b}' => text.push_str("\\v"),
            '\u{c}' => text.push_str("\\f"),
            '"' | '\\' | '$' | '#' => text.extend(['\\', c]),
            c => text.push(c),
        }
    }
    text
}

/// A TOML list of strings; JSON's is one, but for the one control character that TOML wants escaped and JSON does not.
fn toml_list(words: &[String]) -> String {
    let items: Vec<String> = words.iter().map(|word| toml_text(word)).collect();
    format!("[{}]", items.join(","))
}

fn toml_text(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn toml_key(key: &str) -> String {
    let bare = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if bare { key.to_owned() } else { toml_text(key) }
}
