//! What the packages promise together, with real processes, ports, signals and databases.

mod layers;
mod support;
mod vectors;
