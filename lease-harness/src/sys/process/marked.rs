//! Ending what still works under a grant whose holder is gone.

pub(crate) use imp::kill_where;

/// The environment that a process was started with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Environment<'a>(&'a [u8]);

impl<'a> Environment<'a> {
    /// Variables as the system shows them: each ends with a zero.
    #[cfg_attr(not(any(test, target_os = "linux")), expect(dead_code, reason = "elsewhere nobody is looked for"))]
    pub(crate) fn of(variables: &'a [u8]) -> Self {
        Self(variables)
    }

    /// The value of a variable; none that is no text.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let mut variables = self.0.split(|byte| *byte == 0);
        let value = variables.find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        std::str::from_utf8(value).ok()
    }

    /// Whether a variable has this value.
    pub(crate) fn has(&self, name: &str, value: &str) -> bool {
        self.get(name) == Some(value)
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::MetadataExt;
    use std::time::{Duration, Instant};

    use rustix::fs::{Mode, OFlags, open, openat};
    use rustix::io::{Errno, read};
    use rustix::process::{Pid, Signal, geteuid};

    use super::super::ancestry::ancestors;
    use super::super::{Process, sleep_until_readable, stat_fields};
    use super::Environment;

    /// A process that is found may be about to fork; who looks so often finds the last of a line that does so.
    const MAX_ROUNDS: usize = 5;
    /// The list of processes is not read in one moment: one look that finds nobody proves nothing.
    const LOOKS_IN_VAIN: usize = 2;
    /// A process that is just becoming another program shows no environment. Until it does, nothing is known; but one that
    /// stands still there is not waited for for ever.
    const BECOMING_LIMIT: Duration = Duration::from_millis(200);
    const BECOMING_PAUSE: Duration = Duration::from_micros(500);
    /// How long one round waits for the processes that it has killed.
    const ROUND_LIMIT: Duration = Duration::from_secs(2);

    /// Kills every process of this user that was started with an environment like that, and waits until they are gone. This
    /// process and its ancestors are spared.
    ///
    /// Returns how many there were. A process that this user may not look into is not found, nor is one that has overwritten
    /// the place of its first environment.
    ///
    /// # Errors
    ///
    /// If the processes cannot be listed, or if some do not go away; the message names them.
    pub(crate) fn kill_where(is_meant: &dyn Fn(&Environment<'_>) -> bool) -> io::Result<usize> {
        let mut environments = Environments::new()?;
        let (mut n_killed, mut n_looks_in_vain) = (0, 0);
        for _ in 0..MAX_ROUNDS {
            let found = environments.all_where_now(is_meant)?;
            if found.is_empty() {
                n_looks_in_vain += 1;
            } else {
                n_looks_in_vain = 0;
                found.iter().try_for_each(|process| process.send(Signal::KILL))?;
                n_killed += found.len() - wait_for_end(&found)?;
            }
            if n_looks_in_vain == LOOKS_IN_VAIN {
                return Ok(n_killed);
            }
        }
        match environments.all_where(is_meant)?.as_slice() {
            [] => Ok(n_killed),
            left => Err(io::Error::new(io::ErrorKind::TimedOut, format!("killed but not gone: {}", numbers(left)))),
        }
    }

    fn numbers(processes: &[Process]) -> String {
        let numbers: Vec<_> = processes.iter().map(|process| process.pid.to_string()).collect();
        numbers.join(", ")
    }

    /// Returns how many are still there in the end.
    fn wait_for_end(processes: &[Process]) -> io::Result<usize> {
        let until = Instant::now() + ROUND_LIMIT;
        loop {
            let left: Vec<_> = processes.iter().filter(|process| !process.is_gone()).collect();
            if left.is_empty() || until <= Instant::now() {
                return Ok(left.len());
            }
            let ends: Vec<_> = left.iter().map(|process| process.end_fd()).collect();
            sleep_until_readable(&ends, Some(until))?;
        }
    }

    /// Most environments are smaller.
    const ROOM: usize = 1 << 16;

    /// Reads the environments of processes. A test of a run that holds slots looks at those of all processes, so that each is
    /// looked at with as few calls as possible.
    struct Environments {
        proc: OwnedFd,
        room: Vec<u8>,
        /// Whether the last look met somebody who shows nothing because he is just becoming another program.
        is_anybody_becoming: bool,
    }

    impl Environments {
        fn new() -> io::Result<Self> {
            let proc = open("/proc", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
            Ok(Self { proc, room: vec![0; ROOM], is_anybody_becoming: false })
        }

        /// The same as [`all_where`](Self::all_where), once everybody shows what he is.
        fn all_where_now(&mut self, is_meant: &dyn Fn(&Environment<'_>) -> bool) -> io::Result<Vec<Process>> {
            let until = Instant::now() + BECOMING_LIMIT;
            loop {
                let found = self.all_where(is_meant)?;
                if !found.is_empty() || !self.is_anybody_becoming || until <= Instant::now() {
                    return Ok(found);
                }
                std::thread::sleep(BECOMING_PAUSE);
            }
        }

        fn all_where(&mut self, is_meant: &dyn Fn(&Environment<'_>) -> bool) -> io::Result<Vec<Process>> {
            self.is_anybody_becoming = false;
            let mut numbers = Vec::new();
            for entry in std::fs::read_dir("/proc")? {
                let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
                if self.shows(number, is_meant) {
                    numbers.push(number);
                }
            }
            if numbers.is_empty() {
                return Ok(Vec::new());
            }
            let spared: Vec<i32> = ancestors().collect();
            let others = numbers.into_iter().filter(|number| !spared.contains(number));
            others.filter_map(|number| self.held_if(number, is_meant).transpose()).collect()
        }

        /// The process with this number, if it is still one of those that are meant.
        fn held_if(&mut self, number: i32, is_meant: &dyn Fn(&Environment<'_>) -> bool) -> io::Result<Option<Process>> {
            let Some(pid) = Pid::from_raw(number).filter(|_| is_ours(number)) else { return Ok(None) };
            let process = match Process::open(pid) {
                Ok(process) => process,
                // It has ended, and its number may already be that of a thread.
                Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::SRCH | Errno::INVAL | Errno::NOENT)) => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            };
            // Its environment is read once more, now that it is held: if the number has passed on to another process since,
            // then the held one has ended, and a signal to it reaches nobody.
            Ok((is_ours(number) && self.shows(number, is_meant)).then_some(process))
        }

        fn shows(&mut self, number: i32, is_meant: &dyn Fn(&Environment<'_>) -> bool) -> bool {
            let Ok(environment) = self.of(number) else { return false };
            let (is_meant, is_empty) = (is_meant(&environment), environment.0.is_empty());
            self.is_anybody_becoming |= is_empty && is_becoming_another_program(number);
            is_meant
        }

        fn of(&mut self, number: i32) -> io::Result<Environment<'_>> {
            let file = openat(&self.proc, format!("{number}/environ"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
            let mut n_bytes = 0;
            loop {
                n_bytes += read(&file, &mut self.room[n_bytes..])?;
                // The system fills the room as long as there is more.
                if n_bytes < self.room.len() {
                    return Ok(Environment::of(&self.room[..n_bytes]));
                }
                self.room.resize(2 * n_bytes, 0);
            }
        }
    }

    /// Whether a process without an environment has none yet. Threads of the kernel and processes that have ended never have.
    fn is_becoming_another_program(number: i32) -> bool {
        const FLAGS_AND_END_OF_ENVIRONMENT: [usize; 2] = [9, 51];
        const OF_KERNEL: u64 = 0x0020_0000;
        const ENDS: u64 = 0x4;
        let fields = stat_fields(&number.to_string(), FLAGS_AND_END_OF_ENVIRONMENT);
        fields.is_some_and(|[flags, end]| end == 0 && flags & (OF_KERNEL | ENDS) == 0) && is_ours(number)
    }

    fn is_ours(number: i32) -> bool {
        std::fs::metadata(format!("/proc/{number}")).is_ok_and(|about| about.uid() == geteuid().as_raw())
    }

    #[cfg(test)]
    mod tests {
        use std::io::{BufRead, BufReader, Read};
        use std::process::{Child, ChildStdout, Command, Stdio};

        use super::*;

        const NAME: &str = "LEASE_TEST_MARK";
        /// Makes the test itself a marked process.
        const SPARED: &str = "sys::process::marked::imp::tests::the_caller_and_its_ancestors_are_spared";

        /// Kills whoever carries the mark.
        fn kill(mark: &str) -> io::Result<usize> {
            kill_where(&|found| found.has(NAME, mark))
        }

        /// A value of a test's own, so that tests do not end each other's processes.
        fn mark_of(test: &str) -> String {
            format!("{test}-{}", std::process::id())
        }

        /// Starts a shell that carries the mark, and waits until it says that all is started.
        fn shell(script: &str, mark: &str) -> (Child, BufReader<ChildStdout>) {
            let mut command = Command::new("sh");
            command.args(["-c", script]).env(NAME, mark).stdout(Stdio::piped());
            let mut shell = command.spawn().unwrap();
            let mut stdout = BufReader::new(shell.stdout.take().unwrap());
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            assert_eq!(line, "started\n");
            (shell, stdout)
        }

        /// Returns when nobody can write to the output any more.
        fn wait_for_silence(mut stdout: BufReader<ChildStdout>) {
            stdout.read_to_string(&mut String::new()).unwrap();
        }

        #[test]
        fn grandchildren_in_sessions_of_their_own_are_found() {
            let mark = mark_of("grandchildren");
            // Each shell in between has ended when the first line is read.
            let script = "(setsid sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000 & echo started' & wait $!)";
            let (mut shell, stdout) = shell(script, &mark);
            assert!(shell.wait().unwrap().success());
            assert_eq!(kill(&mark).unwrap(), 3);
            wait_for_silence(stdout);
            assert_eq!(kill(&mark).unwrap(), 0);
        }

        #[test]
        fn only_the_whole_value_of_the_very_variable_counts() {
            let mark = mark_of("whole");
            let longer = format!("{mark}0");
            let (mut other, _stdout) = shell("echo started; exec sleep 1000", &longer);
            assert_eq!(kill(&mark).unwrap(), 0);
            assert_eq!(kill_where(&|found| found.has(&NAME[1..], &longer)).unwrap(), 0);
            assert_eq!(other.try_wait().unwrap(), None);
            assert_eq!(kill(&longer).unwrap(), 1);
            assert!(!other.wait().unwrap().success());
        }

        #[test]
        fn a_mark_behind_a_large_environment_is_found() {
            let mark = mark_of("large");
            let long = "x".repeat(ROOM - 1);
            let mut command = Command::new("sh");
            command.env_clear().env("A", &long).env("B", &long).env(NAME, &mark).stdout(Stdio::piped());
            let mut large = command.args(["-c", "echo started; exec /bin/sleep 1000"]).spawn().unwrap();
            BufReader::new(large.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
            assert_eq!(kill(&mark).unwrap(), 1);
            large.wait().unwrap();
        }

        #[test]
        fn nobody_waits_for_those_who_never_show_an_environment() {
            let mut without = Command::new("sleep").env_clear().arg("1000").spawn().unwrap();
            let mut ended = Command::new("true").spawn().unwrap();
            let of_ended = Process::with_number(ended.id()).unwrap();
            sleep_until_readable(&[of_ended.end_fd()], None).unwrap();
            let [without_number, ended_number] = [&without, &ended].map(|child| i32::try_from(child.id()).unwrap());
            // Whoever has started it goes on a little before it is another program.
            while is_becoming_another_program(without_number) {
                std::thread::yield_now();
            }
            let shown = Environments::new().unwrap().of(without_number).map(|environment| environment.0.len());
            let is_ended_becoming = is_becoming_another_program(ended_number);
            without.kill().unwrap();
            without.wait().unwrap();
            ended.wait().unwrap();
            assert_eq!((shown.unwrap(), is_ended_becoming), (0, false));
        }

        #[test]
        fn who_starts_new_ones_is_ended_with_them() {
            let mark = mark_of("restarts");
            let (mut shell, stdout) = shell("(while :; do sleep 1000 & echo started; wait; done) & wait", &mark);
            assert!(3 <= kill(&mark).unwrap());
            wait_for_silence(stdout);
            shell.wait().unwrap();
            assert_eq!(kill(&mark).unwrap(), 0);
        }

        #[test]
        fn the_caller_and_its_ancestors_are_spared() {
            if let Ok(mark) = std::env::var(NAME) {
                assert_eq!(kill(&mark).unwrap(), 1);
                return;
            }
            let me = std::env::current_exe().unwrap();
            // The shell is an ancestor of the one that kills, and has one more child.
            let script = "sleep 1000 & \"$0\" --exact \"$1\" && echo survived; wait";
            let mut command = Command::new("sh");
            command.args(["-c", script]).arg(me).arg(SPARED).env(NAME, mark_of("spared"));
            let output = command.output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.contains("1 passed") && text.ends_with("survived\n"), "{text}");
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io;

    use super::Environment;

    /// Elsewhere the environment of another process cannot be read in a way that we use: finds nobody.
    pub(crate) fn kill_where(_is_meant: &dyn Fn(&Environment<'_>) -> bool) -> io::Result<usize> {
        Ok(0)
    }
}
