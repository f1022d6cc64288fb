//! What a replay must come to.

use std::collections::BTreeSet;

use super::decisions::{CONTRADICTIONS, DECISIONS, Decision};
use super::load::{Case, VectorFile};

/// Replays every case of a file. `n_cases` and `n_binding` are what our own folder holds, so that no case can get lost.
///
/// # Panics
///
/// If a binding case differs, a case differs without a decision or in another way than decided, a decision is not needed,
/// or the counts are off.
pub(super) fn check(file: &VectorFile, n_cases: usize, n_binding: usize, replay: impl Fn(&Case) -> Result<(), String>) {
    let (mut faults, mut decided) = (Vec::new(), BTreeSet::new());
    for case in &file.cases {
        let outcome = replay(case);
        let decision = decision(file, case);
        let has_decision = decision.is_some();
        match outcome {
            Err(difference) if case.binds() || (file.is_ours && !has_decision) => {
                faults.push(format!("{} {:?}: {difference}", case.name, case.tags));
            }
            Err(difference) if !file.is_ours => eprintln!("not binding, differs: {}: {difference}", case.name),
            Ok(()) if has_decision && file.is_ours => {
                faults.push(format!("{}: agrees, so its decision is not needed", case.name));
            }
            Err(difference) if !decision.and_then(|decision| decision.said).is_none_or(|said| difference.contains(said)) => {
                faults.push(format!("{}: its decision says something else: {difference}", case.name));
            }
            _ => {}
        }
        if has_decision {
            decided.insert(case.name.as_str());
        }
    }
    if file.is_ours {
        count(file, n_cases, n_binding, &decided, &mut faults);
    }
    let n_faults = faults.len();
    assert!(faults.is_empty(), "{}: {n_faults} of {} cases:\n{}", file.name, file.cases.len(), faults.join("\n"));
}

/// What the table decides for a case that leaves a choice.
fn decision(file: &VectorFile, case: &Case) -> Option<&'static Decision> {
    let names_it = |decision: &&Decision| decision.file == file.name && decision.cases.contains(&case.name.as_str());
    DECISIONS.iter().find(names_it).filter(|_| !case.binds())
}

fn count(file: &VectorFile, n_cases: usize, n_binding: usize, decided: &BTreeSet<&str>, faults: &mut Vec<String>) {
    let binding = file.cases.iter().filter(|case| case.binds()).count();
    if (file.cases.len(), binding) != (n_cases, n_binding) {
        faults.push(format!("{} cases of which {binding} bind; {n_cases} and {n_binding} were there", file.cases.len()));
    }
    for contradiction in CONTRADICTIONS.iter().filter(|contradiction| contradiction.file == file.name) {
        let binds = |name: &&str| file.cases.iter().any(|case| case.name == **name && case.binds());
        for name in contradiction.cases.iter().filter(|name| !binds(name)) {
            faults.push(format!("a contradiction for {name:?}, which is no case that binds"));
        }
    }
    for decision in DECISIONS.iter().filter(|decision| decision.file == file.name) {
        for name in decision.cases.iter().filter(|name| !decided.contains(*name)) {
            faults.push(format!("a decision for {name:?}, which is no case that leaves a choice"));
        }
        let is_named = |case: &&Case| decision.cases.contains(&case.name.as_str());
        for case in file.cases.iter().filter(is_named).filter(|case| !case.tags.iter().any(|tag| tag == decision.tag)) {
            faults.push(format!("the decision for {:?} names the tag {:?}, which it has not", case.name, decision.tag));
        }
    }
}
