//! What nextest is told, and what its configuration says that matters to us.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use lease_harness::harness::NEXTEST_GROUPS;
use toml::{Table, Value};

use super::TestId;

/// A test group of nextest's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestGroup {
    pub(crate) name: String,
    /// How many of its tests run at once.
    pub(crate) width: usize,
    /// Which tests are in it, as an expression of nextest's.
    pub(crate) filter: String,
}

/// The text of a tool configuration with these groups.
///
/// So the queue of one run forms inside nextest, where waiting does not count as a test's time. A test group that the
/// user gives a test wins over ours.
pub(crate) fn tool_config(groups: &[TestGroup]) -> String {
    let mut text = String::new();
    for TestGroup { name, width, filter } in groups {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "[test-groups.'{name}']
max-threads = {width}

[[profile.default.overrides]]
filter = '{filter}'
test-group = '{name}'

"
        );
    }
    text
}

/// The name of the group for these pools: as nextest accepts one, a letter, then letters, digits, `-` and `_`.
pub(crate) fn group_name(pools: &[&str]) -> String {
    let legible = pools.join("_and_").replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_', "-");
    let prefix = if legible.starts_with(|c: char| c.is_ascii_alphabetic()) { "" } else { "pool-" };
    format!("{NEXTEST_GROUPS}{prefix}{legible}")
}

/// The expression for these tests, out of all that run. Where they are all tests of a binary that run, its id is enough.
pub(crate) fn filter_of(tests: &BTreeSet<TestId>, all: &BTreeSet<TestId>) -> String {
    if tests == all {
        return "all()".to_owned();
    }
    let n_of = |binary_id: &str| all.iter().filter(|(other, _)| other == binary_id).count();
    let mut by_binary = BTreeMap::<&str, Vec<&str>>::new();
    for (binary_id, name) in tests {
        by_binary.entry(binary_id).or_default().push(name);
    }
    let of_binary = |(binary_id, names): (&str, Vec<&str>)| {
        let binary = format!("binary_id(={})", escaped(binary_id));
        if names.len() == n_of(binary_id) {
            return binary;
        }
        let names: Vec<_> = names.into_iter().map(|name| format!("test(={})", escaped(name))).collect();
        format!("({binary} & ({}))", names.join(" | "))
    };
    by_binary.into_iter().map(of_binary).collect::<Vec<_>>().join(" | ")
}

/// A text that means itself in an expression, which stands between single quotes.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || matches!(c, '_' | ':' | '-' | '.') || (c == '/' && !escaped.is_empty()) {
            escaped.push(c);
        } else {
            let _ = write!(escaped, "\\u{{{:x}}}", u32::from(c));
        }
    }
    escaped
}

/// The wrapper scripts that make nextest skip target runners, ours among them, when it runs tests: their names, each with the
/// place of the configuration that has it.
///
/// Leaving `target-runner` out does so as well. Text that is no TOML has none: nextest will complain of it.
pub(crate) fn scripts_without_runner(configs: &[String]) -> Vec<(usize, String)> {
    let configs: Vec<Table> = configs.iter().map(|text| text.parse().unwrap_or_default()).collect();
    // One configuration may use what another has.
    let used: Vec<&str> = configs.iter().flat_map(run_wrappers).collect();
    let skips = |script: &Value| script.get("target-runner").is_none_or(|mode| mode.as_str() == Some("ignore"));
    let named = configs.iter().enumerate().flat_map(|(config_idx, config)| {
        let scripts = config.get("scripts").and_then(|scripts| scripts.get("wrapper")).and_then(Value::as_table);
        scripts.into_iter().flatten().map(move |(name, script)| (config_idx, name, script))
    });
    let skipping = named.filter(|(_, name, script)| used.contains(&name.as_str()) && skips(script));
    skipping.map(|(config_idx, name, _)| (config_idx, name.clone())).collect()
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
    fn groups_are_written_as_nextest_reads_them() {
        let group = |name: &str, width, filter: &str| TestGroup { name: name.to_owned(), width, filter: filter.to_owned() };
        let text = tool_config(&[group("@tool:lease:db", 3, "binary_id(=api::it)"), group("@tool:lease:b", 1, "all()")]);
        let table: Table = text.parse().expect("TOML");
        assert_eq!(table["test-groups"]["@tool:lease:db"]["max-threads"].as_integer(), Some(3));
        let rules = &table["profile"]["default"]["overrides"];
        assert_eq!(rules[0]["filter"].as_str(), Some("binary_id(=api::it)"));
        assert_eq!(rules[1]["test-group"].as_str(), Some("@tool:lease:b"));
    }

    #[test]
    fn group_names_are_what_nextest_accepts() {
        let table = [("pool", "pool"), ("a-b_c", "a-b_c"), ("db.x", "db-x"), ("9db", "pool-9db"), ("_", "pool-_")];
        for (pool, group) in table {
            assert_eq!(group_name(&[pool]), format!("@tool:lease:{group}"));
        }
        assert_eq!(group_name(&["db", "9.x"]), "@tool:lease:db_and_9-x");
    }

    #[test]
    fn filters_are_short_where_they_can_be() {
        let tests = |names: &str| {
            let id = |name: &str| (name.split('.').next().unwrap().to_owned(), name.to_owned());
            names.split_whitespace().map(id).collect::<BTreeSet<_>>()
        };
        let all = tests("a.1 a.2 b.1 b.2 c.1");
        assert_eq!(filter_of(&all, &all), "all()");
        assert_eq!(filter_of(&tests("a.1 a.2"), &all), "binary_id(=a)");
        assert_eq!(filter_of(&tests("a.1 b.1 b.2 c.1"), &all), "(binary_id(=a) & (test(=a.1))) | binary_id(=b) | binary_id(=c)");
        assert_eq!(
            filter_of(&tests("b.1 b.2 a.1"), &tests("a.1 b.1 b.2 b.3")),
            "binary_id(=a) | (binary_id(=b) & (test(=b.1) | test(=b.2)))"
        );
    }

    #[test]
    fn names_mean_themselves() {
        assert_eq!(escaped("api::bin/x-1"), "api::bin/x-1");
        assert_eq!(escaped("it's (1)"), "it\\u{27}s\\u{20}\\u{28}1\\u{29}");
        assert_eq!(escaped("/ä,"), "\\u{2f}ä\\u{2c}");
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
        let found = |configs: &[&str]| {
            let configs: Vec<_> = configs.iter().copied().map(str::to_owned).collect();
            scripts_without_runner(&configs).into_iter().map(|(idx, name)| format!("{idx} {name}")).collect::<Vec<_>>()
        };
        assert_eq!(found(&[config]), ["0 says-it", "0 silent"]);
        assert!(found(&["[broken"]).is_empty() && found(&["[profile.ci]\nretries = 2"]).is_empty() && found(&[]).is_empty());
        let tool = "
            [scripts.wrapper.'@tool:x:one']
            command = 'a'
            [scripts.wrapper.'@tool:x:other']
            command = 'a'
            [[profile.default.scripts]]
            filter = 'all()'
            run-wrapper = '@tool:x:one'
        ";
        let uses = "[[profile.ci.scripts]]\nfilter = 'all()'\nrun-wrapper = '@tool:x:other'";
        assert_eq!(found(&["", tool]), ["1 @tool:x:one"]);
        assert_eq!(found(&[uses, tool]), ["1 @tool:x:one", "1 @tool:x:other"]);
    }
}
