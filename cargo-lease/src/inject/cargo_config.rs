//! What cargo's configuration says about runners and targets.
//!
//! Cargo does not chain runners: setting ours takes the place of the user's. So the user's is looked up here, with
//! cargo's precedence (command line, environment, files from the working directory upwards; a target's own key before
//! `cfg()` keys), and ours starts it.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::str::FromStr;

use cargo_platform::{Cfg, Platform};
use toml::{Table, Value};

use super::{Asked, OwnWords};
use crate::cli::Reader;
use crate::exit::Failure;
use crate::resolve::{Surroundings, programs};

/// One document of the configuration.
#[derive(Debug)]
struct Layer {
    table: Table,
    /// What a relative program is relative to.
    root: PathBuf,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    CommandLine,
    File,
    Included,
}

/// The configuration that a wrapped command will see, the strongest document first.
#[derive(Debug)]
pub(crate) struct CargoConfig<'a> {
    layers: Vec<Layer>,
    around: &'a Surroundings,
    reader: Reader,
}

impl<'a> CargoConfig<'a> {
    /// Reads the configuration for a wrapped command line.
    ///
    /// # Errors
    ///
    /// A document that cannot be read or is no TOML; the message names it.
    pub(crate) fn read(words: &OwnWords<'_>, around: &'a Surroundings, reader: Reader) -> Result<Self, Failure> {
        let mut layers = Vec::new();
        let mut given = words.values(&["--config"]);
        if reader == Reader::Cargo {
            given.reverse();
        }
        for given in &given {
            layers.extend(command_line_layers(given, around)?);
        }
        layers.extend(file_layers(around)?);
        Ok(Self { layers, around, reader })
    }

