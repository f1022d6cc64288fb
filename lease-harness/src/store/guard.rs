//! The critical section of one kind: a directory that is entered by putting it there.
//!
//! Ours is made whole in a private place and published by a rename that refuses to replace, so that a kill in between
//! never leaves it half made. A process keeps its private directory and renames it in and out, which costs a fraction of
//! making one each time.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::alive::{self, ProofOfLife, Vital};
use super::error::{StoreError, StoreResult};
use super::journal;
use super::{JOURNAL, LeaseStore};
use crate::json::{Json, Object};
use crate::sys::clock;
use crate::sys::disk::{self, At, Placed};
use crate::sys::lock::LockedPlace;

const HOLDER: &str = "holder.json";
/// Start of the name of every guard.
const GUARD: &str = ".guard-";
/// A private directory waiting for its next use.
const ROOM: &str = ".room-";
/// An empty room that belongs to nobody and stays in the store: for whoever must get in although the disk is too full for a
/// room of his own, which is whoever gives something back.
const SPARE: &str = ".spare-guard";
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);
/// From this pause on, an entrant asks whether whoever is inside still lives.
const PATIENCE: Duration = Duration::from_millis(1);
/// A room that nobody's proof of life keeps is old enough to go after this.
const ROOM_LIMIT: Duration = Duration::from_secs(60);

/// Private directories of one store handle, ready to be published.
#[derive(Debug, Default)]
pub(super) struct Rooms(Mutex<Vec<Room>>);

/// A private directory that holds its `holder.json`.
#[derive(Debug)]
struct Room {
    /// Whose it is: a fork has the handle, and not the room.
    process: u32,
    path: PathBuf,
    id: String,
    /// False when the disk had no place for its `holder.json`; an empty room keeps others out all the same.
    named: bool,
    /// Whether it is the store's spare one.
    spare: bool,
}

impl Drop for Rooms {
    fn drop(&mut self) {
        for room in self.0.get_mut().unwrap_or_else(PoisonError::into_inner) {
            if room.is_ours() {
                let _ = disk::remove_tree(&room.path);
            }
        }
    }
}

impl Room {
    fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Rooms {
    /// One that is still there: the store may have been deleted, and made anew by others.
    fn take(&self) -> Option<Room> {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| rooms.pop()).find(|room| room.is_ours() && room.path.exists())
    }

    fn put_back(&self, room: Room) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(room);
    }
}

/// Being inside the critical section of a kind. Dropping it leaves.
#[derive(Debug)]
pub(super) struct Guard<'store> {
    store: &'store LeaseStore,
    /// By the clock that goes on while we are suspended.
    entered: Duration,
    place: PathBuf,
    room: Option<Room>,
}

impl Guard<'_> {
    /// Enters the critical section of `kind`, waiting as long as the store's limits say.
    pub(super) fn enter<'store>(store: &'store LeaseStore, kind: &str) -> StoreResult<Guard<'store>> {
        let place = store.dir().join(format!("{GUARD}{kind}"));
        let room = store.inner.rooms.take().map_or_else(|| make_room(store), Ok)?;
        if let Err(error) = wait_to_enter(store, kind, &place, &room) {
            // It may be what is wrong (somebody deleted the store): the next attempt makes one of its own.
            if !room.spare {
                let _ = disk::remove_tree(&room.path);
            }
            return Err(error);
        }
        Ok(Guard { store, entered: clock::since_boot(), place, room: Some(room) })
    }

    /// To be asked right before a change: whoever was suspended inside for so long that others may have taken the guard away
    /// must not change what they have changed meanwhile.
    pub(super) fn check(&self) -> StoreResult<()> {
        let inside = clock::since_boot().saturating_sub(self.entered);
        let ours = self.room.as_ref().map(|room| room.id.as_str());
        if inside < self.store.inner.limits.stale / 2 || id_of(holder_of(&self.place).as_ref()) == ours {
            return Ok(());
        }
        Err(StoreError::busy(format!("{} was taken away while this process was suspended in it", self.place.display())))
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let Some(room) = self.room.take() else { return };
        leave(self.store, &self.place, room);
    }
}

