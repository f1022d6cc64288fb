//! These tests read nothing but the environment. It is in place before `main`, so the code under test needs no change:
//! with `cargo lease test` it comes from the wrapper, with plain `cargo test` the process takes a slot itself.
//!
//! One process has one slot, hence one server for all tests of this process.

use std::io::Result;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use std::{env, thread};

use lease_harness::leased_slot;
use quickstart::{Client, Server};

/// How long the busy tests use the server: long enough that two runs on one host meet.
const BUSY: Duration = Duration::from_millis(100);

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let port = var("PORT_API").parse().expect("PORT_API is a port");
    let server = Server::start(port, &PathBuf::from(var("SCRATCH_DIR"))).expect("the slot's port is free");
    let notes = Client::connect(port).and_then(|mut client| client.list()).expect("the server answers");
    assert!(notes.is_empty(), "the slot was not clean: {notes:?}");
    server
});

fn var(name: &str) -> String {
    env::var(name).unwrap_or_else(|error| panic!("{name}: {error}; it is part of grantEnv in pool.json"))
}

fn connect() -> Result<Client> {
    let test = thread::current().name().unwrap_or("?").to_owned();
    let (slot, port, dir) = (var("POOL_RUN_SLOT"), var("PORT_API"), var("SCRATCH_DIR"));
    eprintln!("client::{test}: slot {slot}, port {port}, folder {dir}");
    Client::connect(SERVER.port())
}

#[test]
#[leased_slot(pool = "pool.json")]
fn a_note_can_be_read_back() -> Result<()> {
    let mut client = connect()?;
    client.add("water the plants")?;
    assert!(client.list()?.contains(&"water the plants".to_owned()));
    Ok(())
}

#[test]
#[leased_slot(pool = "pool.json")]
fn one_client_sees_the_notes_of_another() -> Result<()> {
    connect()?.add("written by one client")?;
    assert!(connect()?.list()?.contains(&"written by one client".to_owned()));
    Ok(())
}

#[test]
#[leased_slot(pool = "pool.json")]
fn a_note_of_two_lines_is_refused() -> Result<()> {
    let mut client = connect()?;
    let error = client.add("two\nlines").expect_err("a note is one line");
    assert_eq!(error.to_string(), "a note is one line");
    assert!(!client.list()?.contains(&"two".to_owned()));
    Ok(())
}

#[test]
#[leased_slot(pool = "pool.json")]
fn a_busy_client_counts_up() -> Result<()> {
    let mut client = connect()?;
    let began = Instant::now();
    let mut n_notes = 0;
    while n_notes == 0 || began.elapsed() < BUSY {
        let now = client.add("a note of a busy client")?;
        assert!(n_notes < now, "{now} notes after {n_notes}");
        n_notes = now;
    }
    Ok(())
}
