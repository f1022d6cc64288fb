//! What the parent answers: a number for its kind, one for how many texts it has, and each of these behind its length.

use super::kernel::Stream;
use super::room::{Filled, Room};
use super::text::{Text, Texts};

/// The kinds of messages, as the parent numbers them.
pub const ASKS: u32 = 0;
const GRANTED: u32 = 2;

const HEAD: usize = 8;
/// A list can have so many texts.
const MOST: usize = 1 << 14;

static VALUES: Room<{ 1 << 20 }> = Room::new();
static LIST: Room<{ MOST * size_of::<*const u8>() }> = Room::new();

pub enum Reply {
    /// A slot, with these names and values.
    Granted(Pairs),
    /// Something else, which is still to be read.
    Other,
    /// A slot, with more than there is room for.
    TooMuch,
    /// Nobody answers.
    None,
}

impl Reply {
    /// Waits for the first answer.
    pub fn wait(stream: &Stream, room: &'static mut [u8]) -> Self {
        let mut head = [0; HEAD];
        match stream.peek(&mut head) {
            Some(HEAD) if int_at(&head, 0) == Some(GRANTED) => {}
            None | Some(0) => return Self::None,
            Some(_) => return Self::Other,
        }
        let mut n = 0;
        loop {
            let Some(rest) = room.get_mut(n..).filter(|rest| !rest.is_empty()) else { return Self::TooMuch };
            match stream.receive(rest) {
                None | Some(0) => return Self::None,
                Some(more) => n += more,
            }
            if room.get(..n).is_some_and(is_whole) {
                let room: &'static [u8] = room;
                return Self::Granted(Pairs { texts: texts_of(room) });
            }
        }
    }
}

/// The environment of a slot.
#[derive(Clone, Copy)]
pub struct Pairs {
    texts: Told<'static>,
}

impl Iterator for Pairs {
    type Item = (&'static [u8], &'static [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        Some((self.texts.next()?, self.texts.next()?))
    }
}

/// The texts of a message that are still to be read.
#[derive(Clone, Copy)]
struct Told<'a> {
    message: &'a [u8],
    left: u32,
}

impl<'a> Iterator for Told<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let length = int_at(self.message, 0)? as usize;
        let text = self.message.get(4..4 + length)?;
        self.message = self.message.get(4 + length..)?;
        Some(text)
    }
}

fn texts_of(message: &[u8]) -> Told<'_> {
    Told { message: message.get(HEAD..).unwrap_or_default(), left: int_at(message, 4).unwrap_or(0) }
}

/// Whether all texts of a message have come.
fn is_whole(message: &[u8]) -> bool {
    int_at(message, 4).is_some_and(|n_texts| texts_of(message).count() == n_texts as usize)
}

fn int_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(four.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

/// An environment with these variables in the place of those of the same names; none if there are too many.
pub fn envs_with(env: Texts, pairs: Pairs) -> Option<Texts> {
    let mut values = VALUES.take();
    let is_set = |text: Text| pairs.into_iter().any(|(name, _)| text.after(name).is_some_and(|rest| rest.after(b"=").is_some()));
    let mut list = List::new();
    for text in env.iter().filter(|text| !is_set(*text)) {
        list.push(text)?;
    }
    for (name, value) in pairs {
        let (own, rest) = values.split_at_mut_checked(name.len() + value.len() + 2)?;
        values = rest;
        let mut variable = Filled::new(own);
        for part in [name, b"=", value, b"\0"] {
            variable.push(part)?;
        }
        list.push(variable.text())?;
    }
    list.texts()
}

pub fn list_of(texts: impl Iterator<Item = Text>) -> Option<Texts> {
    let mut list = List::new();
    for text in texts {
        list.push(text)?;
    }
    list.texts()
}

struct List(Filled);

impl List {
    fn new() -> Self {
        Self(Filled::new(LIST.take()))
    }

    fn push(&mut self, text: Text) -> Option<()> {
        self.0.push(&(text.place() as usize).to_ne_bytes())
    }

    fn texts(mut self) -> Option<Texts> {
        self.0.push(&0_usize.to_ne_bytes())?;
        // SAFETY: pointers to texts and a null; rooms begin where a pointer may, and stay.
        Some(unsafe { Texts::at(self.0.start().cast()) })
    }
}
