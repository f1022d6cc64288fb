//! One test for each file in `cases`, made when the program runs. Each takes a slot of its own when it starts, so as many
//! run at once as the pool has slots.
//!
//! Under `cargo lease test` there is one slot for the whole process: then the tests take turns, and the slot is cleaned
//! before each. Under `cargo lease nextest run` every test has its process, and so its slot.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use lease_harness::Slot;
use lease_harness::mimic::{self, Failed};
use quickstart::Server;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut trials = Vec::new();
    for case in cases()? {
        let name = case.file_stem().ok_or("a case has a name")?.to_string_lossy();
        trials.push(mimic::leased(format!("cases::{name}"), "pool.json", move |slot| converse(slot, &case)));
    }
    Ok(mimic::main(trials))
}

/// Tests run in the folder of their package.
fn cases() -> io::Result<Vec<PathBuf>> {
    let mut cases: Vec<_> = fs::read_dir("cases")?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    // The order of a folder is not the same everywhere.
    cases.sort();
    if cases.is_empty() { Err(io::Error::other("the folder cases is empty")) } else { Ok(cases) }
}

/// Sends what stands behind `>` to a server on the slot, and expects what stands behind `<`.
fn converse(slot: &Slot, case: &Path) -> Result<(), Failed> {
    let (port, dir): (u16, PathBuf) = (slot.get("ports.api")?, slot.get("dir")?);
    eprintln!("{}: slot {}, port {port}, folder {}", case.display(), slot.id(), dir.display());
    let server = Server::start(port, &dir)?;
    let mut board = BufReader::new(TcpStream::connect((Ipv4Addr::LOCALHOST, server.port()))?);
    for line in fs::read_to_string(case)?.lines() {
        match line.split_once(' ') {
            Some((">", request)) => writeln!(board.get_mut(), "{request}")?,
            Some(("<", expected)) => expect(&mut board, expected)?,
            _ => return Err(format!("a line begins with `> ` or `< `: {line}").into()),
        }
    }
    Ok(())
}

fn expect(board: &mut impl BufRead, expected: &str) -> Result<(), Failed> {
    let mut reply = String::new();
    board.read_line(&mut reply)?;
    let reply = reply.trim_end_matches('\n');
    if reply == expected { Ok(()) } else { Err(format!("expected {expected:?}, got {reply:?}").into()) }
}
