//! `cargo lease status`: slots, holders and the queue, and claims.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use lease_harness::claims::{ClaimStore, ClaimsView};
use lease_harness::harness::status_document;
use lease_harness::pool::PoolStatus;

use super::cargo::cargo_program;
use crate::cli::{LeaseOptions, StatusArgs};
use crate::exit::{self, Failure};
use crate::render;
use crate::resolve::{Manifests, Settings, Surroundings, find_pool_file};

/// How often a watched status is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Clears a terminal.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Prints the status, once or until interrupted.
pub(super) fn run(lease: &LeaseOptions, args: &StatusArgs, around: &Surroundings) -> Result<ExitCode, Failure> {
    let looked_at = LookedAt::find(lease, args, around)?;
    let mut out = Output { json: args.json, terminal: io::stdout().is_terminal(), shown: None };
    if !args.watch {
        return out.print(&looked_at.status()?).map(|_| ExitCode::SUCCESS);
    }
    while out.print_change(&looked_at.status()?)?.is_some() {
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(ExitCode::SUCCESS)
}

/// A pool, if there is one, and the claims of a scope.
struct LookedAt {
    settings: Settings,
    pool_file: Option<PathBuf>,
    claims: ClaimStore,
}

impl LookedAt {
    fn find(lease: &LeaseOptions, args: &StatusArgs, around: &Surroundings) -> Result<Self, Failure> {
        let mut settings = Settings::read(lease, around)?;
        let cargo = cargo_program(around).ok();
        let manifests = Manifests::new(&[], around, cargo.as_deref());
        let pool_file = match find_pool_file(lease.pool.as_deref(), around, &manifests) {
            Ok(pool_file) => Some(pool_file),
            Err(failure) if failure.is_without_pool() => None,
            Err(failure) => return Err(failure),
        };
        match &pool_file {
            Some(pool_file) => {
                let status = settings.request(pool_file);
                status.warnings()?.iter().for_each(|warning| exit::warn(warning));
                settings.store = Some(status.open()?.store().dir().to_owned());
            }
            None => exit::note("no pool file, so only claims are shown; `cargo lease --help` says where it is looked for"),
        }
        let claims = settings.claim_request(args.scope.as_deref(), None).open()?;
        Ok(Self { settings, pool_file, claims })
    }

    fn status(&self) -> Result<Status, Failure> {
        let request = self.pool_file.as_ref().map(|pool_file| self.settings.request(pool_file));
        let pool = request.map(|request| request.status()).transpose()?;
        Ok(Status { pool, store: self.claims.store_dir().to_owned(), claims: self.claims.view()? })
    }
}

/// How it stands.
struct Status {
    pool: Option<PoolStatus>,
    store: PathBuf,
    claims: ClaimsView,
}

impl Status {
    fn to_tables(&self) -> String {
        let now = SystemTime::now();
        let claims = render::claims_tables(&self.claims, now);
        match &self.pool {
            Some(pool) if claims.is_empty() => render::status_table(pool, now),
            Some(pool) => format!("{}\n{claims}", render::status_table(pool, now)),
            None if claims.is_empty() => {
                format!("store {}\n\nnothing is claimed in {}\n", self.store.display(), self.claims.scope)
            }
            None => format!("store {}\n\n{claims}", self.store.display()),
        }
    }

    fn news(&self) -> String {
        format!("{:?} {}", self.pool.as_ref().map(render::status_news), render::claims_news(&self.claims))
    }
}

struct Output {
    json: bool,
    terminal: bool,
    /// What was printed last, apart from how old it is.
    shown: Option<String>,
}

impl Output {
    /// Prints it if it is news, or if it stands on a screen; `None` once nobody reads any more.
    fn print_change(&mut self, status: &Status) -> Result<Option<()>, Failure> {
        let news = status.news();
        let on_screen = self.terminal && !self.json;
        if self.shown.as_ref() == Some(&news) && !on_screen {
            return Ok(Some(()));
        }
        let first = self.shown.replace(news).is_none();
        let before = match (on_screen, first || self.json) {
            (true, _) => CLEAR,
            (false, true) => "",
            (false, false) => "\n",
        };
        self.write(&format!("{before}{}", self.text(status)))
    }

    fn print(&mut self, status: &Status) -> Result<Option<()>, Failure> {
        self.write(&self.text(status))
    }

    fn text(&self, status: &Status) -> String {
        match self.json {
            true => {
                let document = status_document(status.pool.as_ref(), &status.store, &status.claims);
                format!("{}\n", document.to_text())
            }
            false => status.to_tables(),
        }
    }

    fn write(&self, text: &str) -> Result<Option<()>, Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(Some(())),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
            Err(error) => Err(Failure::internal("cannot write to standard output", error)),
        }
    }
}
