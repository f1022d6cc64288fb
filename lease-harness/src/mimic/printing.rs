//! Running the trials while somebody reads what is said of them.
//!
//! Libtest-mimic panics when it cannot print: a message with a place in its source, and all other trials run to their end
//! for nobody. Here that is a sentence, and trials that have not begun take no slot any more.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;

use libtest_mimic::{Arguments, Conclusion, Trial};

/// How the standard library begins the message of an `unwrap`.
const UNWRAPPED: &str = "called `Result::unwrap()` on an `Err` value: ";

static NOBODY_READS: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Set once the results of the trials cannot be printed any more.
pub(super) fn nobody_reads() -> Arc<AtomicBool> {
    Arc::clone(&NOBODY_READS)
}

/// Runs the trials; an error is why their results could not be printed.
pub(super) fn run(arguments: &Arguments, trials: Vec<Trial>) -> Result<Conclusion, String> {
    silence_the_printer();
    // A panic of a trial does not come out of this.
    panic::catch_unwind(AssertUnwindSafe(|| libtest_mimic::run(arguments, trials))).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
        format!("cannot write the results: {}", text.strip_prefix(UNWRAPPED).unwrap_or(text))
    })
}

/// The printer works on this thread. So may trials, whose panics are reported as always.
fn silence_the_printer() {
    let (printing, report) = (thread::current().id(), panic::take_hook());
    let nobody_reads = nobody_reads();
    panic::set_hook(Box::new(move |panic| {
        let is_printers = panic.location().is_some_and(|place| place.file().contains("libtest-mimic"));
        if is_printers && thread::current().id() == printing {
            nobody_reads.store(true, Ordering::Release);
        } else {
            report(panic);
        }
    }));
}
