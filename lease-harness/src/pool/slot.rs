//! A slot as the pool file describes it, and its environment.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::template::value_text;
use crate::json::{Json, Object};

const PREFIX: &str = "POOL_SLOT_";
const ID: &str = "POOL_SLOT_ID";
const KIND: &str = "POOL_SLOT_KIND";

/// A slot as the pool file describes it.
///
/// Texts are in the form that [`json`](crate::json) documents; give values of an environment to a process through
/// [`plain_text`](crate::json::plain_text).
#[derive(Clone, Debug)]
pub struct SlotDef {
    id: Json,
    id_text: String,
    kind: String,
    attrs: Object,
    /// Worked out when somebody asks: mostly for one slot of many.
    env: OnceLock<Vec<(String, String)>>,
    grant_env: Option<Vec<(String, String)>>,
    grant_fields: Object,
}

impl SlotDef {
    /// A slot whose grants carry its own environment and no fields.
    pub(super) fn new(id: Json, kind: String, attrs: Object) -> Self {
        let id_text = value_text(&id);
        Self { id, id_text, kind, attrs, env: OnceLock::new(), grant_env: None, grant_fields: Object::new() }
    }

    /// Sets what grants of this slot carry; no environment means the slot's own.
    pub(super) fn set_grant(&mut self, env: Option<Vec<(String, String)>>, fields: Object) {
        self.grant_env = env;
        self.grant_fields = fields;
    }

    /// The id as the file has it: a text or a number.
    pub fn id(&self) -> &Json {
        &self.id
    }

    /// The id as text; unique in its pool.
    pub fn id_text(&self) -> &str {
        &self.id_text
    }

    /// The kind of the slot's lease.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Everything else that the file says of the slot.
    pub fn attrs(&self) -> &Object {
        &self.attrs
    }

    /// What the pool's commands see of this slot: `POOL_SLOT_ID`, `POOL_SLOT_KIND`, and `POOL_SLOT_<NAME>` for every
    /// attribute.
    pub fn env(&self) -> &[(String, String)] {
        self.env.get_or_init(|| slot_env(&self.id_text, &self.kind, &leaves(&self.attrs)))
    }

    /// The environment that a grant of this slot carries: the file's `grantEnv` filled in, else [`env`](Self::env).
    pub fn grant_env(&self) -> &[(String, String)] {
        self.grant_env.as_deref().unwrap_or_else(|| self.env())
    }

    /// The fields that a grant of this slot carries besides the built-in ones: the file's `grantFields` filled in.
    pub fn grant_fields(&self) -> &Object {
        &self.grant_fields
    }

    /// The normalised definition: id, kind and attributes.
    pub fn to_json(&self) -> Json {
        crate::json::object([
            ("id", self.id.clone()),
            ("kind", Json::from(&self.kind)),
            ("attrs", Json::Object(self.attrs.clone())),
        ])
    }

    /// What works but is doubtful in this slot, each as a text that does not name the slot.
    pub(super) fn doubts(&self) -> Vec<String> {
        let mut doubts = overwritten(&leaves(&self.attrs));
        for (name, value) in self.env().iter().chain(self.grant_env.iter().flatten()) {
            if value.contains('\0') {
                doubts.push(format!("{name} holds a NUL character, which no environment can carry"));
            }
        }
        doubts
    }
}

/// An attribute that is no object, or such a member of one.
struct Leaf {
    /// Where it stands, for people.
    path: String,
    /// Its environment name without the prefix.
    name: String,
    text: String,
}

/// The attributes in order, objects opened up. Does not recurse, because a file may nest deeper than a stack.
fn leaves(attrs: &Object) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    let mut parts = Vec::new();
    let mut open = vec![attrs.iter()];
    while let Some(rest) = open.last_mut() {
        match rest.next() {
            None => {
                open.pop();
                parts.pop();
            }
            Some((key, Json::Object(members))) => {
                parts.push(key);
                open.push(members.iter());
            }
            Some((key, value)) => {
                parts.push(key);
                leaves.push(Leaf { path: parts.join("."), name: env_name(&parts.join("_")), text: leaf_text(value) });
                parts.pop();
            }
        }
    }
    leaves
}

fn leaf_text(value: &Json) -> String {
    if value.is_null() { String::new() } else { value_text(value) }
}

/// The environment name of an attribute: upper case, each run of other characters one underscore, none at the ends.
///
/// Upper-casing is Unicode's, as in JavaScript: `ß` gives `SS`.
fn env_name(joined: &str) -> String {
    let upper = joined.to_uppercase();
    let words = upper.split(|char: char| !char.is_ascii_uppercase() && !char.is_ascii_digit());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

fn slot_env(id: &str, kind: &str, leaves: &[Leaf]) -> Vec<(String, String)> {
    // First by the bare names alone: one that is a number comes before the others, as it does in other programs.
    let attrs: Object = leaves.iter().map(|leaf| (&*leaf.name, &*leaf.text)).collect();
    let mut env: Object = [(ID, id), (KIND, kind)].into_iter().collect();
    env.extend(attrs.into_iter().map(|(name, text)| (format!("{PREFIX}{name}"), text)));
    env.into_iter().filter_map(|(name, text)| Some((name, text.into_string()?))).collect()
}

/// Which attributes overwrite the slot's id or kind, or another attribute.
fn overwritten(leaves: &[Leaf]) -> Vec<String> {
    let mut seen: HashMap<&str, &str> = HashMap::new();
    let mut doubts = Vec::new();
    for Leaf { path, name, .. } in leaves {
        let variable = format!("{PREFIX}{name}");
        if variable == ID || variable == KIND {
            doubts.push(format!("attribute {} overwrites {variable}", Json::from(path).to_text()));
        }
        if let Some(earlier) = seen.insert(name, path) {
            doubts.push(format!(
                "attributes {} and {} both give {variable}; the later one counts",
                Json::from(earlier).to_text(),
                Json::from(path).to_text(),
            ));
        }
    }
    doubts
}
