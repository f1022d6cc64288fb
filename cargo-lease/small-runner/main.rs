//! What nextest starts for each test of a run whose slots are held by the run's parent: it asks for a slot and becomes the test.
//!
//! It does what `cargo-lease __runner` does where all goes well, and becomes that for everything else: a slot that has to be waited
//! for, a refusal, a runner of the user's, a parent that does not answer. `cargo-lease` is a large program, and to start it once
//! for each test takes more than all that its lease costs. This one has neither std nor a C library, whose start alone takes
//! longer than all that is done here, and so it can be started everywhere: its words are
//! `SMALL-RUNNER CARGO-LEASE __runner OPTIONS… -- BINARY ARGUMENTS…`.

#![no_std]
#![no_main]
// The compiler would make calls of loops, and nobody here has the functions.
#![no_builtins]

mod kernel;
mod reply;
mod room;
mod text;

use kernel::Stream;
use reply::{Reply, envs_with};
use room::{Filled, Room};
use text::{Text, Texts};

/// The words ahead of the options: this program, the large one, and what it is asked for.
const OPTIONS_AT: usize = 3;
/// What a shell says of a program that is not to be found.
const NOT_FOUND: i32 = 127;

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
    words.from(1).exec(env);
    kernel::exit(NOT_FOUND)
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
                let Some(env) = envs_with(env, pairs) else { return };
                self.test.exec(env);
                // The large runner finds the slot in its environment, and says why the test cannot be started.
                become_large(words, env);
            }
            Reply::Other => {
                let _ = go_on_with(words, env, &stream, asks.dashes);
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

/// Becomes the large runner, which hears what else there is to be heard.
fn go_on_with(words: Texts, env: Texts, stream: &Stream, dashes: usize) -> Option<()> {
    let mut word = Filled::new(WORD.take());
    word.push(b"--asked=")?;
    word.push_number(stream.number())?;
    word.push(b"\0")?;
    let options = words.between(1, dashes)?;
    reply::list_of(options.chain([word.text()]).chain(words.from(dashes).iter()))?.exec(env);
    Some(())
}

#[panic_handler]
fn on_panic(_: &core::panic::PanicInfo<'_>) -> ! {
    kernel::exit(NOT_FOUND)
}
