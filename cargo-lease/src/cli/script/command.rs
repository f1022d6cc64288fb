//! The families' words, read by clap.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, StyledStr, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, Error};

use super::table::{DETACHED, Family, Flag, Need, Operation, SHAPES, Takes};
use super::{Call, FAMILIES, Options, value};

/// The families as commands of the whole.
pub(crate) fn definitions() -> impl Iterator<Item = Command> {
    FAMILIES.into_iter().map(Family::command)
}

/// Reads the words around the name of a family: its operation and its options.
///
/// # Errors
///
/// Help that was asked for, or a mistake.
pub(crate) fn parse(family: &'static Family, words: &[OsString]) -> Result<Call, Error> {
    let at = family.operation_position(words)?;
    let operation = family.operation(&words[at])?;
    let others = words[..at].iter().chain(&words[at + 1..]);
    let command = family.operation_command(operation).bin_name(format!("cargo lease {} {}", family.name, operation.name));
    let line = std::iter::once(operation.name.as_ref()).chain(others.map(OsString::as_os_str));
    let matches = command.try_get_matches_from(line).map_err(|error| family.explained(error, words))?;
    Ok(Call { op: operation.op, options: Options::of(matches) })
}

impl Family {
    /// The family with its operations, for its help and for what is wrong with an operation.
    fn command(&'static self) -> Command {
        let operations = self.operations.iter().map(|operation| self.operation_command(operation));
        Command::new(self.name)
            .about(self.about)
            .after_help(self.examples)
            .bin_name(format!("cargo lease {}", self.name))
            .max_term_width(100)
            .subcommand_value_name("OPERATION")
            .subcommand_help_heading("Operations")
            .subcommand_required(true)
            .subcommands(operations)
    }

    fn operation_command(&self, operation: &Operation) -> Command {
        let command = Command::new(operation.name)
            .about(operation.about)
            .after_help(operation.examples)
            .max_term_width(100)
            .args_override_self(true)
            .args(self.flags.iter().map(|flag| self.arg(flag, operation)));
        match self.forced_usage(operation) {
            Some(usage) => command.override_usage(usage),
            None => command,
        }
    }

    /// The usage of an operation that can be forced: clap would leave out what is needed otherwise.
    fn forced_usage(&self, operation: &Operation) -> Option<String> {
        let shown = |need: &Need| {
            let flag = self.flags.iter().find(|flag| flag.name == need.flag())?;
            Some(format!("--{} <{}>", flag.name, flag.takes.value_name()?))
        };
        let needed = |is_always: bool| {
            let needs = operation.needs.iter().filter(|need| matches!(need, Need::Always(_)) == is_always);
            needs.filter_map(shown).collect::<Vec<_>>().join(" ")
        };
        let (family, name, unless_forced) = (self.name, operation.name, needed(false));
        let usage = || format!("cargo lease {family} {name} [OPTIONS] {} <{unless_forced}|--force>", needed(true));
        (!unless_forced.is_empty()).then(usage)
    }

    fn arg(&self, flag: &Flag, operation: &Operation) -> Arg {
        let arg = flag.arg();
        let need = operation.needs.iter().find(|need| need.flag() == flag.name);
        match need {
            Some(Need::Always(_)) => arg.required(true),
            Some(Need::UnlessForced(_)) => arg.required_unless_present("force"),
            None => arg.hide(![self.common, operation.takes].concat().contains(&flag.name)),
        }
    }

