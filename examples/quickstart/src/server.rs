//! The server: one thread that accepts, one thread a connection.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// A running note board. Dropping it closes its connections and frees the port.
///
/// # If the process dies
/// The port is free at once; the notes written so far stay in the folder.
#[derive(Debug)]
pub struct Server {
    port: u16,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    stopping: AtomicBool,
    board: Mutex<Board>,
    connections: Mutex<Vec<TcpStream>>,
}

#[derive(Debug)]
struct Board {
    notes: Vec<String>,
    file: File,
}

impl Server {
    /// Serves the notes of `dir` on `port` of the loopback address.
    ///
    /// # Errors
    /// The port is taken, or the folder cannot be read and written.
    pub fn start(port: u16, dir: &Path) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let shared = Arc::new(Shared {
            stopping: AtomicBool::new(false),
            board: Mutex::new(Board::open(dir.join("notes.txt"))?),
            connections: Mutex::default(),
        });
        let port = listener.local_addr()?.port();
        let acceptor = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.accept(&listener)
        });
        Ok(Self { port, shared, acceptor: Some(acceptor) })
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Only a connection wakes the thread that accepts.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

impl Shared {
    fn accept(&self, listener: &TcpListener) {
        thread::scope(|scope| {
            for stream in listener.incoming().map_while(Result::ok) {
                if self.stopping.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(peer) = stream.try_clone() else {
                    continue;
                };
                self.connections.lock().unwrap_or_else(PoisonError::into_inner).push(peer);
                // A connection that breaks is the client's affair; the others go on.
                scope.spawn(move || self.serve(stream));
            }
            for peer in self.connections.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                let _ = peer.shutdown(Shutdown::Both);
            }
        });
    }

    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut replies = stream.try_clone()?;
        for line in BufReader::new(stream).lines() {
            let reply = self.board.lock().unwrap_or_else(PoisonError::into_inner).answer(&line?)?;
            replies.write_all(reply.as_bytes())?;
        }
        Ok(())
    }
}

impl Board {
    fn open(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        let notes = fs::read_to_string(&path)?.lines().map(str::to_owned).collect();
        Ok(Self { notes, file })
    }

    fn answer(&mut self, request: &str) -> io::Result<String> {
        match request.split_once(' ') {
            Some(("add", note)) => {
                writeln!(self.file, "{note}")?;
                self.notes.push(note.to_owned());
                Ok(format!("ok {}\n", self.notes.len()))
            }
            None if request == "list" => {
                let lines: String = self.notes.iter().map(|note| format!("{note}\n")).collect();
                Ok(format!("ok {}\n{lines}", self.notes.len()))
            }
            _ => Ok(format!("error unknown request {request:?}\n")),
        }
    }
}
