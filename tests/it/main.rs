//! What the packages promise together, with real processes, ports, signals and databases.

mod baton;
mod chance;
mod claims;
mod crowd;
mod damage;
mod deferred;
mod doctests;
mod garbage;
mod gate;
mod gc;
mod killing;
mod layers;
mod life;
mod line;
mod loss;
mod mimic;
mod mistakes;
mod nesting;
mod pool_rules;
mod programs;
mod refusals;
mod requests;
mod rooms;
mod runners;
mod runs;
mod rush;
mod script_lab;
mod shell_scripts;
mod signals;
mod storm;
mod support;
mod two_worktrees;
mod vectors;

#[cfg(feature = "nextest")]
mod archives;
#[cfg(feature = "counts")]
mod counts;
#[cfg(feature = "nextest")]
mod equivalence;
#[cfg(feature = "nextest")]
mod forms;
#[cfg(feature = "nextest")]
mod hold;
#[cfg(feature = "nextest")]
mod listed;
#[cfg(feature = "musl")]
mod musl;
#[cfg(feature = "node")]
mod peer;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "nextest")]
mod proxied;
#[cfg(feature = "nextest")]
mod scheduling;
#[cfg(feature = "nextest")]
mod setup_script;
#[cfg(feature = "nextest")]
mod solo;
