//! Removing one resource, in steps that the next collector can go on from.
//!
//! A folder is first renamed to `held`, where nobody uses it, and looked at there; then to `gone`, which nobody puts back; then
//! its files are removed.

use std::path::{Path, PathBuf};

use super::Verdict;
use super::git::{Locked, Repository};
use super::place::place_of;
use crate::store::{LeaseStore, ManagedResource, ResourceKind, ResourceState, chain};
use crate::sys::disk::{self, Placed};

pub(super) struct Removal<'a> {
    pub(super) store: &'a LeaseStore,
    pub(super) repository: Option<&'a Path>,
    /// Worktrees that go before this.
    pub(super) going: Vec<String>,
}

/// Why something stays, or could not go.
enum Stop {
    Keep(String),
    Fail(String),
}

type Step<T> = Result<T, Stop>;

impl Removal<'_> {
    /// Whether it can go, without touching it; else why it stays.
    pub(super) fn check(&self, resource: &ManagedResource) -> Result<(), String> {
        match resource.kind {
            _ if resource.state == ResourceState::Removed => Ok(()),
            ResourceKind::Branch => self.check_branch(resource).map(drop),
            ResourceKind::TempFolder | ResourceKind::Worktree | ResourceKind::Artifact => self.check_folder(resource).map(drop),
            ResourceKind::Session => Err("a session ends by itself".to_owned()),
            ResourceKind::Slot => Err("a slot is given back by its pool".to_owned()),
        }
    }

    /// Removes it, and its descriptor.
    pub(super) fn remove(&self, maker: &str, resource: &ManagedResource, reason: String) -> Verdict {
        if let Err(why) = self.check(resource) {
            return Verdict::Keep(why);
        }
        let removed = match resource.kind {
            _ if resource.state == ResourceState::Removed => Ok(()),
            ResourceKind::Branch => self.remove_branch(maker, resource),
            _ => self.remove_folder(maker, resource),
        };
        let forget = || self.store.resources().forget(maker, &resource.id).map_err(|error| Stop::Fail(chain(&error)));
        match removed.and_then(|()| forget()) {
            Ok(()) => Verdict::Gone(reason),
            Err(Stop::Keep(why)) => {
                let _ = self.store.resources().record(maker, resource);
                Verdict::Keep(why)
            }
            Err(Stop::Fail(why)) => {
                let state = ResourceState::CleanupFailed;
                let failed = ManagedResource { state, reason: Some(why.clone()), ..resource.clone() };
                let _ = self.store.resources().record(maker, &failed);
                Verdict::Failed(why)
            }
        }
    }

    fn begin(&self, maker: &str, resource: &ManagedResource) -> Step<()> {
        let removing = ManagedResource { state: ResourceState::Removing, ..resource.clone() };
        self.store.resources().record(maker, &removing).map_err(|error| Stop::Fail(chain(&error)))
    }

    fn repository_of(&self, resource: &ManagedResource) -> Result<Repository<'_>, String> {
        let named = resource.repository.as_deref().ok_or("its repository is not recorded")?;
        let named_path = Path::new(named).canonicalize().map_err(|error| format!("{named}: {error}"))?;
        match self.repository.filter(|here| *here == named_path) {
            Some(here) => Ok(Repository(here)),
            None => Err(format!("it belongs to the repository {named}; collect there")),
        }
    }

    fn check_branch(&self, resource: &ManagedResource) -> Result<bool, String> {
        let branch = resource.branch.as_deref().ok_or("the branch is not named")?;
        let repository = self.repository_of(resource)?;
        let is_there = repository.check_branch(branch)?;
        match repository.worktree_on(branch)?.filter(|path| !self.going.iter().any(|going| is_same(going, path))) {
            Some(path) => Err(format!("it is checked out in {path}")),
            None => Ok(is_there),
        }
    }

    fn remove_branch(&self, maker: &str, resource: &ManagedResource) -> Step<()> {
        let branch = resource.branch.as_deref().unwrap_or_default();
        if !self.check_branch(resource).map_err(Stop::Keep)? {
            return Ok(());
        }
        self.begin(maker, resource)?;
        let repository = self.repository_of(resource).map_err(Stop::Keep)?;
        repository.git(&["branch", "--delete", "--quiet", "--", branch]).map(drop).map_err(Stop::Keep)
    }

    /// Where it lies, and what it goes through.
    fn check_folder(&self, resource: &ManagedResource) -> Result<Way, String> {
        let path = place_of(self.store, resource)?;
        let identity = resource.identity.clone().ok_or("what it was is not recorded")?;
        if !identity.split(':').all(|part| part.parse::<u64>().is_ok()) {
            return Err("what it was is not recorded".to_owned());
        }
        let stage = |name: &str| self.store.resources().dir().join(format!("{name}-{}", identity.replace(':', "-")));
        let way = Way { held: stage("held"), gone: stage("gone"), path, identity };
        let is_worktree = resource.kind == ResourceKind::Worktree;
        if is_worktree && self.repository_of(resource)?.worktree(&way.path)? == Some(Locked::Yes) {
            return Err("it is locked".to_owned());
        }
        if way.is_at(&way.gone)? {
            return Ok(way);
        }
        let at = if way.is_at(&way.held)? { &way.held } else { &way.path };
        match disk::identity(at).map_err(|error| chain(&error))? {
            None => return Ok(way),
            Some(found) if found != way.identity => return Err(format!("{} is not what was recorded", at.display())),
            Some(_) => {}
        }
        if !disk::is_folder(at) {
            let is_artifact = resource.kind == ResourceKind::Artifact && at.is_file() && !at.is_symlink();
            return if is_artifact { Ok(way) } else { Err(format!("{} is no folder", at.display())) };
        }
        way.check_content(at, resource)?;
        Ok(way)
    }

    fn remove_folder(&self, maker: &str, resource: &ManagedResource) -> Step<()> {
        let way = self.check_folder(resource).map_err(Stop::Keep)?;
        self.begin(maker, resource)?;
        let at = |path: &Path| way.is_at(path).map_err(Stop::Fail);
        if !at(&way.gone)? {
            if !at(&way.held)? && !moved(&way.path, &way.held)? {
                return self.forget_worktree(resource, &way);
            }
            // Looked at once more where nobody uses it; what turns out to be another goes back.
            let is_as_recorded = way.is_at(&way.held).and_then(|is_it| match is_it {
                true if disk::is_folder(&way.held) => way.check_content(&way.held, resource),
                true => Ok(()),
                false => Err(format!("{} is not what was recorded", way.path.display())),
            });
            if let Err(why) = is_as_recorded {
                moved(&way.held, &way.path)?;
                return Err(Stop::Keep(why));
            }
            moved(&way.held, &way.gone)?;
        }
        disk::remove_tree(&way.gone).map_err(|error| Stop::Fail(chain(&error)))?;
        self.forget_worktree(resource, &way)
    }

    /// Takes a worktree whose folder is gone off git's list.
    fn forget_worktree(&self, resource: &ManagedResource, way: &Way) -> Step<()> {
        if resource.kind != ResourceKind::Worktree {
            return Ok(());
        }
        let repository = self.repository_of(resource).map_err(Stop::Keep)?;
        if repository.worktree(&way.path).map_err(Stop::Fail)?.is_none() {
            return Ok(());
        }
        let path = way.path.display().to_string();
        repository.git(&["worktree", "remove", "--force", "--", &path]).map(drop).map_err(Stop::Fail)
    }
}

