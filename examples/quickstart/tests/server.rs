//! Every test here takes a slot of its own, so as many run at once as the pool has slots.
//!
//! Under `cargo lease test` there is one slot for the whole process: then the tests take turns, and the slot is cleaned
//! before each. Under `cargo lease nextest run` every test has its process, and so its slot.

use std::io::{ErrorKind, Result};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use lease_harness::{Slot, leased_slot};
use quickstart::{Client, Server};

/// How long the busy tests keep their port: long enough that two runs on one host meet.
const BUSY: Duration = Duration::from_millis(100);

/// The slot's port and folder, and a note of it for whoever watches.
fn place(slot: &Slot) -> (u16, PathBuf) {
    let port = slot.get("ports.api").expect("every slot of pool.json has ports.api");
    let dir: PathBuf = slot.get("dir").expect("every slot of pool.json has dir");
    let test = thread::current().name().unwrap_or("?").to_owned();
    eprintln!("server::{test}: slot {}, port {port}, folder {}", slot.id(), dir.display());
    (port, dir)
}

fn start(slot: &Slot) -> Result<Server> {
    let (port, dir) = place(slot);
    Server::start(port, &dir)
}

#[leased_slot(pool = "pool.json")]
#[test]
fn a_new_board_is_empty(slot: Slot) -> Result<()> {
    let server = start(&slot)?;
    assert!(Client::connect(server.port())?.list()?.is_empty(), "the slot was not clean");
    Ok(())
}

#[leased_slot(pool = "pool.json")]
#[test]
fn notes_survive_a_restart(slot: Slot) -> Result<()> {
    let (port, dir) = place(&slot);
    let server = Server::start(port, &dir)?;
    assert_eq!(Client::connect(port)?.add("buy milk")?, 1);
    drop(server);

    let server = Server::start(port, &dir)?;
    assert_eq!(Client::connect(server.port())?.list()?, ["buy milk"]);
    Ok(())
}

#[leased_slot(pool = "pool.json")]
#[test]
fn a_port_takes_one_server(slot: Slot) -> Result<()> {
    let (port, dir) = place(&slot);
    let _first = Server::start(port, &dir)?;
    let second = Server::start(port, &dir).expect_err("the port is taken");
    assert_eq!(second.kind(), ErrorKind::AddrInUse);
    Ok(())
}

#[leased_slot(pool = "pool.json")]
#[test]
fn an_unknown_request_is_answered_with_an_error(slot: Slot) -> Result<()> {
    let server = start(&slot)?;
    let mut client = Client::connect(server.port())?;
    let error = client.request("shout").expect_err("there is no such request");
    assert_eq!(error.to_string(), "error unknown request \"shout\"");
    assert_eq!(client.add("still here")?, 1);
    Ok(())
}

#[leased_slot(pool = "pool.json")]
#[test]
fn many_writers_lose_no_note(slot: Slot) -> Result<()> {
    let server = start(&slot)?;
    let began = Instant::now();
    let write = || -> Result<usize> {
        let mut client = Client::connect(server.port())?;
        let mut n_written = 0;
        while n_written == 0 || began.elapsed() < BUSY {
            client.add("a note of one of many writers")?;
            n_written += 1;
        }
        Ok(n_written)
    };
    let n_written: usize = thread::scope(|scope| {
        let writers: Vec<_> = (0..4).map(|_| scope.spawn(write)).collect();
        writers.into_iter().map(|writer| writer.join().expect("a writer does not panic")).sum::<Result<usize>>()
    })?;
    assert_eq!(Client::connect(server.port())?.list()?.len(), n_written);
    Ok(())
}
