//! The list of the trials, as libtest writes it.
//!
//! Libtest-mimic calls a benchmark `bench`; nextest then refuses the whole list.

use std::io::{self, Write};

use libtest_mimic::{Arguments, FormatSetting, Trial};

use super::arguments::whole_name;

/// Writes the list to stdout; an error is why that could not be done.
pub(super) fn print(arguments: &Arguments, trials: &[Trial]) -> Result<(), String> {
    let mut stdout = io::stdout().lock();
    let written = write(arguments, trials, &mut stdout).and_then(|()| stdout.flush());
    written.map_err(|error| format!("cannot write the list: {error}"))
}

fn write(arguments: &Arguments, trials: &[Trial], out: &mut impl Write) -> io::Result<()> {
    let listed: Vec<_> = trials.iter().filter(|trial| !arguments.is_filtered_out(trial)).collect();
    for trial in &listed {
        let what = if trial.is_bench() { "benchmark" } else { "test" };
        writeln!(out, "{}: {what}", whole_name(trial))?;
    }
    if arguments.quiet || !matches!(arguments.format, None | Some(FormatSetting::Pretty)) {
        return Ok(());
    }
    let n_benches = listed.iter().filter(|trial| trial.is_bench()).count();
    let gap = if listed.is_empty() { "" } else { "\n" };
    writeln!(out, "{gap}{}, {}", counted(listed.len() - n_benches, "test"), counted(n_benches, "benchmark"))
}

fn counted(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use libtest_mimic::Completion;

    use super::*;

    #[track_caller]
    fn check(arguments: &Arguments, list: &str) {
        let ignorable = Trial::ignorable_test("writes", || Ok(Completion::Completed)).with_ignored_flag(true);
        let trials = [Trial::test("reads", || Ok(())), Trial::bench("runs", |_| Ok(None)), ignorable.with_kind("slow")];
        let mut out = Vec::new();
        write(arguments, &trials, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), list);
    }

    #[test]
    fn the_list_is_libtests() {
        let all = Arguments::default();
        check(&all, "reads: test\nruns: benchmark\n[slow] writes: test\n\n2 tests, 1 benchmark\n");
        check(&Arguments { ignored: true, ..all.clone() }, "[slow] writes: test\n\n1 test, 0 benchmarks\n");
        check(&Arguments { filter: Some("nothing".to_owned()), ..all.clone() }, "0 tests, 0 benchmarks\n");
        let terse = Arguments { format: Some(FormatSetting::Terse), ..all.clone() };
        check(&Arguments { filter: Some("runs".to_owned()), ..terse }, "runs: benchmark\n");
        check(&Arguments { quiet: true, skip: vec!["r".to_owned()], ..all }, "");
    }
}
