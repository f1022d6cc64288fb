//! Ending as the command ended, and getting out of its way altogether.

use std::io;
use std::process::{Command, ExitCode};

use super::super::turns;
use super::Ended;
use crate::sys::process::replace_self;
use crate::sys::signal;

/// The exit code of a run whose lease was lost.
const LEASE_LOST: u8 = 75;
/// Shells add this to the number of the signal that ended a command.
const SIGNAL_BASE: i32 = 128;

/// Ends this process as the command ended, so that whoever waits for us sees what he would have seen without us.
///
/// An exit code is returned, to be returned from `main`. After a signal this does not return but dies of the same signal, without
/// a second core file; nothing is dropped, so that leases have to be given back before. Should the signal not kill us
/// (nothing kills the first process of a container that way), the code is 128 plus its number, as in a shell.
///
/// A lost lease is code 75; to say why is the caller's part. A command without a starter has nobody who looks: we die of
/// `SIGTERM`, which is what the command was sent.
pub fn exit_like(ended: &Ended) -> ExitCode {
    let signal = match ended {
        Ended::Exited(code) => return ExitCode::from(low_byte(*code)),
        Ended::Lost(_) => return ExitCode::from(LEASE_LOST),
        Ended::Killed(signal) => *signal,
        Ended::Orphaned => signal::TERMINATE,
    };
    signal::die_of(signal);
    ExitCode::from(low_byte(SIGNAL_BASE + signal))
}

/// Lets `SIGINT` and `SIGQUIT` end this process and what it starts from now on, also where they were ignored when it was started,
/// as a shell does it for what a script runs in the background.
///
/// For commands that catch them all the same, as nextest does: whoever interrupts the wrapper interrupts such a command.
///
/// # Errors
/// When the system does not allow it.
pub fn heed_interrupts() -> io::Result<()> {
    signal::heed_keys()
}

/// The part of an exit code that the system passes on.
fn low_byte(code: i32) -> u8 {
    code.to_le_bytes()[0]
}

/// Becomes `command`: it runs in place of this program, with the same process number, and finds what it would have
/// found without us, `SIGPIPE` included. For what needs no slot. Returns only if it cannot be run.
///
/// Nothing is dropped; a lease held by this process ends, since its proof of life is a descriptor that closes here. The turn
/// in a slot that a run holds stays with the process.
pub fn exec(command: Command) -> io::Error {
    let name = command.get_program().to_owned();
    let error = match turns::outlive_this_program() {
        Ok(()) => replace_self(command),
        Err(error) => error,
    };
    io::Error::new(error.kind(), format!("cannot run {}: {error}", name.display()))
}
