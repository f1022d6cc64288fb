//! Options and environment made one: what a slot is asked for with, apart from the pool file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lease_harness::harness::CommandOverrides;
use lease_harness::{ClaimRequest, Slot, SlotRequest, Wait};

use super::Surroundings;
use super::duration::parse_duration;
use crate::cli::LeaseOptions;
use crate::exit::Failure;

/// The longest TTL that the format allows: 366 days.
const MAX_TTL_MINUTES: f64 = 527_040.0;

/// Everything that options and environment say about how a slot is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) store: Option<PathBuf>,
    pub(crate) owner: Option<String>,
    pub(crate) owner_pattern: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) ttl_minutes: Option<f64>,
    pub(crate) wait: Wait,
    pub(crate) heartbeat: Option<Duration>,
    pub(crate) commands: CommandOverrides,
}

/// A value and where it was set.
struct Given<'a> {
    name: &'a str,
    value: &'a str,
}

impl Given<'_> {
    fn wrong(&self, why: &str) -> Failure {
        Failure::usage(format!("{} '{}': {why}", self.name, self.value))
    }

    fn number(&self) -> Option<f64> {
        self.value.trim().parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn ttl_minutes(&self) -> Result<f64, Failure> {
        self.number()
            .filter(|minutes| 0.0 < *minutes && *minutes <= MAX_TTL_MINUTES)
            .ok_or_else(|| self.wrong("expected minutes, more than 0 and at most 527040"))
    }

    fn wait(&self) -> Result<Wait, Failure> {
        match parse_duration(self.value) {
            Ok(Duration::ZERO) => Ok(Wait::No),
            Ok(longest) => Ok(Wait::For(longest)),
            Err(why) => Err(self.wrong(&why)),
        }
    }

    fn wait_millis(&self) -> Result<Wait, Failure> {
        self.duration(1e-3).map(Wait::For).ok_or_else(|| self.wrong("expected milliseconds, 0 or more"))
    }

    fn heartbeat(&self) -> Result<Duration, Failure> {
        self.duration(1.0).filter(|pause| !pause.is_zero()).ok_or_else(|| self.wrong("expected seconds, more than 0"))
    }

    fn duration(&self, unit_secs: f64) -> Option<Duration> {
        Duration::try_from_secs_f64(self.number()? * unit_secs).ok()
    }
}

/// Looks values up: the flag, then the environment's names in turn.
struct Lookup<'a> {
    around: &'a Surroundings,
}

