//! Which slot a trial wants.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::__private::tell_place;
use crate::harness::{NamedPool, SlotError, SlotErrorKind, SlotRequest, find_pool_file, found_pool_file, session_text};

/// Which slot a trial wants: made from the name of a pool file, or from a [`SlotRequest`].
///
/// A name is looked for as the attribute does it: in the package's folder, then in the workspace's, when the trial runs. A
/// request is used as it is. Where it names no session, the trial is shown as one; where it has no listener, its place in the
/// queue is told on stderr.
#[derive(Debug)]
pub struct Wanted(Kind);

#[derive(Debug)]
enum Kind {
    File(PathBuf),
    Request(Box<SlotRequest>),
}

impl Wanted {
    /// The pool, as a listing is told of it.
    pub(super) fn named(&self) -> NamedPool {
        match &self.0 {
            Kind::File(file) => NamedPool { written: file.display().to_string(), found: found_pool_file(file), store: None },
            Kind::Request(request) => request.named_pool(),
        }
    }

    /// The request for the trial of this name; none if nobody reads how it ends.
    pub(super) fn request(self, trial: &str, nobody_reads: Arc<AtomicBool>) -> Result<SlotRequest, SlotError> {
        if nobody_reads.load(Ordering::Acquire) {
            return Err(SlotError::new(SlotErrorKind::Refused, "nobody reads the results any more"));
        }
        let request = match self.0 {
            Kind::File(file) => SlotRequest::from_file(find_pool_file(file)?),
            Kind::Request(request) => *request,
        };
        Ok(request.or_else(session(trial), tell_place).give_up_when(nobody_reads))
    }
}

/// One process may have many trials, so its name would not tell them apart.
fn session(trial: &str) -> String {
    session_text(env::current_dir().ok().as_deref(), env::var("CARGO_PKG_NAME").ok().as_deref(), Some(trial))
}

impl From<SlotRequest> for Wanted {
    fn from(request: SlotRequest) -> Self {
        Self(Kind::Request(Box::new(request)))
    }
}

impl From<PathBuf> for Wanted {
    fn from(pool_file: PathBuf) -> Self {
        Self(Kind::File(pool_file))
    }
}

impl From<&Path> for Wanted {
    fn from(pool_file: &Path) -> Self {
        pool_file.to_owned().into()
    }
}

impl From<&str> for Wanted {
    fn from(pool_file: &str) -> Self {
        PathBuf::from(pool_file).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_asks_for_what_nobody_reads() {
        let ask = |nobody_reads| Wanted::from(Path::new("/pool.json")).request("trial", Arc::new(AtomicBool::new(nobody_reads)));
        assert!(ask(false).is_ok());
        assert_eq!(ask(true).unwrap_err().kind(), SlotErrorKind::Refused);
    }
}