    /// Where the operation stands: the first word that is neither an option nor its value.
    fn operation_position(&'static self, words: &[OsString]) -> Result<usize, Error> {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            if !word.as_encoded_bytes().starts_with(b"-") {
                return if word == "help" { Err(self.help(&words[at..])) } else { Ok(at) };
            }
            let option = word.to_string_lossy();
            if ["-h", "--help"].contains(&&*option) {
                return Err(self.help(&words[at..=at]));
            }
            let (name, has_value) = option.split_once('=').map_or((&*option, false), |(name, _)| (name, true));
            let Some(flag) = self.flags.iter().find(|flag| name.strip_prefix("--") == Some(flag.name)) else {
                return Err(self.unknown_option(word, words));
            };
            if SHAPES.contains(&flag.name) && words.len() > at + 1 {
                return Err(self.misplaced(flag));
            }
            at += if flag.takes == Takes::Nothing || has_value { 1 } else { 2 };
        }
        Err(self.missing_operation())
    }

    fn operation(&'static self, word: &OsStr) -> Result<&'static Operation, Error> {
        if let Some(found) = self.operations.iter().find(|operation| word == operation.name) {
            return Ok(found);
        }
        let mut error = self.error_of(&[word.to_owned()]);
        let lower = word.to_string_lossy().to_lowercase();
        if self.operations.iter().any(|operation| operation.name == lower) {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![lower]));
        }
        tip(&mut error, format!("the operations are {}", self.operation_names()));
        Err(error)
    }

    fn help(&'static self, words: &[OsString]) -> Error {
        self.error_of(words)
    }

    fn error_of(&'static self, words: &[OsString]) -> Error {
        let line = std::iter::once(OsStr::new(self.name)).chain(words.iter().map(OsString::as_os_str));
        self.command().try_get_matches_from(line).expect_err("no operation of ours, or a wish for help")
    }

    fn unknown_option(&self, word: &OsString, words: &[OsString]) -> Error {
        let command = Command::new(self.name).bin_name(format!("cargo lease {} <OPERATION>", self.name));
        let command = command.max_term_width(100).args(self.flags.iter().map(Flag::arg));
        let error = command.try_get_matches_from([OsStr::new(self.name), word]).expect_err("no option of ours");
        self.explained(error, words)
    }

    fn misplaced(&'static self, flag: &Flag) -> Error {
        let (family, name) = (self.name, flag.name);
        let example = match (family, name) {
            ("store", _) => "list",
            (_, "shell") => "acquire --owner ci",
            _ => "status",
        };
        let message = format!(
            "--{name} says what an operation prints, so it stands behind it, as in `cargo lease {family} {example} --{name}`"
        );
        self.command().error(ErrorKind::UnknownArgument, message)
    }

    fn missing_operation(&self) -> Error {
        let message = format!(
            "missing op\n\nusage: cargo lease {} OPERATION [OPTIONS]\n\nOPERATION is one of {}\n\nFor more information, try '--help'.\n",
            self.name,
            self.operation_names()
        );
        Error::raw(ErrorKind::MissingSubcommand, message)
    }

    fn operation_names(&self) -> String {
        self.operations.iter().map(|operation| operation.name).collect::<Vec<_>>().join(", ")
    }

    /// Adds which options take a value, where that may be what went wrong.
    fn explained(&self, mut error: Error, words: &[OsString]) -> Error {
        let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg).cloned() else { return error };
        let Some(option) = shown.split(' ').next().filter(|option| option.starts_with('-')) else { return error };
        let is_it = |word: &&OsString| word.to_string_lossy().split('=').next() == Some(option);
        let typed = words.iter().find(is_it).map_or(option.into(), |word| word.to_string_lossy());
        let switches: Vec<String> = self
            .flags
            .iter()
            .filter(|flag| flag.takes == Takes::Nothing && flag.name != DETACHED)
            .map(|flag| format!("--{}", flag.name))
            .collect();
        let others = format!("an option other than {} requires a value", switches.join(", "));
        match error.kind() {
            ErrorKind::UnknownArgument => tip(&mut error, format!("as to '{typed}': {others}")),
            ErrorKind::TooManyValues => tip(&mut error, format!("as to '{typed}': {option} takes no value; {others}")),
            ErrorKind::InvalidValue => tip(&mut error, format!("{option} requires a value, which may be empty: {option} ''")),
            _ => {}
        }
        error
    }
}

impl Flag {
    fn arg(&self) -> Arg {
        let arg = Arg::new(self.name).long(self.name).help(self.help);
        let Some(value) = self.takes.value_name() else { return arg.action(ArgAction::SetTrue) };
        let arg = arg.value_name(value).allow_hyphen_values(true);
        match self.takes {
            Takes::Nothing | Takes::Text(_) => arg,
            Takes::Path(_) => arg.value_parser(OsStringValueParser::new().map(PathBuf::from)),
            Takes::Minutes => arg.value_parser(value::minutes),
            Takes::Millis => arg.value_parser(value::millis),
            Takes::Json => arg.value_parser(value::payload),
            Takes::Process => arg.value_parser(value::process),
            Takes::Claims => arg.value_parser(value::claim).action(ArgAction::Append),
        }
    }
}

impl Takes {
    /// What the help calls the value; none for a switch.
    fn value_name(self) -> Option<&'static str> {
        Some(match self {
            Self::Nothing => return None,
            Self::Text(name) | Self::Path(name) => name,
            Self::Minutes => "MINUTES",
            Self::Millis => "N",
            Self::Json => "JSON",
            Self::Process => "PID",
            Self::Claims => "MODE:KEY",
        })
    }
}

impl Need {
    pub(super) fn flag(&self) -> &'static str {
        match self {
            Self::Always(flag) | Self::UnlessForced(flag) => flag,
        }
    }
}

fn tip(error: &mut Error, text: String) {
    let mut tips = match error.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        _ => Vec::new(),
    };
    tips.push(StyledStr::from(text));
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
}
