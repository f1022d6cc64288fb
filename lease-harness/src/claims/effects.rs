//! How often others were told something.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::lease::Visibility;
use super::store::ClaimStore;

/// What the operations of a [`ClaimStore`] and its clones have left for others to see, since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideEffects {
    /// Sets that were granted and leave traces.
    pub durable_sets: u64,
    /// Sets that were granted and leave none.
    pub ephemeral_sets: u64,
    /// Lines in the ledger.
    pub events: u64,
    /// Times that the scope was marked, also where it was marked already.
    pub marks: u64,
    /// Wake signals.
    pub wakes: u64,
    /// What was to be told and could not be written.
    pub untold: u64,
}

/// The same while it grows.
#[derive(Clone, Debug, Default)]
pub(super) struct Effects(Arc<[AtomicU64; 6]>);

/// What is counted.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    DurableSet,
    EphemeralSet,
    Event,
    Mark,
    Wake,
    Untold,
}

impl Effects {
    pub(super) fn set(&self, visibility: Visibility) {
        self.add(if visibility == Visibility::Durable { Effect::DurableSet } else { Effect::EphemeralSet }, 1);
    }

    /// Counts what was told, or that it could not be.
    pub(super) fn told(&self, effect: Effect, times: usize, is_told: bool) {
        self.add(if is_told { effect } else { Effect::Untold }, times);
    }

    fn add(&self, effect: Effect, times: usize) {
        self.0[effect as usize].fetch_add(times as u64, Ordering::Relaxed);
    }
}

impl ClaimStore {
    /// What this handle and its clones have left for others to see.
    #[must_use]
    pub fn side_effects(&self) -> SideEffects {
        let [durable_sets, ephemeral_sets, events, marks, wakes, untold] =
            self.effects().0.each_ref().map(|count| count.load(Ordering::Relaxed));
        SideEffects { durable_sets, ephemeral_sets, events, marks, wakes, untold }
    }
}
