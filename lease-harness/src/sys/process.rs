//! stub until the child branch lands
use std::process::Command;
pub(crate) fn die_with_parent(_command: &mut Command) {}
pub(crate) fn kill_marked(_name: &str, _value: &str) -> std::io::Result<usize> {
    Ok(0)
}
