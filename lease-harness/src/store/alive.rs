//! Proof of life: a file that its process keeps locked as long as it lives.
//!
//! `.alive/<uuid>` lies in the store; leases, queue entries and guards name the uuid. If the lock can be taken, the
//! process is gone, however it ended. If the file is missing, nothing can be told.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use super::error::StoreResult;
use crate::sys::clock::{self, Ids};
use crate::sys::disk::{self, At, Maker};
use crate::sys::lock::{self, Tried};
use crate::sys::process::own_number;

const FOLDER: &str = ".alive";
/// The folder of claims, one folder a scope in it. Its name begins with a dot, so that other programs pass it by.
pub(crate) const CLAIMS: &str = ".claims";
/// A file in the making, not yet locked, is nobody's proof; after this long its maker is gone.
const MAKING_LIMIT: Duration = Duration::from_secs(60);

/// This process's proof of life in one store. It ends when the last clone is dropped, or with the process.
#[derive(Clone, Debug)]
pub(crate) struct ProofOfLife(Arc<Inner>);

/// The proofs of this process, and not of one that it was forked from, by store.
type Proofs = HashMap<(u32, PathBuf), Weak<Inner>>;

#[derive(Debug)]
struct Inner {
    process: u32,
    id: String,
    path: PathBuf,
    /// What our files here have of us.
    maker: Option<Maker>,
    /// Holds the lock; close-on-exec, so that it ends with this process and not with a child of it.
    file: File,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.process != own_number() {
            // A fork of the process whose proof this is: it still lives.
            return;
        }
        // Removed while locked: whoever still finds the name finds it locked.
        let _ = fs::remove_file(&self.path);
    }
}

impl ProofOfLife {
    /// The proof of this process in the store at `dir`; all its leases there share one.
    pub(super) fn of_this_process(dir: &Path, ids: &Ids) -> StoreResult<Self> {
        static PROOFS: OnceLock<Mutex<Proofs>> = OnceLock::new();
        let mut proofs = PROOFS.get_or_init(Mutex::default).lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let key = (own_number(), dir.to_owned());
        let known = proofs.get(&key).and_then(Weak::upgrade).map(Self);
        if let Some(proof) = known.filter(Self::can_be_seen) {
            return Ok(proof);
        }
        let inner = Arc::new(make(dir, &ids.fresh())?);
        proofs.retain(|_, proof| proof.strong_count() > 0);
        proofs.insert(key, Arc::downgrade(&inner));
        Ok(Self(inner))
    }

    /// The id that leases and queue entries name.
    pub(crate) fn id(&self) -> &str {
        &self.0.id
    }

    /// Whether it is the one with this id, of this process.
    pub(super) fn is(&self, id: &str) -> bool {
        self.0.id == id && self.is_of_this_process()
    }

    /// Whether it is not one that this process has from the one it was forked from.
    pub(super) fn is_of_this_process(&self) -> bool {
        self.0.process == own_number()
    }

    /// What files have that this process makes in the store.
    pub(super) fn maker(&self) -> Option<Maker> {
        self.0.maker
    }

    /// Whether others can look at it; not if somebody has deleted the file, or the whole store.
    pub(super) fn can_be_seen(&self) -> bool {
        self.0.path.exists()
    }

    /// Says that this process not only lives but works: the file's time, by the kernel's clock, is its last beat.
    pub(crate) fn beat(&self) {
        let _ = disk::touch_open(&self.0.file);
    }
}

fn make(dir: &Path, id: &str) -> StoreResult<Inner> {
    let folder = dir.join(FOLDER);
    let making = folder.join(format!(".new-{id}"));
    let path = folder.join(id);
    let file = disk::with_folder(&folder, || lock::create_locked(&making).at("create", &making))?;
    let made = (&file).write_all(about_me().as_bytes()).at("write", &making);
    // It gets its name when it is locked, so that nobody ever finds it unlocked while we live.
    if let Err(error) = made.and_then(|()| fs::rename(&making, &path).at("rename", &making)) {
        let _ = fs::remove_file(&making);
        return Err(error.into());
    }
    let maker = Maker::of(&file).ok();
    Ok(Inner { process: own_number(), id: id.to_owned(), path, maker, file })
}

/// Who we are, for people.
fn about_me() -> String {
    let command: Vec<String> = std::env::args_os().take(8).map(|word| word.to_string_lossy().into_owned()).collect();
    let since = super::journal::iso(clock::Clock::system().now_ms()).unwrap_or_default();
    let mut about = crate::json::Object::new();
    about.insert("pid", f64::from(own_number()));
    about.insert("command", command.join(" "));
    about.insert("since", since);
    let mut text = crate::json::Json::Object(about).to_text();
    text.push('\n');
    text
}

