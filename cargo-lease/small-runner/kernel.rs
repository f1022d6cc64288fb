//! The few things that the kernel does for us, and the first instruction: as Linux has them on x86-64.

use core::arch::{asm, global_asm};
use core::ffi::c_int;

global_asm!(".globl _start", "_start:", "xor %ebp, %ebp", "mov %rsp, %rdi", "and $-16, %rsp", "call begin", options(att_syntax));

mod number {
    pub const WRITE: usize = 1;
    pub const CLOSE: usize = 3;
    pub const SOCKET: usize = 41;
    pub const CONNECT: usize = 42;
    pub const SENDTO: usize = 44;
    pub const RECVFROM: usize = 45;
    pub const EXECVE: usize = 59;
    pub const GETCWD: usize = 79;
    pub const EXIT_GROUP: usize = 231;
}

const AF_UNIX: usize = 1;
const SOCK_STREAM: usize = 1;
const MSG_PEEK: usize = 2;
const MSG_WAITALL: usize = 0x100;
const MSG_NOSIGNAL: usize = 0x4000;
const EINTR: isize = -4;
/// A socket's address: its family, and a path with a zero.
const PATH: usize = 108;

/// # Safety
/// What the call does with its arguments is all right.
unsafe fn call(number: usize, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let answer: isize;
    // SAFETY: the caller's.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => answer, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e,
            in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    answer
}

/// The same until no signal cuts it off; none if it fails.
///
/// # Safety
/// As [`call`].
unsafe fn done(number: usize, arguments: [usize; 6]) -> Option<usize> {
    loop {
        // SAFETY: the caller's.
        match unsafe { call(number, arguments) } {
            EINTR => {}
            answer => return usize::try_from(answer).ok(),
        }
    }
}

pub fn exit(code: c_int) -> ! {
    loop {
        // SAFETY: nothing is left behind this.
        unsafe { call(number::EXIT_GROUP, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Comes back if it cannot be.
pub fn exec(program: *const u8, words: *const *const u8, env: *const *const u8) -> Failure {
    // SAFETY: the kernel checks what it is given.
    Failure(unsafe { call(number::EXECVE, [program as usize, words as usize, env as usize, 0, 0, 0]) })
}

/// Why a program could not be started.
#[derive(Clone, Copy)]
pub struct Failure(isize);

impl Failure {
    pub const ABSENT: Self = Self(-2);
    /// Too many words, or too long ones.
    pub const TOO_MUCH: Self = Self(-7);

    pub fn is_of_absence(self) -> bool {
        self.0 == Self::ABSENT.0
    }

    /// For people, as the C library says it.
    pub fn bytes(self) -> &'static [u8] {
        match self.0 {
            -2 => b"No such file or directory (os error 2)",
            -7 => b"Argument list too long (os error 7)",
            -8 => b"Exec format error (os error 8)",
            -12 => b"Cannot allocate memory (os error 12)",
            -13 => b"Permission denied (os error 13)",
            -26 => b"Text file busy (os error 26)",
            _ => b"the system does not start it",
        }
    }
}

/// On standard error.
pub fn say(text: &[u8]) {
    // SAFETY: so many bytes are there.
    unsafe { call(number::WRITE, [2, text.as_ptr() as usize, text.len(), 0, 0, 0]) };
}

/// The folder that we are in.
pub fn folder(room: &'static mut [u8]) -> Option<&'static [u8]> {
    // SAFETY: the kernel writes no more than there is room for.
    let length = unsafe { done(number::GETCWD, [room.as_mut_ptr() as usize, room.len(), 0, 0, 0, 0]) }?;
    // A zero ends it. One that is no longer below our root has another beginning.
    room.get(..length.checked_sub(1)?).filter(|path| path.first() == Some(&b'/'))
}

/// A socket that is connected. Another program of this process keeps it, if it is not closed.
pub struct Stream(usize);

impl Stream {
    pub fn connect(path: &[u8]) -> Option<Self> {
        let mut address = [0_u8; 2 + PATH];
        let (family, place) = address.split_at_mut_checked(2)?;
        family.iter_mut().zip((AF_UNIX as u16).to_ne_bytes()).for_each(|(to, from)| *to = from);
        // With a zero behind it.
        let place = place.get_mut(..path.len() + 1)?;
        place.iter_mut().zip(path).for_each(|(to, from)| *to = *from);
        // SAFETY: two numbers, and an address of its length.
        unsafe {
            let stream = Self(done(number::SOCKET, [AF_UNIX, SOCK_STREAM, 0, 0, 0, 0])?);
            match done(number::CONNECT, [stream.0, address.as_ptr() as usize, address.len(), 0, 0, 0]) {
                Some(_) => Some(stream),
                None => {
                    stream.close();
                    None
                }
            }
        }
    }

    pub fn number(&self) -> u32 {
        self.0 as u32
    }

    /// Sends all of it.
    pub fn send(&self, bytes: &[u8]) -> Option<()> {
        let mut left = bytes;
        while !left.is_empty() {
            // SAFETY: so many bytes are there.
            let n = unsafe { done(number::SENDTO, [self.0, left.as_ptr() as usize, left.len(), MSG_NOSIGNAL, 0, 0]) }?;
            left = left.get(n..)?;
        }
        Some(())
    }

    /// How many there are when some have come.
    pub fn receive(&self, room: &mut [u8]) -> Option<usize> {
        // SAFETY: the kernel writes no more than there is room for.
        unsafe { done(number::RECVFROM, [self.0, room.as_mut_ptr() as usize, room.len(), 0, 0, 0]) }
    }

    /// The same when all have come that there is room for, which can be received once more.
    pub fn peek(&self, room: &mut [u8]) -> Option<usize> {
        // SAFETY: the kernel writes no more than there is room for.
        unsafe { done(number::RECVFROM, [self.0, room.as_mut_ptr() as usize, room.len(), MSG_PEEK | MSG_WAITALL, 0, 0]) }
    }

    pub fn close(self) {
        // SAFETY: it is ours.
        unsafe { call(number::CLOSE, [self.0, 0, 0, 0, 0, 0]) };
    }
}
