use super::super::{Command, parse};
use super::*;

fn call(words: &[&str]) -> Result<Call, clap::Error> {
    let cli = parse(std::iter::once("cargo-lease").chain(words.iter().copied()).map(OsString::from))?;
    match cli.command {
        Command::Script(call) => Ok(*call),
        other => panic!("no script: {other:?}"),
    }
}

#[track_caller]
fn accepted(words: &[&str]) -> Call {
    call(words).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

#[track_caller]
fn refused(words: &[&str], parts: &[&str]) {
    let error = call(words).expect_err("refused");
    assert_eq!(error.exit_code(), 2, "{words:?}: {error}");
    for part in parts {
        assert!(error.to_string().contains(part), "{words:?}: {part:?} is not in: {error}");
    }
}

/// Words that give each option a value that it takes; of switches, those that may stand anywhere.
fn all_options(family: &Family) -> Vec<String> {
    let word = |flag: &table::Flag| match flag.takes {
        table::Takes::Nothing if table::SHAPES.contains(&flag.name) => None,
        table::Takes::Nothing => Some(format!("--{}", flag.name)),
        table::Takes::Text(_) | table::Takes::Path(_) => Some(format!("--{}=x", flag.name)),
        table::Takes::Claims => Some(format!("--{}=read:x", flag.name)),
        table::Takes::Minutes | table::Takes::Millis | table::Takes::Json | table::Takes::Process => {
            Some(format!("--{}=5", flag.name))
        }
    };
    family.flags.iter().filter_map(word).collect()
}

#[test]
fn the_tables_are_sound() {
    for family in FAMILIES {
        let known = |name: &&str| family.flags.iter().any(|flag| flag.name == *name);
        assert!(family.common.iter().all(known));
        for operation in family.operations {
            assert!(operation.takes.iter().all(known), "{}", operation.name);
            assert!(operation.needs.iter().all(|need| known(&need.flag())), "{}", operation.name);
            assert!(operation.examples.contains(&format!("cargo lease {} {}", family.name, operation.name)));
        }
    }
    super::super::definition().debug_assert();
}

#[test]
fn every_option_is_accepted_by_every_operation_before_and_behind_it() {
    for family in FAMILIES {
        let options = all_options(family);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        for operation in family.operations {
            let before = [&[family.name], &options[..], &[operation.name]].concat();
            let behind = [&[family.name, operation.name], &options[..]].concat();
            for words in [before, behind] {
                let call = accepted(&words);
                assert_eq!((call.op, call.options.owner.as_str()), (operation.op, "x"));
            }
        }
    }
}

#[test]
fn three_spellings_and_options_before_the_family_are_one() {
    for words in [
        &["store", "status", "--kind", "a", "--store", "s"][..],
        &["lease", "store", "--kind", "a", "status", "--store=s"],
        &["--store", "s", "store", "status", "--kind=a"],
    ] {
        let call = accepted(words);
        assert_eq!(call.op, Op::Store(StoreOp::Status));
        assert_eq!((call.options.kind.as_str(), call.options.lease.store), ("a", Some("s".into())));
    }
}

#[test]
fn values_may_look_like_options_and_operations() {
    let call = accepted(&["store", "--owner", "list", "acquire", "--kind", "--force", "--ttl", "1", "--payload", "-1"]);
    assert_eq!((call.options.owner.as_str(), call.options.kind.as_str(), call.options.force), ("list", "--force", false));
    assert_eq!(call.options.payload.to_text(), "-1");
    let call = accepted(&["store", "status", "--kind", "--", "--owner", "--help"]);
    assert_eq!((call.options.kind.as_str(), call.options.owner.as_str()), ("--", "--help"));
}

#[test]
fn of_a_repeated_option_the_last_counts() {
    let call = accepted(&["--store", "a", "store", "--kind", "a", "status", "--kind=b", "--store", "b", "--pretty", "--pretty"]);
    assert_eq!((call.options.kind.as_str(), call.options.shape), ("b", Shape::Pretty));
    assert_eq!(call.options.lease.store, Some("b".into()));
    let call = accepted(&["pool", "acquire", "--owner", "a", "--pretty", "--shell", "--pretty"]);
    assert_eq!(call.options.shape, Shape::Shell);
}

#[test]
fn an_empty_value_is_none_except_for_a_name() {
    let call = accepted(&["store", "acquire", "--kind=", "--owner=", "--ttl=", "--wait-ms=", "--store="]);
    assert_eq!((call.options.ttl_minutes, call.options.wait, call.options.kind.as_str()), (None, None, ""));
    refused(&["store", "list", "--payload="], &["--payload"]);
}

#[test]
fn numbers_are_javascripts_and_checked_wherever_they_stand() {
    let minutes = |text: &str| accepted(&["store", "list", "--ttl", text]).options.ttl_minutes;
    for (text, number) in [("0x10", 16.0), (" .5 ", 0.5), ("+5", 5.0), ("527040", 527_040.0)] {
        assert_eq!(minutes(text), Some(number), "{text}");
    }
    for text in ["0", "-1", " ", "5m", "Infinity", "NaN", "527040.1", "0x"] {
        refused(&["store", "list", "--ttl", text], &["--ttl", "invalid ttlMinutes", text]);
    }
    for (text, wait) in [("0", Duration::ZERO), ("60.5", Duration::from_micros(60_500)), ("1e300", Duration::MAX)] {
        assert_eq!(accepted(&["store", "list", "--wait-ms", text]).options.wait, Some(wait), "{text}");
    }
    for text in ["-1", "soon", "Infinity", "NaN"] {
        refused(&["store", "status", "--kind", "a", "--wait-ms", text], &["--wait-ms", text]);
    }
    refused(&["store", "list", "--payload", "{nope"], &["--payload", "{nope", "JSON"]);
    let deferred = accepted(&["pool", "status", "--keep", "417", "--claim-within", "0.5", "--poll-ms", "20"]).options;
    assert_eq!(
        (deferred.keep, deferred.claim_within_minutes, deferred.poll),
        (Some(417), Some(0.5), Some(Duration::from_millis(20)))
    );
    for text in ["0", "-1", "4294967295", "me"] {
        refused(&["pool", "status", "--keep", text], &["--keep", text]);
    }
}

#[test]
fn what_is_needed_is_named() {
    refused(&["store", "acquire"], &["--kind", "--owner", "--ttl"]);
    refused(&["store", "release", "--kind", "a"], &["--owner", "--token"]);
    refused(&["store", "release", "--force"], &["--kind"]);
    refused(&["pool", "release", "--slot", "1"], &["--owner", "--token"]);
    refused(&["pool", "claim", "--owner", "a"], &["--request"]);
    refused(&["pool", "cancel", "--request", "a"], &["--owner"]);
    assert!(accepted(&["store", "release", "--kind", "a", "--force"]).options.force);
}

#[test]
fn mistakes_are_named_with_what_may_be_meant() {
    refused(&["store"], &["missing op", "usage:", "acquire", "reconcile"]);
    refused(&["store", "--kind", "a"], &["missing op", "usage:"]);
    refused(&["store", "--pretty"], &["missing op"]);
    refused(&["store", "aquire"], &["aquire", "'acquire'"]);
    refused(&["store", "LIST"], &["LIST", "'list'"]);
    refused(&["store", "list", "now"], &["unexpected argument 'now'"]);
    refused(&["store", "list", "--pretti"], &["--pretti", "'--pretty'", "requires a value"]);
    refused(&["store", "--knd", "a", "status"], &["--knd", "'--kind'"]);
    refused(&["store", "status", "--kind"], &["--kind", "requires a value"]);
    refused(&["store", "list", "--force=1"], &["--force=1", "--force takes no value", "requires a value"]);
    refused(&["store", "list", "--no-wait=1"], &["--no-wait=1", "requires a value"]);
    refused(&["store", "list", "-x"], &["-x"]);
    refused(&["store", "--pretty", "list"], &["--pretty", "behind"]);
    refused(&["pool", "--owner", "a", "--shell", "acquire"], &["--shell", "behind"]);
    refused(&["pool", "acquire", "--owner", "a", "--no-wait=1"], &["--no-wait=1", "requires a value"]);
    refused(&["--wait", "1m", "pool", "acquire", "--owner", "a"], &["--wait", "'--wait-ms'"]);
    refused(&["--pretty", "store", "list"], &["--pretty"]);
    refused(&["--wrap", "all", "store", "list"], &["--wrap"]);
}

#[test]
fn help_is_had_in_every_way() {
    let help = |words: &[&str]| {
        let error = call(words).expect_err("help");
        assert_eq!(error.exit_code(), 0, "{words:?}: {error}");
        error.to_string()
    };
    let family = help(&["store", "--help"]);
    assert!(family.contains("Usage: cargo lease store <OPERATION>"), "{family}");
    for words in [&["store", "help"][..], &["store", "-h"], &["help", "store"], &["--store", "x", "store", "--help"]] {
        assert_eq!(help(words), family, "{words:?}");
    }
    let operation = help(&["store", "acquire", "--help"]);
    assert!(operation.contains("Usage: cargo lease store acquire"), "{operation}");
    for words in [&["store", "help", "acquire"][..], &["help", "store", "acquire"], &["store", "acquire", "-h"]] {
        assert_eq!(help(words), operation, "{words:?}");
    }
    assert!(operation.contains("--payload") && !operation.contains("--force"), "{operation}");
}