/// What a proof of life tells.
#[derive(Debug)]
pub(crate) enum Vital {
    /// The process is gone.
    Dead(Remains),
    /// It lives; so long ago it gave a sign by itself.
    Alive { silent_for: Duration },
    /// There is no such proof, or it cannot be read.
    Unknown,
}

/// What a process that is gone has left.
#[derive(Debug)]
pub(crate) struct Remains(File);

impl Remains {
    /// Makes this process the only one that clears up behind it, as long as this lives; false if another is at it.
    pub(crate) fn are_mine(&self) -> bool {
        lock::take_alone(&self.0)
    }
}

/// Looks at the proof of life `id` in the store at `dir`.
pub(crate) fn vital(dir: &Path, id: &str) -> Vital {
    if !clock::is_uuid(id) {
        return Vital::Unknown;
    }
    match lock::try_existing(&disk::path_in(dir, &[FOLDER, "/", id])) {
        Ok(Tried::Free(file)) => Vital::Dead(Remains(file)),
        Ok(Tried::Held(found)) => {
            found.modified().map_or(Vital::Unknown, |modified| Vital::Alive { silent_for: disk::age(modified) })
        }
        Ok(Tried::Absent) | Err(_) => Vital::Unknown,
    }
}

/// The folder whose changes tell of deaths.
pub(crate) fn folder(dir: &Path) -> PathBuf {
    dir.join(FOLDER)
}

/// Removes the proofs of dead processes that no file of the store names any more. As long as one does, the proof is what
/// tells that its lease or queue entry is dead, or who is in a guard; which names are those of guards is asked.
pub(super) fn collect(dir: &Path, is_guard: fn(&str) -> bool) -> StoreResult<()> {
    let folder = folder(dir);
    let mut dead = Vec::new();
    for name in disk::names(&folder)? {
        let path = folder.join(&name);
        if name.starts_with(".new-") {
            if disk::age_of(&path)?.is_some_and(|age| age > MAKING_LIMIT) {
                disk::remove_file(&path)?;
            }
        } else if let Vital::Dead(remains) = vital(dir, &name)
            && remains.are_mine()
        {
            dead.push((name, path, remains));
        }
    }
    if dead.is_empty() {
        return Ok(());
    }
    let texts = documents(dir, is_guard)?;
    for (name, path, _remains) in &dead {
        if !texts.iter().any(|text| contains(text, name.as_bytes())) {
            disk::remove_file(path)?;
        }
    }
    Ok(())
}

/// Every document that may name a proof: the JSON files of the store, of the folders in it, of the scopes of claims, and the
/// guards' holders.
fn documents(dir: &Path, is_guard: fn(&str) -> bool) -> StoreResult<Vec<Vec<u8>>> {
    let mut texts = Vec::new();
    let mut folders = vec![dir.to_owned()];
    folders.extend(folders_in(dir, |name| !name.starts_with('.') || is_guard(name))?);
    for scope in folders_in(&dir.join(CLAIMS), |_| true)? {
        folders.extend(folders_in(&scope, |_| true)?);
        folders.push(scope);
    }
    folders.push(dir.join(super::resource_file::FOLDER));
    for folder in folders {
        for name in disk::names(&folder)? {
            let path = folder.join(&name);
            if name.ends_with(".json") && !path.is_dir() {
                texts.extend(disk::read(&path)?);
            }
        }
    }
    Ok(texts)
}

fn folders_in(dir: &Path, is_meant: impl Fn(&str) -> bool) -> StoreResult<Vec<PathBuf>> {
    let names = disk::names(dir)?;
    let folders = names.iter().filter(|name| is_meant(name)).map(|name| dir.join(name));
    Ok(folders.filter(|path| path.is_dir()).collect())
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_keeps_the_proof_of_who_died_in_it() {
        let store = tempfile::tempdir().unwrap();
        let ids: Vec<_> = (0..2).map(|_| Ids::random().fresh()).collect();
        let guard = |name: &str, id: &str| {
            fs::create_dir(store.path().join(name)).unwrap();
            fs::write(store.path().join(name).join("holder.json"), format!("{{\"alive\": \"{id}\"}}")).unwrap();
        };
        fs::create_dir(folder(store.path())).unwrap();
        ids.iter().for_each(|id| fs::write(folder(store.path()).join(id), "").unwrap());
        guard(".guard-a", &ids[0]);
        guard(".guard-b", &ids[1]);
        collect(store.path(), |name| name == ".guard-a").unwrap();
        assert_eq!(disk::names(&folder(store.path())).unwrap(), [ids[0].clone()]);
    }
}
