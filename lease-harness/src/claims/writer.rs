//! Who may write: a program and its generation. When a newer generation takes over, the older one writes nothing any more.
//!
//! As long as nobody has taken over, everybody may. The file lies beside the scopes and counts for all of them.

use std::path::PathBuf;

use super::error::{ClaimsError, ClaimsResult, RECORD_CORRUPT};
use super::place::{claims_folder, enter};
use super::record::{number, whole};
use super::refusal::{Refusal, WRITER_FENCED};
use super::store::ClaimStore;
use crate::json::{Json, object, trimmed};
use crate::store::{LeaseStore, StoreError};
use crate::sys::disk;

/// A running program that writes claims, and which of its generations it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// The program.
    pub instance: String,
    /// A number that grows with every takeover.
    pub generation: u64,
}

impl Writer {
    /// The writer that an environment names by `FORGE_WRITER_INSTANCE_ID` and `FORGE_WRITER_GENERATION`; none if one of them is
    /// blank, or the generation is no whole number.
    #[must_use]
    pub fn from_env(env: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let said = |name: &str| env(name).map(|text| trimmed(&text).to_owned()).filter(|text| !text.is_empty());
        let generation = said("FORGE_WRITER_GENERATION")?.parse().ok()?;
        Some(Self { instance: said("FORGE_WRITER_INSTANCE_ID")?, generation })
    }
}

/// What the file says.
struct Record {
    generation: u64,
    /// Nobody, after the last one has stepped down.
    instance: Option<String>,
}

/// The file of a store.
pub(super) struct WriterFile {
    path: PathBuf,
}

impl WriterFile {
    pub(super) fn new(store: &LeaseStore) -> Self {
        Self { path: claims_folder(store).join("writer.json") }
    }

    /// Refuses who is not the writer, if there is one.
    pub(super) fn check(&self, action: &str, writer: Option<&Writer>) -> ClaimsResult<()> {
        let Some(Record { generation, instance: Some(instance) }) = self.read()? else { return Ok(()) };
        let reason = match writer {
            None => "runtime_write_claim_unbound_while_authority_present",
            Some(writer) if writer.generation < generation => "writer_generation_superseded",
            Some(writer) if writer.generation == generation && writer.instance == instance => return Ok(()),
            Some(_) => "writer_is_another",
        };
        Err(Refusal::new(WRITER_FENCED, format!("{action}:{reason}")).into())
    }

    fn read(&self) -> ClaimsResult<Option<Record>> {
        let Some(bytes) = disk::read(&self.path)? else { return Ok(None) };
        let damaged = |what: &str| ClaimsError::damaged(RECORD_CORRUPT, &self.path, what);
        let document = Json::parse_bytes(&bytes).map_err(|error| damaged(&error.to_string()))?;
        if document.get("schemaVersion").and_then(whole) != Some(1) {
            return Err(damaged("schemaVersion is not 1"));
        }
        let instance = match document.get("instanceId") {
            Some(Json::Null) => None,
            Some(Json::String(text)) => Some(text.to_string()),
            _ => return Err(damaged("instanceId is no text")),
        };
        let generation = document.get("generation").and_then(whole).ok_or_else(|| damaged("generation is no whole number"))?;
        Ok(Some(Record { generation, instance }))
    }

    /// On the disk before anybody counts on it: a generation never comes again.
    fn write(&self, record: &Record) -> ClaimsResult<()> {
        let instance = record.instance.as_deref().map_or(Json::Null, Json::from);
        let document =
            object([("schemaVersion", Json::Number(1.0)), ("instanceId", instance), ("generation", number(record.generation))]);
        Ok(disk::replace_flushed(&self.path, document.to_text().as_bytes()).map_err(StoreError::from)?)
    }
}

impl ClaimStore {
    /// Acts as this writer; as none by default.
    #[must_use]
    pub fn as_writer(mut self, writer: Option<Writer>) -> Self {
        self.writer = writer;
        self
    }

    /// Makes a program the writer of the store, with a generation that is newer than every one before. When this returns, no
    /// operation of an older one is under way any more, and each one that comes is refused: `WRITER_FENCED`.
    ///
    /// # Errors
    /// `ID_INVALID`; `LOCK_HELD` when a scope was busy all the time; a file that cannot be read or written. After the last two the
    /// older one may be fenced already; try again.
    pub fn take_over(&self, instance: &str) -> ClaimsResult<Writer> {
        super::names::check_id("instance", instance)?;
        self.store().create()?;
        let folder = claims_folder(self.store());
        let file = WriterFile::new(self.store());
        let generation = {
            let _lock = enter(&folder, self.lock_limit())?;
            let generation = file.read()?.map_or(0, |record| record.generation) + 1;
            file.write(&Record { generation, instance: Some(instance.to_owned()) })?;
            generation
        };
        // Who is inside a scope has looked at the file before; who enters after us looks at the new one.
        for name in disk::names(&folder).map_err(StoreError::from)? {
            let scope = folder.join(name);
            if scope.is_dir() {
                enter(&scope, self.lock_limit())?;
            }
        }
        Ok(Writer { instance: instance.to_owned(), generation })
    }

    /// Ends it: everybody may write again. Does nothing if another one has taken over; true if it was this one.
    ///
    /// # Errors
    /// `LOCK_HELD`; or the file cannot be read or written.
    pub fn step_down(&self, writer: &Writer) -> ClaimsResult<bool> {
        let file = WriterFile::new(self.store());
        let _lock = enter(&claims_folder(self.store()), self.lock_limit())?;
        let record = file.read()?;
        let is_writer = |record: &Record| {
            record.generation == writer.generation && record.instance.as_deref() == Some(writer.instance.as_str())
        };
        if !record.as_ref().is_some_and(is_writer) {
            return Ok(false);
        }
        file.write(&Record { generation: writer.generation, instance: None })?;
        Ok(true)
    }

    /// The writer, if there is one. Writes nothing.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn writer(&self) -> ClaimsResult<Option<Writer>> {
        let record = WriterFile::new(self.store()).read()?;
        Ok(record.and_then(|Record { generation, instance }| Some(Writer { instance: instance?, generation })))
    }
}
