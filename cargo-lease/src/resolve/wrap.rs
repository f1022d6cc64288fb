//! Which test binaries run in a slot.

use super::pattern::{matches_pattern, or_nearest};
use super::project::{Place, Project, Setting};
use super::{Manifests, Surroundings};
use crate::exit::Failure;

/// Which test binaries run in a slot of ours; the others run untouched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wrap {
    /// Every one.
    #[default]
    All,
    /// None: a process that runs a `#[leased_slot]` test takes its slot by itself.
    Annotated,
    /// Those with these ids, as nextest has them: `api` is a library's unit tests, `api::it` an integration test.
    Binaries(Vec<String>),
}

/// Finds out which: the option, the package's manifest, the workspace's manifest, else every one.
///
/// # Errors
///
/// A value that is neither word nor binary ids; the message names where it stands. An id that no binary of the workspace has:
/// its tests would be green without a slot.
pub(crate) fn find_wrap(typed: Option<&str>, manifests: &Manifests<'_>) -> Result<Wrap, Failure> {
    let wrap = match typed.filter(|text| !text.is_empty()) {
        Some(text) => Wrap::parse("--wrap", text)?,
        None => match manifests.project()? {
            Some(project) => project.agreed("--wrap", wrap_of, |wrap| format!("wrap = {wrap:?}"))?,
            None => Wrap::All,
        },
    };
    if let Wrap::Binaries(patterns) = &wrap {
        check_ids(patterns, manifests)?;
    }
    Ok(wrap)
}

fn check_ids(patterns: &[String], manifests: &Manifests<'_>) -> Result<(), Failure> {
    // A workspace that cargo cannot read is told of where it matters.
    let Some(known) = manifests.project().ok().flatten().and_then(Project::binary_ids) else { return Ok(()) };
    match patterns.iter().find(|pattern| !known.iter().any(|id| matches_pattern(pattern, id))) {
        Some(pattern) => {
            let meant = or_nearest(pattern, known.iter().map(String::as_str));
            Err(Failure::usage(format!("wrap names {pattern}: no binary of this workspace has this id{meant}")))
        }
        None => Ok(()),
    }
}

const EXPECTED: &str = "all, annotated, or ids of test binaries such as api::it or db::*";

fn wrap_of(place: &Place<'_>) -> Result<Wrap, Failure> {
    place.setting("wrap")?.map_or(Ok(Wrap::All), |setting| read(&setting))
}

fn read(setting: &Setting<'_>) -> Result<Wrap, Failure> {
    let words = || setting.wrong(EXPECTED);
    if let Some(text) = setting.value.as_str() {
        return Wrap::of_text(text).ok_or_else(words);
    }
    let ids = setting.value.as_array().ok_or_else(words)?;
    let ids: Option<Vec<&str>> = ids.iter().map(serde_json::Value::as_str).collect();
    Wrap::of_ids(ids.ok_or_else(words)?.into_iter()).ok_or_else(words)
}

impl Wrap {
    /// Reads the value of an option.
    ///
    /// # Errors
    ///
    /// It is neither word nor binary ids; the message names option and value.
    pub(crate) fn parse(option: &str, text: &str) -> Result<Self, Failure> {
        Self::of_text(text).ok_or_else(|| Failure::usage(format!("{option} '{text}': expected {EXPECTED}")))
    }

    fn of_text(text: &str) -> Option<Self> {
        match text {
            "all" => Some(Self::All),
            "annotated" => Some(Self::Annotated),
            ids => Self::of_ids(ids.split(',')),
        }
    }

