//! `claims-scope.json`: claims made from what they are about, and claims of a work.

use lease_harness::claims::{self, Claim, Place};
use lease_harness::json::Json;

use super::load::{Case, list, load, text};
use super::report;

#[test]
fn builders_agree() {
    report::check(&load("claims-scope"), 49, 49, |case| {
        let ours = match (answer(case)?, case.body.get("error").and_then(Json::as_str)) {
            (Ok(ours), None) => ours,
            (Err(error), Some(recorded)) if error == recorded => return Ok(()),
            (ours, recorded) => return Err(format!("recorded {recorded:?}, but is {ours:?}")),
        };
        let recorded = case.body.get("expected").expect("what is expected");
        if super::claims_scenarios::alike(recorded, &ours) {
            return Ok(());
        }
        Err(format!("recorded {}\n    but is {}", recorded.to_text(), ours.to_text()))
    });
}

fn answer(case: &Case) -> Result<Result<Json, String>, String> {
    let args = list(&case.body, "args");
    let text_at = |at: usize| args.get(at).and_then(Json::as_str);
    let first = || text_at(0).unwrap_or_default();
    let claim = match text(&case.body, "fn") {
        "scopeResourceClaims" => {
            let place =
                Place { repository: text_at(1).unwrap_or_default(), checkout: text_at(2).unwrap_or_default(), work: text_at(3) };
            let scoped = claims::scoped(claims_of(&args[0])?, &place);
            return Ok(scoped.map(|claims| documents(&claims)).map_err(|error| error.to_string()));
        }
        "toProcessClaims" => {
            let plain: Vec<_> = claims_of(&args[0])?.iter().map(Claim::plain).collect();
            return Ok(Ok(documents(&plain)));
        }
        "claimPathRead" => claims::path_read(first(), text_at(1)),
        "claimPathWrite" => claims::path_write(first(), text_at(1)),
        "claimWorkspaceRead" => claims::workspace_read(text_at(0)),
        "claimWorkspaceWrite" => claims::workspace_write(text_at(0)),
        "claimGitIndexRead" => claims::git_index_read(text_at(0)),
        "claimGitIndex" => claims::git_index(text_at(0)),
        "claimGitRefsRead" => claims::git_refs_read(first()),
        "claimGitRefs" => claims::git_refs(first()),
        "claimBuildCacheRead" => claims::build_cache_read(first()),
        "claimBuildCacheWrite" => claims::build_cache_write(first()),
        "claimIntegration" => claims::integration(first()),
        "claimRelease" => claims::release(first()),
        "claimRemoteMutation" => claims::remote_mutation(first()),
        "claimHeavyCheck" => claims::heavy_check(first()),
        other => return Err(format!("no such function: {other}")),
    };
    Ok(Ok(claim.to_json()))
}

fn claims_of(documents: &Json) -> Result<Vec<Claim>, String> {
    let documents = documents.as_array().ok_or("no list of claims")?;
    documents.iter().map(Claim::from_json).collect::<Result<_, _>>().map_err(|error| error.to_string())
}

fn documents(claims: &[Claim]) -> Json {
    Json::Array(claims.iter().map(Claim::to_json).collect())
}
