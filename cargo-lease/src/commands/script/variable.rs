//! A variable of a grant that is handed to a program as text: what cannot be the value of a variable is refused.

use lease_harness::json::utf16_units;

use crate::exit::Failure;

/// A variable, and the slot whose grant sets it.
#[derive(Clone, Copy)]
pub(super) struct Variable<'a> {
    pub(super) slot_id: &'a str,
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

impl Variable<'_> {
    /// Its value as text that a variable can have; else what is wrong.
    pub(super) fn checked(&self) -> Result<String, String> {
        if !is_name(self.name) {
            return Err("is no name of a variable".to_owned());
        }
        let value = String::from_utf16(&utf16_units(self.value)).map_err(|_| "holds text that is no UTF-8".to_owned())?;
        if value.contains('\0') {
            return Err("holds a NUL character".to_owned());
        }
        Ok(value)
    }

    /// Says why it cannot be done what was to be done.
    pub(super) fn refused(&self, why: &str, what: &str) -> Failure {
        Failure::usage(format!("slot {}: {} {why}, so it cannot be {what}", self.slot_id, self.name))
    }
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(is_part) && name.as_bytes().first().is_some_and(|first| !first.is_ascii_digit())
}
