//! A flag for whoever waits for something: a descriptor that is readable once it was raised.

pub(crate) use imp::Flag;

#[cfg(target_os = "linux")]
mod imp {
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    use rustix::event::{EventfdFlags, eventfd};

    /// A counter of the system's, which is half of what a pipe costs.
    #[derive(Debug)]
    pub(crate) struct Flag(OwnedFd);

    impl Flag {
        /// A flag that is not raised.
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self(eventfd(0, EventfdFlags::CLOEXEC)?))
        }

        /// Makes it readable. Who is the only one to do so is not kept waiting.
        pub(crate) fn raise(&self) {
            // One is added to none.
            let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
        }
    }

    impl AsFd for Flag {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io::{self, PipeReader, PipeWriter, Write};
    use std::os::fd::{AsFd, BorrowedFd};

    #[derive(Debug)]
    pub(crate) struct Flag {
        /// Gets one byte that nobody takes out, and so stays readable.
        told: PipeReader,
        tell: PipeWriter,
    }

    impl Flag {
        pub(crate) fn new() -> io::Result<Self> {
            let (told, tell) = io::pipe()?;
            Ok(Self { told, tell })
        }

        pub(crate) fn raise(&self) {
            // One byte goes into a pipe of ours that is empty and has a reader.
            let _ = (&self.tell).write_all(b"!");
        }
    }

    impl AsFd for Flag {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.told.as_fd()
        }
    }
}
