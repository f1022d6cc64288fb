//! A grant as assignments for a POSIX shell.
//!
//! They are evaluated with `eval`, so nothing in them may be anything but a value: everything stands in single quotes, and
//! what cannot be the value of a variable is refused before a slot is taken.

use lease_harness::json::utf16_units;
use lease_harness::pool::{Grant, PoolFile, SlotDef};

use crate::exit::Failure;

/// Refuses a pool of which some grant could not be printed: whichever slot it will be.
///
/// # Errors
///
/// A usage error that names slot and variable.
pub(super) fn check(file: &PoolFile) -> Result<(), Failure> {
    for slot in file.slots() {
        let id = (slot_variable(file), slot.id_text().to_owned());
        for (name, value) in slot.grant_env().iter().chain([&id]) {
            export(slot, name, value)?;
        }
    }
    Ok(())
}

/// The lines for one grant: its environment, then slot, token and owner under the pool file's prefix.
///
/// # Errors
///
/// As [`check`].
pub(super) fn exports(file: &PoolFile, grant: &Grant) -> Result<String, Failure> {
    let prefix = file.shell_prefix();
    let ours = [
        (slot_variable(file), grant.slot().id_text().to_owned()),
        (format!("{prefix}_TOKEN"), grant.token().to_owned()),
        (format!("{prefix}_OWNER"), grant.owner().to_owned()),
    ];
    grant.env().iter().chain(&ours).map(|(name, value)| export(grant.slot(), name, value)).collect()
}

fn slot_variable(file: &PoolFile) -> String {
    format!("{}_SLOT", file.shell_prefix())
}

fn export(slot: &SlotDef, name: &str, value: &str) -> Result<String, Failure> {
    let refused =
        |why: &str| Failure::usage(format!("slot {}: {name} {why}, so it cannot be printed for a shell", slot.id_text()));
    if !is_name(name) {
        return Err(refused("is no name of a variable"));
    }
    let Ok(value) = String::from_utf16(&utf16_units(value)) else { return Err(refused("holds text that is no UTF-8")) };
    if value.contains('\0') {
        return Err(refused("holds a NUL character"));
    }
    Ok(format!("export {name}={}\n", quoted(&value)))
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(is_part) && name.as_bytes().first().is_some_and(|first| !first.is_ascii_digit())
}

/// A word that a POSIX shell takes as it is.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "'\\''"))
}
