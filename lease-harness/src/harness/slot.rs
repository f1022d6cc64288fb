//! Holding a slot.

use std::ffi::OsStr;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_core::de::DeserializeOwned;

use super::child::LossWatch;
use super::error::{SlotError, SlotErrorKind};
use super::grants;
use crate::json::{Json, plain_text};
use crate::pool::{self, Cleaned, HELD_RUN, HeldSlot, Pool, RUN_TOKEN, SlotDef};
use crate::store::{self, Env, Found, Released};
use crate::sys::process::own_number;

/// A held slot. Its lease is kept alive by the process's heartbeat thread; dropping it gives it back.
///
/// # If the process dies
/// The slot is given to the next in line within moments, or, by programs that do not know proofs of life, when its
/// lifetime has run out. Destructors do not run then, and none is needed.
pub struct Slot {
    /// Who holds it: a fork has the value, and not the lease.
    process: u32,
    pool: Pool,
    slot: SlotDef,
    owner: String,
    token: String,
    fence: Option<u64>,
    /// The slot and since when it is held, for people.
    about: String,
    envs: Vec<(String, String)>,
    loss: LossWatch,
    /// What keeps the lease alive; `None` for a joined slot, which its outer holder keeps, and after giving it back.
    held: Option<HeldSlot>,
    joined: bool,
    /// Whether this process has the turn in it, and others of its run have had or will have theirs.
    in_turn: bool,
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token stays out: it is what lets others act on the lease.
        let mut shown = f.debug_struct("Slot");
        shown.field("pool", &self.pool()).field("id", &self.id()).field("joined", &self.joined).finish_non_exhaustive()
    }
}

impl Slot {
    /// A slot just granted; `loss` is a watch that nobody has used. It is made before the slot is had, because a slot that
    /// cannot be watched could not be given to anybody.
    pub(super) fn own(pool: Pool, held: HeldSlot, loss: LossWatch) -> Self {
        let grant = held.grant();
        let about = about(&pool, grant.slot());
        let (watch, lost) = (loss.clone(), format!("{about} was lost"));
        held.on_lost(move |reason| watch.declare(format!("{lost}: {reason}")));
        if let Some(reason) = held.lost() {
            loss.declare(reason);
        }
        let mut slot = Self {
            process: own_number(),
            slot: grant.slot().clone(),
            owner: grant.owner().to_owned(),
            token: grant.token().to_owned(),
            fence: grant.fence(),
            about,
            envs: Vec::new(),
            loss,
            held: Some(held),
            joined: false,
            in_turn: false,
            pool,
        };
        slot.envs = slot.environment();
        slot.let_others_join();
        slot
    }

    /// This grant as an outer one of others.
    pub(super) fn grant_document(&self) -> Json {
        self.grant_document_with(None)
    }

    /// The same, in which processes have turns.
    pub(super) fn grant_document_with(&self, turn: Option<grants::TurnFile>) -> Json {
        let grant = grants::OuterGrant {
            slot_id: self.slot.id().clone(),
            kind: self.kind().to_owned(),
            owner: self.owner.clone(),
            token: self.token.clone(),
            turn,
        };
        grants::document(self.store_dir(), self.pool(), &grant)
    }

    /// Says under which grants a process under this one is.
    pub(super) fn set_grants(&mut self, grants: String) {
        self.envs.retain(|(name, _)| name != grants::VARIABLE);
        self.envs.push((grants::VARIABLE.to_owned(), grants));
    }

    pub(super) fn joined(pool: Pool, slot: SlotDef, owner: &str, token: &str, fence: Option<u64>) -> Result<Self, SlotError> {
        let loss = loss_watch()?;
        let (owner, token, about) = (owner.to_owned(), token.to_owned(), about(&pool, &slot));
        let mut slot = Self {
            process: own_number(),
            slot,
            owner,
            token,
            fence,
            about,
            envs: Vec::new(),
            loss,
            held: None,
            joined: true,
            in_turn: false,
            pool,
        };
        slot.envs = slot.environment();
        Ok(slot)
    }

    /// The same slot, in which this process has the turn; whoever it starts joins it without one.
    pub(super) fn in_turn(mut self, turn: &grants::TurnFile) -> Self {
        self.in_turn = true;
        self.envs.push((HELD_RUN.to_owned(), pool::for_turn(Env::Process.get(HELD_RUN).as_deref(), turn.run_id(), self.kind())));
        self.let_others_join();
        self
    }

    /// Whether a process under this grant cannot know of it by the environment of this one.
    pub(super) fn is_to_be_introduced(&self) -> bool {
        !self.joined || self.in_turn
    }

    /// Adds what lets a process under this grant join it.
    pub(super) fn let_others_join(&mut self) {
        self.set_grants(grants::with(&Env::Process, [self.grant_document()]));
    }

