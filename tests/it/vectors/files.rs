//! File steps, and the files at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lease_harness::json::Json;

use super::load::{list, millis, text};
use super::symbols::Symbols;

/// Does a file step if `step` is one.
pub(super) fn do_step(step: &Json, folder: &Path, symbols: &Symbols) -> bool {
    match text(step, "op") {
        "write" => write(step, folder, symbols),
        "mkdir" => fs::create_dir_all(folder.join(text(step, "dir"))).expect("a folder can be made"),
        "remove" => remove(&folder.join(text(step, "path"))),
        "age" => age(step, &folder.join(text(step, "path"))),
        _ => return false,
    }
    true
}

fn write(step: &Json, folder: &Path, symbols: &Symbols) {
    let path = folder.join(text(step, "file"));
    fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("a folder can be made");
    let bytes = match step.get("hex").and_then(Json::as_str) {
        Some(hex) => from_hex(hex),
        None => symbols.fill(text(step, "text")).into_bytes(),
    };
    fs::write(&path, bytes).expect("a file can be written");
}

fn remove(path: &Path) {
    if path.is_dir() {
        fs::remove_dir_all(path).expect("a folder can be removed");
    } else {
        // Removing what is not there is what a recorded `rm --force` did.
        let _ = fs::remove_file(path);
    }
}

fn age(step: &Json, path: &Path) {
    let modified = match (millis(step, "age_ms"), millis(step, "mtime_ms")) {
        (Some(age), _) => SystemTime::now() - duration(age),
        (None, at) => UNIX_EPOCH + duration(at.expect("an age step has an age or a time")),
    };
    let file = File::open(path).expect("what is aged can be opened");
    file.set_modified(modified).expect("a modification time can be set");
}

fn duration(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).expect("a recorded age is not negative"))
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().map(|c| c.to_digit(16).expect("a hex digit")).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).expect("two hex digits are a byte")).collect()
}

/// Compares everything below `folder` with the files that `key` of a case has, its `files_hex` and its `dirs`. Folders and
/// files of ours whose name starts with a dot are no part of the format, except those that it names. `may_differ` excuses
/// a file by name and recorded text (`None`: not recorded).
pub(super) fn compare(
    case: &Json,
    key: &str,
    folder: &Path,
    symbols: &mut Symbols,
    may_differ: impl Fn(&str, Option<&str>) -> bool,
) -> Result<(), String> {
    let (mut actual, mut folders) = (BTreeMap::new(), BTreeSet::new());
    collect(folder, folder, &mut actual, &mut folders);
    strip_own_events(&mut actual);
    let mut recorded_files: Vec<_> = case.get(key).and_then(Json::as_object).into_iter().flatten().collect();
    // A symbol in a name is bound by the text of another file if no result has bound it.
    recorded_files.sort_by_key(|(name, _)| symbols.fill(name).contains('$'));
    for (name, recorded) in recorded_files {
        let recorded = recorded.as_str().expect("a recorded file is text");
        let name = symbols.fill(name);
        match actual.remove(&name) {
            Some(bytes) => compare_text(&name, recorded, &bytes, symbols)?,
            None if may_differ(&name, Some(recorded)) => {}
            None => return Err(format!("the file {name} is missing")),
        }
    }
    for (name, recorded) in case.get("files_hex").and_then(Json::as_object).into_iter().flatten() {
        let recorded = from_hex(recorded.as_str().expect("a recorded file is text"));
        if actual.remove(name).as_deref() != Some(&recorded) {
            return Err(format!("the bytes of {name} differ"));
        }
    }
    actual.retain(|name, _| !may_differ(name, None));
    if !actual.is_empty() {
        return Err(format!("files that were not recorded: {:?}", actual.keys().collect::<Vec<_>>()));
    }
    compare_folders(list(case, "dirs"), &folders)
}

/// Events of the format's journals. What we add to them is no part of the format.
const EVENTS: [&str; 16] = [
    "takeover",
    "reap",
    "force_release",
    "guard_lost",
    "guard_release_misfire",
    "slot_reaped",
    "queue_entry_dropped_stale",
    "granted",
    "grant_reset_failed",
    "grant_health_failed",
    "grant_lease_lost_during_reset",
    "slot_takeover_on_grant",
    "slot_takeover_on_reprovision",
    "request_queued",
    "slot_reprovisioned",
    "slot_reprovision_failed",
];

/// Removes the lines that we add to journals, and a journal that has no others.
fn strip_own_events(files: &mut BTreeMap<String, Vec<u8>>) {
    for (_, bytes) in files.iter_mut().filter(|(name, _)| name.ends_with(".log")) {
        *bytes = without_own_events(&String::from_utf8_lossy(bytes)).into_bytes();
    }
    files.retain(|name, bytes| !name.ends_with(".log") || !bytes.is_empty());
}

/// A journal without the lines that we add.
pub(super) fn without_own_events(journal: &str) -> String {
    journal.split_inclusive('\n').filter(|line| !is_own_event(line)).collect()
}

fn is_own_event(line: &str) -> bool {
    let document = Json::parse(line).ok();
    let event = document.as_ref().and_then(|line| line.get("event")).and_then(Json::as_str);
    event.is_some_and(|event| !EVENTS.contains(&event))
}

fn compare_text(name: &str, recorded: &str, actual: &[u8], symbols: &mut Symbols) -> Result<(), String> {
    let actual = String::from_utf8_lossy(actual);
    symbols.compare(recorded, &actual).map_err(|difference| format!("the file {name}: {difference}"))
}

fn compare_folders(recorded: &[Json], actual: &BTreeSet<String>) -> Result<(), String> {
    let recorded: BTreeSet<_> = recorded.iter().filter_map(Json::as_str).map(str::to_owned).collect();
    let missing: Vec<_> = recorded.difference(actual).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("folders are missing: {missing:?}")) }
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>, folders: &mut BTreeSet<String>) {
    for path in entries(folder) {
        let name = path.strip_prefix(root).expect("it lies below").to_string_lossy().into_owned();
        let is_ours = name.starts_with('.') && !name.starts_with(".guard-") && !name.starts_with(".tmp-");
        if is_ours {
            continue;
        }
        if path.is_dir() {
            folders.insert(name);
            collect(root, &path, files, folders);
        } else {
            files.insert(name, fs::read(&path).expect("a file can be read"));
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let listing = fs::read_dir(folder).into_iter().flatten();
    listing.map(|entry| entry.expect("a folder can be read").path()).collect()
}
