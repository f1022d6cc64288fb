//! The critical section of one kind: a directory that is entered by putting it there.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::alive::{self, Vital};
use super::error::{StoreError, StoreResult};
use super::journal;
use super::room::{HOLDER, ROOM, Room, holder_of, id_of};
use super::{JOURNAL, LeaseStore};
use crate::json::{Json, Object};
use crate::sys::clock;
use crate::sys::disk::{self, At, Placed};
use crate::sys::lock::LockedPlace;

/// Start of the name of every guard.
const GUARD: &str = ".guard-";
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);
/// Whoever is inside is mostly out again in less than this; then who is next must not be asleep for long.
const SHORT_WAIT: Duration = Duration::from_millis(20);
const LONGEST_PAUSE_AT_FIRST: Duration = Duration::from_micros(150);
/// After so long, and then each time that this has passed again, an entrant asks whether whoever is inside still lives. In a
/// crowd that costs more than another try.
const PATIENCE: Duration = Duration::from_millis(20);
/// Who has waited for longer than this is one of very many.
const LONG_WAIT: Duration = Duration::from_millis(500);
const LONGEST_PAUSE_AT_LAST: Duration = Duration::from_millis(25);
/// A room that nobody's proof of life keeps is old enough to go after this.
const ROOM_LIMIT: Duration = Duration::from_secs(60);

/// Being inside the critical section of a kind. Dropping it leaves.
#[derive(Debug)]
pub(super) struct Guard<'store> {
    store: &'store LeaseStore,
    /// By the clock that goes on while we are suspended.
    entered: Duration,
    place: PathBuf,
    room: Option<Room>,
}

impl<'store> Guard<'store> {
    /// Enters the critical section of `kind`, waiting as long as the store's limits say. The store is created if there is none.
    pub(super) fn enter(store: &'store LeaseStore, kind: &str) -> StoreResult<Self> {
        if let Some(guard) = Self::enter_by_kept_room(store, kind)? {
            return Ok(guard);
        }
        store.create()?;
        Self::enter_by(store, kind, Room::take_or_make(store)?)?.map_err(|room| room_is_gone(&room))
    }

    /// The same; none if there is no store.
    pub(super) fn enter_existing(store: &'store LeaseStore, kind: &str) -> StoreResult<Option<Self>> {
        if let Some(guard) = Self::enter_by_kept_room(store, kind)? {
            return Ok(Some(guard));
        }
        if !store.dir().is_dir() {
            return Ok(None);
        }
        Self::enter_by(store, kind, Room::take_or_make(store)?)?.map_err(|room| room_is_gone(&room)).map(Some)
    }

    /// By a room of before that is still there: the store may have been deleted, and made anew by others.
    fn enter_by_kept_room(store: &'store LeaseStore, kind: &str) -> StoreResult<Option<Self>> {
        while let Some(room) = store.inner.rooms.take() {
            if let Ok(guard) = Self::enter_by(store, kind, room)? {
                return Ok(Some(guard));
            }
            store.look_again_at_proof();
        }
        Ok(None)
    }

    /// Gives the room back if it is not where it was.
    fn enter_by(store: &'store LeaseStore, kind: &str, mut room: Room) -> StoreResult<Result<Self, Room>> {
        let place = disk::path_in(store.dir(), &[GUARD, kind]);
        match wait_to_enter(store, kind, &place, &mut room) {
            Ok(true) => Ok(Ok(Guard { store, entered: clock::since_boot(), place, room: Some(room) })),
            Ok(false) => Ok(Err(room)),
            Err(error) => {
                // It may be what is wrong: the next attempt makes one of its own.
                room.remove();
                Err(error)
            }
        }
    }

    /// To be asked right before a change: whoever was suspended inside for so long that others may have taken the guard away
    /// must not change what they have changed meanwhile.
    pub(super) fn check(&self) -> StoreResult<()> {
        let inside = clock::since_boot().saturating_sub(self.entered);
        let ours = self.room.as_ref().map(|room| room.id.as_str());
        if inside < self.store.inner.limits.stale / 2 || id_of(holder_of(&self.place).as_ref()) == ours {
            return Ok(());
        }
        Err(self.lost())
    }

    /// Somebody else has been inside.
    pub(super) fn lost(&self) -> StoreError {
        StoreError::busy(format!("{} was taken away while this process was suspended in it", self.place.display()))
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let Some(room) = self.room.take() else { return };
        leave(self.store, &self.place, room);
    }
}

fn room_is_gone(room: &Room) -> StoreError {
    StoreError::busy(format!("{} was removed under us", room.path.display()))
}

