//! Who asked for a slot and how long he waited.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::time::Duration;

use super::RunNotes;
use crate::json::{Json, object};
use crate::pool::Pool;
use crate::store::{self, Env, Ids};
use crate::sys::disk;

const FILE: &str = "slots.jsonl";

/// What nextest tells its tests of themselves.
const BINARY_ID: &str = "NEXTEST_BINARY_ID";
const TEST_NAME: &str = "NEXTEST_TEST_NAME";
const TEST_GROUP: &str = "NEXTEST_TEST_GROUP";
const TEST_THREADS: &str = "NEXTEST_TEST_THREADS";

/// What a process tells of a slot that it asked for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SlotNote {
    /// Its test: nextest's id of the binary, and the name. None if it is not nextest's.
    pub test: Option<(String, String)>,
    /// Nextest's group of the test.
    pub group: Option<String>,
    /// How many tests nextest runs at once.
    pub threads: Option<usize>,
    /// Name of the pool.
    pub pool: String,
    /// Directory of its store.
    pub store: PathBuf,
    /// How many slots it has.
    pub n_slots: usize,
    /// The deepest place in the queue that was seen, from 1; 0 if there was no need to wait.
    pub deepest: usize,
    /// Whether it waited for a slot that its run holds, and not for one of the pool.
    pub is_for_turn: bool,
    /// How long it waited; as long as it still waits, nothing.
    pub waited: Duration,
    /// How it ended.
    pub end: AskEnd,
}

/// How asking for a slot ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskEnd {
    /// Not yet: who still waits when the run is over has been ended.
    Waits,
    /// With a slot.
    Granted,
    /// With the slot of an outer grant.
    Joined,
    /// Without.
    Refused,
}

impl AskEnd {
    const ALL: [Self; 4] = [Self::Waits, Self::Granted, Self::Joined, Self::Refused];

    fn word(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::Granted => "granted",
            Self::Joined => "joined",
            Self::Refused => "refused",
        }
    }
}

impl RunNotes {
    /// What was told of slots, the last word of each who asked.
    #[must_use]
    pub fn slots(&self) -> Vec<SlotNote> {
        let bytes = disk::read(&self.folder().join(FILE)).ok().flatten().unwrap_or_default();
        let (mut notes, mut places) = (Vec::new(), HashMap::new());
        for line in bytes.split(|byte| *byte == b'\n') {
            let Some((id, note)) = Json::parse_bytes(line).ok().and_then(|line| SlotNote::of_json(&line)) else { continue };
            match places.entry(id) {
                Entry::Occupied(place) => notes[*place.get()] = note,
                Entry::Vacant(place) => {
                    place.insert(notes.len());
                    notes.push(note);
                }
            }
        }
        notes
    }
}

impl SlotNote {
    fn to_json(&self, id: &str) -> Json {
        let (binary_id, test) = self.test.as_ref().map(|(binary_id, test)| (Json::from(binary_id), Json::from(test))).unzip();
        object([
            ("id", Json::from(id)),
            ("binaryId", Json::from(binary_id)),
            ("test", Json::from(test)),
            ("group", Json::from(self.group.as_ref())),
            ("threads", Json::from(self.threads)),
            ("pool", Json::from(&self.pool)),
            ("store", Json::from(self.store.to_str())),
            ("slots", Json::from(self.n_slots)),
            ("deepest", Json::from(self.deepest)),
            ("turn", Json::from(self.is_for_turn)),
            ("waitedMs", Json::from(store::millis(self.waited))),
            ("end", Json::from(self.end.word())),
        ])
    }

    fn of_json(note: &Json) -> Option<(String, Self)> {
        let text = |key| note.get(key).and_then(Json::as_str).map(str::to_owned);
        let number = |key| note.get(key).and_then(Json::as_f64);
        let end = text("end")?;
        let read = Self {
            test: text("binaryId").zip(text("test")),
            group: text("group"),
            threads: number("threads").map(whole),
            pool: text("pool")?,
            store: text("store")?.into(),
            n_slots: whole(number("slots")?),
            deepest: whole(number("deepest")?),
            is_for_turn: note.get("turn")?.as_bool()?,
            waited: Duration::try_from_secs_f64(number("waitedMs")? / 1e3).ok()?,
            end: AskEnd::ALL.into_iter().find(|known| known.word() == end)?,
        };
        Some((text("id")?, read))
    }
}

/// A number that was written as one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates, and nobody writes that much")]
fn whole(number: f64) -> usize {
    number as usize
}

/// Notes of one who asks for a slot.
pub(in crate::harness) struct SlotNotes {
    notes: RunNotes,
    id: String,
    note: SlotNote,
    begun_ms: i64,
}

