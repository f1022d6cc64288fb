use std::path::Path;

use super::{PoolFile, PoolFileErrorKind, SlotDef};
use crate::json::Json;

fn parse(text: &str) -> PoolFile {
    PoolFile::parse(text, Path::new("/srv/project/pool.json")).unwrap()
}

#[track_caller]
fn refuse(text: &str, message: &str) {
    let error = PoolFile::parse(text, Path::new("/srv/project/pool.json")).unwrap_err();
    assert_eq!(error.to_string(), message);
    assert_eq!(error.path(), Path::new("/srv/project/pool.json"));
}

#[test]
fn defaults_are_the_formats() {
    let file = parse(r#"{"slots":[{"id":7}]}"#);
    assert_eq!((file.name(), file.kind_prefix(), file.queue_lock_kind()), ("pool", "slot-", "pool-queue"));
    assert_eq!((file.nudge_event(), file.shell_prefix(), file.bookkeeper()), ("lease-granted", "POOL_LEASE", None));
    assert_eq!((file.ttl_minutes(), file.waiter_stale_ms(), file.moving_avg_seed_ms()), (30.0, 90_000.0, 480_000.0));
    assert_eq!((file.provision(), file.reset(), file.health(), file.nudge_command()), (None, None, None, None));
    assert_eq!(file.cwd_dir(), Path::new("/srv/project"));
    assert!(file.grant_env_templates().is_none() && file.grant_fields_templates().is_empty());
    assert_eq!(file.slot("7").map(SlotDef::kind), Some("slot-7"));
    assert!(file.slot("8").is_none());
    assert!(file.warnings().is_empty());
}

#[test]
fn what_nobody_knows_stays_in_the_document() {
    let file = parse(r#"{"x":{"y":[1]},"slots":[{"id":1}]}"#);
    assert_eq!(file.raw().to_text(), r#"{"x":{"y":[1]},"slots":[{"id":1}]}"#);
    assert_eq!(file.to_json().get("x"), None);
}

#[test]
fn a_syntax_error_names_line_and_column() {
    refuse(
        "{\n  \"slots\": [}\n",
        "pool file /srv/project/pool.json is not valid JSON: unexpected character '}' at line 2 column 13",
    );
}

#[test]
fn an_unreadable_file_is_named_and_keeps_its_cause() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pool.json");
    std::fs::write(&file, [0xFF]).unwrap();
    let below = file.join("pool.json");
    let error = PoolFile::load(&below).unwrap_err();
    assert_eq!(error.kind(), PoolFileErrorKind::Read);
    assert_eq!(error.to_string(), format!("cannot read pool file {}: ENOTDIR", below.display()));
    assert!(std::error::Error::source(&error).is_some());
    assert_eq!(PoolFile::load(&file).unwrap_err().kind(), PoolFileErrorKind::Syntax);
}

#[test]
fn what_eval_would_run_is_no_shell_prefix() {
    refuse(
        r#"{"slots":[{"id":1}],"shellPrefix":"X=$(id) Y"}"#,
        r#""shellPrefix" "X=$(id) Y" is not a valid environment variable name"#,
    );
    refuse(r#"{"slots":[{"id":1}],"shellPrefix":"1"}"#, r#""shellPrefix" "1" is not a valid environment variable name"#);
    assert_eq!(parse(r#"{"slots":[{"id":1}],"shellPrefix":""}"#).shell_prefix(), "");
    assert_eq!(parse(r#"{"slots":[{"id":1}],"shellPrefix":"_a1"}"#).shell_prefix(), "_a1");
}

#[test]
fn commands_run_in_a_folder_beside_the_file() {
    let cwd = |cwd: &str| parse(&format!(r#"{{"slots":[{{"id":1}}],"cwd":"{cwd}"}}"#)).cwd_dir().to_owned();
    assert_eq!(cwd("a//b/"), Path::new("/srv/project/a/b"));
    assert_eq!(cwd("../x/./y/.."), Path::new("/srv/x"));
    assert_eq!(cwd("../../../.."), Path::new("/"));
    assert_eq!(cwd("/opt/../tmp/"), Path::new("/tmp"));
    assert_eq!(cwd(""), Path::new("/srv/project"));
    let relative = PoolFile::parse(r#"{"slots":[{"id":1}],"cwd":"b"}"#, Path::new("x/../a/pool.json")).unwrap();
    assert_eq!(relative.cwd_dir(), std::env::current_dir().unwrap().join("a/b"));
    refuse(r#"{"slots":[{"id":1}],"cwd":5}"#, r#""cwd" must be a string"#);
}

#[test]
fn an_id_that_is_no_number_is_refused_whatever_its_kind() {
    refuse(r#"{"slots":[{"id":1},{"id":-1e999,"kind":"k"}]}"#, r#"slots[1] has an "id" that is no finite number"#);
}

#[test]
fn a_template_must_resolve_for_every_slot() {
    refuse(
        r#"{"slots":[{"id":1,"db":"x"},{"id":"b"}],"grantEnv":{"DB":"{db}"}}"#,
        r#"template "{db}" references unknown slot attribute "db" (slot b)"#,
    );
}

#[test]
fn doubtful_names_are_warned_of_once() {
    let file = parse(
        r#"{"slots":[
            {"id":1,"a":{"b":1},"a-b":2,"ID":"x","kind":"k"},
            {"id":2,"a":{"b":1},"a-b":2,"kiNd":"y","__proto__":{"c":1}},
            {"id":3,"v":"\u0000"}
        ],"ttlMinutes":1e9,"grantEnv":{"__proto__":"x","A":"{id}"}}"#,
    );
    assert_eq!(
        file.warnings(),
        [
            r#""ttlMinutes" 1000000000 is more than 527040: grants are refused unless another TTL is given"#,
            r#"grantEnv key "__proto__" is ignored"#,
            r#"slot 1: attributes "a.b" and "a-b" both give POOL_SLOT_A_B; the later one counts"#,
            r#"slot 1: attribute "ID" overwrites POOL_SLOT_ID"#,
            r#"slot 2: attribute "kiNd" overwrites POOL_SLOT_KIND"#,
            r#"slot 2: attribute "__proto__" is ignored"#,
            r#"slot 3: POOL_SLOT_V holds a NUL character, which no environment can carry"#,
        ]
    );
    let env = |idx: usize| file.slots()[idx].env().iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
    assert_eq!(env(0), ["POOL_SLOT_ID=x", "POOL_SLOT_KIND=k", "POOL_SLOT_A_B=2"]);
    assert_eq!(env(1), ["POOL_SLOT_ID=2", "POOL_SLOT_KIND=y", "POOL_SLOT_A_B=2"]);
    assert_eq!(file.slots()[1].grant_env(), [("A".to_owned(), "2".to_owned())]);
}

#[test]
fn keys_that_look_like_another_are_warned_of() {
    let warnings_of = |key: &str| {
        let text = format!("{{\"slots\":[{{\"id\":1}}],\"{key}\":\"x\"}}");
        parse(&text).warnings().to_vec()
    };
    for (key, meant) in [
        ("provison", "provision"),
        ("provisoin", "provision"),
        ("Reset", "reset"),
        ("grantenv", "grantEnv"),
        ("grant_env", "grantEnv"),
        ("ttl_minutes", "ttlMinutes"),
        ("slot", "slots"),
    ] {
        assert_eq!(warnings_of(key), [format!("key \"{key}\" means nothing here: did you mean \"{meant}\"?")]);
    }
    for key in ["provision", "$schema", "note", "test", "env", "comment", "description", "version"] {
        assert_eq!(warnings_of(key), [""; 0], "{key}");
    }
}

#[test]
fn names_of_digits_come_first_in_an_environment() {
    let file = parse(r#"{"slots":[{"id":1,"b":1,"-10-":2,"2":3}]}"#);
    let names: Vec<_> = file.slots()[0].env().iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["POOL_SLOT_ID", "POOL_SLOT_KIND", "POOL_SLOT_2", "POOL_SLOT_10", "POOL_SLOT_B"]);
}

#[test]
fn files_are_alike_when_users_cannot_tell_them_apart() {
    let one = parse(r#"{"slots":[{"id":1,"db":"a","port":1},{"id":2,"db":"b","port":2}],"provision":"x","ttlMinutes":5}"#);
    let same = parse(r#"{"name":"pool","slots":[{"id":2,"port":2,"db":"b"},{"port":1,"db":"a","id":1}],"cwd":"y"}"#);
    assert_eq!(one.describe(), same.describe());
    for other in [
        r#"{"slots":[{"id":1,"db":"a","port":1}]}"#,
        r#"{"slots":[{"id":1,"db":"a","port":1},{"id":2,"db":"a","port":2}]}"#,
        r#"{"slots":[{"id":1,"db":"a","port":1},{"id":"2","db":"b","port":2}]}"#,
        r#"{"slots":[{"id":1,"db":"a","port":1},{"id":2,"db":"b","port":2}],"kindPrefix":"s-"}"#,
        r#"{"slots":[{"id":1,"db":"a","port":1},{"id":2,"db":"b","port":2}],"queueLockKind":"q"}"#,
        r#"{"slots":[{"id":1,"db":"a","port":1},{"id":2,"db":"b","port":2}],"grantEnv":{}}"#,
        r#"{"slots":[{"id":1,"db":"a","port":1},{"id":2,"db":"b","port":2}],"grantFields":{"f":1}}"#,
    ] {
        assert_ne!(one.describe(), parse(other).describe(), "{other}");
    }
}

#[test]
fn a_description_reads_back_as_it_was_written() {
    let described = parse(r#"{"slots":[{"id":1,"a":1e999,"b":[-1e999,-0],"c":"\ud83d"}],"grantFields":{"f":1e999}}"#).describe();
    assert_eq!(Json::parse(&described.to_text()).unwrap(), described);
}

#[test]
fn a_deeply_nested_file_is_a_file_like_any_other() {
    let depth = 100_000;
    let deep = format!("{}1{}", "{\"\":[".repeat(depth / 2), "]}".repeat(depth / 2));
    let file = parse(&format!(r#"{{"slots":[{{"id":1,"a":{deep}}}],"grantFields":{{"f":"{{a}}"}}}}"#));
    let slot = &file.slots()[0];
    assert_eq!(slot.grant_fields().get("f").map(Json::to_text), Some(deep.clone()));
    assert_eq!(file.describe(), file.clone().describe());
    let chain = format!("{}1{}", "{\"\":".repeat(depth), "}".repeat(depth));
    assert_eq!(
        parse(&format!(r#"{{"slots":[{{"id":1,"a":{chain}}}]}}"#)).slots()[0].env()[2],
        ("POOL_SLOT_A".into(), "1".into())
    );
}
