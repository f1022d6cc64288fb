//! Failures, recorded and actual.

use lease_harness::json::Json;
use lease_harness::pool::{PoolError, PoolErrorKind};
use lease_harness::store::{StoreError, StoreErrorKind};

use super::load::text;
use super::symbols::Symbols;

/// Why a call failed: whether it is a usage error, and the message.
pub(super) struct Failure {
    is_usage: bool,
    message: String,
}

/// What a call came to: its result as compact JSON, or its failure.
pub(super) type Answer = Result<String, Failure>;

impl Failure {
    /// A usage error with this message.
    pub(super) fn usage(message: impl ToString) -> Self {
        Self { is_usage: true, message: message.to_string() }
    }

    fn shown(&self) -> String {
        let class = if self.is_usage { "usage error" } else { "error" };
        format!("{class}: {}", self.message)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self { is_usage: error.kind() == StoreErrorKind::Usage, message: error.to_string() }
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        Self { is_usage: error.kind() == PoolErrorKind::Usage, message: error.to_string() }
    }
}

/// Compares an answer with the `result` or `error` of a step.
pub(super) fn compare(step: &Json, answer: &Answer, symbols: &mut Symbols) -> Result<(), String> {
    let error = step.get("error");
    match (step.get("result").and_then(Json::as_str), answer) {
        (Some(recorded), Ok(actual)) => symbols.compare(recorded, actual),
        (Some(recorded), Err(failure)) => Err(format!("recorded {recorded}\n    but is {}", failure.shown())),
        (None, Ok(actual)) => Err(format!("recorded {}\n    but is {actual}", error.map(Json::to_text).unwrap_or_default())),
        (None, Err(failure)) => compare_error(error.expect("a step has a result or an error"), failure, symbols),
    }
}

/// Compares a failure with a recorded `{class, message}`. What a system or an engine says in its own words is not
/// compared.
pub(super) fn compare_error(recorded: &Json, failure: &Failure, symbols: &mut Symbols) -> Result<(), String> {
    let (class, message) = (text(recorded, "class"), text(recorded, "message"));
    let is_usage = matches!(class, "LeaseUsageError" | "PoolConfigError");
    if is_usage != failure.is_usage {
        return Err(format!("recorded {class}: {message}\n    but is {}", failure.shown()));
    }
    if class == "TypeError" || message.starts_with("EISDIR") {
        return Ok(());
    }
    let own_words = |message: &str| message.find("is not valid JSON").or_else(|| message.find("Invalid regular expression"));
    match (own_words(message), own_words(&failure.message)) {
        (Some(recorded), Some(actual)) => symbols.compare(&message[..recorded], &failure.message[..actual]),
        _ => symbols.compare(message, &failure.message),
    }
}
