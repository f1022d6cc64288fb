//! An implementation of another hand, in another language, on the same store.
//!
//! It is the one in `tests/peer`, or whichever `LEASE_REFERENCE_IMPL` names by its `durable-lease.mjs`, with the `pool.mjs`
//! beside it or `LEASE_REFERENCE_POOL`.

mod burial;
mod fairness;
mod keys;
mod pairs;
mod race;
mod replay;
mod requests;
mod sharing;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lease_harness::pool::{Pool, PoolFile, PoolOptions};
use lease_harness::store::{LeaseStore, StoreOptions};
use lease_tests::{Lab, Running, wait};
use serde_json::Value;

/// A file of the folder in which the peer and its driver lie.
fn peer_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peer").join(name)
}

/// A file that a variable names, or the one that it stands for.
fn named(variable: &str, otherwise: impl FnOnce() -> PathBuf) -> PathBuf {
    let Some(path) = std::env::var_os(variable) else { return otherwise() };
    std::fs::canonicalize(&path).unwrap_or_else(|error| panic!("{variable} is {}: {error}", path.display()))
}

/// Node.js, which must be there.
fn node(lab: &Lab) -> Command {
    let version = lab.command("node").arg("--version").stdout(Stdio::null()).status();
    assert!(version.is_ok_and(|status| status.success()), "this test needs Node.js, as node on the path, and there is none");
    lab.command("node")
}

/// The other implementation, to do what `tests/peer/driver.mjs` can make it do.
pub(crate) fn driver(lab: &Lab, args: &[&str]) -> Command {
    let leases = named("LEASE_REFERENCE_IMPL", || peer_file("durable-lease.mjs"));
    let pool = named("LEASE_REFERENCE_POOL", || leases.with_file_name("pool.mjs"));
    let mut command = node(lab);
    command.arg(peer_file("driver.mjs")).args([leases, pool]).args(args);
    command
}

/// A part that the other implementation does on a store and a pool.
fn part(lab: &Lab, what: &str, store: &Path, pool: &Path, args: &[&str]) -> Command {
    let (store, pool) = (store.display().to_string(), pool.display().to_string());
    driver(lab, &[&[what, &store, &pool], args].concat())
}

/// Its answer to one call on the laboratory's store and pool.
#[track_caller]
pub(crate) fn call(lab: &Lab, op: &str, args: &Value) -> Value {
    calls(lab, &[(op, args)]).remove(0)
}

/// Its answers to some calls that it makes one right after the other.
#[track_caller]
pub(crate) fn calls(lab: &Lab, calls: &[(&str, &Value)]) -> Vec<Value> {
    let words: Vec<_> = calls.iter().flat_map(|(op, args)| [(*op).to_owned(), args.to_string()]).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let finished = lab.run(part(lab, "call", &lab.store(), &lab.pool_file(), &words)).expect_success();
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {}", finished.account()));
    finished.stdout.lines().map(parse).collect()
}

/// Starts a client of a pool, which keeps its slot until its input ends.
fn start_client(lab: &Lab, store: &Path, pool: &Path, input: Stdio) -> Running {
    let mut command = part(lab, "client", store, pool, &["peer"]);
    command.stdin(input);
    lab.start(command)
}

/// A client of the laboratory's pool that keeps its slot until it is told to finish.
fn start_keeper(lab: &Lab) -> Running {
    start_client(lab, &lab.store(), &lab.pool_file(), Stdio::piped())
}

/// The laboratory's store, through the library.
fn store(lab: &Lab) -> LeaseStore {
    let options = StoreOptions { store: Some(lab.store()), ..StoreOptions::default() };
    LeaseStore::open(&options).expect("the laboratory's store opens")
}

/// The laboratory's pool, through the library.
fn pool(lab: &Lab) -> Pool {
    let file = PoolFile::load(&lab.pool_file()).expect("the pool file is right");
    Pool::open(file, store(lab), PoolOptions::default()).expect("the laboratory's pool opens")
}

fn wait_for_word(run: &Running, word: &str) {
    wait::until_true(&format!("the peer says {word:?}"), || run.stdout().contains(word));
}
