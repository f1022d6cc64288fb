//! What claims promise, under real processes.

mod damage;
mod example;
mod life;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod steps;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) use steps::traced;
mod storm;
mod told;
mod waiting;
mod writer;

use std::path::{Path, PathBuf};

use lease_harness::claims::{
    Claim, ClaimLease, ClaimStore, OwnerNames, OwnerProcess, Reference, SetOutcome, SetWanted, Visibility,
};
use lease_harness::store::{Clock, LeaseStore, StoreOptions};
use tempfile::TempDir;

/// A store in a folder of its own, with one scope.
struct Scope {
    folder: TempDir,
}

impl Scope {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder can be made") }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// A handle of its own, as another process would have it.
    fn claims(&self) -> ClaimStore {
        self.claims_at(Clock::system())
    }

    fn claims_at(&self, clock: Clock) -> ClaimStore {
        let options = StoreOptions { store: Some(self.store()), clock, ..StoreOptions::default() };
        ClaimStore::new(LeaseStore::open(&options).expect("the store opens"), "scope").expect("a scope")
    }

    fn list(&self) -> Vec<ClaimLease> {
        self.claims().list().expect("the scope can be read")
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.claims().dir().join(name)
    }
}

/// Claims written `mode:key`.
fn claims(words: &[&str]) -> Vec<Claim> {
    let claim = |word: &&str| {
        let (mode, key) = word.split_once(':').expect("mode and key");
        Claim::new(key, mode.parse().expect("a mode")).expect("a key")
    };
    words.iter().map(claim).collect()
}

/// Asks for a set of an owner; the proof of life, if its holder is to have one.
fn with_wanted<T>(owner: &str, words: &[&str], alive: Option<&str>, ask: impl FnOnce(&SetWanted<'_>) -> T) -> T {
    let env = |_: &str| None;
    ask(&SetWanted {
        owner,
        claims: &claims(words),
        ttl_ms: 600_000,
        names: &OwnerNames::default(),
        process: &OwnerProcess { env: &env, number: 1 },
        visibility: Visibility::Durable,
        alive,
    })
}

fn try_acquire(claims: &ClaimStore, owner: &str, words: &[&str]) -> SetOutcome {
    let outcome = with_wanted(owner, words, None, |wanted| claims.acquire(wanted, Visibility::Durable.into()));
    outcome.unwrap_or_else(|error| panic!("{owner}: {error}"))
}

#[track_caller]
fn acquire(claims: &ClaimStore, owner: &str, words: &[&str]) -> Vec<ClaimLease> {
    match try_acquire(claims, owner, words) {
        SetOutcome::Granted(leases) => leases,
        SetOutcome::Blocked(blockers) => panic!("{owner} is blocked: {blockers:?}"),
    }
}

fn is_blocked(claims: &ClaimStore, owner: &str, words: &[&str]) -> bool {
    matches!(try_acquire(claims, owner, words), SetOutcome::Blocked(_))
}

fn references(leases: &[ClaimLease]) -> Vec<Reference> {
    leases.iter().map(Reference::of).collect()
}
