//! What only our own parts say of a request.

use std::sync::Arc;

use super::SlotRequest;
use crate::pool::Pool;
use crate::store::Env;
use crate::sys::process::Process;

impl SlotRequest {
    /// For another process: the wait ends with that one, which works in the slot and is the one whose wait is noted.
    #[must_use]
    pub(in crate::harness) fn for_process(mut self, process: Arc<Process>, env: Env) -> Self {
        self.asker = Some((process, env));
        self
    }

    /// Asks this pool, which was opened for a request of the same kind. As long as somebody has it open, what this process
    /// needs in the store is not made and removed again for each slot.
    #[must_use]
    pub(in crate::harness) fn of_pool(mut self, pool: Pool) -> Self {
        self.opened = Some(pool);
        self
    }

    /// Who asks, if nobody said so.
    #[must_use]
    pub(in crate::harness) fn or_owner(mut self, owner: &str) -> Self {
        self.owner.get_or_insert_with(|| owner.to_owned());
        self
    }

    pub(in crate::harness) fn holding(mut self, kinds: Vec<String>) -> Self {
        self.holds = kinds;
        self
    }
}