/// Whether two paths are one, where git says where links lead.
fn is_same(ours: &str, of_git: &str) -> bool {
    ours == of_git || Path::new(ours).canonicalize().is_ok_and(|real| real == Path::new(of_git))
}

/// The places of a folder that goes.
struct Way {
    path: PathBuf,
    held: PathBuf,
    gone: PathBuf,
    identity: String,
}

impl Way {
    /// Whether what was recorded is there.
    fn is_at(&self, path: &Path) -> Result<bool, String> {
        Ok(disk::identity(path).map_err(|error| chain(&error))?.as_ref() == Some(&self.identity))
    }

    fn check_content(&self, at: &Path, resource: &ManagedResource) -> Result<(), String> {
        if resource.kind == ResourceKind::Worktree && at.join(".git").exists() {
            Repository::check_worktree(at, resource.branch.as_deref())?;
        } else if resource.kind == ResourceKind::Worktree && !disk::names(at).map_err(|error| chain(&error))?.is_empty() {
            return Err("it is no worktree any more".to_owned());
        }
        match disk::is_on_one_device(at) {
            Ok(true) => Ok(()),
            Ok(false) => Err("something else is mounted in it".to_owned()),
            Err(error) => Err(chain(&error)),
        }
    }
}

/// Renames to where nothing is; false if there was nothing to rename.
fn moved(from: &Path, to: &Path) -> Step<bool> {
    match disk::rename_new(from, to) {
        Ok(Placed::Done) => Ok(true),
        Ok(Placed::SourceGone) => Ok(false),
        Ok(Placed::Occupied) => Err(Stop::Fail(format!("{} is in the way", to.display()))),
        Ok(Placed::Unsupported) => Err(Stop::Fail("this file system cannot rename without replacing".to_owned())),
        Err(error) => Err(Stop::Fail(chain(&error))),
    }
}
