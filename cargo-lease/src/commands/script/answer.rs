//! The one answer of an operation, on standard output.

use std::io::{self, Write};
use std::process::ExitCode;

use lease_harness::harness::is_output_closed;
use lease_harness::json::{Json, object};

use crate::cli::script::Shape;
use crate::exit::{self, Failure};

/// Prints a document. The exit code says whether it is a refusal.
///
/// # Errors
///
/// Standard output cannot be written: whoever called does not know the answer.
pub(super) fn print(document: &Json, shape: Shape) -> Result<ExitCode, Failure> {
    let text = match shape {
        Shape::Pretty => document.to_pretty(),
        Shape::Compact => document.to_text(),
        // Somebody may evaluate even a refusal; the same document, in which a shell finds nothing to expand.
        Shape::Shell => document.to_text().replace('$', "\\u0024").replace('`', "\\u0060"),
    };
    write(&(text + "\n"))?;
    Ok(exit::answered(is_ok(document)))
}

/// Whether a document is no refusal.
pub(super) fn is_ok(document: &Json) -> bool {
    document.get("ok").and_then(Json::as_bool) != Some(false)
}

/// Says also by a document that a lease did not come into a keeper's hands: the process that it was to follow has ended, or
/// the lease has.
pub(super) fn or_cancelled(
    told: Result<ExitCode, Failure>,
    what: (&'static str, &str),
    say: impl FnOnce(&Json) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    if let Err(failure) = &told
        && failure.is_refusal()
    {
        let (key, name) = what;
        say(&object([("ok", Json::from(false)), ("code", Json::from("cancelled")), (key, Json::from(name))]))?;
    }
    told
}

/// Prints text as it is.
///
/// # Errors
///
/// As [`print`].
pub(super) fn write(text: &str) -> Result<(), Failure> {
    check_output()?;
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::internal("cannot write to standard output", error))
}

/// Refuses to begin what nobody could be told of: a lease whose token is not known is lost to everybody.
///
/// # Errors
///
/// This process was started without a standard output.
pub(super) fn check_output() -> Result<(), Failure> {
    match is_output_closed() {
        true => Err(Failure::internal("cannot write to standard output", "it is closed")),
        false => Ok(()),
    }
}
