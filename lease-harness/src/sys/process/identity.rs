//! A process by its number and its start, for who was not there to get hold of it.

use super::Process;

/// Its place in the system's line of state.
#[cfg(target_os = "linux")]
const START_FIELD: usize = 22;

/// This process, as another of this machine can find out whether it still lives; the same when it becomes another program.
/// None where processes have no start that can be seen.
pub(crate) fn identity() -> Option<String> {
    let number = std::process::id();
    started(number).map(|start| format!("{number} {start}"))
}

/// Whether another process than this one has that identity and has not ended. A number that means another process here, as one
/// of a container, is nobody's.
pub(crate) fn is_another_alive(identity: &str) -> bool {
    let numbers = || {
        let (number, start) = identity.split_once(' ')?;
        Some((number.parse::<u32>().ok()?, start.parse::<u64>().ok()?))
    };
    let Some((number, start)) = numbers().filter(|(number, _)| *number != std::process::id()) else { return false };
    // Held before its start is read, as the number may pass on.
    Process::with_number(number).is_ok_and(|process| started(number) == Some(start) && !process.is_gone())
}

#[cfg(target_os = "linux")]
fn started(number: u32) -> Option<u64> {
    super::stat_fields(&number.to_string(), [START_FIELD]).map(|[start]| start)
}

#[cfg(not(target_os = "linux"))]
fn started(_number: u32) -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_known_until_it_has_ended() {
        let own = identity().unwrap();
        assert!(!is_another_alive(&own), "that is this one");
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let (number, start) = (child.id(), started(child.id()).unwrap());
        assert!(is_another_alive(&format!("{number} {start}")));
        for other in [format!("{number} {}", start + 1), format!("{number}"), format!("{number} now"), String::new()] {
            assert!(!is_another_alive(&other), "{other:?}");
        }
        let process = Process::with_number(number).unwrap();
        drop(child.stdin.take());
        super::super::sleep_until_readable(&[process.end_fd()], None).unwrap();
        assert!(!is_another_alive(&format!("{number} {start}")), "it has ended, and nobody has asked how");
        child.wait().unwrap();
        assert!(!is_another_alive(&format!("{number} {start}")));
    }
}
