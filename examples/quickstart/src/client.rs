//! The client: one request, one reply.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};

/// A connection to a note board.
#[derive(Debug)]
pub struct Client {
    replies: BufReader<TcpStream>,
}

impl Client {
    /// Connects to the note board on `port` of the loopback address.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn connect(port: u16) -> io::Result<Self> {
        Ok(Self { replies: BufReader::new(TcpStream::connect((Ipv4Addr::LOCALHOST, port))?) })
    }

    /// Adds a note and tells how many there are now.
    ///
    /// # Errors
    /// The connection broke, or the note has more than one line.
    pub fn add(&mut self, note: &str) -> io::Result<usize> {
        if note.contains('\n') {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a note is one line"));
        }
        self.request(&format!("add {note}"))
    }

    /// All notes, oldest first.
    ///
    /// # Errors
    /// The connection broke.
    pub fn list(&mut self) -> io::Result<Vec<String>> {
        let n_notes = self.request("list")?;
        (0..n_notes).map(|_| self.read_line()).collect()
    }

    /// Sends one request as it stands and reads the number in the reply.
    ///
    /// # Errors
    /// The connection broke, or the server answered with an error.
    pub fn request(&mut self, request: &str) -> io::Result<usize> {
        writeln!(self.replies.get_mut(), "{request}")?;
        let reply = self.read_line()?;
        let number = reply.strip_prefix("ok ").and_then(|number| number.parse().ok());
        number.ok_or_else(|| io::Error::other(reply))
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.replies.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end_matches('\n').to_owned())
    }
}
