//! The grant: what a holder is told, and the file that keeps it for who asks later.

use std::path::PathBuf;
use std::time::Duration;

use super::Pool;
use super::error::PoolResult;
use super::queue::Mode;
use super::slot::SlotDef;
use crate::json::{Json, Object};
use crate::store::{self, Found, Record, StoreResult};
use crate::sys::clock;
use crate::sys::disk::{self, Anew};

pub(super) const FOLDER: &str = "grants";
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// At the age of so many grant files a sweep looks at most.
const LOOKED_AT: usize = 256;
/// Its time is when somebody tidied up last.
const TIDIED: &str = ".tidied";
const TIDY_EVERY: Duration = Duration::from_secs(10);

/// A granted slot.
#[derive(Clone, Debug)]
pub struct Grant {
    document: Object,
    slot: SlotDef,
    request_id: String,
    owner: String,
    token: String,
    ttl_minutes: f64,
    fence: Option<u64>,
}

/// Who is granted what.
pub(super) struct Granted<'a> {
    pub(super) request_id: &'a str,
    pub(super) mode: Mode,
    pub(super) slot: &'a SlotDef,
    pub(super) record: &'a Record,
}

impl Grant {
    pub(super) fn new(granted: &Granted<'_>, at_ms: i64) -> Self {
        let (slot, record) = (granted.slot, granted.record);
        let (owner, token) = (record.owner().unwrap_or_default(), record.token().unwrap_or_default());
        let ttl_minutes = record.ttl_minutes().unwrap_or_default();
        let mut document = Object::new();
        document.insert("ok", true);
        document.insert("state", "ready");
        document.insert("request_id", granted.request_id);
        document.insert("mode", granted.mode.word());
        document.insert("slot_id", slot.id().clone());
        document.insert("kind", slot.kind());
        document.insert("owner", owner);
        document.insert("token", token);
        document.insert("ttlMinutes", ttl_minutes);
        document.insert("attrs", slot.attrs().clone());
        for (key, value) in slot.grant_fields().iter() {
            document.insert(key, value.clone());
        }
        let env: Object = slot.grant_env().iter().map(|(name, value)| (name.clone(), Json::from(value))).collect();
        document.insert("env", env);
        document.insert("grantedAt", store::iso(at_ms));
        Self {
            document,
            slot: slot.clone(),
            request_id: granted.request_id.to_owned(),
            owner: owner.to_owned(),
            token: token.to_owned(),
            ttl_minutes,
            fence: record.fence(),
        }
    }

    /// The slot.
    #[must_use]
    pub fn slot(&self) -> &SlotDef {
        &self.slot
    }

    /// The request it answers.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// Who holds it.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The lease's token.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Its lifetime in minutes without a heartbeat.
    #[must_use]
    pub fn ttl_minutes(&self) -> f64 {
        self.ttl_minutes
    }

    /// Larger than the number of any earlier grant of this slot.
    #[must_use]
    pub fn fence(&self) -> Option<u64> {
        self.fence
    }

    /// The environment it gives.
    #[must_use]
    pub fn env(&self) -> &[(String, String)] {
        self.slot.grant_env()
    }

    /// The document of format.md.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::Object(self.document.clone())
    }
}

/// The failure of a request, as its grant file keeps it.
pub(super) fn failure(state: &str, request_id: &str, slot: &SlotDef, error: &str, at_ms: i64) -> Json {
    let mut document = Object::new();
    document.insert("ok", false);
    document.insert("state", state);
    document.insert("request_id", request_id);
    document.insert("slot_id", slot.id().clone());
    document.insert("error", error);
    document.insert("at", store::iso(at_ms));
    Json::Object(document)
}

impl Pool {
    /// The grant file of a request whose id may become a file name.
    pub(super) fn grant_path(&self, request_id: &str) -> Option<PathBuf> {
        let made_here = clock::is_uuid(request_id) || !self.store.has_additions() && store::is_kind(request_id);
        made_here.then(|| self.path_of(&[FOLDER, "/", request_id, ".json"]))
    }

    /// Writes the grant of a request.
    pub(super) fn write_grant(&self, granted: &Granted<'_>) -> PoolResult<Grant> {
        let grant = Grant::new(granted, self.store.now_ms());
        self.write_answer(granted.request_id, self.anew_grant(granted).as_ref(), &grant.to_json())?;
        Ok(grant)
    }

    /// The same for a request that never stood in the queue: nobody can ask for it before its holder knows it.
    pub(super) fn grant_to_unknown(&self, granted: &Granted<'_>) -> StoreResult<Grant> {
        let grant = Grant::new(granted, self.store.now_ms());
        if let Some(path) = self.grant_path(granted.request_id) {
            let (text, anew) = (grant.document.to_pretty() + "\n", self.anew_grant(granted));
            disk::with_folder(&self.path(FOLDER), || disk::write_new(&path, anew.as_ref(), text.as_bytes()))?;
        }
        Ok(grant)
    }

