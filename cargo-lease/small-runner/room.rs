//! Memory that is there from the start: there is nobody to ask for more.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

use super::text::Text;

/// So many bytes, which may also be pointers. Those that nobody writes to cost nothing.
#[repr(align(16))]
pub struct Room<const N: usize> {
    bytes: UnsafeCell<[u8; N]>,
    is_taken: AtomicBool,
}

// SAFETY: the bytes are given to one only.
unsafe impl<const N: usize> Sync for Room<N> {}

impl<const N: usize> Room<N> {
    pub const fn new() -> Self {
        Self { bytes: UnsafeCell::new([0; N]), is_taken: AtomicBool::new(false) }
    }

    /// For whoever asks first; nothing for all others.
    #[expect(clippy::mut_from_ref, reason = "only the first gets them")]
    pub fn take(&'static self) -> &'static mut [u8] {
        if self.is_taken.swap(true, Ordering::Relaxed) {
            return &mut [];
        }
        // SAFETY: nobody else gets here.
        unsafe { &mut *self.bytes.get() }
    }
}

/// Bytes that are filled from the front. What has no place is nothing.
pub struct Filled {
    room: &'static mut [u8],
    n: usize,
}

impl Filled {
    pub fn new(room: &'static mut [u8]) -> Self {
        Self { room, n: 0 }
    }

    pub fn push(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.n.checked_add(bytes.len())?;
        let place = self.room.get_mut(self.n..end)?;
        place.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        self.n = end;
        Some(())
    }

    /// As messages have numbers.
    pub fn push_int(&mut self, number: u32) -> Option<()> {
        self.push(&number.to_le_bytes())
    }

    /// For people.
    pub fn push_number(&mut self, number: u32) -> Option<()> {
        if let Some(tens) = Some(number / 10).filter(|tens| *tens != 0) {
            self.push_number(tens)?;
        }
        self.push(&[b'0' + (number % 10) as u8])
    }

    pub fn bytes(&self) -> &[u8] {
        self.room.get(..self.n).unwrap_or_default()
    }

    /// Where what has been pushed begins.
    pub fn start(self) -> *const u8 {
        self.room.as_ptr()
    }

    /// What has been pushed, the last of it a zero.
    pub fn text(self) -> Text {
        // SAFETY: a zero ends it, and the room is there for as long as the process.
        unsafe { Text::at(self.start()) }
    }
}
