//! Leased trials of `lease_harness::mimic`.
//!
//! Where a log is given, this program has the scenarios as its trials; otherwise it is a test runner that calls itself so.

mod joined;
#[path = "../behaviour/program.rs"]
mod program;
mod scenario;
mod taking;
mod trouble;

use std::process::ExitCode;

use lease_harness::mimic;

fn main() -> ExitCode {
    if std::env::var_os(scenario::LOG).is_some() {
        return mimic::main(scenario::trials());
    }
    mimic::main(taking::trials().into_iter().chain(joined::trials()).chain(trouble::trials()))
}
