//! What a listing is told of the trials that run in slots.

use std::sync::{Mutex, PoisonError};

use libtest_mimic::Trial;

use super::arguments::whole_name;
use super::wanted::Wanted;
use crate::__private::{is_listing_told, tell_listing};
use crate::harness::{LeasedTest, NamedPool, TestForm};

/// Trials that were made, by name, and what they want. Their kinds come later.
static MADE: Mutex<Vec<(String, NamedPool)>> = Mutex::new(Vec::new());

/// Keeps in mind what a trial wants, if a listing is to be told of it.
pub(super) fn remember(name: &str, wanted: &Wanted) {
    if is_listing_told() {
        MADE.lock().unwrap_or_else(PoisonError::into_inner).push((name.to_owned(), wanted.named()));
    }
}

/// Tells the listing of those among these trials that run in slots.
pub(super) fn tell(trials: &[Trial]) {
    tell_listing(|| {
        let made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted_by = |trial: &Trial| {
            let pools = made.iter().filter(|(name, _)| name == trial.name()).map(|(_, pool)| pool.clone()).collect::<Vec<_>>();
            (!pools.is_empty()).then(|| leased(trial, pools))
        };
        trials.iter().filter_map(wanted_by).collect()
    });
}

fn leased(trial: &Trial, pools: Vec<NamedPool>) -> LeasedTest {
    let is_ignored = trial.has_ignored_flag();
    LeasedTest { name: whole_name(trial), makes_several: false, is_ignored, form: TestForm::Trial, pools }
}