    /// Ids have no signs that would mean something else in nextest's filters.
    fn of_ids<'a>(ids: impl Iterator<Item = &'a str>) -> Option<Self> {
        let sound = |id: &str| {
            !id.is_empty() && id.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '/' | '*' | '?'))
        };
        ids.map(|id| sound(id).then(|| id.to_owned())).collect::<Option<_>>().map(Self::Binaries)
    }

    /// The option that tells our runner, where there is something to tell.
    pub(crate) fn to_word(&self) -> Option<String> {
        match self {
            Self::All => None,
            Self::Annotated => Some("--wrap=annotated".to_owned()),
            Self::Binaries(ids) => Some(format!("--wrap={}", ids.join(","))),
        }
    }

    /// The tests that are wrapped, as a filter of nextest's; `None` if there are none.
    pub(crate) fn nextest_filter(&self) -> Option<String> {
        match self {
            Self::All => Some("all()".to_owned()),
            Self::Annotated => None,
            Self::Binaries(ids) if ids.is_empty() => None,
            Self::Binaries(ids) => Some(ids.iter().map(|id| format!("binary_id({id})")).collect::<Vec<_>>().join(" or ")),
        }
    }

    /// Whether a binary is wrapped that has one of these ids.
    pub(crate) fn covers(&self, ids: &[String]) -> bool {
        match self {
            Self::All => true,
            Self::Annotated => false,
            Self::Binaries(patterns) => ids.iter().any(|id| patterns.iter().any(|pattern| matches_pattern(pattern, id))),
        }
    }
}

/// The ids that a test binary may have.
///
/// Nextest says it. Cargo does not, so that they are told from package and file name; where a package has two
/// targets of one name, both ids are possible.
pub(crate) fn binary_ids(binary_stem: &str, around: &Surroundings) -> Result<Vec<String>, Failure> {
    if let Some(id) = around.var("NEXTEST_BINARY_ID")? {
        return Ok(vec![id.to_owned()]);
    }
    let package = around.var("CARGO_PKG_NAME")?.unwrap_or_default();
    let mut ids: Vec<String> =
        ["", "bin/", "bench/", "example/"].iter().map(|kind| format!("{package}::{kind}{binary_stem}")).collect();
    if binary_stem == library_name(package, around)? || binary_stem == "rust_out" {
        ids.push(package.to_owned());
    }
    Ok(ids)
}

