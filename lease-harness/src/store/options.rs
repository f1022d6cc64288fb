//! How a store is opened.

use std::path::PathBuf;
use std::time::Duration;

use crate::sys::clock::{Clock, Ids};
use crate::sys::env::Env;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The directory; else `LEASE_STORE`, else `logs/leases` under the repository's main checkout.
    pub store: Option<PathBuf>,
    /// What takes the place of the current directory in the search for a repository where that lies in none, and holds
    /// `logs/leases` if it lies in none either.
    pub outside: Option<PathBuf>,
    /// The owner fence; else `LEASE_OWNER_PATTERN`, else the format's default. An empty one is the default;
    /// another one needs the feature `owner-patterns`.
    pub owner_pattern: Option<String>,
    /// How long to wait for a critical section.
    pub guard_wait: Duration,
    /// From which age on a critical section counts as left behind by a crash, if nothing proves the opposite.
    pub guard_stale: Duration,
    /// Where variables are read.
    pub env: Env,
    /// The time.
    pub clock: Clock,
    /// Tokens and names.
    pub ids: Ids,
    /// Whether our additions to the format are used: leases, guards and waiters name a proof of life, those of others are
    /// believed, grants carry fence numbers. Off, everything is as any other implementation does it.
    pub additions: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            store: None,
            outside: None,
            owner_pattern: None,
            guard_wait: Duration::from_secs(5),
            guard_stale: Duration::from_secs(60),
            env: Env::Process,
            clock: Clock::system(),
            ids: Ids::random(),
            additions: true,
        }
    }
}
