//! The rules.

use std::fmt;

use super::read::{Found, Source};

/// No file is longer than this.
pub const LONGEST_FILE: usize = 500;

/// A layer of `lease-harness`, and the layers below that it may name.
const LAYERS: [(&str, &[&str]); 8] = [
    ("json", &[]),
    ("sys", &[]),
    ("store", &["json", "sys"]),
    ("pool", &["store", "json", "sys"]),
    ("claims", &["store", "json", "sys"]),
    ("harness", &["pool", "claims", "store", "json", "sys"]),
    ("__private", &["harness"]),
    ("mimic", &["__private", "harness"]),
];

/// File names of the format, and the layer that may spell them.
const FILE_NAMES: [(&str, &str); 12] = [
    ("holder.json", "store"),
    ("reaped.log", "store"),
    (".guard-", "store"),
    (".alive", "store"),
    (".resources", "store"),
    ("writer.json", "claims"),
    ("queue.json", "pool"),
    ("stats.json", "pool"),
    ("nudges.jsonl", "pool"),
    ("pool.log", "pool"),
    ("grants", "pool"),
    (".temp", "pool"),
];

/// Crates that speak to the operating system.
const SYSTEM_CRATES: [&str; 4] = ["rustix", "signal_hook", "libc", "nix"];

/// What a file does that it must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// `file:line`.
    pub place: String,
    /// What is wrong, and the rule.
    pub what: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Everything that is wrong with a file.
pub fn check(source: &Source) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    length(source, &mut complaints);
    unfinished(source, &mut complaints);
    match source.file.split_once("/src/").map(|(package, _)| package) {
        Some("lease-harness") => library(source, &mut complaints),
        Some("cargo-lease") => command_line(source, &mut complaints),
        Some("macros") => macros(source, &mut complaints),
        // Tests and examples may speak to the system as they like.
        _ => {}
    }
    complaints
}

fn complain<T>(complaints: &mut Vec<Complaint>, source: &Source, found: &Found<T>, what: String) {
    complaints.push(Complaint { place: format!("{}:{}", source.file, found.line), what });
}

fn length(source: &Source, complaints: &mut Vec<Complaint>) {
    if source.n_lines > LONGEST_FILE {
        let end = Found { what: (), line: source.n_lines };
        complain(complaints, source, &end, format!("longer than {LONGEST_FILE} lines"));
    }
}

fn unfinished(source: &Source, complaints: &mut Vec<Complaint>) {
    for found in source.macros.iter().filter(|found| matches!(&*found.what, "todo" | "unimplemented")) {
        complain(complaints, source, found, format!("{}! is not finished", found.what));
    }
}

fn library(source: &Source, complaints: &mut Vec<Complaint>) {
    // The root names things; it is no layer.
    let Some(layer) = source.module.first().map(String::as_str) else { return };
    direction(source, layer, complaints);
    file_names(source, layer, complaints);
    if layer != "sys" {
        only_in_sys(source, complaints);
    }
    serialisation(source, layer, complaints);
}

fn direction(source: &Source, layer: &str, complaints: &mut Vec<Complaint>) {
    let Some((_, below)) = LAYERS.iter().find(|(name, _)| *name == layer) else {
        let start = Found { what: (), line: 1 };
        complain(
            complaints,
            source,
            &start,
            format!("{layer} is no layer of the architecture; say in the table what it may name"),
        );
        return;
    };
    for found in source.paths.iter().filter(|found| found.what[0] == "crate") {
        let named = found.what.get(1).map_or("the root", String::as_str);
        if named != layer && !below.contains(&named) {
            complain(
                complaints,
                source,
                found,
                format!("{layer} names {named} ({}), which is not below it", found.what.join("::")),
            );
        }
    }
}

fn file_names(source: &Source, layer: &str, complaints: &mut Vec<Complaint>) {
    for found in &source.texts {
        for (name, owner) in FILE_NAMES {
            if layer != owner && spells(&found.what, name) {
                complain(complaints, source, found, format!("{layer} spells {name:?}, which only {owner} may"));
            }
        }
    }
}

/// Whether a text is, or begins or ends with, a file name; a sentence that mentions one is not meant.
fn spells(text: &str, name: &str) -> bool {
    !text.contains(' ') && (text == name || text.starts_with(name) || text.ends_with(&format!("/{name}")))
}

fn only_in_sys(source: &Source, complaints: &mut Vec<Complaint>) {
    for found in &source.names {
        if SYSTEM_CRATES.contains(&&*found.what) {
            complain(complaints, source, found, format!("{} belongs into sys", found.what));
        }
        if found.what == "target_os" {
            complain(complaints, source, found, "a platform is told apart outside sys".to_owned());
        }
    }
}

/// What the one function that gives slot attributes typed needs.
const TYPED_ATTRIBUTES: &str = "serde_core::de::DeserializeOwned";
/// Crates that read and write documents.
const SERIALISERS: [&str; 3] = ["serde", "serde_core", "serde_json"];

fn serialisation(source: &Source, layer: &str, complaints: &mut Vec<Complaint>) {
    let is_test = source.module.iter().any(|name| name == "tests");
    for found in source.paths.iter().filter(|found| SERIALISERS.contains(&found.what[0].as_str())) {
        let path = found.what.join("::");
        let is_allowed = match layer {
            "json" => is_test || found.what[0] == "serde_core",
            "harness" => path == TYPED_ATTRIBUTES,
            _ => false,
        };
        if !is_allowed {
            complain(complaints, source, found, format!("{layer} reads no documents with {path}"));
        }
    }
}

