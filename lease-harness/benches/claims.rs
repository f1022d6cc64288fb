//! What a set of claims costs beside others that have nothing to do with it. Compare rows of one run; this is no stopwatch.

use std::path::Path;

use lease_harness::claims::{
    Claim, ClaimLease, ClaimStore, Mode, OwnerNames, OwnerProcess, Reference, SetOutcome, SetWanted, Visibility,
};
use lease_harness::store::{LeaseStore, StoreOptions};
use tempfile::TempDir;

fn main() {
    divan::main();
}

/// Where the store lies: a journalling file system, or memory where the machine has such a folder.
const PLACES: [&str; 2] = ["target", "/dev/shm"];

fn scope(place: &str) -> (TempDir, ClaimStore) {
    let place = Path::new(place);
    let parent = if place.is_dir() { place.to_owned() } else { std::env::temp_dir() };
    let folder = tempfile::tempdir_in(parent).expect("a folder can be made");
    let options = StoreOptions { store: Some(folder.path().join("store")), ..StoreOptions::default() };
    let store = LeaseStore::open(&options).expect("the store opens");
    (folder, ClaimStore::new(store, "scope").expect("a scope"))
}

fn acquire(claims: &ClaimStore, owner: &str, keys: &[String]) -> Vec<ClaimLease> {
    let wanted_claims: Vec<_> = keys.iter().map(|key| Claim::new(key, Mode::Write).expect("a key")).collect();
    let env = |_: &str| None;
    let wanted = SetWanted {
        owner,
        claims: &wanted_claims,
        ttl_ms: 3_600_000,
        names: &OwnerNames::default(),
        process: &OwnerProcess { env: &env, number: 1 },
        visibility: Visibility::Durable,
        alive: None,
    };
    match claims.acquire(&wanted, Visibility::Durable.into()).expect("the store is usable") {
        SetOutcome::Granted(leases) => leases,
        SetOutcome::Blocked(blockers) => panic!("in the way: {blockers:?}"),
    }
}

fn pair(claims: &ClaimStore, keys: &[String]) {
    let leases = acquire(claims, "bench", keys);
    let references: Vec<_> = leases.iter().map(Reference::of).collect();
    claims.release_exact("bench", &references, None).expect("the store is usable");
}

/// One claim, acquired and given back, beside so many leases of others, one each.
#[divan::bench(args = [0, 1_000, 5_000], consts = [0, 1])]
fn one_claim_beside_others<const PLACE: usize>(bencher: divan::Bencher<'_, '_>, n_others: usize) {
    let (_folder, claims) = scope(PLACES[PLACE]);
    for other in 0..n_others {
        acquire(&claims, &format!("other-{other}"), &[format!("key-{other}")]);
    }
    bencher.bench_local(|| pair(&claims, &["mine".to_owned()]));
}

/// The same where the others hold paths, which all have to be compared.
#[divan::bench(args = [0, 1_000], consts = [0, 1])]
fn one_path_beside_other_paths<const PLACE: usize>(bencher: divan::Bencher<'_, '_>, n_others: usize) {
    let (_folder, claims) = scope(PLACES[PLACE]);
    for other in 0..n_others {
        acquire(&claims, &format!("other-{other}"), &[format!("path:folder-{other}")]);
    }
    bencher.bench_local(|| pair(&claims, &["path:mine".to_owned()]));
}

#[divan::bench(args = [1, 10], consts = [0, 1])]
fn so_many_claims<const PLACE: usize>(bencher: divan::Bencher<'_, '_>, n_claims: usize) {
    let (_folder, claims) = scope(PLACES[PLACE]);
    let keys: Vec<_> = (0..n_claims).map(|claim| format!("key-{claim}")).collect();
    bencher.bench_local(|| pair(&claims, &keys));
}
