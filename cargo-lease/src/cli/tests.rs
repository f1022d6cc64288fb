use super::*;

fn parsed(words: &[&str]) -> Result<Cli, clap::Error> {
    parse(std::iter::once("cargo-lease").chain(words.iter().copied()).map(OsString::from))
}

#[track_caller]
fn refused(words: &[&str], parts: &[&str]) {
    let error = parsed(words).expect_err("refused");
    assert_eq!(error.exit_code(), 2, "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "{part:?} is not in: {error}");
    }
}

fn theirs(words: &[&str]) -> Vec<String> {
    match parsed(words).expect("accepted").command {
        Command::Test(wrapped) | Command::Nextest(wrapped) | Command::Bench(wrapped) => {
            wrapped.words.into_iter().map(|word| word.into_string().expect("text")).collect()
        }
        other => panic!("not a wrapper: {other:?}"),
    }
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn three_spellings_are_one() {
    for words in [&["status"][..], &["lease", "status"]] {
        assert!(matches!(parsed(words).expect("accepted").command, Command::Status(_)), "{words:?}");
    }
    assert_eq!(theirs(&["lease", "test", "lease"]), ["lease"]);
}

#[test]
fn wrapped_words_stay_word_for_word() {
    let cases: [&[&str]; 8] = [
        &[],
        &["--help"],
        &["-h"],
        &["--", "--nocapture"],
        &["--pool", "theirs", "--", "--", "x"],
        &["-p", "api", "--no-run", "name"],
        &["", "--version"],
        &["run", "-E", "test(db)"],
    ];
    for words in cases {
        for name in WRAPPERS {
            let line: Vec<&str> = ["--pool", "ours.json", "--no-wait", name].into_iter().chain(words.iter().copied()).collect();
            assert_eq!(theirs(&line), words, "{line:?}");
            assert_eq!(parsed(&line).expect("accepted").lease.pool, Some("ours.json".into()));
        }
    }
}

#[test]
fn values_that_look_like_commands_are_values() {
    let cli = parsed(&["--session", "test", "--owner=run", "status", "--json"]).expect("accepted");
    assert_eq!(cli.lease.session.as_deref(), Some("test"));
    assert_eq!(cli.lease.owner.as_deref(), Some("run"));
    assert!(matches!(cli.command, Command::Status(StatusArgs { json: true, watch: false, .. })));
}

#[test]
fn empty_values_are_accepted_and_conflict_with_nothing() {
    let cli = Cli::command();
    let options = cli.get_arguments().filter(|known| known.get_action().takes_values());
    let names = options.filter_map(|known| known.get_long()).filter(|name| !["wrap", "hold"].contains(name));
    let empty: Vec<String> = names.map(|name| format!("--{name}=")).chain(["--no-wait".to_owned()]).collect();
    assert!(empty.len() > 10, "{empty:?}");
    for (words, at) in [(&["status"][..], 0), (&["status"], 1), (&["run", "--", "x"], 1)] {
        let mut line = words.to_vec();
        line.splice(at..at, empty.iter().map(String::as_str));
        let lease = parsed(&line).expect("accepted").lease;
        assert_eq!((lease.pool, lease.store), (Some(PathBuf::new()), Some(PathBuf::new())));
    }
    assert!(parsed(&["--pool", "", "--wait", "", "--wait-ms", "5", "test"]).is_ok());
}

#[test]
fn run_takes_options_on_both_sides_up_to_its_dashes() {
    let cli = parsed(&["--ttl", "5", "run", "--wait", "1m", "--", "prog", "--ttl", "9"]).expect("accepted");
    assert_eq!(cli.lease.ttl.as_deref(), Some("5"));
    assert_eq!(cli.lease.wait.as_deref(), Some("1m"));
    let Command::Run(run) = cli.command else { panic!("not run") };
    assert_eq!(run.command, ["prog", "--ttl", "9"]);
}

#[test]
fn runner_keeps_the_binary_apart_from_the_users_runner() {
    let line = [RUNNER, Reader::Nextest.to_word(), "--pool=/p", "--via=qemu", "--via=--flag", "--", "/bin/t", "--list"];
    let cli = parsed(&line).expect("accepted");
    assert_eq!(cli.lease.pool, Some("/p".into()));
    let Command::Runner(runner) = cli.command else { panic!("not the runner") };
    assert_eq!(runner.starter, Reader::Nextest);
    assert_eq!(runner.via, ["qemu", "--flag"]);
    assert_eq!(runner.binary, ["/bin/t", "--list"]);
}

#[test]
fn the_runners_words_mean_what_clap_takes_them_for() {
    let words = |line: &[&str]| line.iter().map(OsString::from).collect::<Vec<_>>();
    let by_clap = |line: &[&str]| {
        let line = [&["cargo-lease"], line].concat();
        parse_whole(definition(), words(&line)).map(|cli| format!("{:?}", cli.command))
    };
    let by_hand = |line: &[&str]| runner::parse(&words(line)).map(|args| format!("{:?}", Command::Runner(args)));
    let cargo = Reader::Cargo.to_word();
    let options = ["owner", "owner-pattern", "session", "ttl", "wait-ms", "heartbeat-secs", "wrap", "pool", "store", "via"];
    let commands = ["provision-cmd", "reset-cmd", "health-cmd", "nudge-cmd"];
    for (value, binary) in [("x", "/bin/t"), ("", "--"), ("a=b --", "")] {
        let options: Vec<_> = options.iter().chain(&commands).map(|name| format!("--{name}={value}")).collect();
        let ours = options.iter().map(String::as_str).chain(["--no-wait", "--via=--flag"]);
        let line: Vec<_> = [RUNNER, cargo].into_iter().chain(ours).chain(["--", binary, "--list", "--", "-x"]).collect();
        assert_eq!(by_hand(&line).expect("read"), by_clap(&line).expect("accepted"));
    }
    let refused: [&[&str]; 9] = [
        &[],
        &[RUNNER],
        &[RUNNER, "--", "/bin/t"],
        &[RUNNER, cargo, "--"],
        &[RUNNER, cargo, "/bin/t"],
        &[RUNNER, cargo, cargo, "--", "/bin/t"],
        &[RUNNER, cargo, "--no-wait=1", "--", "/bin/t"],
        &[RUNNER, cargo, "--ttl=1", "--ttl=1", "--", "/bin/t"],
        &["run", cargo, "--", "/bin/t"],
    ];
    for line in refused {
        assert_eq!(by_hand(line), None, "{line:?}");
        assert!(by_clap(line).is_err(), "{line:?}");
    }
}

#[test]
fn mistakes_are_usage_errors_that_name_them() {
    refused(&["statsu"], &["statsu", "status"]);
    refused(&["--pol", "x", "test"], &["--pol", "--pool"]);
    refused(&["status", "--jsno"], &["--jsno", "--json"]);
    refused(&["--ttl"], &["--ttl"]);
    refused(&["--ttl", "5", "--ttl", "6", "test"], &["--ttl", "multiple times"]);
    refused(&["--ttl", "5", "run", "--ttl", "6", "--", "x"], &["--ttl", "multiple times"]);
    refused(&["--wait", "5m", "--no-wait", "test"], &["--wait", "--no-wait"]);
    refused(&["--wait", "5m", "status", "--wait-ms", "6"], &["--wait", "--wait-ms"]);
    refused(&["--no-wait", "run", "--wait-ms", "6", "--", "x"], &["--wait-ms", "--no-wait"]);
    refused(&["--no-wait=1", "test"], &["--no-wait"]);
    refused(&["--wrap", "all", "status"], &["--wrap"]);
    refused(&["run", "prog"], &["put `--` before the command", "run -- prog"]);
    refused(&["--ttl", "5", "run", "--no-wait", "prog", "--x"], &["put `--` before the command", "run -- prog"]);
    refused(&["run", "prog", "--", "x"], &["put `--` before the command", "run -- prog"]);
    refused(&["run", "--flag", "prog"], &["--flag"]);
    refused(&["run"], &["COMMAND"]);
    refused(&["run", "--"], &["COMMAND"]);
    refused(&["--"], &[]);
    refused(&[], &["Usage"]);
    refused(&["--ttl", "5"], &["subcommand"]);
}
