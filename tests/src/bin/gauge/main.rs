//! Does one thing again and again, for whoever counts what it costs: `gauge FOLDER N ROW…`.
//!
//! A ROW is a name with options, as `pool-pair:slots=4,past=1000`. Of most rows N passes are made, in turn if there are several,
//! and the medians are printed; a pass costs what 2 N passes cost more than N, divided by N, so that the start of the program is
//! not counted. The rows of several processes take N as seconds or as rounds; each says so where it stands. Everything happens in
//! FOLDER; a second run there goes on with the store of the first.

mod beats;
mod children;
mod crowd;
mod figures;
#[path = "../../../../lease-harness/benches/floor/mod.rs"]
mod floor;
mod idle;
mod killed;
mod passes;
mod peers;
mod place;
mod queue;
mod spec;
mod whole;

use std::path::Path;
use std::process::ExitCode;

use spec::Spec;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, n, words @ ..] = &args[..] else { return refuse("gauge FOLDER N ROW…") };
    let (folder, Ok(n)) = (Path::new(folder), n.parse()) else { return refuse("N is a number") };
    let specs: Vec<_> = words.iter().map(|word| Spec::new(word)).collect();
    let Some(first) = specs.first() else { return refuse("gauge FOLDER N ROW…") };
    match first.name() {
        "whole" => whole::compare(n, &words[1..]),
        "beats" => beats::measure(folder, n, first),
        "idle" => idle::measure(folder, n, first),
        "killed" => killed::measure(folder, n, first),
        "hand-over" => crowd::hand_over(folder, n, first),
        "throughput" => crowd::throughput(folder, n, first),
        "worker" => crowd::work(folder, first),
        "holder" => killed::hold(folder),
        "waiter" => killed::wait(folder),
        _ => return passes::measure(folder, n, &specs),
    }
    ExitCode::SUCCESS
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("gauge: {why}");
    ExitCode::from(64)
}
