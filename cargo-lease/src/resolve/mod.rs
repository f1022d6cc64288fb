//! What the command line means, together with the environment and the project's files.

mod duration;
mod hold;
mod manifest;
mod pattern;
mod pool_file;
pub(crate) mod programs;
mod project;
mod settings;
mod wrap;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use hold::{Hold, find_hold, has_debugger, nextest_threads};
pub(crate) use pool_file::{find_pool_file, passed_over};
pub(crate) use settings::{Settings, path_text};
pub(crate) use wrap::{Wrap, binary_ids, find_wrap};

use crate::exit::Failure;
use project::{Project, Selection};

/// Where we were started: the working directory and the environment, read once.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) cwd: PathBuf,
    env: HashMap<OsString, OsString>,
}

impl Surroundings {
    /// Those of this process.
    pub(crate) fn of_process() -> Result<Self, Failure> {
        let cwd = std::env::current_dir().map_err(|error| Failure::internal("cannot tell the current directory", error))?;
        Ok(Self { cwd, env: std::env::vars_os().collect() })
    }

    #[cfg(test)]
    pub(crate) fn of_test(cwd: impl Into<PathBuf>, env: &[(&str, &str)]) -> Self {
        Self { cwd: cwd.into(), env: env.iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// An environment variable; an empty one counts as unset.
    pub(crate) fn var_os(&self, name: &str) -> Option<&OsString> {
        self.env.get(name.as_ref() as &OsStr).filter(|value| !value.is_empty())
    }

    /// The same as text.
    pub(crate) fn var(&self, name: &str) -> Result<Option<&str>, Failure> {
        match self.var_os(name) {
            None => Ok(None),
            Some(value) => match value.to_str() {
                Some(text) => Ok(Some(text)),
                None => Err(Failure::usage(format!("{name} {value:?}: expected UTF-8 text"))),
            },
        }
    }

    /// The same without the variables whose names start so.
    pub(crate) fn without(&self, prefix: &str) -> Self {
        let is_other = |name: &OsStr| !name.as_encoded_bytes().starts_with(prefix.as_bytes());
        let others = self.env.iter().filter(|(name, _)| is_other(name));
        Self { cwd: self.cwd.clone(), env: others.map(|(name, value)| (name.clone(), value.clone())).collect() }
    }

    /// The names of the environment's variables that are text.
    pub(crate) fn var_names(&self) -> impl Iterator<Item = &str> {
        self.env.keys().filter_map(|name| name.to_str())
    }

    /// `path` as seen from the working directory.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    /// Cargo's home folder.
    pub(crate) fn cargo_home(&self) -> Option<PathBuf> {
        self.home("CARGO_HOME", ".cargo")
    }

    /// Rustup's home folder.
    fn rustup_home(&self) -> Option<PathBuf> {
        self.home("RUSTUP_HOME", ".rustup")
    }

    fn home(&self, variable: &str, in_users_home: &str) -> Option<PathBuf> {
        let named = self.var_os(variable).map(|home| self.absolute(Path::new(home)));
        named.or_else(|| Some(Path::new(self.var_os("HOME")?).join(in_users_home)))
    }

    /// Reads a text file; `None` when it is not there.
    pub(crate) fn read(&self, path: &Path) -> Result<Option<String>, Failure> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::internal(format!("cannot read {}", path.display()), error)),
        }
    }
}

/// The manifests that a command line is about; cargo is asked for them once, and only if something is not said
/// elsewhere.
pub(crate) struct Manifests<'a> {
    selection: Selection,
    around: &'a Surroundings,
    cargo: Option<&'a OsStr>,
    project: OnceCell<Option<Project>>,
}

impl<'a> Manifests<'a> {
    /// Those of a wrapped command line.
    pub(crate) fn new(words: &[OsString], around: &'a Surroundings, cargo: Option<&'a OsStr>) -> Self {
        Self { selection: Selection::of_words(words), around, cargo, project: OnceCell::new() }
    }

    /// The workspace; `None` outside any.
    fn project(&self) -> Result<Option<&Project>, Failure> {
        if let Some(project) = self.project.get() {
            return Ok(project.as_ref());
        }
        let read = Project::read(&self.selection, self.around, self.cargo)?;
        Ok(self.project.get_or_init(|| read).as_ref())
    }
}
