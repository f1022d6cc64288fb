//! The rules of claims: keys, modes, paths, conflicts, sets, owners.
//!
//! These files have no tags: everything binds, but where the contract says that we are better. Each of those differences is
//! told by its rule, so that it holds for cases which nobody has looked at as well.

use lease_harness::claims::{
    Claim, ClaimError, OwnerIdentity, OwnerNames, OwnerProcess, conflicts, normal_path, normalized, paths_overlap,
};
use lease_harness::json::Json;

use super::load::{list, load, text};
use super::report;

#[test]
fn conflicts_agree() {
    report::check(&load("claims-conflict"), 861, 861, |case| {
        let recorded = truth(&case.body, "conflict");
        let (Some(left), Some(right)) = (claim_of(&case.body, "left")?, claim_of(&case.body, "right")?) else {
            return Ok(());
        };
        let ours = conflicts(&left, &right);
        if ours != conflicts(&right, &left) {
            return Err("the two directions differ".to_owned());
        }
        let is_wider = || [&left, &right].iter().any(|claim| has_wildcard(claim.key().as_str()));
        overlap(recorded, ours, is_wider)
    });
}

#[test]
fn paths_agree() {
    report::check(&load("claims-paths"), 199, 199, |case| match text(&case.body, "fn") {
        "normalizeClaimPath" => {
            // A path is a text by its type.
            let Some(input) = case.body.get("input").and_then(Json::as_str) else { return Ok(()) };
            same(case.body.get("expected").unwrap_or(&Json::Null), &normal_path(input).map_or(Json::Null, Json::from))
        }
        "pathOverlaps" => {
            let (left, right) = (text(&case.body, "left"), text(&case.body, "right"));
            let ours = paths_overlap(left, right);
            overlap(truth(&case.body, "expected"), ours, || has_wildcard(left) || has_wildcard(right))
        }
        other => Err(format!("no such function: {other}")),
    });
}

#[test]
fn sets_agree() {
    report::check(&load("claims-normalize"), 65, 65, |case| {
        let mut claims = Vec::new();
        for document in list(&case.body, "claims") {
            match Claim::from_json(document) {
                Ok(claim) => claims.push(claim),
                // Left out there, refused here: nothing claimed would look like everything granted.
                Err(ClaimError::BlankKey) => {}
                Err(ClaimError::Mode(_)) => return Ok(()),
                Err(error) => return Err(error.to_string()),
            }
        }
        let read_only = case.body.get("options").and_then(|options| options.get("readOnly")) == Some(&Json::Bool(true));
        let was_empty = list(&case.body, "claims").is_empty();
        let ours = if claims.is_empty() && !was_empty { Vec::new() } else { normalized(claims, read_only) };
        let ours = Json::Array(ours.iter().map(Claim::to_json).collect());
        same(case.body.get("expected").expect("what is expected"), &ours)
    });
}

#[test]
fn owners_agree() {
    report::check(&load("claims-owner-digest"), 75, 75, |case| {
        let body = &case.body;
        let claims: Vec<_> =
            list(body, "claims").iter().map(Claim::from_json).collect::<Result<_, _>>().map_err(|e| e.to_string())?;
        let Some(names) = names_of(body) else { return Ok(()) };
        let env = |name: &str| body.get("env")?.get(name)?.as_str().map(str::to_owned);
        let number = body.get("pid").and_then(Json::as_f64).expect("a number");
        let process = OwnerProcess { env: &env, number: format!("{number}").parse().expect("a process number") };
        let identity = OwnerIdentity::new(text(body, "repoId"), text(body, "ownerJobId"), &claims, &names, &process);
        match (identity, body.get("error").and_then(Json::as_str)) {
            (Ok(identity), None) => {
                same(&Json::from(text(body, "preimage")), &Json::from(identity.preimage()))?;
                same(&Json::from(text(body, "digest")), &Json::from(identity.digest()))
            }
            (Err(mismatch), Some(recorded)) => same(&Json::from(recorded), &Json::from(mismatch.to_string())),
            (Ok(identity), Some(recorded)) => Err(format!("recorded {recorded}, but is {}", identity.preimage())),
            (Err(mismatch), None) => Err(format!("refused: {mismatch}")),
        }
    });
}

/// Two answers to the question whether things overlap. By rule 8 of what is better, a wildcard reaches its whole folder.
fn overlap(recorded: bool, ours: bool, has_wildcard: impl Fn() -> bool) -> Result<(), String> {
    let is_better = ours && !recorded && has_wildcard();
    if recorded == ours || is_better { Ok(()) } else { Err(format!("recorded {recorded}, but is {ours}")) }
}

fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// A claim; none if its key is blank or its mode unknown, which is refused at the door.
fn claim_of(body: &Json, key: &str) -> Result<Option<Claim>, String> {
    match Claim::from_json(body.get(key).expect("a claim")) {
        Ok(claim) => Ok(Some(claim)),
        Err(ClaimError::Mode(_) | ClaimError::BlankKey) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// None if a name is no text, which the type refuses.
pub(super) fn names_of(body: &Json) -> Option<OwnerNames> {
    let given = body.get("ownerIdentity");
    let name = |key: &str| match given.and_then(|given| given.get(key)) {
        None | Some(Json::Null) => Some(None),
        Some(value) => value.as_str().map(|text| Some(text.to_owned())),
    };
    Some(OwnerNames {
        repository_id: name("repositoryId")?,
        checkout_id: name("checkoutId")?,
        worktree_id: name("worktreeId")?,
        branch: name("branch")?,
        principal_id: name("principalId")?,
        controller_instance_id: name("controllerInstanceId")?,
        controller_generation: name("controllerGeneration")?,
    })
}

fn truth(body: &Json, key: &str) -> bool {
    match body.get(key) {
        Some(Json::Bool(value)) => *value,
        other => panic!("no truth value {key:?}: {other:?}"),
    }
}

fn same(recorded: &Json, ours: &Json) -> Result<(), String> {
    if recorded == ours { Ok(()) } else { Err(format!("recorded {}\n    but is {}", recorded.to_text(), ours.to_text())) }
}
