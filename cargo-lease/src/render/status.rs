//! The status of a pool as two tables: slots, and the queue if there is one.

use std::time::SystemTime;

use lease_harness::pool::{PoolStatus, QueuedStatus, SlotStatus};

use super::table::table;
use super::time::{about_minutes, ago, ahead, lasting};

/// The status for people.
pub(crate) fn status_table(status: &PoolStatus, now: SystemTime) -> String {
    let slots: Vec<_> = status.slots.iter().map(|slot| slot_row(slot, now)).collect();
    let mut text = format!("store {}\n\n", status.store.display());
    text.push_str(&table(["SLOT", "STATE", "HOLDER", "SESSION", "SINCE", "EXPIRES"], &slots));
    if status.slots.iter().any(|slot| slot.state == "unknown") {
        text.push_str("\na slot left behind goes to the next who asks\n");
    }
    if !status.queue.is_empty() {
        let queue: Vec<_> = status.queue.iter().map(|entry| queue_row(entry, now)).collect();
        text.push('\n');
        text.push_str(&table(["PLACE", "OWNER", "SESSION", "MODE", "SINCE", "ETA"], &queue));
        text.push_str(&format!("\na lease lasts {} on average\n", lasting(status.moving_avg_ms as i64)));
    }
    text
}

/// What of a status is news when it changes: everything but ages, heartbeats and estimates.
pub(crate) fn status_news(status: &PoolStatus) -> String {
    let slots: Vec<_> = status
        .slots
        .iter()
        .map(|slot| (&slot.slot_id, &slot.state, &slot.holder, &slot.session, &slot.since, slot.alive))
        .collect();
    let queue: Vec<_> = status.queue.iter().map(|entry| (entry.position, &entry.request_id)).collect();
    format!("{slots:?} {queue:?}")
}

fn slot_row(slot: &SlotStatus, now: SystemTime) -> [String; 6] {
    let time = |text: &Option<String>, say: fn(&str, SystemTime) -> String| {
        text.as_deref().map(|text| say(text, now)).unwrap_or_default()
    };
    [
        slot.slot_id.clone(),
        state(slot).to_owned(),
        slot.holder.clone().unwrap_or_default(),
        slot.session.clone().unwrap_or_default(),
        time(&slot.since, ago),
        time(&slot.expires_at, ahead),
    ]
}

/// A slot whose lease binds nobody any more is `unknown` in the format, which says little to people.
fn state(slot: &SlotStatus) -> &str {
    if slot.state == "unknown" { "left behind" } else { &slot.state }
}

fn queue_row(entry: &QueuedStatus, now: SystemTime) -> [String; 6] {
    [
        entry.position.to_string(),
        entry.owner.clone(),
        entry.session.clone(),
        entry.mode.clone(),
        ago(&entry.enqueued_at, now),
        about_minutes(entry.eta_ms),
    ]
}
