//! Replays recorded answers of another implementation on pool files, templates and slot environments.
//!
//! The folder is `LEASE_TEST_VECTORS`, by default the repository's copy. A case tagged `normal` must agree. Any other
//! case agrees or is one of the decisions below; from another folder, one that does neither is only printed.

use std::fs;
use std::path::{Path, PathBuf};

use lease_harness::json::{Json, Object, object};
use lease_harness::pool::{PoolFile, PoolFileError, SlotDef};

/// A case in which we do not do what was recorded.
struct Decision {
    case: &'static str,
    tag: &'static str,
    /// What we do, in the form that is compared.
    ours: &'static str,
    why: &'static str,
}

const fn decided(tag: &'static str, case: &'static str, ours: &'static str, why: &'static str) -> Decision {
    Decision { case, tag, ours, why }
}

macro_rules! unknown {
    ($template:literal, $path:literal) => {
        concat!("PoolConfigError: template \"", $template, "\" references unknown slot attribute \"", $path, "\" (slot 1)")
    };
}

const OWN_ONLY: &str = "a placeholder sees own attributes only, never what objects of other programs inherit";
const CLEAR_ERROR: &str = "a wrong type is a usage error that names the field, not an internal error";
const NO_INFINITE_ID: &str = "refused too, also when the slot has a kind of its own; the recorded message shows the id as null";

const ON_POOL_FILES: &[Decision] = &[
    decided(
        "quirk",
        "refused: id 1e400 is infinite",
        "PoolConfigError: slots[0] has an \"id\" that is no finite number",
        NO_INFINITE_ID,
    ),
    decided("differs", "refused: cwd number is an internal error", "PoolConfigError: \"cwd\" must be a string", CLEAR_ERROR),
    decided("differs", "refused: cwd array is an internal error", "PoolConfigError: \"cwd\" must be a string", CLEAR_ERROR),
];

const ON_TEMPLATES: &[Decision] = &[
    decided("quirk", "list method", unknown!("{list.map}", "list.map"), OWN_ONLY),
    decided("quirk", "inherited: constructor, whole", unknown!("{constructor}", "constructor"), OWN_ONLY),
    decided("quirk", "inherited: constructor, mixed", unknown!("a{constructor}b", "constructor"), OWN_ONLY),
    decided("quirk", "inherited: toString, whole", unknown!("{toString}", "toString"), OWN_ONLY),
    decided("quirk", "inherited: toString, mixed", unknown!("<{toString}>", "toString"), OWN_ONLY),
    decided("quirk", "inherited: hasOwnProperty, mixed", unknown!("<{hasOwnProperty}>", "hasOwnProperty"), OWN_ONLY),
    decided("quirk", "inherited: __proto__, mixed", unknown!("<{__proto__}>", "__proto__"), OWN_ONLY),
    decided("quirk", "inherited: deep", unknown!("{ports.toString}", "ports.toString"), OWN_ONLY),
];

/// A file of cases.
struct Vectors {
    file: &'static str,
    /// How many cases there are in the repository's copy.
    n_cases: usize,
    decisions: &'static [Decision],
}

const SLOT_ENV: Vectors = Vectors { file: "slot-env.json", n_cases: 48, decisions: &[] };
const TEMPLATES: Vectors = Vectors { file: "templates.json", n_cases: 81, decisions: ON_TEMPLATES };
const POOL_FILES: Vectors = Vectors { file: "pool-files.json", n_cases: 162, decisions: ON_POOL_FILES };

/// One recorded case.
struct Case(Json);

impl Case {
    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Json::as_str)
    }

    fn name(&self) -> &str {
        self.text("name").expect("every case has a name")
    }

    fn has_tag(&self, tag: &str) -> bool {
        self.0.get("tags").and_then(Json::as_array).expect("every case has tags").contains(&Json::from(tag))
    }

    /// The recorded error, without what a message may hold that is some engine's own.
    fn error(&self) -> Option<String> {
        let error = self.0.get("error")?;
        let [class, message] = ["class", "message"].map(|key| error.get(key).and_then(Json::as_str).unwrap());
        Some(without_parser_message(&format!("{class}: {message}")))
    }
}

fn without_parser_message(error: &str) -> String {
    let known = error.find(" is not valid JSON: ").map_or(error.len(), |at| at + " is not valid JSON: ".len());
    error[..known].to_owned()
}

fn our_error(error: &PoolFileError) -> String {
    without_parser_message(&format!("PoolConfigError: {error}"))
}

