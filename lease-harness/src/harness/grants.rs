//! The outer grants of this process: what a nested use joins instead of waiting for itself.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::json::{Json, object};
use crate::pool::SlotDef;
use crate::store::{Env, Record};

pub(super) use crate::pool::GRANTS as VARIABLE;

/// The members of a grant with turns.
const TURN: &str = "turn";
const BETWEEN: &str = "between";
const RESET: &str = "reset";

/// A grant of an outer `cargo lease`, or of this process.
#[derive(Clone, Debug)]
pub(super) struct OuterGrant {
    pub(super) slot_id: Json,
    pub(super) kind: String,
    pub(super) owner: String,
    pub(super) token: String,
    /// Present if this is one of several that a run holds for its test processes.
    pub(super) turn: Option<TurnFile>,
}

/// The file whose lock says which process of a run has the turn in a slot, and what comes before a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TurnFile {
    pub(super) path: PathBuf,
    pub(super) between: BetweenTests,
}

/// What a slot goes through between two test processes that have it one after another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BetweenTests {
    /// The next one finds it as the one before has left it.
    #[default]
    Nothing,
    /// The pool's reset and health commands.
    Reset,
}

impl TurnFile {
    /// The run that holds the slot: its folder has its name.
    pub(super) fn run_id(&self) -> &str {
        self.path.parent().and_then(Path::file_name).and_then(OsStr::to_str).unwrap_or_default()
    }
}

impl OuterGrant {
    /// What a process under the grant behind this lease has to know.
    pub(super) fn of_lease(slot: &SlotDef, record: &Record) -> Self {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let (owner, token) = (text(record.owner()), text(record.token()));
        Self { slot_id: slot.id().clone(), kind: slot.kind().to_owned(), owner, token, turn: None }
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

/// Those of this pool in this store that the same run holds beside a grant with turns, that one among them.
pub(super) fn of_same_run(env: &Env, store: &Path, pool: &str, turn: &TurnFile) -> Vec<OuterGrant> {
    let folder = turn.path.parent();
    let is_beside = |grant: &OuterGrant| grant.turn.as_ref().is_some_and(|turn| turn.path.parent() == folder);
    let documents = documents(env);
    documents.iter().filter(|grant| is_of(grant, store, pool)).filter_map(read).filter(is_beside).collect()
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
    let between = if text(BETWEEN).as_deref() == Some(RESET) { BetweenTests::Reset } else { BetweenTests::Nothing };
    let turn = text(TURN).map(|path| TurnFile { path: path.into(), between });
    let slot_id = grant.get("slot_id")?.clone();
    Some(OuterGrant { slot_id, kind: text("kind")?, owner: text("owner")?, token: text("token")?, turn })
}

/// The variable's value for a process under these grants as well. Who has a turn in a slot of its run, or holds slots for
/// a run of its own, has nothing to do with the turns of the run around.
pub(super) fn with(env: &Env, more: impl IntoIterator<Item = Json>) -> String {
    let more: Vec<_> = more.into_iter().collect();
    let is_same =
        |one: &Json, other: &Json, key: &str| one.get(key).and_then(Json::as_str) == other.get(key).and_then(Json::as_str);
    let is_replaced = |grant: &Json| {
        grant.get(TURN).is_some() && more.iter().any(|new| is_same(grant, new, "pool") && is_same(grant, new, "store"))
    };
    let mut all = documents(env);
    all.retain(|grant| !is_replaced(grant));
    all.extend(more);
    Json::Array(all).to_text()
}

/// A grant of the pool in this store, as the variable has it.
pub(super) fn document(store: &Path, pool: &str, outer: &OuterGrant) -> Json {
    let mut members = vec![
        ("store", Json::from(store.display().to_string())),
        ("pool", Json::from(pool)),
        ("slot_id", outer.slot_id.clone()),
        ("kind", Json::from(&outer.kind)),
        ("owner", Json::from(&outer.owner)),
        ("token", Json::from(&outer.token)),
    ];
    if let Some(TurnFile { path, between }) = &outer.turn {
        members.push((TURN, Json::from(path.display().to_string())));
        if *between == BetweenTests::Reset {
            members.push((BETWEEN, Json::from(RESET)));
        }
    }
    object(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(kind: &str, turn: Option<&str>) -> OuterGrant {
        let turn = turn.map(|path| TurnFile { path: path.into(), between: BetweenTests::Reset });
        let text = |text: &str| text.to_owned();
        OuterGrant { slot_id: Json::from(kind), kind: text(kind), owner: text("o"), token: format!("token of {kind}"), turn }
    }

    fn env(grants: String) -> Env {
        Env::Fixed([(VARIABLE.to_owned(), grants)].into())
    }

    #[test]
    fn a_turn_takes_the_place_of_those_that_its_run_could_lend() {
        let store = Path::new("/no/such/store");
        let of = |pool: &str, grants: &[OuterGrant]| grants.iter().map(|grant| document(store, pool, grant)).collect::<Vec<_>>();
        let earlier = with(&env(String::new()), of("db", &[grant("a", Some("/run/1/a"))]));
        let lent = with(&env(earlier), of("ports", &[grant("p", Some("/run/2/p")), grant("q", Some("/run/2/q"))]));
        let run = env(lent);
        let innermost = find(&run, store, "ports").unwrap();
        assert_eq!(innermost.turn.clone().unwrap().between, BetweenTests::Reset);
        let kinds = |grants: Vec<OuterGrant>| grants.into_iter().map(|grant| grant.kind).collect::<Vec<_>>();
        assert_eq!(kinds(of_same_run(&run, store, "ports", &innermost.turn.unwrap())), ["p", "q"]);
        let test = env(with(&run, of("ports", &[grant("q", None)])));
        let all = all_in(&test, store);
        assert_eq!(
            all.iter().map(|(pool, grant)| (pool.as_str(), grant.kind.as_str())).collect::<Vec<_>>(),
            [("db", "a"), ("ports", "q")]
        );
        assert_eq!(find(&test, store, "ports").unwrap().turn, None);
        assert_eq!(find(&test, store, "db").unwrap().turn.unwrap().path, Path::new("/run/1/a"));
    }
}
