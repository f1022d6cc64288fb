//! A process by its number and its start, for who was not there to get hold of it.

use std::io;

use super::Process;
use crate::sys::disk;

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
    another_with(identity).is_some_and(|process| !process.is_gone())
}

fn another_with(identity: &str) -> Option<Process> {
    let (number, start) = identity.split_once(' ')?;
    let (number, start) = (number.parse::<u32>().ok()?, start.parse::<u64>().ok()?);
    if number == std::process::id() {
        return None;
    }
    // Held before its start is read, as the number may pass on.
    let process = Process::with_number(number).ok()?;
    (started(number) == Some(start)).then_some(process)
}

/// A process as others of this machine know it, also after a restart of the machine; none where that cannot be said.
pub(crate) fn known_as(process: &Process) -> Option<String> {
    let number = process.number();
    let start = started(number).filter(|_| !process.is_gone())?;
    Some(format!("{number} {start} {}", disk::boot_id()))
}

/// Kills the process that is [known](known_as) so, if it lives, and waits until it is gone. This process and its ancestors are
/// spared, and one that belongs to somebody else is.
///
/// # Errors
/// `TimedOut` when it is not gone after two seconds.
pub(crate) fn kill_known(name: &str) -> io::Result<()> {
    let Some((identity, _)) = name.rsplit_once(' ').filter(|(_, boot)| *boot == disk::boot_id()) else { return Ok(()) };
    match another_with(identity).filter(|process| !is_ancestor(process)).map(|process| process.kill()) {
        Some(Err(error)) if error.kind() == io::ErrorKind::TimedOut => Err(error),
        _ => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn is_ancestor(process: &Process) -> bool {
    super::ancestry::ancestors().any(|number| u32::try_from(number) == Ok(process.number()))
}

#[cfg(not(target_os = "linux"))]
fn is_ancestor(_process: &Process) -> bool {
    false
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
    fn who_is_known_is_killed_and_no_other() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let known = known_as(&Process::with_number(child.id()).unwrap()).unwrap();
        let own = known_as(&Process::with_number(std::process::id()).unwrap()).unwrap();
        let parts: Vec<_> = known.split(' ').map(str::to_owned).collect();
        let others =
            [format!("{} 1 {}", parts[0], parts[2]), format!("{} {} other-boot", parts[0], parts[1]), parts[0].clone(), own];
        for other in others {
            kill_known(&other).unwrap();
        }
        assert!(child.try_wait().unwrap().is_none());
        kill_known(&known).unwrap();
        assert!(!child.wait().unwrap().success());
        kill_known(&known).unwrap();
    }

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