impl SlotNotes {
    /// What they are read from.
    pub(in crate::harness) const VARIABLES: [&'static str; 5] = [RunNotes::SLOTS, BINARY_ID, TEST_NAME, TEST_GROUP, TEST_THREADS];

    /// If somebody wants them.
    pub(in crate::harness) fn begin(pool: &Pool, env: &Env) -> Option<Self> {
        let notes = RunNotes::of_slots(env)?;
        let note = SlotNote {
            test: env.get(BINARY_ID).zip(env.get(TEST_NAME)),
            group: env.get(TEST_GROUP),
            threads: env.get(TEST_THREADS).and_then(|number| number.parse().ok()),
            pool: pool.file().name().to_owned(),
            store: pool.store().dir().to_owned(),
            n_slots: pool.file().slots().len(),
            deepest: 0,
            is_for_turn: false,
            waited: Duration::ZERO,
            end: AskEnd::Waits,
        };
        Some(Self { notes, id: Ids::random().fresh(), note, begun_ms: pool.store().now_ms() })
    }

    /// It stands at this place, from 1.
    pub(in crate::harness) fn waits_at(&mut self, position: usize) {
        let begins = self.note.deepest == 0;
        self.note.deepest = self.note.deepest.max(position);
        if begins {
            self.tell();
        }
    }

    /// It waits for a slot of its run, for which there are no places.
    pub(in crate::harness) fn waits_for_turn(&mut self) {
        self.note.is_for_turn = true;
        self.waits_at(1);
    }

    /// It ended at this time.
    pub(in crate::harness) fn end(mut self, end: AskEnd, at_ms: i64) {
        if 0 < self.note.deepest {
            self.note.waited = Duration::from_millis(u64::try_from(at_ms - self.begun_ms).unwrap_or_default());
        }
        self.note.end = end;
        self.tell();
    }

    fn tell(&self) {
        // What is not told is missing in a report, and no reason to fail.
        let _ = disk::append_line(&self.notes.folder().join(FILE), &self.note.to_json(&self.id).to_text());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write as _;

    use super::*;
    use crate::pool::{PoolFile, PoolOptions};
    use crate::store::{LeaseStore, StoreOptions};

    fn pool(dir: &std::path::Path) -> Pool {
        let file = dir.join("pool.json");
        std::fs::write(&file, r#"{"name": "db", "slots": [{"id": 1}, {"id": 2}]}"#).unwrap();
        let store = StoreOptions { store: Some(dir.join("store")), ..StoreOptions::default() };
        Pool::open(PoolFile::load(&file).unwrap(), LeaseStore::open(&store).unwrap(), PoolOptions::default()).unwrap()
    }

    fn env(dir: &std::path::Path) -> Env {
        let variables = [
            (RunNotes::SLOTS, dir.to_str().unwrap()),
            ("NEXTEST_BINARY_ID", "api::it"),
            ("NEXTEST_TEST_NAME", "a::b"),
            ("NEXTEST_TEST_GROUP", "@global"),
            ("NEXTEST_TEST_THREADS", "8"),
        ];
        Env::Fixed(variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
    }

    #[test]
    fn the_last_word_of_each_counts() {
        let dir = tempfile::tempdir().unwrap();
        let (pool, env, notes) = (pool(dir.path()), env(dir.path()), RunNotes::in_folder(dir.path()));
        assert_eq!(notes.slots(), []);
        let mut waits = SlotNotes::begin(&pool, &env).unwrap();
        waits.waits_at(2);
        waits.waits_at(3);
        waits.waits_at(1);
        let mut killed = SlotNotes::begin(&pool, &env).unwrap();
        killed.waits_at(1);
        SlotNotes::begin(&pool, &env).unwrap().end(AskEnd::Granted, i64::MAX);
        let granted_ms = waits.begun_ms + 1500;
        waits.end(AskEnd::Granted, granted_ms);
        let mut file = std::fs::File::options().append(true).open(dir.path().join(FILE)).unwrap();
        file.write_all(b"{\"id\": \"half a li").unwrap();
        let told = notes.slots();
        let shown: Vec<_> = told.iter().map(|note| (note.deepest, note.waited.as_millis(), note.end)).collect();
        assert_eq!(shown, [(3, 1500, AskEnd::Granted), (1, 0, AskEnd::Waits), (0, 0, AskEnd::Granted)]);
        let note = &told[0];
        assert_eq!(note.test, Some(("api::it".to_owned(), "a::b".to_owned())));
        assert_eq!((note.group.as_deref(), note.threads), (Some("@global"), Some(8)));
        assert_eq!((&*note.pool, note.n_slots, note.store.as_path()), ("db", 2, pool.store().dir()));
    }

    #[test]
    fn where_nobody_asks_nothing_is_told() {
        let dir = tempfile::tempdir().unwrap();
        assert!(SlotNotes::begin(&pool(dir.path()), &Env::Fixed(BTreeMap::new())).is_none());
    }
}
