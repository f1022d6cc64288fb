//! Claims sets at random, again and again, and writes down when it has one: `claimant STORE HISTORY SEED SETS`.
//!
//! A line `start` is written when a set was granted, and `end` before it is given back, so in the history, whose lines stand in
//! the order in which they were written, a set lies within the time in which it was held.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Duration;

use lease_harness::ClaimRequest;
use lease_harness::claims::Mode;

/// Keys that overlap in many ways, and some that do not.
const KEYS: [&str; 30] = [
    "path:src",
    "path:src/a",
    "path:src/a/b",
    "path:src/b",
    "path:docs",
    "path:docs/*.md",
    "path:co1:src",
    "path:co1:src/a",
    "path:co2:src/a",
    "workspace:co1",
    "workspace:co2",
    "git-index:co1",
    "git-head:co1",
    "git-index:co2",
    "git-ref:main",
    "git-refs:r1",
    "repo-content:*",
    "release:r1",
    "schema:orders",
    "schema:users",
    "device:1",
    "device:2",
    "device:3",
    "port:1",
    "port:2",
    "port:3",
    "port:4",
    "queue:a",
    "queue:b",
    "queue:c",
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [store, history, seed, sets] = &args[..] else { panic!("claimant STORE HISTORY SEED SETS") };
    let mut random = Random(seed.parse().expect("a number"));
    for _ in 0..sets.parse::<u32>().expect("a number") {
        let mut request = ClaimRequest::new().store(store).scope("scope").owner("claimant");
        for _ in 0..=random.below(3) {
            let key = KEYS[random.below(KEYS.len())];
            let mode = [Mode::Read, Mode::Read, Mode::Write, Mode::Exclusive][random.below(4)];
            request = request.claim(mode, key).expect("a key");
        }
        let set = request.acquire().expect("all of it");
        let leases: Vec<_> =
            set.leases().iter().map(|lease| format!("{}={}={}", lease.mode, lease.resource_key, lease.token)).collect();
        let about = format!("{} {} {}", std::process::id(), set.leases()[0].id, leases.join(" "));
        line(history, &format!("start {about}"));
        // Some work, so that others come meanwhile.
        std::thread::sleep(Duration::from_micros(500 * (1 + random.below(8) as u64)));
        line(history, &format!("end {about}"));
        set.release().expect("ours to the end");
    }
}

/// One write call, so that the kernel puts the line whole behind the one before it.
fn line(history: &str, text: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(history).expect("the history can be opened");
    file.write_all(format!("{text}\n").as_bytes()).expect("the history can be written");
}

/// Enough for a test: a generator of the family xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(number).expect("31 bits") % limit
    }
}
