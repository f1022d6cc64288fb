//! The arguments of this process, also before `main`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

/// The arguments without the program, if they can be had.
///
/// Before `main` the standard library knows them on most systems, but not with musl, whose constructors are given none;
/// the kernel knows them there.
pub(super) fn process_args() -> Option<Vec<OsString>> {
    let mut args = std::env::args_os();
    match args.next() {
        Some(_program) => Some(args.collect()),
        None => split_cmdline(std::fs::read("/proc/self/cmdline").ok()?),
    }
}

/// Splits the kernel's form, in which every word ends with a zero byte, and drops the program.
fn split_cmdline(mut bytes: Vec<u8>) -> Option<Vec<OsString>> {
    if bytes.pop()? != 0 {
        return None;
    }
    Some(bytes.split(|byte| *byte == 0).skip(1).map(|word| OsString::from_vec(word.to_vec())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_form() {
        let words = |bytes: &[u8]| split_cmdline(bytes.to_vec());
        assert_eq!(words(b"prog\0--exact\0a b\0"), Some(vec!["--exact".into(), "a b".into()]));
        assert_eq!(words(b"prog\0\0x\0"), Some(vec!["".into(), "x".into()]));
        assert_eq!(words(b"prog\0"), Some(vec![]));
        assert_eq!(words(b""), None);
        assert_eq!(words(b"cut off"), None);
    }

    #[test]
    fn both_sources_agree() {
        let Ok(kernel) = std::fs::read("/proc/self/cmdline") else {
            return; // Not every system has it.
        };
        assert_eq!(split_cmdline(kernel), process_args());
    }
}
