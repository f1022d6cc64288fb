//! The child runner, with real processes: this program is the test, the wrapper and the command, by its first argument.

#[cfg(target_os = "linux")]
mod ends;
#[cfg(target_os = "linux")]
mod inherits;
#[cfg(target_os = "linux")]
mod races;
#[cfg(target_os = "linux")]
mod roles;
#[cfg(target_os = "linux")]
mod scene;
#[cfg(target_os = "linux")]
mod signals;

/// What the tests look at lies in `/proc`.
#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if let Some(role) = arguments.next().and_then(|name| roles::named(&name)) {
        return role(arguments.collect());
    }
    roles::leave_no_core();
    roles::ignore_nothing();
    let tests = [ends::tests(), inherits::tests(), races::tests(), signals::tests()].into_iter().flatten().collect();
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), tests).exit_code()
}
