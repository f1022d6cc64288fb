//! Finding and reading the files.

use std::path::{Path, PathBuf};

use lease_harness::json::Json;
use lease_tests::binary::workspace;

/// A file of cases.
pub(super) struct VectorFile {
    /// Its name without the ending.
    pub(super) name: &'static str,
    /// Its cases in order.
    pub(super) cases: Vec<Case>,
    /// Whether it comes from our own folder.
    pub(super) is_ours: bool,
}

/// One case.
pub(super) struct Case {
    /// Unique in its file.
    pub(super) name: String,
    /// `normal`, or why it does not bind.
    pub(super) tags: Vec<String>,
    /// The whole object.
    pub(super) body: Json,
}

impl Case {
    /// Whether we must agree: it is normal, and the contract does not say otherwise.
    pub(super) fn binds(&self) -> bool {
        let has = |name: &str| self.tags.iter().any(|tag| tag == name);
        (has("normal") || has("generated")) && !has("differs")
    }
}

/// Reads a file of cases.
pub(super) fn load(name: &'static str) -> VectorFile {
    let own = workspace().join("tests/vectors");
    let folder = std::env::var_os("LEASE_TEST_VECTORS").map_or_else(|| own.clone(), PathBuf::from);
    let is_ours = same_folder(&folder, &own);
    let path = folder.join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let document = Json::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases = document.as_array().or_else(|| document.get("cases")?.as_array()).expect("a vector file is a list");
    let cases = cases.iter().enumerate().map(|(case_idx, body)| case(case_idx, body)).collect();
    VectorFile { name, cases, is_ours }
}

fn same_folder(left: &Path, right: &Path) -> bool {
    matches!((left.canonicalize(), right.canonicalize()), (Ok(left), Ok(right)) if left == right)
}

/// A case without tags is one that binds, and one without a name has its rule and its place.
fn case(case_idx: usize, body: &Json) -> Case {
    let tags = body.get("tags").and_then(Json::as_array);
    let tags = tags.map(|tags| tags.iter().filter_map(Json::as_str).map(str::to_owned).collect());
    let rule = || body.get("rule").or_else(|| body.get("fn")).and_then(Json::as_str).unwrap_or_default();
    let name = body.get("name").and_then(Json::as_str).map(str::to_owned);
    Case {
        name: name.unwrap_or_else(|| format!("{case_idx} {}", rule())),
        tags: tags.unwrap_or_else(|| vec!["normal".to_owned()]),
        body: body.clone(),
    }
}

/// A text that must be there.
#[track_caller]
pub(super) fn text<'a>(body: &'a Json, key: &str) -> &'a str {
    body.get(key).and_then(Json::as_str).unwrap_or_else(|| panic!("no text {key:?} in {}", body.to_text()))
}

/// A list; absent is empty.
pub(super) fn list<'a>(body: &'a Json, key: &str) -> &'a [Json] {
    body.get(key).and_then(Json::as_array).unwrap_or_default()
}

/// A whole number of milliseconds.
#[expect(clippy::cast_possible_truncation, reason = "the recorded times are whole and below 2^53")]
pub(super) fn millis(body: &Json, key: &str) -> Option<i64> {
    body.get(key).and_then(Json::as_f64).map(|number| number as i64)
}
