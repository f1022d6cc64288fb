//! What the tests of the compositions share.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many words of its command line a program knew before `main` from the standard library.
pub static N_ARGS_BEFORE_MAIN: AtomicUsize = AtomicUsize::new(usize::MAX);

ctor::declarative::ctor! {
    /// Gives the test binary a store of its own below the target folder, unless it was given one: before anything that
    /// is leased before `main`, hence the priority.
    #[ctor(unsafe, priority = 100)]
    fn own_store() {
        N_ARGS_BEFORE_MAIN.store(std::env::args_os().count(), Ordering::SeqCst);
        if std::env::var_os("LEASE_STORE").is_none() {
            let folder = std::env::current_exe().expect("this program has a path").with_file_name("compositions-store");
            // SAFETY: In the first constructor of a program there is one thread.
            unsafe { std::env::set_var("LEASE_STORE", folder) };
        }
    }
}

/// Set to a file that gets a line whenever a program that knows of it lists its tests.
pub const LISTINGS: &str = "COMPOSITIONS_LISTINGS";

ctor::declarative::ctor! {
    /// Notes that this process only lists its tests.
    #[ctor(unsafe, priority = 100)]
    fn note_listing() {
        if let Some(file) = std::env::var_os(LISTINGS)
            && is_listing()
        {
            let mut file = OpenOptions::new().append(true).create(true).open(file).expect("the folder is there");
            file.write_all(b"listed\n").expect("there is room");
        }
    }
}

/// With musl the standard library does not know the arguments yet; the kernel does.
fn is_listing() -> bool {
    let of_kernel = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    of_kernel.split(|byte| *byte == 0).any(|word| word == b"--list") || std::env::args_os().any(|word| word == "--list")
}

/// Being the only one in a part of the program; created while another is there, it panics.
#[derive(Debug)]
pub struct Alone(&'static AtomicBool);

impl Alone {
    /// Enters the part that `inside` stands for.
    ///
    /// # Panics
    ///
    /// If somebody is inside.
    #[must_use]
    #[track_caller]
    pub fn enter(inside: &'static AtomicBool) -> Self {
        assert!(!inside.swap(true, Ordering::SeqCst), "two tests over one slot at once");
        Self(inside)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}
