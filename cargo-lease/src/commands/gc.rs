//! `cargo lease gc`: what was made, recorded, and left.

use std::io::{self, Write};
use std::process::ExitCode;

use lease_harness::harness::Collector;
use lease_harness::store::StoreOptions;

use crate::cli::{GcArgs, LeaseOptions};
use crate::exit::Failure;
use crate::render;
use crate::resolve::{Settings, Surroundings};

/// Shows what would go, or removes it.
pub(super) fn run(lease: &LeaseOptions, args: &GcArgs, around: &Surroundings) -> Result<ExitCode, Failure> {
    let settings = Settings::read_shared(lease, around)?;
    let options = StoreOptions { store: settings.store, owner_pattern: settings.owner_pattern, ..StoreOptions::default() };
    let collector = Collector::new(&options)?;
    let collection = if args.apply { collector.collect()? } else { collector.look()? };
    let text = match args.json {
        true => format!("{}\n", collection.to_json().to_text()),
        false => render::collection_table(&collection),
    };
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            return Err(Failure::internal("cannot write to standard output", error));
        }
        _ => {}
    }
    Ok(ExitCode::from(u8::from(collection.has_failures())))
}
