//! What is done with slots besides getting one: heartbeat, release, reset, reprovision, health, pump.

use super::Pool;
use super::error::{PoolError, PoolResult};
use super::hooks::Action;
use super::queue::Line;
use super::slot::SlotDef;
use super::sweep::{Swept, end_work_under};
use crate::json::{Json, Object, object};
use crate::store::{self, AcquireRequest, Acquired, Found, Record, Refreshed, Released};

/// How making a slot clean ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Cleaned {
    /// It is clean.
    Reset,
    /// It is clean, and nobody held it.
    Reprovisioned,
    /// Somebody else holds it.
    NotOwner,
    /// Nobody holds it.
    NotHeld,
    /// Somebody holds it, so it cannot be reprovisioned.
    Held {
        /// Who.
        holder: Option<String>,
    },
    /// The command failed.
    Failed {
        /// The failure's text.
        error: String,
    },
}

impl Cleaned {
    /// Whether the slot is clean now.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        matches!(self, Self::Reset | Self::Reprovisioned)
    }

    /// The document of format.md for the slot `id`.
    #[must_use]
    pub fn to_json(&self, id: &Json) -> Json {
        let code = match self {
            Self::Reset => "reset",
            Self::Reprovisioned => "reprovisioned",
            Self::NotOwner => "not_owner",
            Self::NotHeld => "not_held",
            Self::Held { .. } => "held",
            Self::Failed { .. } => "reset_failed",
        };
        let mut members = vec![("ok", Json::from(self.is_ok())), ("code", Json::from(code)), ("slot_id", id.clone())];
        match self {
            Self::Held { holder } => members.push(("holder", Json::from(holder.as_deref()))),
            Self::Failed { error } => members.push(("error", Json::from(error))),
            _ => {}
        }
        object(members)
    }
}

impl SlotDef {
    /// A store's result about this slot's lease, with the slot's id behind it, as the format's pool operations answer.
    #[must_use]
    pub fn answer(&self, result: Json) -> Json {
        let mut members = result.into_object().unwrap_or_default();
        members.insert("slot_id", self.id().clone());
        Json::Object(members)
    }
}

impl Pool {
    /// The slot that an id names: exactly as text, else as a number.
    ///
    /// # Errors
    /// A usage error that lists the pool's slots.
    pub fn slot(&self, id: Option<&Json>) -> PoolResult<&SlotDef> {
        let slots = self.file.slots();
        let text = id.and_then(text_of_id);
        let exact = text.as_deref().and_then(|text| slots.iter().find(|slot| slot.id_text() == text));
        let same_number = || {
            let number: f64 = text.as_deref()?.trim().parse().ok()?;
            slots.iter().find(|slot| slot.id().as_f64() == Some(number))
        };
        exact.or_else(same_number).ok_or_else(|| {
            let shown = id.map_or_else(|| "undefined".to_owned(), Json::to_text);
            let known: Vec<&str> = slots.iter().map(SlotDef::id_text).collect();
            PoolError::usage(format!("invalid slot id {shown} — pool has slots {}", known.join(", ")))
        })
    }

