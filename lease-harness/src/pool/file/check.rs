//! Every check of a pool file, in the order of the format's other programs, so that a file with several mistakes gives
//! the same message everywhere.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use strsim::levenshtein;

use super::{Numbers, PoolFile, PoolFileError, Texts};
use crate::json::{Json, Object, plain_text};
use crate::pool::slot::SlotDef;
use crate::pool::template::{Scope, value_text};
use crate::store::{LONGEST_TTL_MINUTES, is_kind};
use crate::sys::disk::normalize;

/// How a message shows what a kind must look like.
const KIND: &str = "/^[a-z0-9][a-z0-9._-]{0,127}$/";

/// The grant keys that `grantFields` must leave alone.
const GRANT_KEYS: [&str; 12] =
    ["ok", "state", "request_id", "mode", "slot_id", "kind", "owner", "token", "ttlMinutes", "attrs", "env", "grantedAt"];

/// The keys that mean something. Others belong to other programs, and are kept.
const KEYS: [&str; 17] = [
    "slots",
    "name",
    "provision",
    "reset",
    "health",
    "cwd",
    "grantEnv",
    "grantFields",
    "ttlMinutes",
    "kindPrefix",
    "queueLockKind",
    "waiterStaleMs",
    "movingAvgSeedMs",
    "bookkeeper",
    "nudgeCommand",
    "nudgeEvent",
    "shellPrefix",
];

/// A key that the format's other programs lose when they build an object.
const PROTO: &str = "__proto__";

type Checked<T> = Result<T, Wrong>;

/// What is wrong with a file: the sentence that all programs say, and the value where that sentence leaves it out.
struct Wrong {
    message: String,
    value: Option<String>,
}

impl Wrong {
    fn of(value: Option<&Json>, message: String) -> Self {
        Self { message, value: value.map(Json::to_text) }
    }
}

impl From<String> for Wrong {
    fn from(message: String) -> Self {
        Self { message, value: None }
    }
}

pub(super) fn check(raw: Json, path: &Path) -> Result<PoolFile, PoolFileError> {
    match raw.as_object().map(|fields| check_fields(fields, path)) {
        Some(Ok(file)) => Ok(PoolFile { raw, ..file }),
        Some(Err(wrong)) => Err(PoolFileError::invalid(path, &wrong.message, wrong.value)),
        None => Err(PoolFileError::invalid(path, "pool definition must be a JSON object", Some(raw.to_text()))),
    }
}

fn check_fields(fields: &Object, path: &Path) -> Checked<PoolFile> {
    let raw_slots = match fields.get("slots") {
        Some(Json::Array(slots)) if !slots.is_empty() => slots,
        slots => return Err(Wrong::of(slots, "pool definition needs a non-empty \"slots\" array".to_owned())),
    };
    let name = kind_field(fields, "name", "pool \"name\"", || "pool".to_owned())?;
    let kind_prefix = given(fields, "kindPrefix").map_or(Ok("slot-".to_owned()), |prefix| text("kindPrefix", prefix))?;
    let queue_lock_kind = kind_field(fields, "queueLockKind", "\"queueLockKind\"", || format!("{name}-queue"))?;
    let texts = texts(fields)?;
    let numbers = numbers(fields)?;
    let grant_env = object_field(fields, "grantEnv")?;
    let grant_fields = object_field(fields, "grantFields")?.unwrap_or_default();
    grant_fields.keys().try_for_each(grant_key)?;
    grant_env.iter().flatten().try_for_each(|(name, value)| env_template(name, value))?;
    let mut seen = Seen { prefix: &kind_prefix, lock: &queue_lock_kind, ids: Names::default(), kinds: Names::default() };
    let slots = raw_slots.iter().enumerate().map(|(idx, raw)| seen.slot(idx, raw)).collect::<Checked<Vec<_>>>()?;
    let cwd = given(fields, "cwd").map_or(Ok(".".to_owned()), |cwd| text("cwd", cwd))?;
    let cwd = resolve(path, &cwd)?;
    shell_prefix(texts.shell_prefix.as_deref())?;
    let mut file = PoolFile {
        path: path.to_owned(),
        raw: Json::Null,
        warnings: OnceLock::new(),
        name,
        kind_prefix,
        queue_lock_kind,
        cwd,
        texts,
        numbers,
        grant_env,
        grant_fields,
        slots,
    };
    fill_grants(&mut file)?;
    Ok(file)
}

/// A field that counts as absent when it is `null`.
fn given<'a>(fields: &'a Object, field: &str) -> Option<&'a Json> {
    fields.get(field).filter(|value| !value.is_null())
}

fn text(field: &str, value: &Json) -> Checked<String> {
    value.as_str().map(str::to_owned).ok_or_else(|| Wrong::of(Some(value), format!("\"{field}\" must be a string")))
}

