//! What nextest starts for each test of a run whose slots are held by the run's parent: it asks for a slot and becomes the test.
//!
//! It does what `cargo-lease __runner` does where all goes well, and becomes that for everything else: a slot that has to be waited
//! for, a refusal, a runner of the user's, a parent that does not answer. `cargo-lease` is a large program, and to start it once
//! for each test takes more than all that its lease costs. This one has neither std nor a C library, whose start alone takes
//! longer than all that is done here. Its words are
//! `SMALL-RUNNER CARGO-LEASE __runner OPTIONS… -- BINARY ARGUMENTS…`.

#![no_std]
#![no_main]
// The compiler would make calls of loops, and nobody here has the functions.
#![no_builtins]

mod kernel;
mod reply;
mod room;
mod text;

use kernel::{Failure, Stream};
use reply::{Reply, envs_with};
use room::{Filled, Room};
use text::{Text, Texts};

/// The words ahead of the options: this program, the large one, and what it is asked for.
const OPTIONS_AT: usize = 3;
/// What a shell says of a program that cannot be run, and of one that is not to be found.
const CANNOT_RUN: i32 = 126;
const NOT_FOUND: i32 = 127;
/// So many texts an environment and a list of words may have together; a slot has far less than the rest of our lists.
const MOST: usize = 1 << 13;

/// What the parent is told of who asks, behind its folder, package and test; the parent has the same list.
const TOLD: [&[u8]; 5] =
    [b"LEASE_TELL_WAITS", b"NEXTEST_BINARY_ID", b"NEXTEST_TEST_NAME", b"NEXTEST_TEST_GROUP", b"NEXTEST_TEST_THREADS"];

static FOLDER: Room<4096> = Room::new();
static REQUEST: Room<{ 1 << 16 }> = Room::new();
static REPLY: Room<{ 1 << 20 }> = Room::new();
static WORD: Room<32> = Room::new();

/// Called by the first instruction with what the kernel has put on the stack: the number of words, the words, the environment.
#[unsafe(no_mangle)]
unsafe extern "C" fn begin(stack: *const usize) -> ! {
    // SAFETY: so the kernel has laid it out: a number, so many words and a null, the environment and a null.
    let (words, env) = unsafe {
        let words = stack.add(1);
        (Texts::at(words.cast()), Texts::at(words.add(*stack + 1).cast()))
    };
    if words.get(1).is_none() {
        // Only looks whether it can be started.
        kernel::exit(0);
    }
    if let Some(job) = Job::read(words, env) {
        job.run(words, env);
    }
    become_large(words, env)
}

/// Never comes back, since there is nothing else that could be done.
fn become_large(words: Texts, env: Texts) -> ! {
    let failure = words.from(1).exec(env);
    fail(words.get(1), failure)
}

/// Ends, and says why.
fn fail(program: Option<Text>, failure: Failure) -> ! {
    for part in [&b"error: cannot run "[..], program.map_or(&b"nothing"[..], Text::bytes), b": ", failure.bytes(), b"\n"] {
        kernel::say(part);
    }
    kernel::exit(if failure.is_of_absence() { NOT_FOUND } else { CANNOT_RUN })
}

/// What is to be done, where that is within the small runner's powers.
struct Job {
    /// The binary and its arguments.
    test: Texts,
    /// None to list tests, which takes no slot.
    asks: Option<Asks>,
}

struct Asks {
    socket: Text,
    /// Where the options end.
    dashes: usize,
}

impl Job {
    fn read(words: Texts, env: Texts) -> Option<Self> {
        let (mut socket, mut at) = (None, OPTIONS_AT);
        let dashes = loop {
            let word = words.get(at)?;
            match word.bytes() {
                b"--" => break at,
                _ if word.after(b"--via=").is_some() || word.after(b"--wrap=").is_some() => return None,
                _ => socket = word.after(b"--proxy=").or(socket),
            }
            at += 1;
        };
        let test = words.from(dashes + 1);
        // Without one it would have to be looked for.
        test.get(0)?.bytes().iter().find(|byte| **byte == b'/')?;
        // Who has asked must have room for what he is told.
        (words.iter().count() + env.iter().count() < MOST).then_some(())?;
        match env.value_of(b"NEXTEST_TEST_PHASE")?.bytes() {
            b"list" => Some(Self { test, asks: None }),
            // Who holds slots around us is asked first.
            b"run" if env.value_of(b"LEASE_GRANTS").is_none() => {
                Some(Self { test, asks: Some(Asks { socket: socket?, dashes }) })
            }
            _ => None,
        }
    }

    /// Comes back if the large runner is to do it.
    fn run(&self, words: Texts, env: Texts) {
        let Some(asks) = &self.asks else {
            self.test.exec(env);
            return;
        };
        let Some(stream) = asks.ask(env) else { return };
        match Reply::wait(&stream, REPLY.take()) {
            Reply::Granted(pairs) => {
                stream.close();
                let Some(env) = envs_with(env, pairs) else { fail(self.test.get(0), Failure::TOO_MUCH) };
                let failure = self.test.exec(env);
                // The large runner finds the slot in its environment, and says why the test cannot be started.
                words.from(1).exec(env);
                fail(self.test.get(0), failure);
            }
            Reply::TooMuch => fail(self.test.get(0), Failure::TOO_MUCH),
            Reply::Other => {
                let failure = large_that_hears(words, &stream, asks.dashes).map_or(Failure::TOO_MUCH, |words| words.exec(env));
                fail(words.get(1), failure);
            }
            Reply::None => stream.close(),
        }
    }
}

impl Asks {
    fn ask(&self, env: Texts) -> Option<Stream> {
        let name = env.value_of(b"NEXTEST_TEST_NAME")?.bytes();
        let package = env.value_of(b"CARGO_PKG_NAME").map_or(&b""[..], Text::bytes);
        let mut request = Filled::new(REQUEST.take());
        let told = || TOLD.iter().filter_map(|name| Some([name, env.value_of(name)?.bytes()]));
        request.push_int(reply::ASKS)?;
        request.push_int(3 + 2 * told().count() as u32)?;
        for text in [kernel::folder(FOLDER.take())?, package, name].into_iter().chain(told().flatten()) {
            request.push_int(text.len() as u32)?;
            request.push(text)?;
        }
        let stream = Stream::connect(self.socket.bytes())?;
        if stream.send(request.bytes()).is_none() {
            stream.close();
            return None;
        }
        Some(stream)
    }
}

/// The words of the large runner that hears what else there is to be heard.
fn large_that_hears(words: Texts, stream: &Stream, dashes: usize) -> Option<Texts> {
    let mut word = Filled::new(WORD.take());
    word.push(b"--asked=")?;
    word.push_number(stream.number())?;
    word.push(b"\0")?;
    let options = words.between(1, dashes)?;
    reply::list_of(options.chain([word.text()]).chain(words.from(dashes).iter()))
}

#[panic_handler]
fn on_panic(_: &core::panic::PanicInfo<'_>) -> ! {
    kernel::say(b"error: the small runner of cargo-lease has failed\n");
    kernel::exit(CANNOT_RUN)
}