    /// The targets that the command builds for, the host among them: units for the host have its runner.
    pub(crate) fn targets(&self, words: &OwnWords<'_>, host: &str) -> Result<Vec<String>, Failure> {
        let mut targets = vec![host.to_owned()];
        for target in self.build_targets(words)? {
            let target = match Path::new(&target).extension() {
                // Configuration names a custom target by the stem of its specification.
                Some(extension) if extension == "json" => stem(&target),
                _ if target == "host-tuple" => host.to_owned(),
                _ => target,
            };
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        Ok(targets)
    }

    fn build_targets(&self, words: &OwnWords<'_>) -> Result<Vec<String>, Failure> {
        let typed = words.texts(&["--target"]);
        if !typed.is_empty() {
            return Ok(typed);
        }
        let variable = self.around.var("CARGO_BUILD_TARGET")?.map(str::to_owned);
        let key = |layer: &Layer| layer.table.get("build")?.get("target").map(strings);
        let of = |command_line: bool| {
            self.layers.iter().filter(move |layer| (layer.place == Place::CommandLine) == command_line).find_map(key)
        };
        Ok(of(true).or(variable.map(|target| vec![target])).or_else(|| of(false)).unwrap_or_default())
    }

    /// The words of the runner that is configured for a target, its program resolved as cargo resolves it.
    pub(crate) fn user_runner(&self, target: &str) -> Result<Option<Vec<String>>, Failure> {
        let own_key = |layer: &&Layer| runner_key(layer, target).is_some();
        let mut layers = self.layers.iter().filter(|layer| self.is_read(layer)).filter(own_key).peekable();
        let on_command_line = layers.next_if(|layer| layer.place == Place::CommandLine);
        if let Some(layer) = on_command_line {
            return Ok(runner_key(layer, target).map(|value| layer.program(value)));
        }
        if let Some(value) = self.around.var(&variable(target))? {
            return Ok(Some(resolved(value.split_whitespace().map(str::to_owned).collect(), &self.around.cwd)));
        }
        if let Some(layer) = layers.next() {
            return Ok(runner_key(layer, target).map(|value| layer.program(value)));
        }
        self.cfg_runner(target)
    }

    /// Whether a target's key stands somewhere as a string: cargo refuses to merge that with a list.
    pub(crate) fn runner_is_string(&self, target: &str) -> bool {
        self.layers.iter().any(|layer| runner_key(layer, target).is_some_and(Value::is_str))
    }

    fn cfg_runner(&self, target: &str) -> Result<Option<Vec<String>>, Failure> {
        let mut keys = BTreeMap::new();
        for layer in self.layers.iter().filter(|layer| self.is_read(layer)) {
            for key in targets_of(layer).map(Table::keys).into_iter().flatten().filter(|key| key.starts_with("cfg(")) {
                if let Some(value) = runner_key(layer, key) {
                    keys.entry(key).or_insert_with(|| layer.program(value));
                }
            }
        }
        if keys.is_empty() {
            return Ok(None);
        }
        let cfgs = self.rustc_cfgs(target)?;
        let mut matching =
            keys.into_iter().filter(|(key, _)| Platform::from_str(key).is_ok_and(|platform| platform.matches(target, &cfgs)));
        match (matching.next(), matching.next()) {
            (Some((first, _)), Some((second, _))) => {
                Err(Failure::usage(format!("two runners are configured for {target}: target.'{first}' and target.'{second}'")))
            }
            (found, _) => Ok(found.map(|(_, words)| words)),
        }
    }

    fn rustc_cfgs(&self, target: &str) -> Result<Vec<Cfg>, Failure> {
        let printed = printed_by(self.rustc()?.as_ref(), &["--print", "cfg", "--target", target], self.around)?;
        Ok(printed.lines().filter_map(|line| Cfg::from_str(line).ok()).collect())
    }

    /// The compiler that cargo uses.
    fn rustc(&self) -> Result<String, Failure> {
        let configured = || {
            self.layers.iter().find_map(|layer| {
                let rustc = layer.table.get("build")?.get("rustc")?.as_str()?;
                resolved(vec![rustc.to_owned()], &layer.root).pop()
            })
        };
        let set = self.around.var("RUSTC")?.map(str::to_owned);
        Ok(set.or_else(configured).unwrap_or_else(|| programs::rustc(self.around)))
    }

    fn is_read(&self, layer: &Layer) -> bool {
        self.reader == Reader::Cargo || layer.place != Place::Included
    }
}

impl Layer {
    fn program(&self, value: &Value) -> Vec<String> {
        let words = match value {
            Value::String(text) => text.split_whitespace().map(str::to_owned).collect(),
            other => strings(other),
        };
        resolved(words, &self.root)
    }
}

/// Whether a word may mean something else to cargo than its command of that name. It may where the configuration cannot be read,
/// which is for cargo to explain.
pub(crate) fn may_be_alias(word: &str, around: &Surroundings) -> bool {
    let variable = format!("CARGO_ALIAS_{}", word.to_uppercase());
    // An empty one, too, is one.
    if around.var_names().any(|name| name == variable) {
        return true;
    }
    let is_alias = |layer: &Layer| match layer.table.get("alias") {
        Some(aliases) => aliases.as_table().is_none_or(|aliases| aliases.contains_key(word)),
        None => false,
    };
    file_layers(around).map_or(true, |layers| layers.iter().any(is_alias))
}

/// What compilers are asked for their host, and cargo where there is none.
const ABOUT: [&str; 1] = ["-vV"];

/// The host's target triple. If the name of its toolchain does not say it, the compiler is asked before the answer is needed; cargo,
/// which could say it too, looks at the whole machine first.
pub(crate) struct AskedHost {
    cargo: OsString,
    rustc: String,
    host: HostOf,
}

/// What is known of a compiler's host.
enum HostOf {
    Known(String),
    Asked(Asked),
}

impl AskedHost {
    pub(crate) fn ask(cargo: &OsStr, around: &Surroundings) -> Result<Self, Failure> {
        let rustc = around.var("RUSTC")?.map_or_else(|| programs::rustc(around), str::to_owned);
        let host = programs::host_of_toolchain(rustc.as_ref(), around)
            .map_or_else(|| HostOf::Asked(Asked::ask(&mut printing(rustc.as_ref(), &ABOUT, around))), HostOf::Known);
        Ok(Self { cargo: cargo.to_owned(), rustc, host })
    }

    /// Waits for the answer.
    pub(crate) fn told(self, config: &CargoConfig<'_>) -> Result<String, Failure> {
        let rustc = config.rustc()?;
        let said = match self.host {
            HostOf::Known(host) if rustc == self.rustc => return Ok(host),
            HostOf::Asked(asked) if rustc == self.rustc => asked.told().and_then(|output| printed(output).ok()),
            _ => printed_by(rustc.as_ref(), &ABOUT, config.around).ok(),
        };
        said.as_deref().and_then(host_in).map_or_else(|| host_of_cargo(&self.cargo, config.around), Ok)
    }
}

fn host_of_cargo(cargo: &OsStr, around: &Surroundings) -> Result<String, Failure> {
    host_in(&printed_by(cargo, &ABOUT, around)?).ok_or_else(|| {
        Failure::internal("cannot tell the host's target triple", format!("{} -vV printed no host", cargo.display()))
    })
}

fn host_in(said: &str) -> Option<String> {
    said.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}

fn printed_by(program: &OsStr, words: &[&str], around: &Surroundings) -> Result<String, Failure> {
    let output = printing(program, words, around).output().map_err(|error| Failure::start(program, error))?;
    printed(output).map_err(|said| Failure::usage(format!("{} {} failed", program.display(), words.join(" "))).because(said))
}

fn printing(program: &OsStr, words: &[&str], around: &Surroundings) -> Command {
    let mut command = Command::new(program);
    command.args(words).current_dir(&around.cwd).stdin(Stdio::null());
    command
}

/// What a program has printed, or what it has complained of.
fn printed(output: Output) -> Result<String, String> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr).trim().to_owned()) }
}

