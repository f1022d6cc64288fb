//! What goes over the socket between who asks for a slot and who holds it: messages of a kind and some texts.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

/// A message's kind, its number of texts, and the length of each text.
const HEAD: usize = 8;
const LENGTH: usize = 4;
/// No message of ours is near this; who says that one is longer is not one of us.
const MOST: u32 = 1 << 24;

/// What a message is about, by numbers that the small runner of `cargo-lease` knows too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Somebody asks for a slot.
    Asks = 0,
    /// He has to wait, at this place.
    Waits = 1,
    /// He has one, with this environment.
    Granted = 2,
    /// He gets none.
    Refused = 3,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Asks, Self::Waits, Self::Granted, Self::Refused];

    fn of_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u32 == number)
    }
}

/// Sends a message.
pub(super) fn send<'a>(mut stream: &UnixStream, kind: Kind, texts: impl IntoIterator<Item = &'a [u8]>) -> io::Result<()> {
    let (mut message, mut n_texts) = (vec![0; HEAD], 0_u32);
    for text in texts {
        let length = u32::try_from(text.len()).map_err(io::Error::other)?;
        message.extend_from_slice(&length.to_le_bytes());
        message.extend_from_slice(text);
        n_texts += 1;
    }
    message[..LENGTH].copy_from_slice(&(kind as u32).to_le_bytes());
    message[LENGTH..HEAD].copy_from_slice(&n_texts.to_le_bytes());
    stream.write_all(&message)
}

/// Waits for the next message. The reader may have read on, and so is kept for the one after it.
///
/// # Errors
/// `UnexpectedEof` when nobody sends any more, `InvalidData` when this is no message.
pub(super) fn receive(stream: &mut impl Read) -> io::Result<(Kind, Vec<Vec<u8>>)> {
    let kind = Kind::of_number(number(stream)?).ok_or(io::ErrorKind::InvalidData)?;
    let n_texts = number(stream)?;
    let texts = (0..n_texts).map(|_| text(stream)).collect::<io::Result<_>>()?;
    Ok((kind, texts))
}

fn text(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let length = number(stream)?;
    let mut text = Vec::new();
    stream.take(u64::from(length)).read_to_end(&mut text)?;
    if text.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(text)
}

fn number(stream: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; LENGTH];
    stream.read_exact(&mut bytes)?;
    let number = u32::from_le_bytes(bytes);
    if number <= MOST { Ok(number) } else { Err(io::ErrorKind::InvalidData.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those who are built apart from this have them written down.
    #[test]
    fn the_numbers_of_messages_stay() {
        let asks = [0, 0, 0, 0, 0, 0, 0, 0];
        let granted = [2, 0, 0, 0, 0, 0, 0, 0];
        for (kind, bytes) in [(Kind::Asks, asks), (Kind::Granted, granted)] {
            let (here, mut there) = UnixStream::pair().unwrap();
            send(&here, kind, []).unwrap();
            let mut sent = [0; HEAD];
            there.read_exact(&mut sent).unwrap();
            assert_eq!(sent, bytes);
        }
    }

    #[test]
    fn what_is_sent_is_received() {
        let (here, there) = UnixStream::pair().unwrap();
        let long = vec![b'x'; 100_000];
        let texts: [&[u8]; 4] = [b"", b"a=b\n\0", "\u{e4}".as_bytes(), &long];
        let mut there = io::BufReader::new(there);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                send(&here, Kind::Waits, []).unwrap();
                send(&here, Kind::Granted, texts).unwrap();
            });
            assert_eq!(receive(&mut there).unwrap(), (Kind::Waits, Vec::new()));
            assert_eq!(receive(&mut there).unwrap(), (Kind::Granted, texts.map(<[u8]>::to_vec).to_vec()));
        });
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let wrong: [(&[u8], io::ErrorKind); 5] = [
            (b"", io::ErrorKind::UnexpectedEof),
            (&[9, 0, 0, 0, 0, 0, 0, 0], io::ErrorKind::InvalidData),
            (&[1, 0, 0, 0, 255, 255, 255, 255], io::ErrorKind::InvalidData),
            (&[1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, b'a'], io::ErrorKind::UnexpectedEof),
            (&[1, 0, 0, 0, 1], io::ErrorKind::UnexpectedEof),
        ];
        for (bytes, kind) in wrong {
            let (mut here, mut there) = UnixStream::pair().unwrap();
            here.write_all(bytes).unwrap();
            drop(here);
            assert_eq!(receive(&mut there).unwrap_err().kind(), kind, "{bytes:?}");
        }
    }
}
