//! `pool acquire --shell`: what real shells make of it.

use std::process::Command;

use serde_json::{Value, json};

use crate::lab::{Lab, PROGRAM, expect_code, has};

/// What is there on every machine; the second is dash on Debian and its descendants.
const SHELLS: [&str; 2] = ["bash", "sh"];

/// Values that mean something to a shell, wherever they stand.
const NASTY: [&str; 24] = [
    "",
    " ",
    "'",
    "''",
    "it's",
    "\\",
    "\\'",
    "a\\\nb",
    "\"",
    "$HOME",
    "${IFS}",
    "$(touch spilled)",
    "`touch spilled`",
    "!!",
    "*",
    "~",
    "a;b|c&d>e<f",
    "-n",
    "--",
    "\n",
    "a\nb\n",
    "\t\r\u{1b}[2J",
    "grüß 🚀 \u{2028}",
    "'; touch spilled; '",
];

/// A pool whose one slot gives the values as `V0`, `V1`, …
fn pool(lab: &Lab, values: &[&str]) {
    let names = || (0..values.len()).map(|n| format!("v{n}"));
    let mut slot: serde_json::Map<String, Value> = names().zip(values.iter().map(|value| json!(value))).collect();
    slot.insert("id".to_owned(), json!("the 'one'"));
    slot.insert("kind".to_owned(), json!("one"));
    let env: serde_json::Map<String, Value> = names().map(|name| (name.to_uppercase(), json!(format!("{{{name}}}")))).collect();
    lab.write("pool.json", &json!({"slots": [slot], "grantEnv": env, "shellPrefix": "ACME"}).to_string());
}

/// A shell in which `cargo` is what we built.
fn shell(lab: &Lab, program: &str, script: &str) -> Command {
    let mut command = lab.command(program);
    command.args(["-c", &format!("set -eu\ncargo() {{ shift; '{PROGRAM}' \"$@\"; }}\n{script}")]);
    command
}

#[test]
fn every_value_arrives_as_it_is() {
    for program in SHELLS {
        let lab = Lab::new(1);
        pool(&lab, &NASTY);
        let shown: String = (0..NASTY.len()).map(|n| format!("printf '%s\\0' \"$V{n}\"\n")).collect();
        let script = format!(
            "grant=$(cargo lease pool acquire --owner ci@host --shell) || exit
             eval \"$grant\"
             {shown}
             printf '%s\\0' \"$ACME_SLOT\" \"$ACME_OWNER\"
             cargo lease pool release --slot \"$ACME_SLOT\" --owner \"$ACME_OWNER\" --token \"$ACME_TOKEN\" >&2"
        );
        let (out, err) = expect_code(&mut shell(&lab, program, &script), 0);
        let values: Vec<&str> = out.split_terminator('\0').collect();
        assert_eq!(values, [&NASTY[..], &["the 'one'", "ci@host"]].concat(), "{program}");
        has(&err, &["\"released\":true"]);
        assert!(!lab.path("spilled").exists(), "{program} ran what was a value");
    }
}

#[test]
fn without_a_slot_the_script_ends() {
    for program in SHELLS {
        let lab = Lab::new(1);
        let _holder = lab.holder(&[]);
        for (options, code) in [("--no-wait", 1), ("--no-wait --ttl 0", 2)] {
            let script = format!(
                "set +e
                 grant=$(cargo lease pool acquire --owner ci --shell {options}) || exit
                 eval \"$grant\"
                 echo went on"
            );
            let (out, _) = expect_code(&mut shell(&lab, program, &script), code);
            assert_eq!(out, "", "{program}");
        }
    }
}

#[test]
fn a_refusal_that_is_evaluated_all_the_same_runs_nothing() {
    for program in SHELLS {
        let lab = Lab::new(1);
        let id = "$(touch spilled) `touch spilled` $HOME";
        lab.write("pool.json", &json!({"slots": [{"id": id, "kind": "one"}], "provision": "exit 7;"}).to_string());
        let acquire = "cargo lease pool acquire --owner ci --shell";
        let (out, _) = expect_code(&mut shell(&lab, program, acquire), 1);
        let failure: Value = serde_json::from_str(&out).expect("one JSON object");
        assert_eq!(failure["slot_id"], id);
        expect_code(&mut shell(&lab, program, &format!("eval \"$({acquire})\"")), 127);
        assert!(!lab.path("spilled").exists(), "{program} ran what was a value");
    }
}

#[test]
fn what_no_shell_can_hold_is_refused_before_a_slot_is_taken() {
    let lab = Lab::new(1);
    let table = [
        (r#"{"id": 1, "v": "a\u0000b"}"#, "slot 1: POOL_SLOT_V holds a NUL"),
        (r#"{"id": 1, "v": "a\ud800b"}"#, "slot 1: POOL_SLOT_V holds text that is no UTF-8"),
        (r#"{"id": "a\u0000b", "kind": "k"}"#, "POOL_SLOT_ID holds a NUL"),
    ];
    for (slot, said) in table {
        lab.write("pool.json", &format!(r#"{{"slots": [{{"id": "good"}}, {slot}]}}"#));
        let mut words = vec!["pool", "acquire", "--owner", "me", "--no-wait", "--shell"];
        let (out, err) = expect_code(&mut lab.lease(&words), 2);
        assert_eq!(out, "");
        has(&err, &[said]);
        assert!(!lab.path("store").exists(), "nothing was taken");
        words.pop();
        expect_code(&mut lab.lease(&words), 0);
        std::fs::remove_dir_all(lab.path("store")).expect("removed");
    }
    lab.write("pool.json", r#"{"slots": [{"id": "a\u0000b", "kind": "k"}], "grantEnv": {}}"#);
    let (_, err) = expect_code(&mut lab.lease(&["pool", "acquire", "--owner", "me", "--shell"]), 2);
    has(&err, &["POOL_LEASE_SLOT holds a NUL"]);
}
