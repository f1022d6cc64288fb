//! Removing what was made, recorded, and left.
//!
//! What is recorded as ours goes if its owner is provably gone and its time has come. Everything else stays, with the reason.

mod decide;
mod git;
mod owner;
mod place;
mod remove;

pub(super) use git::{BRANCHES, Repository};
pub(super) use owner::PROCESS;

use std::path::PathBuf;
use std::time::Duration;

use self::decide::decide;
use self::remove::Removal;
use super::error::{SlotError, SlotErrorKind};
use crate::json::{Json, Object, object};
use crate::store::{LeaseStore, ManagedResource, Resources, StoreOptions, lock_folder, main_checkout};
use crate::sys::disk;

/// What is to become of a resource, or became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stays, for this reason.
    Keep(String),
    /// It would go, for this reason.
    WouldGo(String),
    /// It is gone.
    Gone(String),
    /// It was to go and could not: the next run tries again.
    Failed(String),
}

/// One resource and its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whose record it stands in.
    pub maker: String,
    /// Its name, or what there is of one.
    pub id: String,
    /// What it is: a path, or the name of a branch.
    pub what: String,
    /// What is to become of it.
    pub verdict: Verdict,
}

/// What a collector found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Whether anything was to be removed, or only looked at.
    pub is_applied: bool,
    /// All resources, in the order of their records.
    pub findings: Vec<Finding>,
}

impl Collection {
    /// Whether something was to go and could not.
    #[must_use]
    pub fn has_failures(&self) -> bool {
        self.findings.iter().any(|finding| matches!(finding.verdict, Verdict::Failed(_)))
    }

    /// The document.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let findings = self.findings.iter().map(Finding::to_json).collect();
        let is_ok = !self.has_failures();
        object([("ok", is_ok.into()), ("applied", self.is_applied.into()), ("resources", Json::Array(findings))])
    }
}

impl Verdict {
    /// The word for it: `kept`, `would go`, `gone` or `failed`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Keep(_) => "kept",
            Self::WouldGo(_) => "would go",
            Self::Gone(_) => "gone",
            Self::Failed(_) => "failed",
        }
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Keep(reason) | Self::WouldGo(reason) | Self::Gone(reason) | Self::Failed(reason) => reason,
        }
    }
}

impl Finding {
    fn to_json(&self) -> Json {
        let mut finding = Object::new();
        finding.insert("maker", self.maker.as_str());
        finding.insert("resourceId", self.id.as_str());
        finding.insert("what", self.what.as_str());
        finding.insert("verdict", self.verdict.word());
        finding.insert("reason", self.verdict.reason());
        Json::Object(finding)
    }
}

/// What a collector is to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Errand {
    Look,
    Collect,
}

/// Looks at what is recorded in a store, and removes what has been left.
#[derive(Debug)]
pub struct Collector {
    store: LeaseStore,
    /// Whose worktrees and branches may go: the repository in which the collector runs.
    repository: Option<PathBuf>,
}

impl Collector {
    /// For the store of these options, and the repository around the current directory.
    ///
    /// # Errors
    /// A usage error for a store that cannot be used.
    pub fn new(options: &StoreOptions) -> Result<Self, SlotError> {
        let here = std::env::current_dir().ok();
        let repository = here.and_then(|here| main_checkout(&here)).and_then(|checkout| checkout.canonicalize().ok());
        Ok(Self { store: LeaseStore::open(options)?, repository })
    }

    /// What would go, and what stays, and why. Changes nothing.
    ///
    /// # Errors
    /// The records cannot be listed.
    pub fn look(&self) -> Result<Collection, SlotError> {
        let findings = self.each(Errand::Look)?;
        Ok(Collection { is_applied: false, findings })
    }

    /// Removes what may go.
    ///
    /// # Errors
    /// `Refused` while another collector is at work; or the records cannot be listed.
    ///
    /// # If the process dies
    /// What it was removing is recorded as that, and the next one goes on with it.
    pub fn collect(&self) -> Result<Collection, SlotError> {
        let made = self.resources().made_dir();
        if !disk::is_folder(&self.resources().dir()) {
            return Ok(Collection { is_applied: true, findings: Vec::new() });
        }
        let failed = |error| SlotError::from(crate::store::StoreError::from(error));
        disk::create_dirs(&made).map_err(failed)?;
        let Some(_alone) = lock_folder(&made, Duration::ZERO)? else {
            return Err(SlotError::new(SlotErrorKind::Refused, "another collector is at work in this store"));
        };
        let findings = self.each(Errand::Collect)?;
        Ok(Collection { is_applied: true, findings })
    }

    fn removal(&self, before: &[Finding]) -> Removal<'_> {
        let would_go = before.iter().filter(|finding| matches!(finding.verdict, Verdict::WouldGo(_)));
        let going = would_go.map(|finding| finding.what.clone()).collect();
        Removal { store: &self.store, repository: self.repository.as_deref(), going }
    }

    fn resources(&self) -> Resources {
        self.store.resources()
    }

    fn each(&self, errand: Errand) -> Result<Vec<Finding>, SlotError> {
        let mut findings = Vec::new();
        for maker in self.resources().makers()? {
            let descriptors = match self.resources().read(&maker) {
                Ok(Ok(descriptors)) => descriptors,
                Ok(Err(what)) => {
                    findings.push(unknown(&maker, "", format!("the record is damaged: {what}")));
                    continue;
                }
                Err(error) => {
                    findings.push(unknown(&maker, "", crate::store::chain(&error)));
                    continue;
                }
            };
            for document in &descriptors {
                let id = document.get("resourceId").and_then(Json::as_str).unwrap_or_default();
                findings.push(match ManagedResource::from_json(document) {
                    Err(why) => unknown(&maker, id, why),
                    Ok(resource) => {
                        let removal = self.removal(&findings);
                        let owner = owner::state(&self.store, &maker, &resource);
                        let verdict = match decide(&resource, &owner, self.store.now_ms()) {
                            Err(why) => Verdict::Keep(why),
                            Ok(reason) if errand == Errand::Collect => removal.remove(&maker, &resource, reason),
                            Ok(reason) => removal.check(&resource).map_or_else(Verdict::Keep, |()| Verdict::WouldGo(reason)),
                        };
                        Finding { what: what_of(&resource), maker: maker.clone(), id: resource.id, verdict }
                    }
                });
            }
        }
        self.unrecorded(&mut findings)?;
        Ok(findings)
    }

    /// What lies among the things that were made, and stands in no record.
    fn unrecorded(&self, findings: &mut Vec<Finding>) -> Result<(), SlotError> {
        let made = self.resources().made_dir();
        let mut names = disk::names(&made).map_err(crate::store::StoreError::from)?;
        names.sort();
        for name in names {
            let what = made.join(&name).display().to_string();
            if !findings.iter().any(|finding| finding.what == what) {
                findings.push(Finding { what, ..unknown("", &name, "no record names it".to_owned()) });
            }
        }
        Ok(())
    }
}

fn what_of(resource: &ManagedResource) -> String {
    resource.path.clone().or_else(|| resource.branch.clone()).unwrap_or_default()
}

fn unknown(maker: &str, id: &str, why: String) -> Finding {
    let verdict = Verdict::Keep(format!("unknown: {why}"));
    Finding { maker: maker.to_owned(), id: id.to_owned(), what: String::new(), verdict }
}
