//! Many leases that one process keeps alive.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use lease_harness::pool::SlotWanted;
use rustix::fs::inotify;

use crate::children::say;
use crate::figures::cpu_of_other_threads;
use crate::place::{self, OWNER};
use crate::spec::Spec;

/// A pool for each fifty, so that taking all the slots does not take long.
const SLOTS_OF_A_POOL: u64 = 50;
/// The longest pause between two beats of a lease: what a lease of half an hour has.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(240);

/// Keeps `leases` alive for `seconds`, each beating every `every-ms`, and prints what CPU time the heart took for a beat, and how
/// much of a core that would be at the default interval.
pub(crate) fn measure(folder: &Path, seconds: u64, spec: &Spec<'_>) {
    let (n_leases, every) = (spec.number("leases", 1000), Duration::from_millis(spec.number("every-ms", 1000)));
    let store = place::store(folder);
    let wanted = SlotWanted { heartbeat: Some(every), ..SlotWanted::by(OWNER) };
    let pools: Vec<_> = (0..n_leases.div_ceil(SLOTS_OF_A_POOL))
        .map(|number| place::pool_in(folder, store.clone(), &format!("pool-{number}"), SLOTS_OF_A_POOL))
        .collect();
    let held: Vec<_> = (0..n_leases)
        .map(|number| place::take(&pools[usize::try_from(number / SLOTS_OF_A_POOL).expect("few pools")], &wanted))
        .collect();
    let mut watch = Watch::new(store.dir());
    let (began, before) = (Instant::now(), cpu_of_other_threads());
    let mut n_beats = 0;
    while began.elapsed() < Duration::from_secs(seconds) {
        std::thread::sleep(Duration::from_millis(100));
        n_beats += watch.n_records();
    }
    let cpu = cpu_of_other_threads() - before;
    assert!(held.iter().all(|held| held.lost().is_none()), "a lease was lost");
    assert!(0 < n_beats, "no lease has beaten");
    let a_beat = cpu.as_secs_f64() / f64::from(n_beats);
    let beats_a_second = n_leases as f64 / DEFAULT_INTERVAL.as_secs_f64();
    say(&format!(
        "{} beats={n_beats} cpu_us_a_beat={:.1} core_percent={:.3}",
        spec.text(),
        a_beat * 1e6,
        a_beat * beats_a_second * 100.0
    ));
}

/// Counts the records that are renamed into place.
struct Watch {
    inotify: OwnedFd,
    buffer: Vec<u8>,
}

impl Watch {
    fn new(folder: &Path) -> Self {
        let inotify = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).expect("a watch can be had");
        inotify::add_watch(&inotify, folder, inotify::WatchFlags::MOVED_TO).expect("the folder can be watched");
        Self { inotify, buffer: Vec::with_capacity(1 << 16) }
    }

    fn n_records(&mut self) -> u32 {
        let mut events = inotify::Reader::new(&self.inotify, self.buffer.spare_capacity_mut());
        let mut n_records = 0;
        while let Ok(event) = events.next() {
            let is_record = |name: &std::ffi::CStr| name.to_bytes().ends_with(b".json") && !name.to_bytes().starts_with(b".");
            n_records += u32::from(event.file_name().is_some_and(is_record));
        }
        n_records
    }
}