    /// Keeps the lease of a slot alive.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub fn heartbeat(&self, slot: &SlotDef, owner: &str, token: &str) -> PoolResult<Refreshed> {
        Ok(self.store.heartbeat(slot.kind(), owner, token)?)
    }

    /// Gives a slot back, remembers for how long it was held, and sweeps; the latter two may be left for later where slots are given
    /// back many times a second. Needs no space on the disk.
    ///
    /// # Errors
    /// When the store cannot be used; the slot is then still held.
    pub fn release(&self, slot: &SlotDef, owner: &str, token: &str) -> PoolResult<Released> {
        let released = self.store.release(slot.kind(), owner, token)?;
        self.after_release(owner, &released);
        Ok(released)
    }

    /// Takes a slot away from whoever holds it, and ends what still works on it: the next holder may be there in a moment, and
    /// the old one finds out only at its next heartbeat. The bookkeeper of the pool file is who does it when `owner` is not
    /// given.
    ///
    /// # Errors
    /// A usage error without owner and bookkeeper, or one outside the fence; nothing was taken away then. Else when the
    /// store cannot be used.
    pub fn force_release(&self, slot: &SlotDef, owner: Option<&str>) -> PoolResult<Released> {
        let owner = owner.filter(|owner| !owner.is_empty()).or_else(|| self.file.bookkeeper().filter(|name| !name.is_empty()));
        if let Some(owner) = owner {
            self.store.fence().check(owner)?;
        } else {
            match self.store.found(slot.kind())? {
                // Who takes it after this look must not lose it.
                Found::Free => return Ok(Released::NotHeld { kind: slot.kind().to_owned() }),
                Found::Corrupt(_) => {}
                Found::Lease(_) => {
                    return Err(PoolError::usage(
                        "a forced release without --owner needs a \"bookkeeper\" owner in the pool file (it must satisfy the owner pattern)",
                    ));
                }
            }
        }
        let released = self.store.force_release(slot.kind())?;
        if let Released::Released { previous: Found::Lease(record), .. } = &released
            && self.store.has_additions()
            && record.fence().is_some()
        {
            // Only one of ours marks its processes. What cannot be ended is found by whoever makes the slot clean.
            let _ = end_work_under(record);
        }
        if let Some(owner) = owner {
            self.after_release(owner, &released);
        }
        Ok(released)
    }

    /// The slot is free already: what comes after serves others, and its failure must not look like a failed release.
    pub(super) fn after_release(&self, owner: &str, released: &Released) {
        let Released::Released { kind, previous, .. } = released else { return };
        if let Found::Lease(record) = previous {
            self.forget_grant_of(kind, record);
            let held_ms = record.acquired_at_ms().map(|at| store::to_f64(self.store.now_ms()) - at);
            if let Some(held_ms) = held_ms.filter(|held_ms| *held_ms > 0.0) {
                self.note_duration(owner, held_ms);
            }
        }
        self.clear_after(owner, Some(kind));
    }

    /// Clears away what the dead left, behind a release.
    pub(super) fn clear_after(&self, owner: &str, freed: Option<&str>) {
        let found_dead = match self.line() {
            Ok(line) if line.is_empty() && !self.is_time_for_upkeep() => false,
            // It sweeps as soon as it looks, and goes on doing so.
            Ok(Line::Attended { first, .. }) => {
                self.ring_for(first.id());
                false
            }
            Ok(Line::Unattended(queue)) => self.drop_dead(owner, queue, freed).is_ok_and(|(swept, seen)| {
                // Behind programs that have no bell.
                if let Some(first) = seen.waiting.iter().find(|entry| entry.has_proof()) {
                    self.ring_for(first.id());
                }
                !swept.is_empty()
            }),
            Err(_) => false,
        };
        if found_dead || self.is_time_to_tidy() {
            self.tidy();
        }
    }

    /// Makes a held slot clean again: reset, then health.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub fn reset(&self, slot: &SlotDef, owner: &str, token: &str) -> PoolResult<Cleaned> {
        let record = match self.held_by(slot, owner, token)? {
            Ok(record) => record,
            Err(refusal) => return Ok(refusal),
        };
        // The holder may be a shell that says nothing meanwhile: its lease, of which little may be left, must not end under
        // the command, or another's provision would work on the slot at the same time.
        if self.store.has_additions() {
            let _ = self.heartbeat(slot, owner, token);
        }
        let every = store::pause_for(record.ttl_minutes().unwrap_or_default());
        let beating = self.beat(slot, owner, token, every, |_| {})?;
        let cleaned = self.clean(slot, Some(token));
        drop(beating);
        Ok(match (self.held_by(slot, owner, token)?, cleaned) {
            (Err(refusal), _) => refusal,
            (Ok(_), Ok(())) => Cleaned::Reset,
            (Ok(_), Err(error)) => Cleaned::Failed { error },
        })
    }

    /// The lease of a slot, if it is alive and this one's; else what is answered.
    fn held_by(&self, slot: &SlotDef, owner: &str, token: &str) -> PoolResult<Result<Record, Cleaned>> {
        let Found::Lease(record) = self.store.found(slot.kind())? else { return Ok(Err(Cleaned::NotHeld)) };
        if self.store.is_dead(slot.kind(), &record, self.store.now_ms()) {
            return Ok(Err(Cleaned::NotHeld));
        }
        let is_theirs = record.owner() == Some(owner) && record.token() == Some(token);
        Ok(if is_theirs { Ok(record) } else { Err(Cleaned::NotOwner) })
    }

    fn clean(&self, slot: &SlotDef, mark: Option<&str>) -> Result<(), String> {
        let run = |action| self.run_action(action, slot, mark).map_err(|failure| failure.text);
        run(Action::Reset)?;
        run(Action::Health)
    }

    /// Makes a slot that nobody holds clean again, holding it meanwhile.
    ///
    /// # Errors
    /// A usage error for a bad owner; else when the store cannot be used.
    ///
    /// # If the process dies
    /// Its lease is reaped as soon as somebody looks.
    pub fn reprovision(&self, slot: &SlotDef, owner: &str, ttl_minutes: Option<f64>) -> PoolResult<Cleaned> {
        let ttl_minutes = ttl_minutes.unwrap_or_else(|| self.ttl_minutes());
        self.store.fence().check(owner)?;
        if let Found::Lease(record) = self.store.found(slot.kind())?
            && !self.end_survivors(slot, &record)
        {
            return Ok(Cleaned::Held { holder: record.owner().map(str::to_owned) });
        }
        let payload = object([("reprovision", Json::from(true))]);
        let lease = AcquireRequest { kind: slot.kind(), owner, ttl_minutes, payload };
        let record = match self.acquire_lease(&lease)? {
            Acquired::Held { record, .. } => return Ok(Cleaned::Held { holder: record.owner().map(str::to_owned) }),
            Acquired::Acquired { record, previous, kind } => {
                if let Some(previous) = previous {
                    let story = [("slot_id", slot.id().clone()), ("previous", previous.to_json(&kind))];
                    self.journal("slot_takeover_on_reprovision", story);
                }
                record
            }
        };
        let token = record.token().unwrap_or_default();
        let beat = self.beat(slot, owner, token, store::pause_for(ttl_minutes), |_| {});
        let cleaned = beat.map(|_beating| self.clean(slot, Some(token)));
        if !matches!(cleaned, Ok(Ok(()))) {
            // What the command has started and left behind can be told by its token now, and by nobody afterwards.
            let _ = super::end_processes_of(token);
        }
        self.store.release(slot.kind(), owner, token)?;
        let cleaned = cleaned?;
        let story = [("slot_id", slot.id().clone()), ("owner", Json::from(owner))];
        Ok(match cleaned {
            Ok(()) => {
                self.journal("slot_reprovisioned", story);
                Cleaned::Reprovisioned
            }
            Err(error) => {
                let story = story.into_iter().chain([("error", Json::from(&error))]);
                self.journal("slot_reprovision_failed", story);
                Cleaned::Failed { error }
            }
        })
    }

    /// Whether a slot is fit for use; the failure's text if not.
    pub fn health(&self, slot: &SlotDef) -> Result<(), String> {
        self.run_action(Action::Health, slot, None).map_err(|failure| failure.text)
    }

    /// Sweeps and tells how the pool stands afterwards.
    ///
    /// # Errors
    /// A usage error for a bad owner; else when the store cannot be used.
    pub fn pump(&self, owner: &str) -> PoolResult<Json> {
        self.store.fence().check(owner)?;
        let (swept, _): (Swept, _) = self.drop_dead(owner, self.read_queue()?, None)?;
        self.tidy();
        let mut answer = Object::new();
        answer.insert("ok", true);
        for (key, value) in swept.to_json().into_object().unwrap_or_default() {
            answer.insert(key, value);
        }
        answer.insert("status", self.status()?.to_json());
        Ok(Json::Object(answer))
    }
}

fn text_of_id(id: &Json) -> Option<String> {
    match id {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(crate::json::number_text(*number)),
        _ => None,
    }
}
