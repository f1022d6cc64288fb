//! What nextest is told, and what its configuration says that matters to us.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// The folder of these files in the store; its name starts with a dot, so that other programs ignore it.
const FOLDER: &str = ".nextest";

/// A tool configuration: one test group, as wide as the pool, for all tests that run in slots.
///
/// So the queue of one run forms inside nextest, where waiting does not count as a test's time. A test group that the
/// user gives a test wins over ours.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolConfig {
    pool: String,
    width: usize,
    filter: String,
}

impl ToolConfig {
    /// For the tests that a filter of nextest's selects.
    pub(crate) fn new(pool: &str, width: usize, filter: &str) -> Self {
        Self { pool: pool.to_owned(), width, filter: filter.to_owned() }
    }

    /// The same for another number of slots.
    pub(crate) fn with_width(self, width: usize) -> Self {
        Self { width, ..self }
    }

    fn text(&self) -> String {
        let (group, Self { width, filter, .. }) = (group_name(&self.pool), self);
        format!(
            "[test-groups.'{group}']
max-threads = {width}

[[profile.default.overrides]]
filter = '{filter}'
test-group = '{group}'
"
        )
    }

    /// Writes the file, if it is not there yet, and says where it is.
    ///
    /// The name says all of the content, so a file that is there is right, and is kept for runs that still read it.
    /// If the process dies midway, a temporary file is left, which nobody reads.
    pub(crate) fn write(&self, store: &Path) -> io::Result<PathBuf> {
        let (folder, text) = (store.join(FOLDER), self.text());
        let path = folder.join(format!("{}-{:016x}.toml", self.pool, fingerprint(&text)));
        if path.is_file() {
            return Ok(path);
        }
        std::fs::create_dir_all(&folder)?;
        let unfinished = path.with_extension(format!("{}.tmp", std::process::id()));
        let mut file = std::fs::File::create(&unfinished)?;
        file.write_all(text.as_bytes())?;
        std::fs::rename(&unfinished, &path)?;
        Ok(path)
    }
}

/// FNV-1a, which stays the same in every build of ours: a name for a text, no proof of it.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A pool's name as nextest accepts a group's: a letter, then letters, digits, `-` and `_`.
fn group_name(pool: &str) -> String {
    let legible = pool.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_', "-");
    let prefix = if legible.starts_with(|c: char| c.is_ascii_alphabetic()) { "" } else { "pool-" };
    format!("@tool:lease:{prefix}{legible}")
}

/// Names of the wrapper scripts that make nextest skip target runners, ours among them, when it runs tests.
///
/// Leaving `target-runner` out does so as well. Text that is no TOML has none: nextest will complain of it.
pub(crate) fn scripts_without_runner(nextest_toml: &str) -> Vec<String> {
    let Ok(config) = nextest_toml.parse::<Table>() else {
        return Vec::new();
    };
    let scripts = config.get("scripts").and_then(|scripts| scripts.get("wrapper")).and_then(Value::as_table);
    let used = run_wrappers(&config);
    let skips = |script: &Value| script.get("target-runner").is_none_or(|mode| mode.as_str() == Some("ignore"));
    let named = scripts.into_iter().flatten().filter(|(name, script)| used.contains(&name.as_str()) && skips(script));
    named.map(|(name, _)| name.clone()).collect()
}

/// The wrapper scripts that some profile puts in front of tests.
fn run_wrappers(config: &Table) -> Vec<&str> {
    let profiles = config.get("profile").and_then(Value::as_table).into_iter().flatten();
    let rules = profiles.filter_map(|(_, profile)| profile.get("scripts")?.as_array()).flatten();
    rules.filter_map(|rule| rule.get("run-wrapper")?.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_group_with_width_the_pool() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let store = dir.path().join("logs/leases");
        let config = ToolConfig::new("db", 3, "binary_id(api::it)");
        let path = config.write(&store).expect("written");
        let table: Table = std::fs::read_to_string(&path).expect("text").parse().expect("TOML");
        assert_eq!(table["test-groups"]["@tool:lease:db"]["max-threads"].as_integer(), Some(3));
        let rule = &table["profile"]["default"]["overrides"][0];
        assert_eq!(rule["filter"].as_str(), Some("binary_id(api::it)"));
        assert_eq!(rule["test-group"].as_str(), Some("@tool:lease:db"));
        assert_eq!(config.write(&store).expect("again"), path);
        for other in [ToolConfig::new("db", 4, "binary_id(api::it)"), ToolConfig::new("db", 3, "all()")] {
            assert_ne!(other.write(&store).expect("written"), path);
        }
        assert_eq!(std::fs::read_dir(store.join(".nextest")).expect("folder").count(), 3);
    }

    #[test]
    fn group_names_are_what_nextest_accepts() {
        let table = [("pool", "pool"), ("a-b_c", "a-b_c"), ("db.x", "db-x"), ("9db", "pool-9db"), ("_", "pool-_")];
        for (pool, group) in table {
            assert_eq!(group_name(pool), format!("@tool:lease:{group}"));
        }
    }

    #[test]
    fn scripts_that_leave_runners_out_are_named() {
        let config = "
            experimental = ['wrapper-scripts']
            [scripts.wrapper.silent]
            command = 'a'
            [scripts.wrapper.says-it]
            command = 'b'
            target-runner = 'ignore'
            [scripts.wrapper.around]
            command = 'c'
            target-runner = 'around-wrapper'
            [scripts.wrapper.unused]
            command = 'd'
            [scripts.wrapper.lists]
            command = 'e'
            [[profile.default.scripts]]
            filter = 'all()'
            run-wrapper = 'silent'
            [[profile.ci.scripts]]
            filter = 'all()'
            run-wrapper = 'says-it'
            list-wrapper = 'lists'
            [[profile.ci.scripts]]
            filter = 'all()'
            run-wrapper = 'around'
        ";
        assert_eq!(scripts_without_runner(config), ["says-it", "silent"]);
        assert_eq!(scripts_without_runner("[broken"), Vec::<String>::new());
        assert_eq!(scripts_without_runner("[profile.ci]\nretries = 2"), Vec::<String>::new());
    }
}
