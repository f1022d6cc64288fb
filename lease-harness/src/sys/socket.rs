//! Sockets with a place in a folder, however long its path is, and who is at the other end of one.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
#[cfg(target_os = "linux")]
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use super::process::Process;

/// Listens at a path.
pub(crate) fn listen_at(path: &Path) -> io::Result<UnixListener> {
    reach(path, |path| UnixListener::bind(path))
}

/// Connects to who listens at a path.
pub(crate) fn connect_to(path: &Path) -> io::Result<UnixStream> {
    reach(path, |path| UnixStream::connect(path))
}

/// Lets nobody wait for who connects, now or later: whoever does is told of an error. Where the system has no such thing
/// (it is Linux that has it) they wait on.
pub(crate) fn stop_listening(listener: &UnixListener) {
    // SAFETY: the call takes numbers, and the descriptor is open.
    unsafe { libc::shutdown(listener.as_raw_fd(), libc::SHUT_RDWR) };
}

/// The system takes some hundred bytes; a longer path is shortened by a descriptor of its folder.
fn reach<T>(path: &Path, with: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
    match (with(path), path.parent(), path.file_name()) {
        (Err(error), Some(folder), Some(name)) if error.kind() == io::ErrorKind::InvalidInput => {
            let folder = File::open(folder)?;
            with(&Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name))
        }
        (done, _, _) => done,
    }
}

/// A connected socket that this process was left by the program that it was before.
///
/// # Errors
/// When the descriptor is none, or not that of such a socket.
#[cfg(target_os = "linux")]
pub(crate) fn left_to_us(descriptor: RawFd) -> io::Result<UnixStream> {
    if descriptor < 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: only looked at, and closed by nobody meanwhile.
    let looked_at = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let mut domain: libc::c_int = 0;
    option_of(&looked_at, libc::SO_DOMAIN, &mut domain)?;
    if domain != libc::AF_UNIX {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    rustix::io::fcntl_setfd(looked_at, rustix::io::FdFlags::CLOEXEC)?;
    // SAFETY: who was this process before has left it to us, and nobody else here knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }.into())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn left_to_us(_descriptor: RawFd) -> io::Result<UnixStream> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The process that has connected, whatever numbers it sees itself.
///
/// # Errors
/// When it has ended, or is none that this one can see, as one of another container.
#[cfg(target_os = "linux")]
pub(crate) fn peer(stream: &UnixStream) -> io::Result<Process> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    option_of(stream, libc::SO_PEERCRED, &mut credentials)?;
    let mut descriptor: RawFd = -1;
    option_of(stream, libc::SO_PEERPIDFD, &mut descriptor)?;
    // SAFETY: the system has just made it for us.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    Process::held_by(credentials.pid, descriptor)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn peer(_stream: &UnixStream) -> io::Result<Process> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn option_of<T>(stream: &impl AsRawFd, name: libc::c_int, value: &mut T) -> io::Result<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    let place = std::ptr::from_mut(value).cast();
    // SAFETY: the system writes at most as many bytes as the value has, and the callers' values are made of plain numbers.
    let got = unsafe { libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, name, place, &raw mut length) };
    if got == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_path_may_be_long() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(200));
        std::fs::create_dir(&deep).unwrap();
        let listener = listen_at(&deep.join("slots")).unwrap();
        connect_to(&deep.join("slots")).unwrap().write_all(b"x").unwrap();
        let mut said = String::new();
        listener.accept().unwrap().0.read_to_string(&mut said).unwrap();
        assert_eq!(said, "x");
        assert_eq!(connect_to(&deep.join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn only_a_socket_is_left_to_us() {
        use std::os::fd::IntoRawFd;

        let (mut here, there) = UnixStream::pair().unwrap();
        rustix::io::fcntl_setfd(&there, rustix::io::FdFlags::empty()).unwrap();
        let mut left = left_to_us(there.into_raw_fd()).unwrap();
        assert_eq!(rustix::io::fcntl_getfd(&left).unwrap(), rustix::io::FdFlags::CLOEXEC);
        here.write_all(b"x").unwrap();
        drop(here);
        let mut said = String::new();
        left.read_to_string(&mut said).unwrap();
        assert_eq!(said, "x");
        let file = File::open("/dev/null").unwrap();
        assert!(left_to_us(file.as_raw_fd()).is_err());
        assert!([RawFd::MAX, -1].into_iter().all(|none| left_to_us(none).is_err()));
    }

    #[test]
    fn nobody_waits_where_nobody_listens_any_more() {
        let dir = tempfile::tempdir().unwrap();
        let listener = listen_at(&dir.path().join("slots")).unwrap();
        std::thread::scope(|scope| {
            let waiting: Vec<_> = (0..3).map(|_| scope.spawn(|| listener.accept().is_err())).collect();
            std::thread::sleep(std::time::Duration::from_millis(5));
            stop_listening(&listener);
            assert!(waiting.into_iter().all(|waits| waits.join().unwrap()));
        });
        assert!(listener.accept().is_err());
        assert!(connect_to(&dir.path().join("slots")).is_err());
    }

    #[test]
    fn the_peer_is_the_process_at_the_other_end() {
        let (here, _there) = UnixStream::pair().unwrap();
        let peer = peer(&here).unwrap();
        assert_eq!((peer.number(), peer.is_gone()), (std::process::id(), false));
    }
}
