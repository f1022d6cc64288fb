//! Descriptors of what somebody has made and somebody must remove: temporary folders, worktrees, branches and others.
//!
//! A descriptor stands in the record of whoever made the thing. What has none that can be read is unknown, and nobody ever
//! removes it.

use super::date;
use super::journal::iso;
use crate::json::{Json, Object, object};

/// What a resource is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    /// A folder for the time of a work.
    TempFolder,
    /// A linked worktree of a repository.
    Worktree,
    /// A branch of a repository.
    Branch,
    /// A file or folder that a work made for others.
    Artifact,
    /// Something that runs.
    Session,
    /// A slot of a pool.
    Slot,
}

/// How far its life has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceState {
    /// It is in use.
    Active,
    /// It is kept for a reason.
    Retained,
    /// Its work is done.
    Completed,
    /// Its owner has left it.
    Abandoned,
    /// It may go.
    CleanupEligible,
    /// Somebody is removing it, or died doing so.
    Removing,
    /// It is gone.
    Removed,
    /// It could not be removed.
    CleanupFailed,
}

const KINDS: [(&str, ResourceKind); 6] = [
    ("temp_folder", ResourceKind::TempFolder),
    ("worktree", ResourceKind::Worktree),
    ("branch", ResourceKind::Branch),
    ("artifact", ResourceKind::Artifact),
    ("session", ResourceKind::Session),
    ("slot", ResourceKind::Slot),
];
const STATES: [(&str, ResourceState); 8] = [
    ("active", ResourceState::Active),
    ("retained", ResourceState::Retained),
    ("completed", ResourceState::Completed),
    ("abandoned", ResourceState::Abandoned),
    ("cleanup_eligible", ResourceState::CleanupEligible),
    ("removing", ResourceState::Removing),
    ("removed", ResourceState::Removed),
    ("cleanup_failed", ResourceState::CleanupFailed),
];

fn word_of<T: PartialEq + Copy>(words: &[(&'static str, T)], of: T) -> &'static str {
    words.iter().find(|(_, value)| *value == of).map_or("", |(word, _)| word)
}

fn of_word<T: Copy>(words: &[(&'static str, T)], text: &str) -> Option<T> {
    words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
}

impl ResourceKind {
    /// The word in descriptors.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        word_of(&KINDS, self)
    }
}

impl ResourceState {
    /// The word in descriptors.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        word_of(&STATES, self)
    }
}

/// A descriptor that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedResource {
    /// Its name in its record.
    pub id: String,
    /// What it is.
    pub kind: ResourceKind,
    /// What kind of owner it has: `process`, `slot`, or another.
    pub owner_kind: String,
    /// Which of them.
    pub owner_id: String,
    /// When it was made, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// When its owner last said something about it.
    pub last_seen_ms: i64,
    /// How far its life has come.
    pub state: ResourceState,
    /// Why it is kept, or could not be removed.
    pub reason: Option<String>,
    /// The first moment at which it may go.
    pub cleanup_after_ms: Option<i64>,
    /// Where it lies.
    pub path: Option<String>,
    /// The branch that it is, or that is checked out in it.
    pub branch: Option<String>,
    /// The repository's main checkout, of a worktree or branch.
    pub repository: Option<String>,
    /// Device and inode of what lay at the path when it was recorded.
    pub identity: Option<String>,
}

/// Whether a document is a descriptor by its shape: a known one, whatever its words mean.
#[must_use]
pub fn is_known_resource(document: &Json) -> bool {
    let is_text = |of: &Json, name: &str| of.get(name).and_then(Json::as_str).is_some();
    let Some(owner) = document.get("owner") else { return false };
    document.as_object().is_some()
        && ["resourceId", "type", "createdAt", "lastSeenAt", "state"].iter().all(|name| is_text(document, name))
        && owner.as_object().is_some()
        && ["kind", "id"].iter().all(|name| is_text(owner, name))
}

/// The descriptor with what is understood written out: who was not seen since was seen when it was made.
#[must_use]
pub fn completed_resource(document: &Json) -> Json {
    let mut document = document.clone();
    let is_unsaid = matches!(document.get("lastSeenAt"), None | Some(Json::Null));
    let created_at = document.get("createdAt").cloned().unwrap_or_default();
    if let Some(members) = document.as_object_mut().filter(|_| is_unsaid) {
        members.insert("lastSeenAt", created_at);
    }
    document
}

impl ManagedResource {
    /// Reads a descriptor; else why it is unknown.
    ///
    /// # Errors
    /// It is no descriptor, or says something that is not understood.
    pub fn from_json(document: &Json) -> Result<Self, String> {
        let document = &completed_resource(document);
        if !is_known_resource(document) {
            return Err("it is no descriptor of a resource".to_owned());
        }
        let text = |name: &str| match document.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => value.as_str().map(|text| Some(text.to_owned())).ok_or_else(|| format!("its {name} is no text")),
        };
        let said = |name: &str| document.get(name).and_then(Json::as_str).unwrap_or_default();
        let time = |name: &str| time_of(said(name)).ok_or_else(|| format!("its {name} is no time"));
        let owner = |name: &str| document.get("owner").and_then(|owner| owner.get(name)).and_then(Json::as_str);
        Ok(Self {
            id: said("resourceId").to_owned(),
            kind: of_word(&KINDS, said("type")).ok_or_else(|| format!("its type is {:?}, which is unknown", said("type")))?,
            owner_kind: owner("kind").unwrap_or_default().to_owned(),
            owner_id: owner("id").unwrap_or_default().to_owned(),
            created_at_ms: time("createdAt")?,
            last_seen_ms: time("lastSeenAt")?,
            state: of_word(&STATES, said("state"))
                .ok_or_else(|| format!("its state is {:?}, which is unknown", said("state")))?,
            reason: text("retentionReason")?,
            cleanup_after_ms: text("cleanupAfter")?
                .map(|text| time_of(&text).ok_or_else(|| "its cleanupAfter is no time".to_owned()))
                .transpose()?,
            path: text("path")?,
            branch: text("branch")?,
            repository: text("repository")?,
            identity: text("identity")?,
        })
    }

    /// The descriptor.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut document = Object::new();
        document.insert("resourceId", self.id.as_str());
        document.insert("type", self.kind.as_str());
        let owner = [("kind", Json::from(self.owner_kind.as_str())), ("id", Json::from(self.owner_id.as_str()))];
        document.insert("owner", object(owner));
        document.insert("createdAt", Json::from(iso(self.created_at_ms)));
        document.insert("lastSeenAt", Json::from(iso(self.last_seen_ms)));
        document.insert("state", self.state.as_str());
        let cleanup_after = self.cleanup_after_ms.and_then(iso);
        for (name, value) in [
            ("retentionReason", &self.reason),
            ("cleanupAfter", &cleanup_after),
            ("path", &self.path),
            ("branch", &self.branch),
            ("repository", &self.repository),
            ("identity", &self.identity),
        ] {
            if let Some(value) = value {
                document.insert(name, value.as_str());
            }
        }
        Json::Object(document)
    }
}

fn time_of(text: &str) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "a date is within the range")]
    date::parse(text).map(|ms| ms as i64)
}