/// Replays a file of cases: `recorded` and `ours` give the outcome of a case as text.
fn replay(vectors: &Vectors, recorded: impl Fn(&Case) -> String, ours: impl Fn(&Case) -> String) {
    let file = vectors.file;
    let default = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors"));
    let folder = std::env::var_os("LEASE_TEST_VECTORS").map_or(default.to_owned(), PathBuf::from);
    let is_default = fs::canonicalize(&folder).unwrap() == fs::canonicalize(default).unwrap();
    let cases = Json::parse_bytes(&fs::read(folder.join(file)).unwrap()).unwrap().into_array().unwrap();
    let (mut n_run, mut n_decided, mut wrong) = (0, 0, Vec::new());
    for case in cases.into_iter().map(Case) {
        let (recorded, ours) = (recorded(&case), ours(&case));
        let report = format!("{file}: {}\n  recorded {recorded}\n  ours     {ours}", case.name());
        n_run += 1;
        if let Some(decision) = vectors.decisions.iter().find(|decision| decision.case == case.name()) {
            n_decided += 1;
            let stands = case.has_tag(decision.tag) && !case.has_tag("normal") && ours == decision.ours && ours != recorded;
            if !stands {
                wrong.push(format!("{report}\n  decided  {}\n  because  {}", decision.ours, decision.why));
            }
        } else if ours != recorded && (is_default || case.has_tag("normal")) {
            wrong.push(report);
        } else if ours != recorded {
            eprintln!("{report}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        !is_default || (n_run, n_decided) == (vectors.n_cases, vectors.decisions.len()),
        "{file}: {n_run} cases, {n_decided} decided"
    );
}

#[test]
fn slot_environments() {
    let recorded = |case: &Case| case.text("env").unwrap().to_owned();
    replay(&SLOT_ENV, recorded, |case| {
        let file = format!(r#"{{"slots":[{}]}}"#, case.text("slot").unwrap());
        let pool = PoolFile::parse(&file, Path::new("pool.json")).unwrap();
        env(pool.slots()[0].env()).to_text()
    });
}

fn env(env: &[(String, String)]) -> Json {
    Json::Object(env.iter().map(|(name, value)| (name, value)).collect())
}

#[test]
fn templates() {
    let recorded = |case: &Case| match (case.error(), case.text("value")) {
        (Some(error), _) => error,
        (None, Some(value)) => format!("{value} as env {}", case.text("as_env").unwrap()),
        (None, None) => "a function".to_owned(),
    };
    replay(&TEMPLATES, recorded, |case| {
        let filled = filled(case.text("slot").unwrap(), case.text("template").unwrap());
        filled.unwrap_or_else(|error| our_error(&error))
    });
}

/// What a template gives as a grant's field and as a grant's variable. A variable's template must be text, so the text
/// of one that is not is seen through an attribute.
fn filled(slot: &str, template: &str) -> Result<String, PoolFileError> {
    let slot = format!(r#"{},"through":{template}}}"#, slot.strip_suffix('}').unwrap());
    let env_template = if template.starts_with('"') { template } else { r#""{through}""# };
    let file = format!(r#"{{"slots":[{slot}],"grantFields":{{"field":{template}}},"grantEnv":{{"ENV":{env_template}}}}}"#);
    let pool = PoolFile::parse(&file, Path::new("pool.json"))?;
    let slot = &pool.slots()[0];
    Ok(format!("{} as env {}", slot.grant_fields().get("field").unwrap().to_text(), slot.grant_env()[0].1))
}

#[test]
fn pool_files() {
    replay(&POOL_FILES, |case| case.error().unwrap_or_else(|| case.recorded_pool()), load);
}

/// The keys of a grant that tell nothing of the pool file.
const OF_THE_LEASE: [&str; 8] = ["ok", "state", "request_id", "mode", "owner", "token", "ttlMinutes", "grantedAt"];

impl Case {
    /// The recorded definition, times, and what each slot's grant carries of the file.
    fn recorded_pool(&self) -> String {
        let mut lines = vec![self.text("pool").unwrap().to_owned(), self.0.get("effective").unwrap().to_text()];
        for grant in self.0.get("grants").and_then(Json::as_array).unwrap_or_default() {
            let mut grant = Json::parse(grant.as_str().unwrap()).unwrap().into_object().unwrap();
            for key in OF_THE_LEASE {
                grant.remove(key);
            }
            lines.push(Json::Object(grant).to_text());
        }
        lines.join("\n")
    }
}

/// Our answer in the form of [`Case::recorded_pool`]; where a grant fails for another reason there are none.
fn load(case: &Case) -> String {
    let work = tempfile::tempdir().unwrap();
    let work_text = work.path().to_str().unwrap();
    let path = case.text("path").unwrap_or("$WORK/pool.json").replace("$WORK", work_text);
    if let Some(text) = case.text("file") {
        fs::write(&path, text.replace("$WORK", work_text)).unwrap();
    }
    let answer = match PoolFile::load(Path::new(&path)) {
        Ok(pool) if case.0.get("grant_error").is_some() => definition(&pool),
        Ok(pool) => definition(&pool) + &pool.slots().iter().map(grant).collect::<String>(),
        Err(error) => our_error(&error),
    };
    answer.replace(work_text, "$WORK")
}

fn definition(pool: &PoolFile) -> String {
    let effective = object([("ttlMinutes", pool.ttl_minutes().into()), ("movingAvgMs", pool.moving_avg_seed_ms().into())]);
    format!("{}\n{}", pool.to_json().to_text(), effective.to_text())
}

/// What a slot's grant carries of the file.
fn grant(slot: &SlotDef) -> String {
    let mut grant = Object::new();
    grant.insert("slot_id", slot.id().clone());
    grant.insert("kind", slot.kind());
    grant.insert("attrs", slot.attrs().clone());
    grant.extend(slot.grant_fields().clone());
    grant.insert("env", env(slot.grant_env()));
    format!("\n{}", Json::Object(grant).to_text())
}
