//! The outer grants of this process: what a nested use joins instead of waiting for itself.

use std::path::{Path, PathBuf};

use crate::json::{Json, object};
use crate::pool::{Grant, SlotDef};
use crate::store::{Env, Record};

/// Names the grants that this process works under, outermost first.
pub(super) const VARIABLE: &str = "LEASE_GRANTS";

/// A grant of an outer `cargo lease`, or of this process.
#[derive(Clone, Debug)]
pub(super) struct OuterGrant {
    pub(super) slot_id: Json,
    pub(super) kind: String,
    pub(super) owner: String,
    pub(super) token: String,
}

impl OuterGrant {
    /// What a process under this grant has to know.
    pub(super) fn of(grant: &Grant) -> Self {
        let (owner, token) = (grant.owner().to_owned(), grant.token().to_owned());
        Self { slot_id: grant.slot().id().clone(), kind: grant.slot().kind().to_owned(), owner, token }
    }

    /// The same of a lease that is held on a slot.
    pub(super) fn of_lease(slot: &SlotDef, record: &Record) -> Self {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let (owner, token) = (text(record.owner()), text(record.token()));
        Self { slot_id: slot.id().clone(), kind: slot.kind().to_owned(), owner, token }
    }
}

fn documents(env: &Env) -> Vec<Json> {
    let text = env.get(VARIABLE).unwrap_or_default();
    Json::parse(&text).ok().and_then(Json::into_array).unwrap_or_default()
}

/// The innermost outer grant of this pool in this store.
pub(super) fn find(env: &Env, store: &Path, pool: &str) -> Option<OuterGrant> {
    documents(env).iter().rev().find(|grant| is_of(grant, store, pool)).and_then(read)
}

fn is_of(grant: &Json, store: &Path, pool: &str) -> bool {
    let text = |key: &str| grant.get(key).and_then(Json::as_str);
    text("pool") == Some(pool) && text("store").is_some_and(|dir| real(Path::new(dir)) == real(store))
}

/// Two spellings of one directory are one store.
fn real(dir: &Path) -> PathBuf {
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}

fn read(grant: &Json) -> Option<OuterGrant> {
    let text = |key: &str| grant.get(key).and_then(Json::as_str).map(str::to_owned);
    Some(OuterGrant { slot_id: grant.get("slot_id")?.clone(), kind: text("kind")?, owner: text("owner")?, token: text("token")? })
}

/// The variable's value for a process under one more grant.
pub(super) fn with(env: &Env, store: &Path, pool: &str, grant: &OuterGrant) -> String {
    let mut all = documents(env);
    all.push(object([
        ("store", Json::from(store.display().to_string())),
        ("pool", Json::from(pool)),
        ("slot_id", grant.slot_id.clone()),
        ("kind", Json::from(&grant.kind)),
        ("owner", Json::from(&grant.owner)),
        ("token", Json::from(&grant.token)),
    ]));
    Json::Array(all).to_text()
}
