//! What was typed behind `store`, `pool` and `claims`, the families for scripts.
//!
//! They take the place of other programs of the format, so they read their words as those do: an option may stand before
//! or behind the operation, its value may look like an option, of a repeated one the last counts, and an operation
//! ignores what means nothing to it.

mod command;
mod table;
mod value;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;
use lease_harness::claims::Claim;
use lease_harness::json::Json;

pub(crate) use command::{definitions, parse};
pub(crate) use table::{ClaimsOp, DETACHED, Op, PoolOp, StoreOp};
pub(crate) use value::claim;

use super::LeaseOptions;
use table::Family;

/// The families by name, as they stand in the help.
const FAMILIES: [&Family; 3] = [&table::STORE, &table::POOL, &table::CLAIMS];

/// The family with this name.
pub(crate) fn family(name: &OsString) -> Option<&'static Family> {
    FAMILIES.into_iter().find(|family| name == family.name)
}

/// One call of an operation.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) op: Op,
    pub(crate) options: Options,
}

/// The options of all families. An empty value is none, but for those that name something: there it is a wrong name.
#[derive(Debug)]
pub(crate) struct Options {
    /// Those that commands for people have as well: pool, store, owner pattern, session, commands.
    pub(crate) lease: LeaseOptions,
    pub(crate) kind: String,
    pub(crate) owner: String,
    pub(crate) token: String,
    pub(crate) slot: String,
    pub(crate) request: String,
    pub(crate) scope: String,
    pub(crate) process: String,
    /// The id of a lease on a claim.
    pub(crate) lease_id: String,
    /// The program that writes claims, and its generation.
    pub(crate) instance: String,
    pub(crate) generation: String,
    pub(crate) claims: Vec<Claim>,
    /// `--claims`, `--refs` and `--identity`; null if not given.
    pub(crate) more_claims: Json,
    pub(crate) refs: Json,
    pub(crate) identity: Json,
    pub(crate) is_ephemeral: bool,
    /// The lifetime of claims.
    pub(crate) ttl: Option<Duration>,
    pub(crate) payload: Json,
    pub(crate) ttl_minutes: Option<f64>,
    pub(crate) wait: Option<Duration>,
    pub(crate) no_wait: bool,
    pub(crate) poll: Option<Duration>,
    /// For how many minutes a deferred grant may stay unclaimed.
    pub(crate) claim_within_minutes: Option<f64>,
    /// The number of a process that the lease follows.
    pub(crate) keep: Option<u32>,
    pub(crate) force: bool,
    /// Whether to do the part of the operation that outlives it: see [`DETACHED`].
    pub(crate) detached: bool,
    pub(crate) shape: Shape,
}

/// What an answer looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// JSON on one line.
    Compact,
    /// JSON for people.
    Pretty,
    /// A grant as lines for a shell; everything else as JSON on one line.
    Shell,
}

impl Options {
    /// Whether this process only keeps what the one that started it takes: that one says what there is to say.
    pub(crate) fn is_keeper(&self) -> bool {
        self.detached && self.keep.is_some()
    }

    fn of(mut matches: ArgMatches) -> Self {
        let mut typed = Typed(&mut matches);
        Self {
            lease: LeaseOptions {
                pool: typed.value::<PathBuf>("pool"),
                store: typed.value::<PathBuf>("store"),
                owner_pattern: typed.value("owner-pattern"),
                session: typed.value("session"),
                provision_cmd: typed.value("provision-cmd"),
                reset_cmd: typed.value("reset-cmd"),
                health_cmd: typed.value("health-cmd"),
                nudge_cmd: typed.value("nudge-cmd"),
                ..LeaseOptions::default()
            },
            kind: typed.name("kind"),
            owner: typed.name("owner"),
            token: typed.name("token"),
            slot: typed.name("slot"),
            request: typed.name("request"),
            scope: typed.name("scope"),
            process: typed.name("process"),
            lease_id: typed.name("lease"),
            instance: typed.name("instance"),
            generation: typed.name("generation"),
            claims: typed.values("claim"),
            more_claims: typed.value("claims").unwrap_or_default(),
            refs: typed.value("refs").unwrap_or_default(),
            identity: typed.value("identity").unwrap_or_default(),
            is_ephemeral: typed.is_set("ephemeral"),
            ttl: typed.value("ttl-ms").flatten(),
            payload: typed.value("payload").unwrap_or_default(),
            ttl_minutes: typed.value("ttl").flatten(),
            wait: typed.value("wait-ms").flatten(),
            no_wait: typed.is_set("no-wait"),
            poll: typed.value("poll-ms").flatten(),
            claim_within_minutes: typed.value("claim-within").flatten(),
            keep: typed.value("keep").flatten(),
            force: typed.is_set("force"),
            detached: typed.is_set(DETACHED),
            shape: match (typed.is_set("shell"), typed.is_set("pretty")) {
                (true, _) => Shape::Shell,
                (false, true) => Shape::Pretty,
                (false, false) => Shape::Compact,
            },
        }
    }
}

/// The values of one call; what its family does not know was not typed.
struct Typed<'a>(&'a mut ArgMatches);

impl Typed<'_> {
    fn value<T: Clone + Send + Sync + 'static>(&mut self, flag: &str) -> Option<T> {
        self.0.try_remove_one(flag).ok().flatten()
    }

    fn values<T: Clone + Send + Sync + 'static>(&mut self, flag: &str) -> Vec<T> {
        self.0.try_remove_many(flag).ok().flatten().into_iter().flatten().collect()
    }

    fn name(&mut self, flag: &str) -> String {
        self.value(flag).unwrap_or_default()
    }

    fn is_set(&mut self, flag: &str) -> bool {
        self.value(flag) == Some(true)
    }
}

#[cfg(test)]
mod tests;
