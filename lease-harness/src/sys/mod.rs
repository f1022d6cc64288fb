//! What the operating system gives: clock, files, locks, watch, processes, signals.
