//! Asking the process that holds slots for its run's tests.

use std::ffi::OsString;
use std::io::{self, BufReader};
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::error::{SlotError, SlotErrorKind};
use super::super::request::Waiting;
use super::super::run_notes::SlotNotes;
use super::wire::{self, Kind};
use crate::store::Env;
use crate::sys::socket::{connect_to, left_to_us};

/// Who asks: a process that is about to become a test, and has to wait for its slot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Asker {
    /// Its working directory.
    pub folder: PathBuf,
    /// The package, if cargo says which.
    pub package: Option<String>,
    /// What runs, for people.
    pub what: String,
    /// What it is told of its run, for the notes of that.
    pub(super) env: Vec<(String, String)>,
}

/// What came of asking.
#[derive(Debug)]
pub enum Asked {
    /// A slot, with this environment. It is held as long as this process lives.
    Granted(Vec<(OsString, OsString)>),
    /// None, and why.
    Refused(SlotError),
    /// There is nobody who could be asked.
    NobodyThere,
}

impl Asker {
    /// What whoever asks tells of its environment, if it is there.
    pub const VARIABLES: [&'static str; 5] = SlotNotes::VARIABLES;

    /// This process.
    #[must_use]
    pub fn this(folder: PathBuf, package: Option<String>, what: String) -> Self {
        let of_run = |name: &str| Some((name.to_owned(), Env::Process.get(name)?));
        let env = Self::VARIABLES.into_iter().filter_map(of_run).collect();
        Self { folder, package, what, env }
    }

    /// Asks for a slot and waits for the answer; `on_wait` is called each time the place in the queue changes.
    ///
    /// # If the process dies
    /// While it waits, its place in the queue is dropped; afterwards its slot is given back.
    pub fn ask(&self, socket: &Path, on_wait: impl FnMut(&Waiting)) -> Asked {
        let Ok(stream) = connect_to(socket) else { return Asked::NobodyThere };
        if self.send(&stream).is_err() {
            return Asked::NobodyThere;
        }
        hear(&stream, on_wait)
    }

    /// Waits for the answer to what this process has asked already, before it became this program. It was left the socket's
    /// descriptor, which is nobody else's.
    pub fn go_on(descriptor: RawFd, on_wait: impl FnMut(&Waiting)) -> Asked {
        left_to_us(descriptor).map_or(Asked::NobodyThere, |stream| hear(&stream, on_wait))
    }

    pub(super) fn send(&self, stream: &UnixStream) -> io::Result<()> {
        let own =
            [self.folder.as_os_str().as_bytes(), self.package.as_deref().unwrap_or_default().as_bytes(), self.what.as_bytes()];
        let env = self.env.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
        wire::send(stream, Kind::Asks, own.into_iter().chain(env))
    }

    /// The other end of [`Asker::send`].
    pub(super) fn of_texts(texts: Vec<Vec<u8>>) -> Option<Self> {
        let mut texts = texts.into_iter();
        let folder = OsString::from_vec(texts.next()?).into();
        let package = Some(String::from_utf8(texts.next()?).ok()?).filter(|name| !name.is_empty());
        let what = String::from_utf8(texts.next()?).ok()?;
        let texts = texts.map(String::from_utf8).collect::<Result<Vec<_>, _>>().ok()?;
        let env = texts.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        Some(Self { folder, package, what, env })
    }
}

fn hear(stream: &UnixStream, mut on_wait: impl FnMut(&Waiting)) -> Asked {
    let mut answers = BufReader::new(stream);
    let mut has_heard = false;
    loop {
        match wire::receive(&mut answers) {
            Ok((Kind::Waits, texts)) => waiting(&texts).iter().for_each(&mut on_wait),
            Err(_) if !has_heard => return Asked::NobodyThere,
            Ok((Kind::Granted, texts)) => return Asked::Granted(pairs(&texts)),
            Ok((Kind::Refused, texts)) => return Asked::Refused(refusal(&texts)),
            Ok((Kind::Asks, _)) => return Asked::Refused(gone(&io::ErrorKind::InvalidData.into())),
            Err(error) => return Asked::Refused(gone(&error)),
        }
        has_heard = true;
    }
}

fn pairs(texts: &[Vec<u8>]) -> Vec<(OsString, OsString)> {
    let text = |text: &Vec<u8>| OsString::from_vec(text.clone());
    texts.chunks_exact(2).map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
}

pub(super) fn told_of_wait(waiting: &Waiting) -> [Vec<u8>; 3] {
    let position = u64::try_from(waiting.position).unwrap_or(u64::MAX);
    let eta = waiting.eta.as_secs_f64();
    [waiting.pool.clone().into_bytes(), position.to_le_bytes().to_vec(), eta.to_le_bytes().to_vec()]
}

fn waiting(texts: &[Vec<u8>]) -> Option<Waiting> {
    let [pool, position, eta] = texts else { return None };
    let position = u64::from_le_bytes(position.as_slice().try_into().ok()?);
    let eta = f64::from_le_bytes(eta.as_slice().try_into().ok()?);
    Some(Waiting {
        pool: String::from_utf8(pool.clone()).ok()?,
        position: usize::try_from(position).ok()?,
        eta: Duration::try_from_secs_f64(eta).unwrap_or(Duration::MAX),
        is_for_turn: false,
    })
}

/// The kinds that a refusal can have, each with its place as its number. Nobody's signal ends a wait that is not his.
const KINDS: [SlotErrorKind; 4] = [SlotErrorKind::Internal, SlotErrorKind::Usage, SlotErrorKind::Refused, SlotErrorKind::Lost];

/// The error and its causes.
pub(super) fn told_of_refusal(error: &SlotError) -> Vec<Vec<u8>> {
    let kind = KINDS.iter().position(|kind| *kind == error.kind()).unwrap_or_default();
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    [vec![u8::try_from(kind).unwrap_or_default()]].into_iter().chain(causes.map(|cause| cause.to_string().into_bytes())).collect()
}

fn refusal(texts: &[Vec<u8>]) -> SlotError {
    let text = |text: &Vec<u8>| String::from_utf8_lossy(text).into_owned();
    let kind = texts.first().and_then(|kind| KINDS.get(usize::from(*kind.first()?))).copied();
    let message = texts.get(1).map(text).unwrap_or_default();
    SlotError::new(kind.unwrap_or(SlotErrorKind::Internal), message).because_of(texts.iter().skip(2).map(text))
}

fn gone(error: &io::Error) -> SlotError {
    let message = "the run that was asked for a slot is over";
    SlotError::new(SlotErrorKind::Internal, message).because(error)
}
