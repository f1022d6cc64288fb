//! Private directories, each ready to be put in the place of a guard.
//!
//! Ours is made whole in a private place and published by a rename that refuses to replace, so that a kill in between
//! never leaves it half made. A process keeps its private directory and renames it in and out, which costs a fraction of
//! making one each time.

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
use crate::sys::disk::{self, At, DiskResult, Stamp};
use crate::sys::process::own_number;

pub(super) const HOLDER: &str = "holder.json";
/// A private directory waiting for its next use.
pub(super) const ROOM: &str = ".room-";
/// An empty room that belongs to nobody and stays in the store: for whoever must get in although the disk is too full for a
/// room of his own, which is whoever gives something back.
const SPARE: &str = ".spare-guard";
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
}

impl Drop for Rooms {
    fn drop(&mut self) {
        for room in self.0.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if room.is_ours() {
                room.remove();
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

    /// Makes one. The folder of the store must be there, or it is an error that says so.
    pub(super) fn make(store: &LeaseStore) -> StoreResult<Self> {
        // A room that is out as a guard has left its name, so a free name says nothing about which are taken.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = store.inner.ids.fresh();
        // A full disk has no place for a proof, and a release must not need one. What cannot do without asks for it itself.
        let proof = store.proof_of_life().unwrap_or_default();
        // The name says whose it is, so that what a dead process left can be told and removed.
        let owner = proof.as_ref().map_or(id.as_str(), ProofOfLife::id);
        let path = store.dir().join(format!("{ROOM}{owner}-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        match fs::create_dir(&path) {
            Err(error) if is_full(&error) && store.has_additions() => return Ok(Self::spare(store, id)),
            made => made.at("create", &path)?,
        }
        let holder = path.join(HOLDER);
        let is_named = fs::write(&holder, holder_text(&id, proof.as_ref())).is_ok();
        provide_spare(store);
        let holder = disk::stamp(&holder).filter(|_| is_named);
        Ok(Self { process: own_number(), path, holder, id, is_named, is_spare: false, touched: None })
    }

    fn spare(store: &LeaseStore, id: String) -> Self {
        let path = store.dir().join(SPARE);
        Self { process: own_number(), path, holder: None, id, is_named: false, is_spare: true, touched: None }
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
        self.holder.is_some() && disk::stamp(&self.path.join(HOLDER)) == self.holder
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