fn command_line(source: &Source, complaints: &mut Vec<Complaint>) {
    for found in source.paths.iter().filter(|found| found.what[0] == "lease_harness") {
        let module = found.what.get(1).map(String::as_str);
        // What the families for scripts print is the format's documents.
        let prints_documents = source.module.iter().any(|module| module == "script");
        if matches!(module, Some("__private" | "sys")) || module == Some("json") && !prints_documents {
            complain(complaints, source, found, format!("{} is not for the command line", found.what.join("::")));
        }
    }
    for found in source.texts.iter() {
        for (name, owner) in FILE_NAMES {
            if spells(&found.what, name) {
                complain(complaints, source, found, format!("the command line spells {name:?}, which only {owner} may"));
            }
        }
    }
}

fn macros(source: &Source, complaints: &mut Vec<Complaint>) {
    for found in source.paths.iter().filter(|found| found.what[0] == "lease_harness") {
        if found.what.get(1).is_none_or(|name| name != "__private") {
            complain(complaints, source, found, format!("{} is not the one entry for expanded code", found.what.join("::")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A violation planted in a file, and what must be said about it.
    #[track_caller]
    fn planted(file: &str, text: &str, said: &str) {
        let complaints = check(&Source::parse(file, text));
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].to_string().contains(said), "{complaints:?}");
    }

    #[track_caller]
    fn clean(file: &str, text: &str) {
        assert_eq!(check(&Source::parse(file, text)), []);
    }

    #[test]
    fn an_import_that_goes_up_is_found() {
        planted("lease-harness/src/store/guard.rs", "use crate::pool::Pool;", "store names pool (crate::pool::Pool)");
        planted("lease-harness/src/store/mod.rs", "use super::harness::Slot;", "store names harness");
        planted("lease-harness/src/json/mod.rs", "fn f() { crate::sys::now() }", "json names sys");
        planted("lease-harness/src/sys/disk.rs", "use crate::{store::{Record}};", "sys names store");
        planted("lease-harness/src/pool/mod.rs", "use crate::Slot;", "pool names Slot");
        planted("lease-harness/src/harness/slot.rs", "use crate::__private::run;", "harness names __private");
        planted("lease-harness/src/__private.rs", "use crate::pool::Pool;", "__private names pool");
        planted("lease-harness/src/mimic/mod.rs", "use crate::store::Found;", "mimic names store");
        planted("lease-harness/src/__private/end.rs", "use crate::mimic::main;", "__private names mimic");
        planted("lease-harness/src/helpers.rs", "", "helpers is no layer");
    }

    #[test]
    fn imports_that_go_down_are_fine() {
        clean("lease-harness/src/pool/queue.rs", "use super::slot::Id; use crate::{json::Json, store::Store, sys::clock};");
        clean("lease-harness/src/harness/slot.rs", "fn get<T: serde_core::de::DeserializeOwned>() {}");
        clean("lease-harness/src/lib.rs", "pub use harness::Slot; pub use crate::pool::Pool;");
    }

    #[test]
    fn documents_in_the_wrong_layer_are_found() {
        planted("lease-harness/src/harness/slot.rs", "use serde_core::de::Visitor;", "harness reads no documents");
        planted("lease-harness/src/pool/grant.rs", "use serde_json::json;", "pool reads no documents");
        planted("lease-harness/src/json/convert.rs", "use serde_json::Value;", "json reads no documents with serde_json::Value");
        clean("lease-harness/src/json/de.rs", "use serde_core::de::Visitor;");
        clean("lease-harness/src/json/de/tests.rs", "use serde_json::Value;");
        planted("lease-harness/src/sys/disk.rs", "use serde::de::DeserializeOwned;", "sys reads no documents");
    }

    #[test]
    fn the_operating_system_outside_sys_is_found() {
        planted("lease-harness/src/store/mod.rs", "use rustix::fs::open;", "rustix belongs into sys");
        planted("lease-harness/src/harness/child.rs", "fn f() { signal_hook::flag() }", "signal_hook belongs into sys");
        planted("lease-harness/src/pool/mod.rs", "#[cfg(target_os = \"linux\")] fn f() {}", "told apart outside sys");
        clean("lease-harness/tests/child/main.rs", "use rustix::fs::open;");
        clean("lease-harness/src/sys/lock.rs", "#[cfg(target_os = \"linux\")] use rustix::fs::flock;");
    }

    #[test]
    fn file_names_in_the_wrong_layer_are_found() {
        planted("lease-harness/src/pool/mod.rs", "const A: &str = \".guard-\";", "only store may");
        planted("lease-harness/src/store/mod.rs", "const A: &str = \"queue.json\";", "only pool may");
        planted("cargo-lease/src/commands/status.rs", "fn f() { join(\"queue.json\") }", "only pool may");
        clean("lease-harness/src/store/mod.rs", "const A: &str = \"queue.json is not ours\";");
    }

    #[test]
    fn reaching_past_the_public_names_is_found() {
        planted("cargo-lease/src/main.rs", "use lease_harness::__private::run;", "not for the command line");
        planted("cargo-lease/src/commands/status.rs", "use lease_harness::json::Json;", "not for the command line");
        clean("cargo-lease/src/commands/script/store.rs", "use lease_harness::json::Json;");
        planted("cargo-lease/src/commands/script/store.rs", "use lease_harness::sys::disk;", "not for the command line");
        planted("macros/src/expand.rs", "fn f() { quote!(::lease_harness::Slot::new()) }", "not the one entry");
        clean("macros/src/expand.rs", "fn f() { quote!(::lease_harness::__private::run(#name)) }");
    }

    #[test]
    fn unfinished_and_too_long_files_are_found() {
        planted("macros/src/lib.rs", "fn f() { todo!() }", "not finished");
        planted("tests/src/lab.rs", &"\n".repeat(LONGEST_FILE + 1), "longer than");
    }
}
