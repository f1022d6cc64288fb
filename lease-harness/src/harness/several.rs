//! One slot of each of several pools.
//!
//! Whoever waits for a slot while holding another could wait for somebody who waits for him. So everybody takes them in one
//! order, that of the store's real path and the pool's name: then the one who holds the last of those that somebody waits
//! for waits for nobody.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::{SlotError, SlotErrorKind};
use super::grants;
use super::request::{SlotRequest, shared_kind};
use super::slot::Slot;
use crate::pool::Wait;
use crate::store::Env;

/// Where a pool is, whatever way led there; in the order in which pools are taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) store: PathBuf,
    pub(super) pool: String,
}

/// Waits for a slot of each, as long as `wait` says for all together; the slots are in the order of the requests. If one
/// cannot be had, those that were are given back.
pub(crate) fn acquire_all(requests: Vec<SlotRequest>, wait: Wait) -> Result<Vec<Slot>, SlotError> {
    let requests = match <[SlotRequest; 1]>::try_from(requests) {
        // There is no order of one, so that its pool file is read only once.
        Ok([request]) => return Ok(vec![request.wait(wait).acquire()?]),
        Err(requests) => requests,
    };
    let places = requests.iter().map(SlotRequest::place).collect::<Result<Vec<_>, _>>()?;
    let mut in_order: Vec<_> = places.into_iter().zip(requests.into_iter().enumerate()).collect();
    in_order.sort_by(|(one, _), (other, _)| one.cmp(other));
    if let Some(pair) = in_order.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let [(place, (_, one)), (_, (_, other))] = pair else { unreachable!("a window of two") };
        return Err(one_pool_twice(place, one, other));
    }
    refuse_shared_kinds(&in_order)?;
    let begun = Instant::now();
    let mut held: Vec<Option<Slot>> = in_order.iter().map(|_| None).collect();
    for (place, (request_idx, request)) in in_order {
        let request = request.wait(rest_of(wait, begun.elapsed())).holding(kinds_in(&place.store, held.iter().flatten()));
        held[request_idx] = Some(request.acquire()?);
    }
    let mut slots: Vec<_> = held.into_iter().flatten().collect();
    introduce(&mut slots);
    Ok(slots)
}

/// The kinds of those that were taken in this store; what was joined is held by somebody else.
fn kinds_in<'a>(store: &Path, held: impl Iterator<Item = &'a Slot>) -> Vec<String> {
    let taken = held.filter(|slot| !slot.is_joined() && grants::real(slot.store_dir()) == store);
    taken.map(|slot| slot.kind().to_owned()).collect()
}

/// Refuses pools of one store that share a lease: whoever has the one would wait for himself.
fn refuse_shared_kinds(in_order: &[(Place, (usize, SlotRequest))]) -> Result<(), SlotError> {
    let mut known = BTreeMap::<(&Path, String), &str>::new();
    for (Place { store, pool }, (_, request)) in in_order {
        for kind in request.kinds()? {
            if let Some(other) = known.insert((store, kind.clone()), pool) {
                return Err(shared_kind(other, pool, store, &kind));
            }
        }
    }
    Ok(())
}

fn one_pool_twice(place: &Place, one: &SlotRequest, other: &SlotRequest) -> SlotError {
    let Place { store, pool } = place;
    let (one, other, store) = (one.file().display(), other.file().display(), store.display());
    let message = format!("`{one}` and `{other}` are both the pool {pool} in {store}: a test takes one slot of a pool");
    SlotError::new(SlotErrorKind::Usage, message)
}

fn rest_of(wait: Wait, elapsed: Duration) -> Wait {
    match wait {
        Wait::For(limit) => Wait::For(limit.saturating_sub(elapsed)),
        wait => wait,
    }
}

/// Whoever works under one of these works under all, and joins each of them.
fn introduce(slots: &mut [Slot]) {
    let taken = slots.iter().filter(|slot| slot.is_to_be_introduced()).map(Slot::grant_document);
    let text = grants::with(&Env::Process, taken);
    slots.iter_mut().for_each(|slot| slot.set_grants(text.clone()));
}

/// Refuses pools that set one variable, for who has one environment for all of them: one value would hide the other.
pub(crate) fn refuse_shared_variables(requests: &[SlotRequest]) -> Result<(), SlotError> {
    if requests.len() < 2 {
        return Ok(());
    }
    let mut known = BTreeMap::<String, String>::new();
    for request in requests {
        let (pool, variables) = request.variables()?;
        if let Some((variable, other)) = variables.iter().find_map(|name| known.get_key_value(name)) {
            let message = format!(
                "the pools {other} and {pool} both set {variable}, and a process has one environment: give one of them other \
                 names with \"grantEnv\", or give the test a `slot: Slot` for each"
            );
            return Err(SlotError::new(SlotErrorKind::Usage, message));
        }
        known.extend(variables.into_iter().map(|variable| (variable, pool.clone())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_that_share_a_lease_are_refused_before_anything_is_taken() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let request = |name: &str, more: &str| {
            let file = folder.path().join(format!("{name}.json"));
            let text = format!("{{\"name\": \"{name}\", \"slots\": [{{\"id\": 1}}]{more}}}");
            std::fs::write(&file, text).expect("the folder is writable");
            SlotRequest::from_file(file).store(folder.path().join("store")).owner("acme")
        };
        let refused = acquire_all(vec![request("db", ""), request("ports", "")], Wait::Forever).expect_err("refused");
        assert_eq!(refused.kind(), SlotErrorKind::Usage);
        for part in ["db and ports", "slot-1", "\"kindPrefix\"", "\"ports-\""] {
            assert!(refused.to_string().contains(part), "{refused}");
        }
        assert!(!folder.path().join("store").exists());
        let prefixed = request("ports", ", \"kindPrefix\": \"ports-\"");
        assert_eq!(acquire_all(vec![request("db", ""), prefixed], Wait::No).expect("one of each").len(), 2);
    }

    #[test]
    fn one_limit_is_for_all_together() {
        let seconds = Duration::from_secs;
        let table = [
            (Wait::For(seconds(9)), Wait::For(seconds(2))),
            (Wait::For(seconds(5)), Wait::For(seconds(0))),
            (Wait::Forever, Wait::Forever),
            (Wait::No, Wait::No),
        ];
        for (wait, rest) in table {
            assert_eq!(rest_of(wait, seconds(7)), rest);
        }
    }
}
