//! A grant as assignments for a POSIX shell.
//!
//! They are evaluated with `eval`, so nothing in them may be anything but a value: everything stands in single quotes, and
//! what cannot be the value of a variable is refused before a slot is taken.

use std::process::ExitCode;

use lease_harness::json::Json;
use lease_harness::pool::PoolFile;

use super::answer::{self, print};
use super::variable::Variable;
use crate::cli::script::Shape;
use crate::exit::{self, Failure};

/// Refuses a pool of which some grant could not be printed: whichever slot it will be.
///
/// # Errors
///
/// A usage error that names slot and variable.
pub(super) fn check(file: &PoolFile) -> Result<(), Failure> {
    for slot in file.slots() {
        let id = (slot_variable(file), slot.id_text().to_owned());
        for (name, value) in slot.grant_env().iter().chain([&id]) {
            export(slot.id_text(), name, value)?;
        }
    }
    Ok(())
}

/// Prints a grant as lines for a shell if that is its shape, and everything else as JSON.
///
/// # Errors
///
/// As [`check`] and [`print`].
pub(super) fn tell(file: &PoolFile, document: &Json, shape: Shape) -> Result<ExitCode, Failure> {
    match shape {
        Shape::Shell if answer::is_ok(document) => answer::write(&exports(file, document)?).map(|()| exit::answered(true)),
        shape => print(document, shape),
    }
}

/// The lines for one grant: its environment, then slot, token and owner under the pool file's prefix.
///
/// # Errors
///
/// As [`check`].
fn exports(file: &PoolFile, grant: &Json) -> Result<String, Failure> {
    let text = |value: Option<&Json>| match value {
        Some(Json::String(text)) => text.clone(),
        Some(value) => value.to_text(),
        None => String::new(),
    };
    let prefix = file.shell_prefix();
    let id = text(grant.get("slot_id"));
    let ours = [("SLOT", id.clone()), ("TOKEN", text(grant.get("token"))), ("OWNER", text(grant.get("owner")))];
    let env = grant.get("env").and_then(Json::as_object).into_iter().flat_map(|env| env.iter());
    let env = env.map(|(name, value)| (name.to_owned(), text(Some(value))));
    let ours = ours.into_iter().map(|(name, value)| (format!("{prefix}_{name}"), value));
    env.chain(ours).map(|(name, value)| export(&id, &name, &value)).collect()
}

fn slot_variable(file: &PoolFile) -> String {
    format!("{}_SLOT", file.shell_prefix())
}

fn export(slot_id: &str, name: &str, value: &str) -> Result<String, Failure> {
    let variable = Variable { slot_id, name, value };
    let value = variable.checked().map_err(|why| variable.refused(&why, "printed for a shell"))?;
    Ok(format!("export {name}={}\n", quoted(&value)))
}

/// A word that a POSIX shell takes as it is.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "'\\''"))
}
