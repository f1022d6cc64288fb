//! Private directories, each ready to be put in the place of a guard.
//!
//! Ours is made whole in a private place and published by a rename that refuses to replace, so that a kill in between
//! never leaves it half made. A process keeps its private directory and renames it in and out, which costs a fraction of
//! making one each time; and when it ends it leaves it in the store for the next one.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::LeaseStore;
use super::alive::ProofOfLife;
use super::error::StoreResult;
use crate::json::{Json, Object};
use crate::sys::clock;
use crate::sys::disk::{self, At, DiskResult, Placed, Stamp};
use crate::sys::process::own_number;

pub(super) const HOLDER: &str = "holder.json";
/// A private directory waiting for its next use.
pub(super) const ROOM: &str = ".room-";
/// An empty room that belongs to nobody and stays in the store: for whoever must get in although the disk is too full for a
/// room of his own, which is whoever gives something back.
const SPARE: &str = ".spare-guard";
/// Rooms that belong to nobody: who ends leaves its room behind, and who begins takes it over. To remove a folder can cost a
/// hundred times what everything else in a lease does: where the file system tells the device at once what is free.
const IDLE: &str = ".idle-room-";
/// So many are kept; a crowd that ends together removes the others.
const N_IDLE: usize = 4;
/// Others judge by the time of a guard whether its entrant has crashed. A time that is this part of their limit old is fresh.
const FRESH: u32 = 64;

/// Private directories of one store handle, ready to be published.
#[derive(Debug, Default)]
pub(super) struct Rooms(Mutex<Vec<Room>>);

/// A private directory that holds its `holder.json`.
#[derive(Debug)]
pub(super) struct Room {
    /// Whose it is: a fork has the handle, and not the room.
    process: u32,
    pub(super) path: PathBuf,
    /// Its `holder.json` as it was when it was written: by that the room is known again without reading the file.
    holder: Option<Stamp>,
    pub(super) id: String,
    /// False when the disk had no place for its `holder.json`; an empty room keeps others out all the same.
    pub(super) is_named: bool,
    /// Whether it is the store's spare one.
    pub(super) is_spare: bool,
    /// When it was last given the present time, by the clock that goes on while we are suspended.
    touched: Option<Duration>,
    /// The proof of life that its name names: it stays as long as this process has the room.
    proof: Option<ProofOfLife>,
}

impl Drop for Rooms {
    fn drop(&mut self) {
        for room in self.0.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if room.is_ours() {
                room.leave_behind();
            }
        }
    }
}

impl Rooms {
    pub(super) fn take(&self) -> Option<Room> {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| rooms.pop()).find(Room::is_ours)
    }

    pub(super) fn put_back(&self, room: Room) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(room);
    }
}

impl Room {
    fn is_ours(&self) -> bool {
        self.process == own_number()
    }

    /// One that was left behind, or a new one. The folder of the store must be there, or it is an error that says so.
    pub(super) fn take_or_make(store: &LeaseStore) -> StoreResult<Self> {
        let id = store.inner.ids.fresh();
        // A full disk has no place for a proof, and a release must not need one. What cannot do without asks for it itself.
        let proof = store.proof_of_life().unwrap_or_default();
        let text = holder_text(&id, proof.as_ref());
        // Without a proof nothing says that a room which was old when it was taken is in use again.
        if let Some(proof) = &proof
            && let Some((path, holder)) = take_idle(store.dir(), proof.id(), &text)
        {
            return Ok(Self { holder: Some(holder), is_named: true, proof: Some(proof.clone()), ..Self::nameless(path, id) });
        }
        let path = own_name(store.dir(), proof.as_ref().map_or(id.as_str(), ProofOfLife::id));
        let touched = Some(clock::since_boot());
        match fs::create_dir(&path) {
            Err(error) if is_full(&error) && store.has_additions() => return Ok(Self::spare(store, id)),
            made => made.at("create", &path)?,
        }
        let holder = disk::write_in_place(&path.join(HOLDER), text.as_bytes()).ok();
        provide_spare(store);
        Ok(Self { is_named: holder.is_some(), holder, touched, proof, ..Self::nameless(path, id) })
    }

    /// Without a `holder.json`.
    fn nameless(path: PathBuf, id: String) -> Self {
        let (process, is_named, is_spare) = (own_number(), false, false);
        Self { process, path, holder: None, id, is_named, is_spare, touched: None, proof: None }
    }