fn kind_field(fields: &Object, field: &str, label: &str, default: impl FnOnce() -> String) -> Checked<String> {
    let value = given(fields, field).cloned().unwrap_or_else(|| Json::from(default()));
    match value.as_str() {
        Some(kind) if is_kind(kind) => Ok(kind.to_owned()),
        _ => Err(format!("invalid {label} {} — must match {KIND}", value.to_text()).into()),
    }
}

fn texts(fields: &Object) -> Checked<Texts> {
    let get = |field: &str| fields.get(field).map(|value| text(field, value)).transpose();
    Ok(Texts {
        provision: get("provision")?,
        reset: get("reset")?,
        health: get("health")?,
        nudge_command: get("nudgeCommand")?,
        nudge_event: get("nudgeEvent")?,
        shell_prefix: get("shellPrefix")?,
        bookkeeper: get("bookkeeper")?,
    })
}

fn numbers(fields: &Object) -> Checked<Numbers> {
    let get = |field: &str| match fields.get(field) {
        None => Ok(None),
        Some(Json::Number(number)) if number.is_finite() && 0.0 < *number => Ok(Some(*number)),
        wrong => Err(Wrong::of(wrong, format!("\"{field}\" must be a positive number"))),
    };
    Ok(Numbers {
        ttl_minutes: get("ttlMinutes")?,
        waiter_stale_ms: get("waiterStaleMs")?,
        moving_avg_seed_ms: get("movingAvgSeedMs")?,
    })
}

fn object_field(fields: &Object, field: &str) -> Checked<Option<Object>> {
    match fields.get(field) {
        None => Ok(None),
        Some(Json::Object(members)) => Ok(Some(members.clone())),
        wrong => Err(Wrong::of(wrong, format!("\"{field}\" must be an object"))),
    }
}

fn grant_key(key: &str) -> Checked<()> {
    if GRANT_KEYS.contains(&key) {
        return Err(format!("grantFields key {} collides with a built-in grant field", quoted(key)).into());
    }
    Ok(())
}

fn env_template(name: &str, value: &Json) -> Checked<()> {
    if !is_env_name(name) {
        return Err(format!("grantEnv key {} is not a valid environment variable name", quoted(name)).into());
    }
    if value.as_str().is_none() {
        return Err(Wrong::of(Some(value), format!("grantEnv.{name} must be a template string")));
    }
    Ok(())
}

fn is_env_name(name: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(is_name) && name.as_bytes().first().is_some_and(|first| !first.is_ascii_digit())
}

/// `eval` of what is printed for a shell must set variables and do nothing else. Nothing in front of `_SLOT` is fine.
fn shell_prefix(prefix: Option<&str>) -> Checked<()> {
    match prefix {
        Some(prefix) if !prefix.is_empty() && !is_env_name(prefix) => {
            Err(format!("\"shellPrefix\" {} is not a valid environment variable name", quoted(prefix)).into())
        }
        _ => Ok(()),
    }
}

/// What the slots before this one took.
struct Seen<'a> {
    prefix: &'a str,
    lock: &'a str,
    ids: Names,
    kinds: Names,
}

/// Names that were seen. Most pools have so few slots that looking at each name is the fastest way to find one.
#[derive(Default)]
struct Names {
    few: Vec<String>,
    many: HashSet<String>,
}

impl Names {
    /// Whether the name is new.
    fn insert(&mut self, name: String) -> bool {
        const FEW: usize = 16;
        if self.few.contains(&name) || !self.many.is_empty() && self.many.contains(&name) {
            return false;
        }
        if self.few.len() < FEW {
            self.few.push(name);
        } else {
            self.many.insert(name);
        }
        true
    }
}

impl Seen<'_> {
    fn slot(&mut self, idx: usize, raw: &Json) -> Checked<SlotDef> {
        let fields = raw.as_object().ok_or_else(|| Wrong::of(Some(raw), format!("slots[{idx}] must be an object")))?;
        let id = slot_id(idx, fields)?;
        let id_text = value_text(id);
        let kind = match given(fields, "kind") {
            Some(kind) => kind.clone(),
            None => Json::String(self.prefix.to_owned() + &id_text),
        };
        if !self.ids.insert(id_text) {
            return Err(format!("duplicate slot id {}", id.to_text()).into());
        }
        let Some(kind_text) = kind.as_str().filter(|kind| is_kind(kind)) else {
            return Err(format!("slot {} lease kind {} must match {KIND}", id.to_text(), kind.to_text()).into());
        };
        if kind_text == self.lock || !self.kinds.insert(kind_text.to_owned()) {
            return Err(format!("duplicate lease kind {}", kind.to_text()).into());
        }
        let mut attrs = Object::new();
        for (key, value) in fields {
            if !matches!(key, "id" | "kind" | PROTO) {
                attrs.insert(key, value.clone());
            }
        }
        Ok(SlotDef::new(id.clone(), kind_text.to_owned(), attrs))
    }
}