fn command_line_layers(given: &OsStr, around: &Surroundings) -> Result<Vec<Layer>, Failure> {
    let mut layers = Vec::new();
    let file = around.cwd.join(given);
    if !given.is_empty() && file.exists() {
        load(&file, Place::CommandLine, around, &mut HashSet::new(), &mut layers)?;
        return Ok(layers);
    }
    // What cargo will refuse, cargo shall explain.
    if let Some(table) = given.to_str().and_then(|text| text.parse().ok()) {
        layers.push(Layer { table, root: around.cwd.clone(), place: Place::CommandLine });
    }
    Ok(layers)
}

fn file_layers(around: &Surroundings) -> Result<Vec<Layer>, Failure> {
    let (mut layers, mut seen) = (Vec::new(), HashSet::new());
    for file in config_files(around) {
        load(&file, Place::File, around, &mut seen, &mut layers)?;
    }
    Ok(layers)
}

/// The configuration files of the working directory, its ancestors and cargo's home, the strongest first.
fn config_files(around: &Surroundings) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = around.cwd.ancestors().map(|dir| dir.join(".cargo")).collect();
    folders.extend(around.cargo_home().filter(|home| !folders.contains(home)));
    let file = |dir: PathBuf| ["config", "config.toml"].iter().map(|name| dir.join(name)).find(|file| file.is_file());
    folders.into_iter().filter_map(file).collect()
}

/// Adds a file's document and those that it includes, which are weaker, the last one included the strongest of them.
fn load(
    file: &Path,
    place: Place,
    around: &Surroundings,
    seen: &mut HashSet<PathBuf>,
    layers: &mut Vec<Layer>,
) -> Result<(), Failure> {
    // A file that is not there is for cargo to complain of.
    let Some(text) = around.read(file)? else {
        return Ok(());
    };
    if !seen.insert(file.to_owned()) {
        return Ok(());
    }
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        Failure::usage(format!("cannot read {} as TOML", file.display())).because(error.message().to_owned())
    })?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    let includes: Vec<PathBuf> = included(&table).iter().map(|path| folder.join(path)).collect();
    let root = folder.parent().unwrap_or(folder).to_owned();
    layers.push(Layer { table, root, place });
    let place = if place == Place::File { Place::Included } else { place };
    includes.iter().rev().try_for_each(|file| load(file, place, around, seen, layers))
}

fn included(table: &Table) -> Vec<String> {
    match table.get("include") {
        Some(Value::String(path)) => vec![path.clone()],
        Some(Value::Array(list)) => {
            let path = |item: &Value| item.as_str().or_else(|| item.get("path")?.as_str()).map(str::to_owned);
            list.iter().filter_map(path).collect()
        }
        _ => Vec::new(),
    }
}

fn targets_of(layer: &Layer) -> Option<&Table> {
    layer.table.get("target")?.as_table()
}

fn runner_key<'l>(layer: &'l Layer, target: &str) -> Option<&'l Value> {
    targets_of(layer)?.get(target)?.get("runner")
}

/// The variable that sets a target's runner.
fn variable(target: &str) -> String {
    format!("CARGO_TARGET_{}_RUNNER", target.replace('-', "_").to_uppercase())
}

fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// A program with a slash is relative to where it was written; one without is searched in `PATH`.
fn resolved(mut words: Vec<String>, root: &Path) -> Vec<String> {
    if let Some(program) = words.first_mut().filter(|program| program.contains('/'))
        && let Some(path) = root.join(program.as_str()).to_str()
    {
        *program = path.to_owned();
    }
    words
}

fn stem(path: &str) -> String {
    Path::new(path).file_stem().map_or_else(|| path.to_owned(), |stem| stem.to_string_lossy().into_owned())
}