    fn spare(store: &LeaseStore, id: String) -> Self {
        Self { is_spare: true, ..Self::nameless(store.dir().join(SPARE), id) }
    }

    /// Gives it the present time, unless it has one that is as good as that.
    pub(super) fn touch(&mut self, stale: Duration) -> DiskResult<()> {
        let now = clock::since_boot();
        if self.touched.is_some_and(|touched| now.saturating_sub(touched) < stale / FRESH) {
            return Ok(());
        }
        disk::touch(&self.path)?;
        self.touched = Some(now);
        Ok(())
    }

    /// Whether what has our name is the room that we made, as far as that can be told without reading: another one may have come
    /// into our hands.
    pub(super) fn is_itself(&self) -> bool {
        self.holder.is_some() && disk::stamp(&disk::path_in(&self.path, &[HOLDER])) == self.holder
    }

    /// Leaves it to whoever needs one next. Only as long as our proof of life is there to be seen: without it whoever clears up
    /// may be removing the room at this moment, and would go on with that when it is somebody else's.
    fn leave_behind(self) {
        let folder = self.path.parent().unwrap_or(&self.path);
        let may_be_left = self.is_named && self.proof.as_ref().is_some_and(ProofOfLife::can_be_seen);
        let place = |number| matches!(disk::rename_new(&self.path, &idle(folder, number)), Ok(Placed::Done | Placed::SourceGone));
        if !(may_be_left && (0..N_IDLE).any(place)) {
            self.remove();
        }
    }

    pub(super) fn remove(self) {
        // The spare one belongs to everybody.
        if self.is_spare {
            return;
        }
        // Mostly there is nothing else in it.
        let _ = fs::remove_file(self.path.join(HOLDER));
        if fs::remove_dir(&self.path).is_err() {
            let _ = disk::remove_tree(&self.path);
        }
    }
}

/// A name in a store that no other room has. It says whose the room is, so that what a dead process left can be told and removed.
fn own_name(folder: &Path, owner: &str) -> PathBuf {
    // A room that is out as a guard has left its name, so a free name says nothing about which are taken.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    folder.join(format!("{ROOM}{owner}-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// Takes over a room that was left behind, and gives its new name and its `holder.json`; none if there is none that we can make
/// ours. From the moment when it has our name nobody else has it, and so nobody sees how its `holder.json` is changed.
fn take_idle(folder: &Path, owner: &str, text: &str) -> Option<(PathBuf, Stamp)> {
    (0..N_IDLE).map(|number| idle(folder, number)).find_map(|idle| {
        let path = own_name(folder, owner);
        fs::rename(&idle, &path).ok()?;
        let write = || disk::write_in_place(&path.join(HOLDER), text.as_bytes());
        // That of a store of which somebody has made a copy by links is made anew.
        let holder = write().or_else(|error| fs::remove_file(path.join(HOLDER)).map_or(Err(error), |()| write()));
        // That of another user, say. It is left to him.
        if holder.is_err() && !matches!(disk::rename_new(&path, &idle), Ok(Placed::Done)) {
            let _ = disk::remove_tree(&path);
        }
        Some((path, holder.ok()?))
    })
}

fn idle(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{IDLE}{number}"))
}

fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Sees to it that there is a spare room while there is a place for it: whoever is to give something back may find the disk
/// full.
fn provide_spare(store: &LeaseStore) {
    if store.has_additions() {
        let _ = fs::create_dir(store.dir().join(SPARE));
    }
}

fn holder_text(id: &str, proof: Option<&ProofOfLife>) -> String {
    let mut holder = Object::new();
    holder.insert("id", Json::from(id));
    holder.insert("pid", Json::from(f64::from(own_number())));
    if let Some(proof) = proof {
        holder.insert("alive", Json::from(proof.id()));
    }
    Json::Object(holder).to_text()
}

pub(super) fn holder_of(place: &Path) -> Option<Json> {
    Json::parse_bytes(&disk::read(&place.join(HOLDER)).ok()??).ok()
}

pub(super) fn id_of(holder: Option<&Json>) -> Option<&str> {
    holder.and_then(|holder| holder.get("id")).and_then(Json::as_str)
}
