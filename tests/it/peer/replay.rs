//! That the peer is an implementation of the format: it answers as the recorded ones did.

use std::process::Stdio;

use super::{node, peer_file};
use crate::support::lab;

#[test]
fn the_peer_agrees_with_the_recorded_answers() {
    let lab = lab();
    let mut command = node(&lab);
    // What it leaves if it is killed goes with the laboratory.
    command.arg("--test").arg(peer_file("replay.test.mjs")).env("TMPDIR", lab.root()).stdin(Stdio::null());
    let finished = lab.run(command).expect_success();
    for count in ["store-scenarios: 164 of 164 binding cases agree", "pool-scenarios: 135 of 135 binding cases agree"] {
        assert!(finished.stdout.contains(count), "{}", finished.account());
    }
}