/// Waits until nobody is inside, and goes in; false if the room is not there any more.
fn wait_to_enter(store: &LeaseStore, kind: &str, place: &Path, room: &mut Room) -> StoreResult<bool> {
    let limits = &store.inner.limits;
    let mut begun = None;
    let mut pause = FIRST_PAUSE;
    let mut patience = PATIENCE;
    loop {
        // An attempt holds up whoever is inside, who renames and removes in the same folder; a look does not.
        let is_seen_occupied = begun.is_some() && fs::symlink_metadata(place).is_ok();
        let placed = if is_seen_occupied { Placed::Occupied } else { publish(place, room, limits.stale)? };
        match placed {
            Placed::Done => return Ok(true),
            Placed::SourceGone => return Ok(false),
            Placed::Occupied | Placed::Unsupported => {}
        }
        let waited = begun.get_or_insert_with(Instant::now).elapsed();
        // Who may have crashed is looked for before giving up and once it has lasted, but not at every turn.
        let last = waited >= limits.wait;
        let has_room = !room.is_spare || room.path.exists();
        if has_room && (last || patience <= waited) {
            patience = waited + PATIENCE;
            if evict_crashed(store, place)? {
                continue;
            }
        }
        if last {
            return Err(if has_room { busy(kind, place, limits.wait, store) } else { full(&room.path) });
        }
        std::thread::sleep(pause.min(limits.wait.saturating_sub(waited)));
        pause = (pause * 2).min(longest_pause(waited));
    }
}

fn longest_pause(waited: Duration) -> Duration {
    if waited < SHORT_WAIT {
        LONGEST_PAUSE_AT_FIRST
    } else if waited < LONG_WAIT {
        LONGEST_PAUSE
    } else {
        LONGEST_PAUSE_AT_LAST
    }
}

/// Puts our room in the guard's place.
fn publish(place: &Path, room: &mut Room, stale: Duration) -> StoreResult<Placed> {
    let touched = room.touch(stale);
    if touched.is_err() && (room.is_spare || !room.path.exists()) {
        // Somebody else has the spare one just now.
        return Ok(if room.is_spare { Placed::Occupied } else { Placed::SourceGone });
    }
    touched?;
    match disk::rename_new(&room.path, place)? {
        Placed::SourceGone if room.is_spare => Ok(Placed::Occupied),
        Placed::Unsupported => publish_by_creating(place, room),
        placed => Ok(placed),
    }
}

/// The format's own way, for file systems without a refusing rename.
fn publish_by_creating(place: &Path, room: &Room) -> StoreResult<Placed> {
    if !disk::create_new_dir(place)? {
        return Ok(Placed::Occupied);
    }
    if room.is_named {
        let holder = place.join(HOLDER);
        if let Err(error) = fs::copy(room.path.join(HOLDER), &holder).at("write", &holder) {
            disk::remove_tree(place)?;
            return Err(error.into());
        }
    }
    disk::remove_tree(&room.path)?;
    Ok(Placed::Done)
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
    if room.is_itself() {
        store.inner.rooms.put_back(room);
        return;
    }
    let captured = holder_of(&room.path);
    if id_of(captured.as_ref()) == Some(room.id.as_str()) {
        store.inner.rooms.put_back(room);
    } else if !room.is_named && captured.is_none() {
        room.remove();
    } else {
        give_back_foreign(store, place, &room, captured.as_ref());
    }
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
    let name = [GUARD, kind].concat();
    let _ = evict_dead(store, &name, &disk::path_in(store.dir(), &[&name]));
}

/// Takes away the guard of a process that died inside, which else nobody would if its kind is not asked for again.
fn evict_dead(store: &LeaseStore, name: &str, path: &Path) -> StoreResult<()> {
    let is_dead = |holder: &Json| matches!(proof_in(store, holder), Some(Vital::Dead(_)));
    if name.starts_with(GUARD) && holder_of(path).as_ref().is_some_and(is_dead) {
        evict_crashed(store, path)?;
    }
    Ok(())
}

/// Whether a name is that of a guard, and of none that somebody was just taking away: such a one tells of nobody any more.
pub(super) fn is_in_place(name: &str) -> bool {
    name.starts_with(GUARD) && !is_being_removed(name)
}

/// Whether a name is `.guard-<kind>.reaped-<uuid>` or `.guard-<kind>.release-<uuid>`. A guard whose kind itself looks like
/// that is told by the one who lives in it.
fn is_being_removed(name: &str) -> bool {
    let id = |mark: &str| name.rsplit_once(mark).map(|(_, id)| id);
    name.starts_with(GUARD) && id(".reaped-").or_else(|| id(".release-")).is_some_and(clock::is_uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_being_taken_away_is_no_guard() {
        let id = "0123abcd-4567-89ef-0123-456789abcdef";
        let table = [
            (".guard-a".to_owned(), true),
            (".guard-a.reaped-b".to_owned(), true),
            (format!(".guard-a.reaped-{id}"), false),
            (format!(".guard-a.release-{id}"), false),
            (format!(".room-{id}-0"), false),
            ("pool".to_owned(), false),
        ];
        for (name, expected) in table {
            assert_eq!(is_in_place(&name), expected, "{name}");
        }
    }
}
