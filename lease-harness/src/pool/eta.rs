//! How long a wait will take. Pure.

/// How many durations the average looks back on.
pub(super) const REMEMBERED: usize = 10;

/// The average of the durations in whole milliseconds, or the seed as it stands when there are none. A list that another
/// program left longer counts whole.
pub(super) fn moving_average(durations_ms: &[f64], seed_ms: f64) -> f64 {
    if durations_ms.is_empty() {
        return seed_ms;
    }
    #[expect(clippy::cast_precision_loss, reason = "the list is short")]
    let count = durations_ms.len() as f64;
    // A half is rounded up, as the other programs do it.
    (durations_ms.iter().sum::<f64>() / count + 0.5).floor()
}

/// How long the waiter at `position` (from 1) will wait.
pub(super) fn wait_ms(position: usize, average_ms: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "queues are short")]
    let position = position as f64;
    position * average_ms
}

/// The list with more durations, the oldest dropped.
pub(super) fn remember(mut durations_ms: Vec<f64>, more_ms: &[f64]) -> Vec<f64> {
    durations_ms.extend(more_ms);
    let surplus = durations_ms.len().saturating_sub(REMEMBERED);
    durations_ms.drain(..surplus);
    durations_ms
}
