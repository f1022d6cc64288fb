//! What a listing is told of the trials that run in slots.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use libtest_mimic::Trial;

use super::arguments::whole_name;
use super::wanted::Wanted;
use crate::__private::{is_listing_told, tell_listing};
use crate::harness::{LeasedTest, NamedPool};

/// Trials that were made, by name, and what they want. Their kinds come later.
static MADE: Mutex<BTreeMap<String, Vec<NamedPool>>> = Mutex::new(BTreeMap::new());

/// Keeps in mind what a trial wants, if a listing is to be told of it.
pub(super) fn remember(name: &str, wanted: &Wanted) {
    if is_listing_told() {
        MADE.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default().push(wanted.named());
    }
}

/// Tells the listing of those among these trials that run in slots.
pub(super) fn tell(trials: &[Trial]) {
    tell_listing(|| {
        let made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted_by = |trial: &Trial| Some(leased(trial, made.get(trial.name())?.clone()));
        trials.iter().filter_map(wanted_by).collect()
    });
}

fn leased(trial: &Trial, pools: Vec<NamedPool>) -> LeasedTest {
    LeasedTest { name: whole_name(trial), makes_several: false, pools }
}
