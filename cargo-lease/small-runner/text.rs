//! Texts and lists of texts as the kernel gives and takes them.

use super::kernel::{self, Failure};

/// A text that ends with a zero and stays for as long as the process.
#[derive(Clone, Copy)]
pub struct Text(*const u8);

impl Text {
    /// # Safety
    /// There is such a text at the place.
    pub unsafe fn at(place: *const u8) -> Self {
        Self(place)
    }

    pub fn place(self) -> *const u8 {
        self.0
    }

    pub fn bytes(self) -> &'static [u8] {
        let mut length = 0;
        // SAFETY: a zero ends it, and nobody changes it.
        unsafe {
            while *self.0.add(length) != 0 {
                length += 1;
            }
            core::slice::from_raw_parts(self.0, length)
        }
    }

    /// What follows a beginning, if it has that.
    pub fn after(self, beginning: &[u8]) -> Option<Self> {
        for (place, byte) in beginning.iter().enumerate() {
            // SAFETY: the zero at its end is no byte of a beginning, and nothing behind it is looked at.
            if unsafe { *self.0.add(place) } != *byte {
                return None;
            }
        }
        // SAFETY: so long it is at least.
        Some(Self(unsafe { self.0.add(beginning.len()) }))
    }
}

/// A list of texts, ended by a null.
#[derive(Clone, Copy)]
pub struct Texts(*const *const u8);

impl Texts {
    /// # Safety
    /// There is such a list at the place, which stays for as long as the process.
    pub unsafe fn at(place: *const *const u8) -> Self {
        Self(place)
    }

    pub fn iter(self) -> impl Iterator<Item = Text> {
        let mut place = self.0;
        core::iter::from_fn(move || {
            // SAFETY: behind the null nothing is looked at.
            let text = unsafe { *place };
            if text.is_null() {
                return None;
            }
            // SAFETY: this was not the null, so there is something behind it.
            place = unsafe { place.add(1) };
            Some(Text(text))
        })
    }

    pub fn get(self, at: usize) -> Option<Text> {
        self.iter().nth(at)
    }

    /// Those that begin at a place; none if there are fewer.
    pub fn from(self, at: usize) -> Self {
        let n = self.iter().take(at).count();
        // SAFETY: so many there are.
        Self(unsafe { self.0.add(n) })
    }

    /// Those from one place to before another.
    pub fn between(self, from: usize, to: usize) -> Option<impl Iterator<Item = Text>> {
        Some(self.from(from).iter().take(to.checked_sub(from)?))
    }

    /// The value of a variable, if this is an environment.
    pub fn value_of(self, name: &[u8]) -> Option<Text> {
        self.iter().find_map(|text| text.after(name)?.after(b"="))
    }

    /// Becomes the program that the list begins with; comes back if that cannot be.
    pub fn exec(self, env: Self) -> Failure {
        self.get(0).map_or(Failure::ABSENT, |program| kernel::exec(program.place(), self.0, env.0))
    }
}
