//! The line of processes that this one descends from, and what a process was started with.

#[cfg(target_os = "linux")]
pub(super) use linux::{ancestors, carries};

use std::io;

use super::Process;

/// The nearest ancestor that was started without the environment variable `name` set to `value`: who set it for all those in
/// between. Where the environment of another process cannot be read, the process that started this one.
///
/// # Errors
///
/// If there is none, or if a process in between may not be looked into.
pub(crate) fn who_set(name: &str, value: &str) -> io::Result<Process> {
    let mark = format!("{name}={value}");
    let number = nearest_without(mark.as_bytes())?;
    let process = Process::with_number(number)?;
    // Held by now; if its number had passed on to another before, the line would not lead there any more.
    if nearest_without(mark.as_bytes())? == number { Ok(process) } else { Err(io::ErrorKind::NotFound.into()) }
}

#[cfg(target_os = "linux")]
fn nearest_without(mark: &[u8]) -> io::Result<u32> {
    for number in ancestors().skip(1) {
        let about = |error: io::Error| io::Error::new(error.kind(), format!("cannot look at process {number}: {error}"));
        if !carries(number, mark).map_err(about)? {
            return u32::try_from(number).map_err(io::Error::other);
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

#[cfg(not(target_os = "linux"))]
fn nearest_without(_mark: &[u8]) -> io::Result<u32> {
    let parent = rustix::process::getppid().ok_or(io::ErrorKind::NotFound)?;
    u32::try_from(parent.as_raw_pid()).map_err(io::Error::other)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;

    use super::super::stat_fields;

    const PARENT_FIELD: usize = 4;

    /// This process, the one that it is a child of, and so on.
    pub(in super::super) fn ancestors() -> impl Iterator<Item = i32> {
        let parent = |number: &i32| {
            let [parent] = stat_fields(&number.to_string(), [PARENT_FIELD])?;
            i32::try_from(parent).ok().filter(|parent| *parent != 0)
        };
        std::iter::successors(i32::try_from(std::process::id()).ok(), parent)
    }

    /// Whether a process was started with this variable, `NAME=value`.
    pub(in super::super) fn carries(number: i32, mark: &[u8]) -> io::Result<bool> {
        let environment = std::fs::read(format!("/proc/{number}/environ"))?;
        Ok(environment.split(|byte| *byte == 0).any(|variable| variable == mark))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    const NAME: &str = "LEASE_TEST_ANCESTRY";
    const ITSELF: &str = "sys::process::ancestry::tests::who_set_a_variable_is_found_through_those_who_inherited_it";

    #[test]
    fn who_set_a_variable_is_found_through_those_who_inherited_it() {
        if let Ok(value) = std::env::var(NAME) {
            let (number, _) = value.split_once('-').unwrap();
            let found = who_set(NAME, &value).unwrap();
            assert_eq!(found.number().to_string(), number);
            assert!(found.command_line().unwrap().contains("lease_harness"), "{:?}", found.command_line());
            // Another value is nobody's here, so that the parent is the one that did not get it.
            assert_ne!(who_set(NAME, "other").unwrap().number().to_string(), number);
            return;
        }
        let me = std::env::current_exe().unwrap();
        let value = format!("{}-{ITSELF}", std::process::id());
        // The shells in between have the variable, the outer one of another value too.
        let script = "sh -c '\"$0\" --exact \"$1\"; exit $?' \"$0\" \"$1\"; exit $?";
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(me).arg(ITSELF).env(NAME, value).stdin(Stdio::null());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    #[test]
    fn a_variable_that_nobody_was_given_was_set_by_whoever_started_us() {
        let parent = rustix::process::getppid().unwrap().as_raw_pid();
        assert_eq!(who_set(NAME, "nobody's").unwrap().number().to_string(), parent.to_string());
    }
}
