//! The families as tables: their options, and their operations with what each needs and shows.

mod claims;
mod pool;
mod store;

pub(super) use claims::CLAIMS;
pub(super) use pool::POOL;
pub(super) use store::STORE;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Store(StoreOp),
    Pool(PoolOp),
    Claims(ClaimsOp),
}

/// What is done with claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimsOp {
    Acquire,
    Renew,
    Release,
    ReleaseExact,
    ReleaseProcess,
    Assert,
    List,
    TakeOver,
    StepDown,
}

/// What is done with a lease of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreOp {
    Acquire,
    Heartbeat,
    Release,
    Status,
    Reap,
    List,
    Reconcile,
}

/// What is done with a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolOp {
    Acquire,
    Request,
    Claim,
    Cancel,
    Heartbeat,
    Reset,
    Release,
    Reprovision,
    Health,
    Status,
    Pump,
}

/// A family of operations.
#[derive(Debug)]
pub(crate) struct Family {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Accepted by every operation.
    pub(super) flags: &'static [Flag],
    /// Of those, what means something to every operation.
    pub(super) common: &'static [&'static str],
    pub(super) operations: &'static [Operation],
    pub(super) examples: &'static str,
}

/// An option.
#[derive(Debug)]
pub(super) struct Flag {
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    pub(super) help: &'static str,
}

/// What an option takes, and how its help calls that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// No value. What a switch says of the output has to stand behind the operation.
    Nothing,
    Text(&'static str),
    Path(&'static str),
    Minutes,
    Millis,
    Json,
    Process,
    /// A claim, as often as it is given.
    Claims,
}

/// An operation.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) name: &'static str,
    pub(super) op: Op,
    pub(super) about: &'static str,
    pub(super) needs: &'static [Need],
    /// What else means something to it.
    pub(super) takes: &'static [&'static str],
    pub(super) examples: &'static str,
}

/// An option that an operation cannot do without.
#[derive(Clone, Copy, Debug)]
pub(super) enum Need {
    Always(&'static str),
    UnlessForced(&'static str),
}

/// Switches that say what the output looks like. They follow the operation whose output that is.
pub(super) const SHAPES: [&str; 2] = ["pretty", "shell"];

/// What this program says to itself when it starts a process that outlives it: do the lasting part. In no help.
pub(crate) const DETACHED: &str = "detached";

const fn flag(name: &'static str, takes: Takes, help: &'static str) -> Flag {
    Flag { name, takes, help }
}

const STORE_DIR: Flag =
    flag("store", Takes::Path("DIR"), "The folder that all share [env: LEASE_STORE] [default: logs/leases of the main checkout]");
const OWNER_PATTERN: Flag = flag(
    "owner-pattern",
    Takes::Text("PATTERN"),
    "Which owners belong here, an anchored ECMAScript pattern [env: LEASE_OWNER_PATTERN]",
);
const TO_ITSELF: Flag = flag(DETACHED, Takes::Nothing, "Do the part of the operation that outlives it");
const PRETTY: Flag = flag("pretty", Takes::Nothing, "Indent the JSON; stands behind the operation");
