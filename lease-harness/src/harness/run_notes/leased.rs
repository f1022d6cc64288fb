//! Which tests of a binary take slots, told while the binary lists its tests.

use std::path::{Path, PathBuf};

use super::RunNotes;
use crate::json::{Json, object};
use crate::store::Ids;
use crate::sys::disk;

/// How the names of these notes end.
const ENDING: &str = ".tests.json";

/// A test that takes slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasedTest {
    /// Its name as the binary lists it.
    pub name: String,
    /// Whether a generator makes tests called `name::something` of it.
    pub makes_several: bool,
    /// The pools, in the order in which they were written.
    pub pools: Vec<NamedPool>,
}

/// A pool as a test names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPool {
    /// The pool file as it was written.
    pub written: String,
    /// Where it was found; none if it was not, or if its path is no text.
    pub found: Option<PathBuf>,
    /// The store, if the test names one.
    pub store: Option<PathBuf>,
}

impl RunNotes {
    /// Tells which tests of the binary with nextest's id `binary_id` take slots.
    pub(crate) fn tell_tests(&self, binary_id: &str, tests: &[LeasedTest]) {
        let tests = tests.iter().map(LeasedTest::to_json).collect::<Vec<_>>();
        let note = object([("binaryId", Json::from(binary_id)), ("tests", Json::from(tests))]);
        let path = self.folder.join(format!("{}{ENDING}", Ids::random().fresh()));
        // Whoever asked sees nothing of these tests then, which costs him a queue in the wrong place and nobody a test.
        let _ = disk::replace(&path, path.with_extension("unfinished"), note.to_text().as_bytes());
    }

    /// All tests that were told, each with the id of its binary. What cannot be read is left out.
    #[must_use]
    pub fn tests(&self) -> Vec<(String, LeasedTest)> {
        let names = disk::names(&self.folder).unwrap_or_default();
        let notes = names.iter().filter(|name| name.ends_with(ENDING));
        notes.filter_map(|name| read(&self.folder.join(name))).flatten().collect()
    }
}

fn read(path: &Path) -> Option<Vec<(String, LeasedTest)>> {
    let note = Json::parse_bytes(&disk::read(path).ok()??).ok()?;
    let binary_id = note.get("binaryId")?.as_str()?;
    let tests = note.get("tests")?.as_array()?.iter();
    Some(tests.filter_map(|test| Some((binary_id.to_owned(), LeasedTest::of_json(test)?))).collect())
}

impl LeasedTest {
    fn to_json(&self) -> Json {
        object([
            ("name", Json::from(&self.name)),
            ("makesSeveral", Json::from(self.makes_several)),
            ("pools", Json::from(self.pools.iter().map(NamedPool::to_json).collect::<Vec<_>>())),
        ])
    }

    fn of_json(test: &Json) -> Option<Self> {
        Some(Self {
            name: test.get("name")?.as_str()?.to_owned(),
            makes_several: test.get("makesSeveral")?.as_bool()?,
            pools: test.get("pools")?.as_array()?.iter().map(NamedPool::of_json).collect::<Option<_>>()?,
        })
    }
}

impl NamedPool {
    fn to_json(&self) -> Json {
        let text = |path: &Option<PathBuf>| path.as_deref().and_then(Path::to_str).map(Json::from);
        object([
            ("written", Json::from(&self.written)),
            ("found", Json::from(text(&self.found))),
            ("store", Json::from(text(&self.store))),
        ])
    }

    fn of_json(pool: &Json) -> Option<Self> {
        let path = |key| pool.get(key).and_then(Json::as_str).map(PathBuf::from);
        Some(Self { written: pool.get("written")?.as_str()?.to_owned(), found: path("found"), store: path("store") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let notes = RunNotes::in_folder(dir.path());
        let pool =
            |found: Option<&str>| NamedPool { written: "p \"q\".json".to_owned(), found: found.map(Into::into), store: None };
        let test = |makes_several, pools| LeasedTest { name: "a::b".to_owned(), makes_several, pools };
        let mut told = [true, false].map(|makes_several| test(makes_several, vec![pool(None), pool(Some("/x/p.json"))]));
        told[1].pools[0].store = Some("/store".into());
        notes.tell_tests("api::it", &told);
        notes.tell_tests("api", &[]);
        std::fs::write(dir.path().join("damaged.tests.json"), "{\"binaryId\": 3").unwrap();
        let expected: Vec<_> = told.into_iter().map(|test| ("api::it".to_owned(), test)).collect();
        assert_eq!(notes.tests(), expected);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3);
    }

    #[test]
    fn nobody_minds_a_folder_that_is_not_there() {
        let notes = RunNotes::in_folder("/no/such/folder");
        notes.tell_tests("api", &[]);
        assert_eq!(notes.tests(), []);
    }
}
