//! Builds the small runner, which the program carries: see `small-runner/main.rs`.
//!
//! Cargo cannot build it, since it must have neither std nor a C library, whatever the profile says of panics. Where it cannot be
//! built an empty file stands for it, and a run does without.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = "small-runner";

/// A program that begins with its own first instruction, at a fixed place, with nothing to be loaded or moved.
const OPTIONS: [&str; 12] = [
    "--edition=2024",
    "--crate-name=small_runner",
    "-Copt-level=2",
    "-Cdebug-assertions=no",
    "-Coverflow-checks=no",
    "-Cpanic=abort",
    "-Clto",
    "-Cstrip=symbols",
    "-Crelocation-model=static",
    "-Clink-arg=-nostartfiles",
    "-Clink-arg=-nostdlib",
    "-Clink-arg=-static",
];

fn main() {
    println!("cargo::rerun-if-changed={SOURCES}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let place = PathBuf::from(variable("OUT_DIR")).join("small-runner");
    let built = if is_known_system() { build(&place) } else { Ok(false) };
    if let Err(why) = &built {
        println!("cargo::warning=without the small runner, so that each test of a run takes a little longer to start: {why}");
    }
    if built != Ok(true) {
        fs::write(&place, "").expect("the folder for what is built is writable");
    }
}

/// Whether the program speaks to this kernel and processor.
fn is_known_system() -> bool {
    let target = ["OS", "ARCH", "POINTER_WIDTH"].map(|what| variable(&format!("CARGO_CFG_TARGET_{what}")));
    target == ["linux", "x86_64", "64"]
}

fn build(place: &Path) -> Result<bool, String> {
    let mut compiler = Command::new(variable("RUSTC"));
    compiler.args(OPTIONS).arg("--target").arg(variable("TARGET")).arg("-o").arg(place).arg(Path::new(SOURCES).join("main.rs"));
    if variable("CARGO_CFG_TARGET_ENV") == "musl" {
        // Rust has the first instructions of this C library, and would add them.
        compiler.arg("-Clink-self-contained=no");
    }
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        compiler.arg("-C").arg([OsString::from("linker="), linker].into_iter().collect::<OsString>());
    }
    let output = compiler.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(true) } else { Err(first_error(&said).to_owned()) }
}

fn first_error(said: &str) -> &str {
    said.lines().find(|line| line.starts_with("error")).unwrap_or("the compiler has failed")
}

fn variable(name: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"))
}