fn make_room(store: &LeaseStore) -> StoreResult<Room> {
    // A room that is out as a guard has left its name, so a free name says nothing about which are taken.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let id = store.inner.ids.fresh();
    // A full disk has no place for a proof, and a release must not need one. What cannot do without asks for it itself.
    let proof = store.proof_of_life().unwrap_or_default();
    // The name says whose it is, so that what a dead process left can be told and removed.
    let owner = proof.as_ref().map_or(id.as_str(), ProofOfLife::id);
    let path = store.dir().join(format!("{ROOM}{owner}-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    let process = std::process::id();
    let spare = store.dir().join(SPARE);
    match fs::create_dir(&path) {
        Err(error) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) && store.has_additions() => {
            return Ok(Room { process, path: spare, id, named: false, spare: true });
        }
        made => made.at("create", &path)?,
    }
    let named = fs::write(path.join(HOLDER), holder_text(&id, proof.as_ref())).is_ok();
    Ok(Room { process, path, id, named, spare: false })
}

/// Sees to it that there is a spare room, while there is a place for it.
pub(super) fn provide_spare(store: &LeaseStore) {
    let spare = store.dir().join(SPARE);
    if store.has_additions() && !spare.exists() {
        let _ = fs::create_dir(spare);
    }
}

fn holder_text(id: &str, proof: Option<&ProofOfLife>) -> String {
    let mut holder = Object::new();
    holder.insert("id", Json::from(id));
    holder.insert("pid", Json::from(f64::from(std::process::id())));
    if let Some(proof) = proof {
        holder.insert("alive", Json::from(proof.id()));
    }
    Json::Object(holder).to_text()
}

fn wait_to_enter(store: &LeaseStore, kind: &str, place: &Path, room: &Room) -> StoreResult<()> {
    let limits = &store.inner.limits;
    let begun = Instant::now();
    let mut pause = FIRST_PAUSE;
    while !publish(place, room)? {
        // Who may have crashed is looked for before giving up and once it has lasted, but not at every turn.
        let last = begun.elapsed() >= limits.wait;
        let has_room = !room.spare || room.path.exists();
        if has_room && (last || pause >= PATIENCE) && evict_crashed(store, place)? {
            continue;
        }
        if last {
            return Err(if has_room { busy(kind, place, limits.wait, store) } else { full(&room.path) });
        }
        std::thread::sleep(pause.min(limits.wait.saturating_sub(begun.elapsed())));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    Ok(())
}

/// Puts our room in the guard's place; false if somebody is inside.
fn publish(place: &Path, room: &Room) -> StoreResult<bool> {
    // Others judge by the time whether an entrant has crashed.
    let touched = disk::touch(&room.path);
    if room.spare && touched.is_err() {
        // Somebody else has it just now.
        return Ok(false);
    }
    touched?;
    match disk::rename_new(&room.path, place)? {
        Placed::Done => Ok(true),
        Placed::Occupied => Ok(false),
        Placed::SourceGone if room.spare => Ok(false),
        Placed::SourceGone => Err(StoreError::busy(format!("{} was removed under us", room.path.display()))),
        Placed::Unsupported => publish_by_creating(place, room),
    }
}

/// The format's own way, for file systems without a refusing rename.
fn publish_by_creating(place: &Path, room: &Room) -> StoreResult<bool> {
    if !disk::create_new_dir(place)? {
        return Ok(false);
    }
    if room.named {
        let holder = place.join(HOLDER);
        if let Err(error) = fs::copy(room.path.join(HOLDER), &holder).at("write", &holder) {
            disk::remove_tree(place)?;
            return Err(error.into());
        }
    }
    disk::remove_tree(&room.path)?;
    Ok(true)
}

fn busy(kind: &str, place: &Path, wait: Duration, store: &LeaseStore) -> StoreError {
    let holder = holder_of(place);
    let lives = has_living_holder(store, holder.as_ref());
    let who = match holder.as_ref().and_then(|holder| holder.get("pid")).and_then(Json::as_f64) {
        Some(pid) if lives => format!(", held by process {pid}, which lives"),
        _ => String::new(),
    };
    StoreError::busy(format!(
        "lease guard for kind {} busy for >{}ms ({}){who} — a guard holder should only live milliseconds; investigate or remove the dir",
        Json::from(kind).to_text(),
        wait.as_millis(),
        place.display(),
    ))
}

fn full(spare: &Path) -> StoreError {
    StoreError::busy(format!(
        "the disk is full, and {}, which serves then, is in use or gone; make room on the disk",
        spare.display()
    ))
}

fn holder_of(place: &Path) -> Option<Json> {
    Json::parse_bytes(&disk::read(&place.join(HOLDER)).ok()??).ok()
}

fn id_of(holder: Option<&Json>) -> Option<&str> {
    holder.and_then(|holder| holder.get("id")).and_then(Json::as_str)
}

fn proof_in(store: &LeaseStore, holder: &Json) -> Option<Vital> {
    let proof = holder.get("alive").and_then(Json::as_str)?;
    store.inner.proof.then(|| alive::vital(store.dir(), proof))
}

fn has_living_holder(store: &LeaseStore, holder: Option<&Json>) -> bool {
    matches!(holder.and_then(|holder| proof_in(store, holder)), Some(Vital::Alive { .. }))
}

/// Takes away the guard of somebody who is gone; true if the place may be free now.
fn evict_crashed(store: &LeaseStore, place: &Path) -> StoreResult<bool> {
    let Some(age) = disk::age_of(place)? else { return Ok(true) };
    let holder = holder_of(place);
    let stale = age > store.inner.limits.stale;
    // Whoever evicts it is the only one at it until it is away. Of two, the slower one would have in his hand the guard of who
    // went in meanwhile, and put it back behind him when he has left: nobody could tell it from one that is in use.
    let locked = match LockedPlace::lock(place) {
        Ok(Some(locked)) => Some(locked),
        Ok(None) => return Ok(false),
        // What cannot even be opened is nobody's guard.
        Err(_) => None,
    };
    let _remains = match holder.as_ref().and_then(|holder| proof_in(store, holder)) {
        Some(Vital::Dead(remains)) if remains.are_mine() => Some(remains),
        Some(Vital::Dead(_) | Vital::Alive { .. }) => return Ok(false),
        Some(Vital::Unknown) | None if stale => None,
        Some(Vital::Unknown) | None => return Ok(false),
    };
    let judged = id_of(holder.as_ref());
    if id_of(holder_of(place).as_ref()) != judged || locked.as_ref().is_some_and(|locked| !locked.is_at(place)) {
        return Ok(true);
    }
    let taken = store.dir().join(format!("{}.reaped-{}", name_of(place), store.inner.ids.fresh()));
    if !disk::rename(place, &taken)? {
        return Ok(true);
    }
    if id_of(holder_of(&taken).as_ref()) == judged {
        disk::remove_tree(&taken)?;
        return Ok(true);
    }
    // Between our look and our hand somebody alive went in.
    if !put_back(&taken, place)? {
        disk::remove_tree(&taken)?;
    }
    Ok(false)
}

/// Puts a guard back that we should not have taken; false if yet another stands in its place.
fn put_back(taken: &Path, place: &Path) -> StoreResult<bool> {
    match disk::rename_new(taken, place)? {
        // A plain rename replaces an empty directory only, and a guard holds a file.
        Placed::Unsupported => Ok(disk::rename(taken, place).is_ok()),
        placed => Ok(placed == Placed::Done),
    }
}

fn name_of(place: &Path) -> String {
    place.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn leave(store: &LeaseStore, place: &Path, mut room: Room) {
    let taken_out = disk::rename(place, &room.path).or_else(|_| {
        // Its private place is not to be had any more. A guard that stays would lock everybody out while we live.
        room.path = store.dir().join(format!("{}.release-{}", name_of(place), store.inner.ids.fresh()));
        disk::rename(place, &room.path)
    });
    if !matches!(taken_out, Ok(true)) {
        // Taken from us: there is nothing to give back.
        return;
    }
    let captured = holder_of(&room.path);
    if id_of(captured.as_ref()) == Some(room.id.as_str()) {
        store.inner.rooms.put_back(room);
        return;
    }
    if !room.named && captured.is_none() {
        if !room.spare {
            let _ = disk::remove_tree(&room.path);
        }
        return;
    }
    give_back_foreign(store, place, &room, captured.as_ref());
}

/// What we took out is somebody else's: we were suspended past the stale limit, and others went in meanwhile.
fn give_back_foreign(store: &LeaseStore, place: &Path, room: &Room, captured: Option<&Json>) {
    let mut story = Object::new();
    story.insert("guard", Json::from(place.display().to_string()));
    story.insert("holderId", Json::from(room.id.as_str()));
    let journal = store.dir().join(JOURNAL);
    if put_back(&room.path, place).unwrap_or(false) {
        journal::note(&journal, store.now_ms(), "guard_lost", story);
        return;
    }
    story.insert("capturedId", Json::from(id_of(captured)));
    let _ = disk::remove_tree(&room.path);
    journal::note(&journal, store.now_ms(), "guard_release_misfire", story);
}

/// Removes what a process that is gone has left of its guards: private directories, and guards that somebody was just
/// taking away.
pub(super) fn collect(store: &LeaseStore, name: &str) -> StoreResult<()> {
    let path = store.dir().join(name);
    let is_old = || Ok::<_, StoreError>(disk::age_of(&path)?.is_some_and(|age| age > ROOM_LIMIT));
    let left = match name.strip_prefix(ROOM).and_then(|rest| rest.get(..36)) {
        None if !is_being_removed(name) => return evict_dead(store, name, &path),
        None => is_old()? && !has_living_holder(store, holder_of(&path).as_ref()),
        Some(owner) => match alive::vital(store.dir(), owner) {
            Vital::Dead(_) => true,
            Vital::Alive { .. } => false,
            Vital::Unknown => is_old()?,
        },
    };
    if left {
        disk::remove_tree(&path)?;
    }
    Ok(())
}

/// Takes away the guard of a kind if a process died inside. What cannot be taken away stays.
pub(super) fn clear(store: &LeaseStore, kind: &str) {
    let name = format!("{GUARD}{kind}");
    let _ = evict_dead(store, &name, &store.dir().join(&name));
}

/// Takes away the guard of a process that died inside, which else nobody would if its kind is not asked for again.
fn evict_dead(store: &LeaseStore, name: &str, path: &Path) -> StoreResult<()> {
    let is_dead = |holder: &Json| matches!(proof_in(store, holder), Some(Vital::Dead(_)));
    if name.starts_with(GUARD) && holder_of(path).as_ref().is_some_and(is_dead) {
        evict_crashed(store, path)?;
    }
    Ok(())
}

/// Whether a name is `.guard-<kind>.reaped-<uuid>` or `.guard-<kind>.release-<uuid>`. A guard whose kind itself looks like
/// that is told by the one who lives in it.
fn is_being_removed(name: &str) -> bool {
    let id = |mark: &str| name.rsplit_once(mark).map(|(_, id)| id);
    name.starts_with(GUARD) && id(".reaped-").or_else(|| id(".release-")).is_some_and(clock::is_uuid)
}