/// The name of a package's library, which is its own unless the manifest has another.
fn library_name(package: &str, around: &Surroundings) -> Result<String, Failure> {
    let manifest = around.var_os("CARGO_MANIFEST_DIR").map(|dir| std::path::Path::new(dir).join("Cargo.toml"));
    let text = manifest.map(|path| around.read(&path)).transpose()?.flatten().unwrap_or_default();
    let name = text.parse().ok().and_then(|table: toml::Table| Some(table.get("lib")?.get("name")?.as_str()?.to_owned()));
    Ok(name.unwrap_or_else(|| package.replace('-', "_")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Wrap {
        Wrap::of_text(text).unwrap_or_else(|| panic!("{text} is refused"))
    }

    #[test]
    fn words_and_ids_are_read_and_handed_on() {
        let ids = |ids: &[&str]| Wrap::Binaries(ids.iter().map(|id| (*id).to_owned()).collect());
        let table = [
            ("all", Wrap::All, Some("all()")),
            ("annotated", Wrap::Annotated, None),
            ("api::it", ids(&["api::it"]), Some("binary_id(api::it)")),
            ("api,db::*", ids(&["api", "db::*"]), Some("binary_id(api) or binary_id(db::*)")),
            ("a::bin/b-c", ids(&["a::bin/b-c"]), Some("binary_id(a::bin/b-c)")),
        ];
        for (text, wrap, filter) in table {
            assert_eq!(parsed(text), wrap);
            assert_eq!(wrap.nextest_filter().as_deref(), filter, "{text}");
            let handed = wrap.to_word().map_or(Wrap::All, |word| parsed(word.strip_prefix("--wrap=").expect("option")));
            assert_eq!(handed, wrap);
        }
        for text in ["api::it,", "a b", "all()", "a) or all(", ",", "=a", "~"] {
            assert_eq!(Wrap::of_text(text), None, "{text}");
        }
    }

    #[test]
    fn manifests_say_it_in_their_order() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let manifest = dir.path().join("Cargo.toml");
        for (folder, file) in [("src", "src/lib.rs"), ("tests", "tests/it.rs")] {
            std::fs::create_dir(dir.path().join(folder)).expect("folder");
            std::fs::write(dir.path().join(file), "").expect("file");
        }
        let around = Surroundings::of_test(dir.path(), &[]);
        let find = |typed: Option<&str>, tables: &str| {
            let text = format!("[package]\nname = \"p\"\nversion = \"0.1.0\"\n[workspace]\n{tables}");
            std::fs::write(&manifest, text).expect("file");
            find_wrap(typed, &Manifests::new(&[], &around, None))
        };
        let workspace = "[workspace.metadata.lease]\nwrap = \"annotated\"\n";
        let both = format!("{workspace}[package.metadata.lease]\nwrap = [\"p::it\", \"p\"]\n");
        assert_eq!(find(None, "").expect("found"), Wrap::All);
        assert_eq!(find(None, workspace).expect("found"), Wrap::Annotated);
        assert_eq!(find(None, &both).expect("found"), parsed("p::it,p"));
        assert_eq!(find(Some("all"), &both).expect("found"), Wrap::All);
        assert_eq!(find(Some(""), workspace).expect("found"), Wrap::Annotated);
        for (value, shown) in [("3", "found 3"), ("[\"a b\"]", "a b"), ("\"some thing\"", "some thing"), ("[1]", "[1]")] {
            let error = find(None, &format!("[package.metadata.lease]\nwrap = {value}\n")).expect_err("wrong").to_string();
            for part in ["Cargo.toml", "package.metadata.lease.wrap", "annotated", shown] {
                assert!(error.contains(part), "{part:?} is not in: {error}");
            }
        }
        assert_eq!(find(Some("*t"), "").expect("found"), parsed("*t"));
        for (typed, tables, told) in [
            (Some("a b"), "", "--wrap 'a b'"),
            (Some("p::i"), "", "wrap names p::i: no binary of this workspace has this id; did you mean p::it?"),
            (Some("p,other::it"), "", "wrap names other::it: no binary of this workspace has this id; there are p::it, p"),
            (
                None,
                "[package.metadata.lease]\nwarp = \"p\"\n",
                "package.metadata.lease.warp: there is no such key; did you mean wrap?",
            ),
            (None, "[workspace.metadata.lease]\nslots = 3\n", "workspace.metadata.lease.slots: there is no such key; there are"),
        ] {
            let error = find(typed, tables).expect_err("wrong").to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn binaries_are_known_by_nextest_or_by_their_names() {
        let dir = tempfile::tempdir().expect("temporary folder");
        std::fs::write(dir.path().join("Cargo.toml"), "[lib]\nname = \"core\"\n").expect("file");
        let folder = dir.path().to_str().expect("text");
        let nextest = Surroundings::of_test("/", &[("NEXTEST_BINARY_ID", "my-api::it"), ("CARGO_PKG_NAME", "my-api")]);
        let cargo = Surroundings::of_test("/", &[("CARGO_PKG_NAME", "my-api")]);
        let named = Surroundings::of_test("/", &[("CARGO_PKG_NAME", "my-api"), ("CARGO_MANIFEST_DIR", folder)]);
        let table = [
            (&nextest, "it-x", "my-api::it", true),
            (&nextest, "it-x", "my-api::it-x", false),
            (&cargo, "it", "my-api::it", true),
            (&cargo, "it", "my-api", false),
            (&cargo, "it", "my-api::*", true),
            (&cargo, "my_api", "my-api", true),
            (&cargo, "tool", "my-api::bin/tool", true),
            (&cargo, "rust_out", "my-api", true),
            (&named, "core", "my-api", true),
            (&named, "my_api", "my-api", false),
            (&cargo, "it", "other::it", false),
        ];
        for (around, stem, pattern, covered) in table {
            let ids = binary_ids(stem, around).expect("ids");
            assert_eq!(parsed(pattern).covers(&ids), covered, "{stem} {pattern} {ids:?}");
        }
        assert!(Wrap::All.covers(&[]) && !Wrap::Annotated.covers(&["my-api".to_owned()]));
    }
}