    /// Writes why a request has failed, for who asks later.
    pub(super) fn write_failure(&self, request_id: &str, failure: &Json) -> PoolResult<()> {
        self.write_answer(request_id, None, failure)
    }

    fn write_answer(&self, request_id: &str, anew: Option<&Anew>, document: &Json) -> PoolResult<()> {
        if self.grant_path(request_id).is_none() {
            return Ok(());
        }
        let text = document.to_pretty() + "\n";
        self.write_file(&format!("{FOLDER}/{request_id}.json"), anew, &text)
    }

    /// For a grant that [ends with its lease](Pool::forget_grant_of): mostly a moment before the slot has another.
    fn anew_grant(&self, granted: &Granted<'_>) -> Option<Anew> {
        let ends_with_lease = granted.mode == Mode::Blocking && granted.record.alive().is_some();
        let name = || format!("grant-{}", granted.slot.kind());
        self.store.anew(&self.maker, |maker| Anew::linked(&self.dir, &name(), maker)).filter(|_| ends_with_lease)
    }

    /// Takes that back.
    pub(super) fn withdraw_grant(&self, request_id: &str) {
        if let Some(path) = self.grant_path(request_id) {
            let _ = disk::remove_file(&path);
        }
    }

    /// A blocking grant has told its holder everything; its file serves nobody once the lease has ended, nor does its folder.
    pub(super) fn forget_grant_of(&self, kind: &str, record: &Record) {
        if !self.store.has_additions() {
            return;
        }
        if let Some(fence) = record.fence() {
            self.forget_temp_dir(kind, fence);
        }
        if let Some(path) = blocking_request(record).and_then(|request_id| self.grant_path(&request_id)) {
            let _ = disk::remove_file(&path);
        }
    }

    /// Deletes grant files older than a day. What cannot be deleted stays: that must not cost anybody a slot. Of very many,
    /// each call looks at some, so that a busy day does not make it slower.
    pub(super) fn drop_old_grants(&self) {
        let folder = self.path(FOLDER);
        let names = disk::names(&folder).unwrap_or_default();
        let begin = if names.len() <= LOOKED_AT { 0 } else { clock::any_below(names.len()) };
        for name in names.iter().cycle().skip(begin).take(names.len().min(LOOKED_AT)) {
            let path = folder.join(name);
            if name.ends_with(".json") && matches!(disk::age_of(&path), Ok(Some(age)) if age > KEPT) {
                let _ = disk::remove_file(&path);
            }
        }
    }

    /// Whether it is time to look through what piles up slowly: the grants of yesterday, and what dead processes left that is
    /// in nobody's way. All who use the pool do that in turns, told by the time of one file.
    pub(super) fn is_time_to_tidy(&self) -> bool {
        if !self.store.has_additions() {
            return true;
        }
        let now = clock::since_boot();
        if now < self.next_tidy.get() {
            return false;
        }
        let tidied = self.path(TIDIED);
        // A time in the future, by a clock that was wrong, has no age.
        let is_recent = |age: &Duration| !age.is_zero() && *age < TIDY_EVERY;
        let age = disk::age_of(&tidied).ok().flatten().filter(is_recent);
        if age.is_none() {
            // Where it cannot be written, each process tidies up for itself.
            let _ = disk::touch(&tidied).or_else(|_| disk::replace_beside(&tidied, b""));
        }
        self.next_tidy.set(now + TIDY_EVERY.saturating_sub(age.unwrap_or_default()));
        age.is_none()
    }

    /// Removes what dead processes left in the store and in the pool's folders, and the grants of yesterday.
    pub(super) fn tidy(&self) {
        self.drop_old_grants();
        for folder in [self.dir(), self.path(FOLDER)] {
            self.store.remove_left_temporaries(&folder);
        }
        let lock = self.file.queue_lock_kind();
        if let Ok(Found::Lease(record)) = self.store.found(lock)
            && self.store.has_additions()
            && self.store.is_dead(lock, &record, self.store.now_ms())
        {
            let _ = self.store.reap(lock);
        }
        if self.store.has_additions() {
            self.tidy_temp_dirs();
            self.tidy_bells();
            disk::tidy_anew(&self.dir);
        }
        self.store.tidy();
    }
}

/// The request of a blocking grant whose holder was there to the end. One that was left to its TTL has an owner who may
/// still ask for it.
fn blocking_request(record: &Record) -> Option<String> {
    let payload = record.payload();
    let blocking = payload.get("mode").and_then(Json::as_str) == Some("blocking");
    let was_there = record.alive().is_some();
    payload.get("requestId").and_then(Json::as_str).filter(|_| blocking && was_there).map(str::to_owned)
}
