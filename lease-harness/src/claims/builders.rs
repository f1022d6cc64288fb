//! Claims on resources whose keys have a meaning, made from what they are about.
//!
//! A checkout that is not named, or blank, is the one called `active`.

use super::mode::Mode::{self, Exclusive, Read, Write};
use super::path::normal_path;
use super::refusal::Refusal;
use super::spec::Claim;
use crate::json::trimmed;

/// A path of a checkout, shared. What cannot be compared with other paths, such as `..`, claims the whole checkout.
#[must_use]
pub fn path_read(path: &str, checkout: Option<&str>) -> Claim {
    path_claim(path, checkout, Read)
}

/// A path of a checkout, alone. What cannot be compared with other paths, such as `..`, claims the whole checkout.
#[must_use]
pub fn path_write(path: &str, checkout: Option<&str>) -> Claim {
    path_claim(path, checkout, Write)
}

/// A whole checkout, shared.
#[must_use]
pub fn workspace_read(checkout: Option<&str>) -> Claim {
    of_checkout("workspace", checkout, Read)
}

/// A whole checkout, alone.
#[must_use]
pub fn workspace_write(checkout: Option<&str>) -> Claim {
    of_checkout("workspace", checkout, Write)
}

/// The index of a checkout, shared.
#[must_use]
pub fn git_index_read(checkout: Option<&str>) -> Claim {
    of_checkout("git-index", checkout, Read)
}

/// The index of a checkout, alone.
#[must_use]
pub fn git_index(checkout: Option<&str>) -> Claim {
    of_checkout("git-index", checkout, Exclusive)
}

/// The branches and tags of a repository, shared.
#[must_use]
pub fn git_refs_read(repository: &str) -> Claim {
    claim("git-refs", repository, Read)
}

/// The branches and tags of a repository, alone.
#[must_use]
pub fn git_refs(repository: &str) -> Claim {
    claim("git-refs", repository, Exclusive)
}

/// The build results of a repository, shared.
#[must_use]
pub fn build_cache_read(repository: &str) -> Claim {
    claim("build-cache", repository, Read)
}

/// The build results of a repository, alone.
#[must_use]
pub fn build_cache_write(repository: &str) -> Claim {
    claim("build-cache", repository, Write)
}

/// Bringing changes of a repository together, alone.
#[must_use]
pub fn integration(repository: &str) -> Claim {
    claim("integration", repository, Exclusive)
}

/// A release of a repository: it excludes everything but readers.
#[must_use]
pub fn release(repository: &str) -> Claim {
    claim("release", repository, Exclusive)
}

/// What lies elsewhere and is changed in a repository's name, alone.
#[must_use]
pub fn remote_mutation(repository: &str) -> Claim {
    claim("remote", repository, Exclusive)
}

/// A check of a repository that needs the machine, alone.
#[must_use]
pub fn heavy_check(repository: &str) -> Claim {
    claim("heavy-check", repository, Exclusive)
}

fn path_claim(path: &str, checkout: Option<&str>, mode: Mode) -> Claim {
    match normal_path(path) {
        Some(path) => claim("path", &format!("{}:{path}", named(checkout)), mode),
        None => of_checkout("workspace", checkout, mode),
    }
}

fn of_checkout(kind: &str, checkout: Option<&str>, mode: Mode) -> Claim {
    claim(kind, named(checkout), mode)
}

fn named(checkout: Option<&str>) -> &str {
    checkout.map(trimmed).filter(|checkout| !checkout.is_empty()).unwrap_or("active")
}

fn claim(kind: &str, of: &str, mode: Mode) -> Claim {
    Claim::new(&format!("{kind}:{of}"), mode).expect("the key is not blank")
}

/// The claims of a work, each with the repository, the checkout and the work that they are for. Without a work they stay as
/// they are.
///
/// # Errors
/// `RESOURCE_CLAIM_REPOSITORY_REQUIRED`, `RESOURCE_CLAIM_CHECKOUT_REQUIRED` when a work names no place; and
/// `RESOURCE_CLAIM_REPOSITORY_MISMATCH`, `RESOURCE_CLAIM_CHECKOUT_MISMATCH`, `RESOURCE_CLAIM_WORK_MISMATCH` when a claim names
/// another one.
pub fn scoped(claims: Vec<Claim>, place: &Place<'_>) -> Result<Vec<Claim>, Refusal> {
    let work = trimmed(place.work.unwrap_or_default());
    if work.is_empty() {
        return Ok(claims);
    }
    let (repository, checkout) = (trimmed(place.repository), trimmed(place.checkout));
    if repository.is_empty() {
        return Err(Refusal::new("RESOURCE_CLAIM_REPOSITORY_REQUIRED", ""));
    }
    if checkout.is_empty() {
        return Err(Refusal::new("RESOURCE_CLAIM_CHECKOUT_REQUIRED", work));
    }
    let names = [
        ("repoId", repository, "RESOURCE_CLAIM_REPOSITORY_MISMATCH"),
        ("checkoutId", checkout, "RESOURCE_CLAIM_CHECKOUT_MISMATCH"),
        ("workId", work, "RESOURCE_CLAIM_WORK_MISMATCH"),
    ];
    let place_one = |mut claim: Claim| {
        for (name, value, code) in names {
            if claim.text(name).is_some_and(|said| !said.is_empty() && said != value) {
                return Err(Refusal::new(code, ""));
            }
            claim.say(name, value);
        }
        Ok(claim)
    };
    claims.into_iter().map(place_one).collect()
}

/// What a work is about; see [`scoped`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// The repository.
    pub repository: &'a str,
    /// Its checkout.
    pub checkout: &'a str,
    /// The work; none, or a blank one, leaves claims as they are.
    pub work: Option<&'a str>,
}