    fn environment(&self) -> Vec<(String, String)> {
        let plain = |(name, value): &(String, String)| (name.clone(), plain_text(value).into_owned());
        let mut envs: Vec<_> = self.slot.grant_env().iter().map(plain).collect();
        let mut add = |name: &str, value: &str| envs.push((name.to_owned(), plain_text(value).into_owned()));
        add("POOL_RUN_SLOT", self.slot.id_text());
        add(RUN_TOKEN, &self.token);
        add("POOL_RUN_OWNER", &self.owner);
        if let Some(fence) = self.fence {
            add("POOL_RUN_FENCE", &fence.to_string());
        }
        envs
    }

    /// The slot's id, as text.
    #[must_use]
    pub fn id(&self) -> &str {
        self.slot.id_text()
    }

    /// The pool's name.
    #[must_use]
    pub fn pool(&self) -> &str {
        self.pool.file().name()
    }

    /// The slot's lease kind.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.slot.kind()
    }

    /// Who holds it.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The lease's token: whoever has it can act on the lease.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Larger than the number of any earlier grant of this slot: something a database or a script can compare.
    #[must_use]
    pub fn fence(&self) -> Option<u64> {
        self.fence
    }

    /// The store's directory.
    #[must_use]
    pub fn store_dir(&self) -> &Path {
        self.pool.store().dir()
    }

    /// One variable of the grant's environment.
    #[must_use]
    pub fn env(&self, name: &str) -> Option<&str> {
        self.envs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// What a process under this grant sees: the grant's environment, `POOL_RUN_SLOT`, `POOL_RUN_TOKEN`,
    /// `POOL_RUN_OWNER`, `POOL_RUN_FENCE`, and `LEASE_GRANTS`, by which nested uses join.
    #[must_use]
    pub fn envs(&self) -> &[(String, String)] {
        &self.envs
    }

    /// An attribute of the slot by its dotted path, `ports.api`, as the type asked for.
    ///
    /// # Errors
    /// A usage error when there is no such attribute or it is no value of that type.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, SlotError> {
        let refused = |why: &str| {
            let message = format!("attribute {path:?} of slot {} of pool {} {why}", self.id(), self.pool());
            SlotError::new(SlotErrorKind::Usage, message)
        };
        let value = self.attribute(path).ok_or_else(|| refused("does not exist"))?;
        value.to().map_err(|error| refused(&format!("does not fit the type asked for: {error}")))
    }

    fn attribute(&self, path: &str) -> Option<&Json> {
        let mut parts = path.split('.');
        let first = self.slot.attrs().get(parts.next()?)?;
        parts.try_fold(first, Json::get)
    }

    /// A command that runs under this grant: with [`Slot::envs`] in its environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.envs(self.envs.iter().map(|(name, value)| (name, value)));
        command
    }

    /// True if this slot belongs to an outer `cargo lease` and was joined, not taken.
    #[must_use]
    pub fn is_joined(&self) -> bool {
        self.joined
    }

    /// Whether the lease was lost. A joined slot is watched by its outer holder.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.loss.reason().is_some()
    }

    /// Tells of the loss of the lease.
    #[must_use]
    pub fn loss_watch(&self) -> LossWatch {
        self.loss.clone()
    }

    /// A folder for this grant alone, empty when it is first asked for; afterwards always the same. Who joined an outer grant
    /// shares that one's folder. It lies in the store, which is on a disk and not in memory.
    ///
    /// # Errors
    /// `Lost` when the slot is not ours any more, `Internal` when the folder cannot be made.
    ///
    /// # If the process dies
    /// The folder is removed by whoever gives the slot to the next in line. Giving the slot back removes it as well.
    pub fn temp_dir(&self) -> Result<PathBuf, SlotError> {
        // A folder that was made after the lease had ended would be in nobody's way, and in nobody's care.
        self.check_held()?;
        let no_number = || SlotError::new(SlotErrorKind::Internal, "a grant without a fence number has no folder");
        Ok(self.pool.temp_dir(&self.slot, self.fence.ok_or_else(no_number)?)?)
    }

    /// Makes the slot as clean as it was: empties [`Slot::temp_dir`] and runs the pool's reset and health commands.
    ///
    /// # Errors
    /// `Refused` when a command failed, `Lost` when the slot is not ours any more, `Internal` when the folder cannot be
    /// emptied.
    pub fn reset(&self) -> Result<(), SlotError> {
        match self.pool.reset(&self.slot, &self.owner, &self.token)? {
            Cleaned::Failed { error } => Err(SlotError::new(SlotErrorKind::Refused, error)),
            Cleaned::NotOwner | Cleaned::NotHeld | Cleaned::Held { .. } => Err(self.lost_error()),
            Cleaned::Reset | Cleaned::Reprovisioned => self.empty_temp_dir(),
        }
    }

    fn empty_temp_dir(&self) -> Result<(), SlotError> {
        self.fence.map_or(Ok(()), |fence| Ok(self.pool.empty_temp_dir(&self.slot, fence)?))
    }

    /// What carries this grant's token, for somebody who outlives the slot.
    pub(crate) fn survivors(&self) -> Survivors {
        Survivors::of(&self.token)
    }

    /// Ends every process that still carries this grant's token in its environment, however it was started. For when the
    /// work was cut off and could not end what it had started; work that ended by itself may leave what it likes.
    ///
    /// # Errors
    /// `Internal` when the processes of this machine cannot be looked at, or one would not end.
    pub fn end_survivors(&self) -> Result<(), SlotError> {
        let ended = self.survivors().end();
        let failed = |error| SlotError::new(SlotErrorKind::Internal, format!("cannot end what the work left: {error}"));
        ended.map_err(failed)
    }

    /// Ends the processes that work in the slot, and not those of its run that work in none.
    pub(super) fn end_processes_in_it(&self) -> Result<(), SlotError> {
        let failed = |error| SlotError::new(SlotErrorKind::Internal, format!("cannot end what the tests left: {error}"));
        pool::end_processes_in_slot(&self.token).map(drop).map_err(failed)
    }

    /// Ends what had its turn in the slot before, in this run. Where processes cannot be looked at nobody is found, and that is
    /// no reason to use the slot no further.
    pub(super) fn end_processes_of_turns(&self, run_id: &str) -> Result<(), SlotError> {
        match pool::end_processes_of_turns(run_id, self.kind()) {
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                Err(SlotError::new(SlotErrorKind::Refused, format!("a test before has left processes: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Gives the slot back, and says whether it was ours to the end. A joined slot stays with its outer holder.
    ///
    /// # Errors
    /// `Lost` when it was lost meanwhile; `Internal` when the store cannot be used, and then its lifetime ends it.
    pub fn release(mut self) -> Result<(), SlotError> {
        self.give_back()
    }

    /// Lets the slot go on being held without us: a [`Keeper`](super::detached::Keeper) has taken it over.
    pub fn leave_to_keeper(mut self) {
        // Without the heart there is nothing left to give back.
        self.held = None;
    }

    fn give_back(&mut self) -> Result<(), SlotError> {
        if self.process != own_number() {
            // The heart that it belongs to did not come along, so it must not be stopped either.
            std::mem::forget(self.held.take());
            let message = "a fork cannot give back the slot that its parent holds";
            return Err(SlotError::new(SlotErrorKind::Usage, message));
        }
        if self.joined {
            return self.check_held();
        }
        // No beat may come behind the release.
        if self.held.take().is_none() {
            return Ok(());
        }
        let released = self.pool.release(&self.slot, &self.owner, &self.token);
        if self.is_lost() {
            return Err(self.lost_error());
        }
        match released? {
            Released::Released { .. } => Ok(()),
            Released::NotHeld { .. } | Released::NotOwner { .. } | Released::TokenMismatch { .. } => {
                let error = self.lost_error();
                // Whoever drops a slot does not hear of it otherwise.
                self.loss.declare(error.to_string());
                Err(error)
            }
        }
    }

    fn check_held(&self) -> Result<(), SlotError> {
        match self.pool.store().found(self.slot.kind())? {
            Found::Lease(record) if record.token() == Some(&self.token) => Ok(()),
            _ => Err(self.lost_error()),
        }
    }

    fn lost_error(&self) -> SlotError {
        let found_out = || match self.pool.store().found(self.slot.kind()) {
            Ok(Found::Lease(record)) if record.token() != Some(&self.token) => {
                let holder = record.owner().unwrap_or("nobody known");
                format!("{} was lost: it is held by {holder} now", self.about)
            }
            _ => format!("{} was lost: its lease is not ours any more", self.about),
        };
        SlotError::new(SlotErrorKind::Lost, self.loss.reason().map_or_else(found_out, str::to_owned))
    }
}

/// The processes of a grant besides this one.
#[derive(Clone)]
pub(crate) struct Survivors {
    token: String,
}

impl Survivors {
    pub(super) fn of(token: &str) -> Self {
        Self { token: token.to_owned() }
    }

    /// Ends them, and waits until they are gone.
    pub(crate) fn end(&self) -> std::io::Result<()> {
        pool::end_processes_of(&self.token).map(drop)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.joined {
            // Whoever wants to know calls `release`.
            let _ = self.give_back();
        }
    }
}

fn about(pool: &Pool, slot: &SlotDef) -> String {
    let since = store::iso(pool.store().now_ms()).unwrap_or_default();
    format!("slot {} of pool {}, held since {since},", slot.id_text(), pool.file().name())
}

pub(super) fn loss_watch() -> Result<LossWatch, SlotError> {
    LossWatch::new().map_err(|error| SlotError::new(SlotErrorKind::Internal, format!("cannot watch the lease: {error}")))
}