impl<'a> Lookup<'a> {
    fn given(&self, flag: &'a str, typed: Option<&'a String>, variables: &[&'a str]) -> Result<Option<Given<'a>>, Failure> {
        if let Some(value) = typed.filter(|value| !value.is_empty()) {
            return Ok(Some(Given { name: flag, value }));
        }
        for name in variables {
            if let Some(value) = self.around.var(name)? {
                return Ok(Some(Given { name, value }));
            }
        }
        Ok(None)
    }

    fn text(&self, flag: &'a str, typed: Option<&'a String>, variables: &[&'a str]) -> Result<Option<String>, Failure> {
        Ok(self.given(flag, typed, variables)?.map(|given| given.value.to_owned()))
    }
}

impl Settings {
    /// Reads the options, and the environment for what they leave open.
    ///
    /// # Errors
    ///
    /// A value that is not what its option takes; the message names the option or variable and the value.
    pub(crate) fn read(options: &LeaseOptions, around: &Surroundings) -> Result<Self, Failure> {
        let look = Lookup { around };
        let ttl = look.given("--ttl", options.ttl.as_ref(), &["POOL_TTL_MINUTES", "E2E_LEASE_TTL_MINUTES"])?;
        let heartbeat = look.given("--heartbeat-secs", options.heartbeat_secs.as_ref(), &[])?;
        Ok(Self {
            owner: look.text("--owner", options.owner.as_ref(), &["LEASE_OWNER"])?,
            ttl_minutes: ttl.map(|given| given.ttl_minutes()).transpose()?,
            wait: wait(options, &look)?,
            heartbeat: heartbeat.map(|given| given.heartbeat()).transpose()?,
            ..Self::read_shared(options, around)?
        })
    }

    /// Reads what commands for people and those for scripts have in common: store, owner pattern, session and commands.
    ///
    /// # Errors
    ///
    /// A variable that is no text.
    pub(crate) fn read_shared(options: &LeaseOptions, around: &Surroundings) -> Result<Self, Failure> {
        let look = Lookup { around };
        Ok(Self {
            store: store_dir(options, around),
            owner_pattern: look.text("--owner-pattern", options.owner_pattern.as_ref(), &["LEASE_OWNER_PATTERN"])?,
            session: look.text("--session", options.session.as_ref(), &[])?,
            commands: commands(options, &look)?,
            ..Self::default()
        })
    }

    /// The request that these settings make for a slot of a pool.
    pub(crate) fn request(&self, pool_file: &Path) -> SlotRequest {
        let mut request = SlotRequest::from_file(pool_file).wait(self.wait).commands(self.commands.clone());
        if let Some(store) = &self.store {
            request = request.store(store);
        }
        if let Some(owner) = &self.owner {
            request = request.owner(owner);
        }
        if let Some(pattern) = &self.owner_pattern {
            request = request.owner_pattern(pattern);
        }
        if let Some(session) = &self.session {
            request = request.session(session);
        }
        if let Some(minutes) = self.ttl_minutes {
            request = request.ttl_minutes(minutes);
        }
        if let Some(pause) = self.heartbeat {
            request = request.heartbeat_every(pause);
        }
        request
    }

    /// The request that these settings make for claims of a scope, in the store of the slot that comes with them if one does.
    pub(crate) fn claim_request(&self, scope: Option<&str>, slot: Option<&Slot>) -> ClaimRequest {
        let mut request = ClaimRequest::new().wait(self.wait);
        if let Some(store) = slot.map(Slot::store_dir).or(self.store.as_deref()) {
            request = request.store(store);
        }
        if let Some(scope) = scope.filter(|scope| !scope.is_empty()) {
            request = request.scope(scope);
        }
        if let Some(owner) = &self.owner {
            request = request.owner(owner);
        }
        if let Some(minutes) = self.ttl_minutes {
            request = request.ttl_minutes(minutes);
        }
        if let Some(pause) = self.heartbeat {
            request = request.heartbeat_every(pause);
        }
        request
    }

    /// The variables that hand these settings to processes which ask for a slot by themselves.
    ///
    /// # Errors
    ///
    /// An option that no variable stands for: it would be lost without a word.
    pub(crate) fn to_env(&self, options: &LeaseOptions) -> Result<Vec<(&'static str, OsString)>, Failure> {
        let is_given = |typed: &Option<String>| typed.as_ref().is_some_and(|text| !text.is_empty());
        let lost = [
            ("--pool", options.pool.as_ref().is_some_and(|path| !path.as_os_str().is_empty())),
            ("--session", is_given(&options.session)),
            ("--wait", is_given(&options.wait)),
            ("--wait-ms", is_given(&options.wait_ms)),
            ("--no-wait", options.no_wait),
            ("--heartbeat-secs", is_given(&options.heartbeat_secs)),
        ];
        if let Some((flag, _)) = lost.iter().find(|(_, typed)| *typed) {
            return Err(Failure::usage(format!("{flag} has no effect where only annotated tests take a slot; say it there")));
        }
        let ttl = self.ttl_minutes.map(|minutes| minutes.to_string());
        let texts = [
            ("LEASE_OWNER", &self.owner),
            ("LEASE_OWNER_PATTERN", &self.owner_pattern),
            ("POOL_TTL_MINUTES", &ttl),
            ("POOL_PROVISION_CMD", &self.commands.provision),
            ("POOL_RESET_CMD", &self.commands.reset),
            ("POOL_HEALTH_CMD", &self.commands.health),
            ("POOL_NUDGE_CMD", &self.commands.nudge),
        ];
        let store = self.store.clone().map(|store| ("LEASE_STORE", store.into_os_string()));
        let texts = texts.into_iter().filter_map(|(name, text)| Some((name, text.clone()?.into())));
        Ok(store.into_iter().chain(texts).collect())
    }

    /// The options that make our runner, wherever cargo starts it, read these same settings.
    ///
    /// # Errors
    ///
    /// A path that is not UTF-8 text, which cargo's configuration cannot hold.
    pub(crate) fn to_words(&self, pool_file: &Path) -> Result<Vec<String>, Failure> {
        let mut words = vec![format!("--pool={}", path_text("pool file", pool_file)?)];
        if let Some(store) = &self.store {
            words.push(format!("--store={}", path_text("store", store)?));
        }
        let texts = [
            ("--owner", &self.owner),
            ("--owner-pattern", &self.owner_pattern),
            ("--session", &self.session),
            ("--provision-cmd", &self.commands.provision),
            ("--reset-cmd", &self.commands.reset),
            ("--health-cmd", &self.commands.health),
            ("--nudge-cmd", &self.commands.nudge),
        ];
        words.extend(texts.iter().filter_map(|(flag, text)| Some(format!("{flag}={}", text.as_ref()?))));
        words.extend(self.ttl_minutes.map(|minutes| format!("--ttl={minutes}")));
        words.extend(self.heartbeat.map(|pause| format!("--heartbeat-secs={}", pause.as_secs_f64())));
        match self.wait {
            Wait::Forever => {}
            Wait::For(longest) => words.push(format!("--wait-ms={}", longest.as_secs_f64() * 1e3)),
            Wait::No => words.push("--no-wait".to_owned()),
        }
        Ok(words)
    }
}

fn store_dir(options: &LeaseOptions, around: &Surroundings) -> Option<PathBuf> {
    let typed = options.store.as_deref().filter(|dir| !dir.as_os_str().is_empty());
    let dir = typed.or_else(|| around.var_os("LEASE_STORE").map(Path::new))?;
    Some(around.absolute(dir))
}

fn wait(options: &LeaseOptions, look: &Lookup<'_>) -> Result<Wait, Failure> {
    if options.no_wait {
        return Ok(Wait::No);
    }
    if let Some(given) = look.given("--wait", options.wait.as_ref(), &[])? {
        return given.wait();
    }
    let millis = look.given("--wait-ms", options.wait_ms.as_ref(), &[])?;
    millis.map_or(Ok(Wait::Forever), |given| given.wait_millis())
}

fn commands(options: &LeaseOptions, look: &Lookup<'_>) -> Result<CommandOverrides, Failure> {
    Ok(CommandOverrides {
        provision: look.text(
            "--provision-cmd",
            options.provision_cmd.as_ref(),
            &["POOL_PROVISION_CMD", "E2E_LEASE_RESET_CMD"],
        )?,
        reset: look.text("--reset-cmd", options.reset_cmd.as_ref(), &["POOL_RESET_CMD"])?,
        health: look.text("--health-cmd", options.health_cmd.as_ref(), &["POOL_HEALTH_CMD"])?,
        nudge: look.text("--nudge-cmd", options.nudge_cmd.as_ref(), &["POOL_NUDGE_CMD", "E2E_LEASE_NUDGE_CMD"])?,
    })
}

/// A path as the text that cargo's configuration needs.
pub(crate) fn path_text<'a>(what: &str, path: &'a Path) -> Result<&'a str, Failure> {
    path.to_str().ok_or_else(|| Failure::usage(format!("{what} {path:?}: expected a path that is UTF-8 text")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;
    use crate::resolve::duration::CASES;

    const ENV: [(&str, &str); 9] = [
        ("LEASE_STORE", "env-store"),
        ("LEASE_OWNER", "env-owner"),
        ("LEASE_OWNER_PATTERN", "^env$"),
        ("POOL_TTL_MINUTES", "7"),
        ("POOL_PROVISION_CMD", "env provision"),
        ("POOL_RESET_CMD", "env reset"),
        ("POOL_HEALTH_CMD", "env health"),
        ("POOL_NUDGE_CMD", "env nudge"),
        ("LEASE_SESSION", "not a setting"),
    ];

    fn read(words: &[&str], env: &[(&str, &str)]) -> Result<Settings, Failure> {
        let line = ["cargo-lease"].iter().chain(words).chain(&["status"]).map(Into::into);
        let cli = cli::parse(line).expect("parsed");
        Settings::read(&cli.lease, &Surroundings::of_test("/some dir", env))
    }

    fn shown(settings: &Settings) -> String {
        format!("{settings:?}")
    }

    #[track_caller]
    fn refused(words: &[&str], env: &[(&str, &str)], parts: &[&str]) {
        let error = read(words, env).expect_err("refused").to_string();
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    }

    #[test]
    fn an_empty_option_is_as_if_it_were_not_given() {
        let words = [
            "--pool=",
            "--store=",
            "--owner=",
            "--owner-pattern=",
            "--session=",
            "--ttl=",
            "--wait=",
            "--wait-ms=",
            "--heartbeat-secs=",
            "--provision-cmd=",
            "--reset-cmd=",
            "--health-cmd=",
            "--nudge-cmd=",
        ];
        for env in [&ENV[..], &[]] {
            assert_eq!(shown(&read(&words, env).expect("read")), shown(&read(&[], env).expect("read")));
        }
    }

    #[test]
    fn nothing_given_leaves_all_open() {
        assert_eq!(shown(&read(&[], &[]).expect("read")), shown(&Settings::default()));
    }

    #[test]
    fn environment_is_read() {
        let settings = read(&[], &ENV).expect("read");
        assert_eq!(settings.store, Some("/some dir/env-store".into()));
        assert_eq!(settings.owner.as_deref(), Some("env-owner"));
        assert_eq!(settings.owner_pattern.as_deref(), Some("^env$"));
        assert_eq!(settings.ttl_minutes, Some(7.0));
        assert_eq!(settings.session, None);
        assert_eq!(settings.commands.provision.as_deref(), Some("env provision"));
        assert_eq!(settings.commands.reset.as_deref(), Some("env reset"));
        assert_eq!(settings.commands.health.as_deref(), Some("env health"));
        assert_eq!(settings.commands.nudge.as_deref(), Some("env nudge"));
    }

    #[test]
    fn flags_beat_environment_and_an_empty_flag_is_none() {
        let words = [
            "--store=flag-store",
            "--owner=flag-owner",
            "--owner-pattern=",
            "--ttl=0.05",
            "--provision-cmd=flag provision",
            "--wait=",
            "--heartbeat-secs=0.5",
        ];
        let settings = read(&words, &ENV).expect("read");
        assert_eq!(settings.store, Some("/some dir/flag-store".into()));
        assert_eq!(settings.owner.as_deref(), Some("flag-owner"));
        assert_eq!(settings.owner_pattern.as_deref(), Some("^env$"));
        assert_eq!(settings.ttl_minutes, Some(0.05));
        assert_eq!(settings.commands.provision.as_deref(), Some("flag provision"));
        assert_eq!(settings.wait, Wait::Forever);
        assert_eq!(settings.heartbeat, Some(Duration::from_millis(500)));
    }

    #[test]
    fn aliases_count_when_the_name_itself_is_unset_or_empty() {
        let aliases = [
            ("POOL_TTL_MINUTES", ""),
            ("E2E_LEASE_TTL_MINUTES", "9"),
            ("E2E_LEASE_RESET_CMD", "e2e provision"),
            ("E2E_LEASE_NUDGE_CMD", "e2e nudge"),
        ];
        let settings = read(&[], &aliases).expect("read");
        assert_eq!(settings.ttl_minutes, Some(9.0));
        assert_eq!(settings.commands.provision.as_deref(), Some("e2e provision"));
        assert_eq!(settings.commands.reset, None);
        assert_eq!(settings.commands.nudge.as_deref(), Some("e2e nudge"));
        let both = [("POOL_TTL_MINUTES", "3"), ("E2E_LEASE_TTL_MINUTES", "9")];
        assert_eq!(read(&[], &both).expect("read").ttl_minutes, Some(3.0));
    }

    #[test]
    fn waits() {
        let table = [
            (&["--wait", "1h30m"][..], Wait::For(Duration::from_secs(5400))),
            (&["--wait-ms", "1500"], Wait::For(Duration::from_millis(1500))),
            (&["--wait-ms", "0"], Wait::For(Duration::ZERO)),
            (&["--wait", "0"], Wait::No),
            (&["--no-wait"], Wait::No),
            (&[], Wait::Forever),
        ];
        for (words, wait) in table {
            assert_eq!(read(words, &[]).expect("read").wait, wait, "{words:?}");
        }
        for (text, expected) in CASES.iter().filter(|(text, _)| !text.is_empty()) {
            let word = format!("--wait={text}");
            match expected {
                Ok(0) => assert_eq!(read(&[&word], &[]).expect("read").wait, Wait::No, "{word}"),
                Ok(micros) => assert_eq!(read(&[&word], &[]).expect("read").wait, Wait::For(Duration::from_micros(*micros))),
                Err(part) => refused(&[&word], &[], &["--wait", part]),
            }
        }
    }

    #[test]
    fn bad_values_name_option_and_value() {
        refused(&["--ttl", "abc"], &[], &["--ttl 'abc'", "minutes"]);
        refused(&["--ttl", "0"], &[], &["--ttl '0'"]);
        refused(&["--ttl", "-5"], &[], &["--ttl '-5'"]);
        refused(&["--ttl", "inf"], &[], &["--ttl 'inf'"]);
        refused(&["--ttl", "527041"], &[], &["--ttl '527041'", "527040"]);
        refused(&[], &[("POOL_TTL_MINUTES", "soon")], &["POOL_TTL_MINUTES 'soon'"]);
        refused(&[], &[("E2E_LEASE_TTL_MINUTES", "-1")], &["E2E_LEASE_TTL_MINUTES '-1'"]);
        refused(&["--wait", "10"], &[], &["--wait '10'", "10m"]);
        refused(&["--wait", "soon"], &[], &["--wait 'soon'"]);
        refused(&["--wait-ms", "-1"], &[], &["--wait-ms '-1'"]);
        refused(&["--wait-ms", "5s"], &[], &["--wait-ms '5s'"]);
        refused(&["--heartbeat-secs", "0"], &[], &["--heartbeat-secs '0'"]);
    }

    #[test]
    fn words_for_the_runner_read_back_as_the_same_settings() {
        let words = [
            "--store=/s p",
            "--owner=o",
            "--owner-pattern=^o$",
            "--session=- a 'b'",
            "--ttl=0.05",
            "--wait=1h30m",
            "--heartbeat-secs=0.25",
            "--provision-cmd=--odd \"x\"",
            "--reset-cmd=r",
            "--health-cmd=h",
            "--nudge-cmd=n",
        ];
        for words in [&words[..], &["--no-wait"], &["--store="], &[]] {
            let settings = read(words, &[]).expect("read");
            let handed = settings.to_words(Path::new("/p q/pool.json")).expect("text");
            assert_eq!(handed[0], "--pool=/p q/pool.json");
            let line: Vec<&str> = handed.iter().map(String::as_str).collect();
            assert_eq!(shown(&read(&line, &[]).expect("read back")), shown(&settings));
        }
    }

    #[test]
    fn processes_that_ask_by_themselves_are_told_by_their_environment() {
        let options = |words: &[&str]| {
            cli::parse(["cargo-lease"].iter().chain(words).chain(&["test"]).map(Into::into)).expect("parsed").lease
        };
        let typed = options(&["--store=s", "--ttl=5", "--owner=o", "--provision-cmd=p"]);
        let settings = Settings::read(&typed, &Surroundings::of_test("/w", &[])).expect("read");
        let env: Vec<(&str, OsString)> = vec![
            ("LEASE_STORE", "/w/s".into()),
            ("LEASE_OWNER", "o".into()),
            ("POOL_TTL_MINUTES", "5".into()),
            ("POOL_PROVISION_CMD", "p".into()),
        ];
        assert_eq!(settings.to_env(&typed).expect("told"), env);
        assert!(settings.to_env(&options(&["--session=", "--wait=", "--heartbeat-secs="])).is_ok());
        let lost = ["--pool=p", "--session=s", "--wait=1m", "--wait-ms=1", "--no-wait", "--heartbeat-secs=1"];
        for flag in lost {
            let error = settings.to_env(&options(&[flag])).expect_err(flag).to_string();
            assert!(error.starts_with(flag.split('=').next().expect("name")), "{error}");
        }
    }
}
