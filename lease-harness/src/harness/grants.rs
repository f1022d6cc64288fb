//! The outer grants of this process: what a nested use joins instead of waiting for itself.

use std::path::{Path, PathBuf};

use crate::json::{Json, object};
use crate::pool::SlotDef;
use crate::store::{Env, Record};

pub(super) use crate::pool::GRANTS as VARIABLE;

/// A grant of an outer `cargo lease`, or of this process.
#[derive(Clone, Debug)]
pub(super) struct OuterGrant {
    pub(super) slot_id: Json,
    pub(super) kind: String,
    pub(super) owner: String,
    pub(super) token: String,
}

impl OuterGrant {
    /// What a process under the grant behind this lease has to know.
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

/// Every outer grant in this store, with its pool.
pub(super) fn all_in(env: &Env, store: &Path) -> Vec<(String, OuterGrant)> {
    let pool_of = |grant: &Json| grant.get("pool").and_then(Json::as_str).map(str::to_owned);
    let here = |grant: &Json| Some((pool_of(grant)?, read(grant)?)).filter(|(pool, _)| is_of(grant, store, pool));
    documents(env).iter().filter_map(here).collect()
}

fn is_of(grant: &Json, store: &Path, pool: &str) -> bool {
    let text = |key: &str| grant.get(key).and_then(Json::as_str);
    text("pool") == Some(pool) && text("store").is_some_and(|dir| real(Path::new(dir)) == real(store))
}

/// Two spellings of one directory are one store, also as long as it is not there yet.
pub(super) fn real(dir: &Path) -> PathBuf {
    match (dir.canonicalize(), dir.parent(), dir.file_name()) {
        (Ok(real), _, _) => real,
        (Err(_), Some(above), Some(name)) => real(above).join(name),
        (Err(_), _, _) => dir.to_owned(),
    }
}

fn read(grant: &Json) -> Option<OuterGrant> {
    let text = |key: &str| grant.get(key).and_then(Json::as_str).map(str::to_owned);
    Some(OuterGrant { slot_id: grant.get("slot_id")?.clone(), kind: text("kind")?, owner: text("owner")?, token: text("token")? })
}

/// The variable's value for a process under these grants as well.
pub(super) fn with(env: &Env, more: impl IntoIterator<Item = Json>) -> String {
    let mut all = documents(env);
    all.extend(more);
    Json::Array(all).to_text()
}

/// A grant of the pool in this store, as the variable has it.
pub(super) fn document(store: &Path, pool: &str, outer: &OuterGrant) -> Json {
    object([
        ("store", Json::from(store.display().to_string())),
        ("pool", Json::from(pool)),
        ("slot_id", outer.slot_id.clone()),
        ("kind", Json::from(&outer.kind)),
        ("owner", Json::from(&outer.owner)),
        ("token", Json::from(&outer.token)),
    ])
}
