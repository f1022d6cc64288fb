//! The rows of one process: each is a pass that is made again and again.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use lease_harness::json::Json;
use lease_harness::pool::SlotWanted;
use lease_harness::store::{AcquireRequest, Acquired, LeaseStore};

use crate::figures::{Sample, now_ns};
use crate::floor::Floor;
use crate::place::{self, Ahead, OWNER};
use crate::spec::Spec;
use crate::{peers, queue};

/// Something that is done once in every round.
pub(crate) type Pass = Box<dyn FnMut()>;

/// So long a slot of the pool was held, by the pool's clock: then its statistics are written each time.
const HELD_MS: i64 = 1000;
const KIND: &str = "k";

/// Makes `n` rounds of all passes and prints the medians.
pub(crate) fn measure(folder: &Path, n: u64, specs: &[Spec<'_>]) -> ExitCode {
    let mut rows = Vec::new();
    for (number, spec) in specs.iter().enumerate() {
        let own = folder.join(number.to_string());
        fs::create_dir_all(&own).expect("the folder is writable");
        let Some(pass) = pass(&own, spec) else { return crate::refuse(&format!("there is no row {}", spec.text())) };
        // Room for all figures, so that no row pays for it.
        rows.push((spec, pass, Vec::with_capacity(usize::try_from(n).expect("a number of rounds"))));
    }
    for _ in 0..n {
        for (_, pass, times) in &mut rows {
            let began = now_ns();
            pass();
            times.push(now_ns() - began);
        }
    }
    rows.into_iter().for_each(|(spec, _, times)| Sample::new(times).print(spec.text()));
    ExitCode::SUCCESS
}

fn pass(folder: &Path, spec: &Spec<'_>) -> Option<Pass> {
    Some(match spec.name() {
        "floor-bare" => floor(folder, Floor::without_a_lock),
        "floor-kernel-lock" => floor(folder, Floor::in_a_kernel_lock),
        "floor-owned-guard" => floor(folder, Floor::in_an_owned_guard),
        "store-pair" => store_pair(folder),
        "store-heartbeat" => store_heartbeat(folder),
        "pool-pair" => pool_pair(folder, spec),
        "queue-turn" => queue::turn(folder, spec),
        "queue-join" => queue::join_and_leave(folder, spec),
        "queue-status" => queue::status(folder, spec),
        "queue-file" => queue::file(folder, spec),
        "flock" => peers::flock(folder),
        "serial-test" => peers::serial_test(folder),
        "redis" => peers::redis(spec),
        _ => return None,
    })
}

fn floor(folder: &Path, pass: fn(&Floor)) -> Pass {
    let floor = Floor::new(folder);
    Box::new(move || pass(&floor))
}

fn store_pair(folder: &Path) -> Pass {
    let store = place::store(folder);
    Box::new(move || {
        let token = acquire(&store);
        store.release(KIND, OWNER, &token).expect("the store is usable");
    })
}

fn store_heartbeat(folder: &Path) -> Pass {
    let store = place::store(folder);
    let token = acquire(&store);
    Box::new(move || {
        store.heartbeat(KIND, OWNER, &token).expect("the store is usable");
    })
}

fn acquire(store: &LeaseStore) -> String {
    let request = AcquireRequest { kind: KIND, owner: OWNER, ttl_minutes: 30.0, payload: Json::Null };
    match store.acquire(&request).expect("the store is usable") {
        Acquired::Acquired { record, .. } => record.token().expect("a lease has a token").to_owned(),
        Acquired::Held { .. } => panic!("nobody else is here"),
    }
}

/// With so many slots, and the files of so many grants of the past, none of them a day old.
fn pool_pair(folder: &Path, spec: &Spec<'_>) -> Pass {
    let ahead = Ahead::default();
    let pool = place::pool_by(folder, spec.number("slots", 4), &ahead);
    let grants = pool.dir().join("grants");
    fs::create_dir_all(&grants).expect("the folder is writable");
    for past in 0..spec.number("past", 0) {
        fs::write(grants.join(format!("00000000-0000-4000-8000-{past:012}.json")), "{\"ok\":true}\n")
            .expect("the folder is writable");
    }
    Box::new(move || {
        let held = place::take(&pool, &SlotWanted::by(OWNER));
        ahead.put_forward(HELD_MS);
        place::give_back(&pool, held);
    })
}