fn slot_id(idx: usize, fields: &Object) -> Checked<&Json> {
    match fields.get("id") {
        Some(Json::Number(number)) if !number.is_finite() => {
            Err(format!("slots[{idx}] has an \"id\" that is no finite number").into())
        }
        Some(id @ Json::Number(_)) => Ok(id),
        Some(id) if id.as_str().is_some_and(|text| !text.is_empty()) => Ok(id),
        wrong => Err(Wrong::of(wrong, format!("slots[{idx}] needs an \"id\" (string or number)"))),
    }
}

/// The directory for commands. Absolute; `.` and `..` are resolved by the text alone, as other programs do.
fn resolve(file: &Path, cwd: &str) -> Checked<PathBuf> {
    let absolute = std::path::absolute(file).map_err(|error| format!("cannot tell the folder of {}: {error}", file.display()))?;
    let mut folder = normalize(&absolute);
    folder.pop();
    Ok(normalize(&folder.join(&*plain_text(cwd))))
}

/// Fills every template for every slot, because a file that fails must fail now and not at some grant.
fn fill_grants(file: &mut PoolFile) -> Checked<()> {
    for slot in &mut file.slots {
        let scope = Scope::new(slot.id(), slot.kind(), slot.attrs());
        let render = |template: &Json| {
            scope.render(template).map_err(|path| {
                let template = template.to_text();
                Wrong::from(format!("template {template} references unknown slot attribute \"{path}\" (slot {})", slot.id_text()))
            })
        };
        let env = file.grant_env.as_ref().map(|templates| render_each(templates, render)).transpose()?;
        let env = env.map(|env| env.into_iter().map(|(name, value)| (name, value_text(&value))).collect());
        let fields = render_each(&file.grant_fields, render)?;
        slot.set_grant(env, fields);
    }
    Ok(())
}

fn render_each(templates: &Object, render: impl Fn(&Json) -> Checked<Json>) -> Checked<Object> {
    let mut values = Object::new();
    for (name, template) in templates {
        let value = render(template)?;
        if name != PROTO {
            values.insert(name, value);
        }
    }
    Ok(values)
}

/// Keys that mean nothing but look like one that does: a `provison` would leave every slot as the last test left it.
fn misspelt(fields: &Object) -> impl Iterator<Item = String> {
    let unknown = fields.keys().filter(|key| !KEYS.contains(key));
    unknown.filter_map(|key| Some(format!("key {} means nothing here: did you mean \"{}\"?", quoted(key), near_key(key)?)))
}

fn near_key(word: &str) -> Option<&'static str> {
    let letters = |text: &str| text.replace(['-', '_'], "").to_lowercase();
    let is_near = |key: &&str| {
        let most = if key.len() < 6 { 1 } else { 2 };
        word.len().abs_diff(key.len()) <= most && levenshtein(&letters(word), &letters(key)) <= most
    };
    KEYS.into_iter().find(|key| is_near(key))
}

/// What works but is doubtful. What several slots share is said of the first.
pub(super) fn warnings(file: &PoolFile) -> Vec<String> {
    let mut warnings: Vec<_> = file.raw.as_object().into_iter().flat_map(misspelt).collect();
    let raw_slots = file.raw.get("slots").and_then(Json::as_array).unwrap_or_default();
    if LONGEST_TTL_MINUTES < file.ttl_minutes() {
        let ttl = Json::from(file.ttl_minutes()).to_text();
        warnings.push(format!(
            "\"ttlMinutes\" {ttl} is more than {LONGEST_TTL_MINUTES}: grants are refused unless another TTL is given"
        ));
    }
    for (field, templates) in [("grantEnv", file.grant_env.as_ref()), ("grantFields", Some(&file.grant_fields))] {
        if templates.is_some_and(|templates| templates.contains_key(PROTO)) {
            warnings.push(format!("{field} key \"{PROTO}\" is ignored"));
        }
    }
    let mut said = HashSet::new();
    for (slot, raw) in file.slots.iter().zip(raw_slots) {
        let mut doubts = slot.doubts();
        if raw.get(PROTO).is_some() {
            doubts.push(format!("attribute \"{PROTO}\" is ignored"));
        }
        doubts.retain(|doubt| said.insert(doubt.clone()));
        warnings.extend(doubts.into_iter().map(|doubt| format!("slot {}: {doubt}", slot.id().to_text())));
    }
    warnings
}

fn quoted(text: &str) -> String {
    Json::from(text).to_text()
}
