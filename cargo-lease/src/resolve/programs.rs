//! Which programs stand behind names, as cargo chooses them.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::Surroundings;

/// The compiler where nobody has named one.
const RUSTC: &str = "rustc";
/// The program that chooses toolchains. Where it is at work, what `PATH` has under the names of their programs are links to it.
const RUSTUP: &str = "rustup";

/// The program of a cargo subcommand that is none of cargo's own: cargo looks for it in its home's `bin`, and then in `PATH`,
/// which may name that folder in another place.
pub(crate) fn subcommand(name: &str, around: &Surroundings) -> Option<PathBuf> {
    let home = around.cargo_home().map(|home| home.join("bin"));
    let folders = path(around);
    let unnamed = home.filter(|home| !folders.contains(home));
    executable_in(unnamed.into_iter().chain(folders), &format!("cargo-{name}"), around)
}

/// Whether this is the cargo of one toolchain, which starts nothing but what it is asked to. There are others: rustup's, which
/// first chooses a toolchain, and programs that somebody has put in front of cargo.
pub(crate) fn is_of_one_toolchain(cargo: &OsStr) -> bool {
    let cargo = Path::new(cargo);
    cargo.is_absolute() && is_executable(&cargo.with_file_name(RUSTC)) && !cargo.with_file_name(RUSTUP).exists()
}

/// The compiler where nobody has named one. If rustup has chosen the toolchain already, it is the one in there: asking rustup
/// again would take longer than the compiler does. Cargo finds it in the same way.
pub(crate) fn rustc(around: &Surroundings) -> String {
    let chosen = rustc_of_toolchain(around).and_then(|path| path.into_os_string().into_string().ok());
    chosen.unwrap_or_else(|| RUSTC.to_owned())
}

/// The host of a compiler that is one of rustup's toolchains, if the toolchain's name says it. Those that rustup has not installed
/// may not have such names.
pub(crate) fn host_of_toolchain(rustc: &OsStr, around: &Surroundings) -> Option<String> {
    let toolchain = Path::new(rustc).parent()?.parent()?;
    let (above, name) = (toolchain.parent()?, toolchain.file_name()?.to_str()?);
    let host = host_in_name(name)?;
    let is_rustups = above == around.rustup_home()?.join("toolchains");
    (is_rustups && toolchain.join("lib/rustlib").join(host).is_dir()).then(|| host.to_owned())
}

/// The last part of `CHANNEL[-DATE]-HOST`.
fn host_in_name(name: &str) -> Option<&str> {
    let (channel, rest) = name.split_once('-')?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = || channel.contains('.') && channel.split('.').all(is_number);
    if !["stable", "beta", "nightly"].contains(&channel) && !is_version() {
        return None;
    }
    let is_date = |date: &str| date.split('-').map(str::len).eq([4, 2, 2]) && date.split('-').all(is_number);
    let host = match rest.split_at_checked("YYYY-MM-DD".len()) {
        Some((date, host)) if is_date(date) => host.strip_prefix('-')?,
        _ => rest,
    };
    (2 <= host.matches('-').count()).then_some(host)
}

fn rustc_of_toolchain(around: &Surroundings) -> Option<PathBuf> {
    // A toolchain that is named by its path is none of those in rustup's home.
    let toolchain = around.var_os("RUSTUP_TOOLCHAIN").filter(|name| !name.as_encoded_bytes().contains(&b'/'))?;
    let found = |name| executable_in(path(around), name, around)?.metadata().ok();
    let is_rustup = is_same(&found(RUSTC)?, &found(RUSTUP)?);
    let rustc = around.rustup_home()?.join("toolchains").join(toolchain).join("bin").join(RUSTC);
    (is_rustup && is_executable(&rustc)).then_some(rustc)
}

fn path(around: &Surroundings) -> Vec<PathBuf> {
    around.var_os("PATH").map(|path| std::env::split_paths(path).collect()).unwrap_or_default()
}

fn executable_in(folders: impl IntoIterator<Item = PathBuf>, name: &str, around: &Surroundings) -> Option<PathBuf> {
    folders.into_iter().map(|folder| around.absolute(&folder).join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.mode() & 0o111 != 0)
}

fn is_same(left: &Metadata, right: &Metadata) -> bool {
    (left.dev(), left.ino()) == (right.dev(), right.ino())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use tempfile::TempDir;

    use super::*;

    type Env = [(&'static str, &'static str)];

    /// A folder with these programs in it.
    fn folder(programs: &[&str]) -> TempDir {
        let dir = tempfile::tempdir().expect("temporary folder");
        programs.iter().for_each(|program| write(dir.path(), program, 0o755));
        dir
    }

    fn write(dir: &Path, file: &str, mode: u32) {
        let path = dir.join(file);
        fs::create_dir_all(path.parent().expect("inside")).expect("folder");
        fs::write(&path, "").expect("file");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
    }

    fn around(dir: &TempDir, env: &Env) -> Surroundings {
        let here = dir.path().to_str().expect("text");
        let env: Vec<_> = env.iter().map(|(name, value)| (*name, value.replace("{}", here))).collect();
        let env: Vec<_> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Surroundings::of_test(dir.path(), &env)
    }

    #[test]
    fn a_subcommand_is_the_one_that_cargo_would_start() {
        let dir = folder(&["home/bin/cargo-x", "user/.cargo/bin/cargo-y", "a/cargo-x", "b/cargo-x", "b/cargo-z"]);
        write(dir.path(), "a/cargo-z", 0o644);
        fs::create_dir_all(dir.path().join("a/cargo-y")).expect("folder");
        let table: [(&str, &Env, &str); 9] = [
            ("x", &[("CARGO_HOME", "{}/home"), ("PATH", "{}/a:{}/b")], "home/bin"),
            ("x", &[("CARGO_HOME", "home"), ("PATH", "{}/a:{}/b")], "home/bin"),
            // Who names that folder in `PATH` says when it is its turn.
            ("x", &[("CARGO_HOME", "{}/home"), ("PATH", "{}/a:{}/home/bin")], "a"),
            ("x", &[("CARGO_HOME", "{}/none"), ("PATH", "{}/none:b:{}/a")], "b"),
            ("x", &[("PATH", "{}/a")], "a"),
            // No program, and a folder.
            ("z", &[("CARGO_HOME", "{}/home"), ("PATH", "{}/a:{}/b")], "b"),
            ("y", &[("HOME", "{}/user"), ("PATH", "{}/a")], "user/.cargo/bin"),
            ("y", &[("PATH", "{}/a:{}/b")], ""),
            ("z", &[("CARGO_HOME", "{}/home")], ""),
        ];
        for (name, env, expected) in table {
            let expected = (!expected.is_empty()).then(|| dir.path().join(expected).join(format!("cargo-{name}")));
            assert_eq!(subcommand(name, &around(&dir, env)), expected, "{name}: {env:?}");
        }
    }

    #[test]
    fn the_name_of_a_toolchain_of_rustups_tells_its_host() {
        let hosts = [
            ("stable-x86_64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"),
            ("1.95-aarch64-apple-darwin", "aarch64-apple-darwin"),
            ("1.95.0-i686-unknown-linux-gnu", "i686-unknown-linux-gnu"),
            ("nightly-2026-01-31-x86_64-unknown-linux-musl", "x86_64-unknown-linux-musl"),
            ("beta-2026-01-31-aarch64-apple-darwin", "aarch64-apple-darwin"),
            // Of which nobody knows what their compilers are.
            ("stable", ""),
            ("nightly-2026-01-31", ""),
            ("mine-x86_64-unknown-linux-gnu", ""),
            ("stage1", ""),
            ("1.-x86_64-unknown-linux-gnu", ""),
            ("nightly-2026-01-31x86_64-unknown-linux-gnu", ""),
        ];
        for (name, host) in hosts {
            assert_eq!(host_in_name(name).unwrap_or_default(), host, "{name}");
        }
        let name = "stable-x86_64-unknown-linux-gnu";
        let dir = folder(&[&format!("home/toolchains/{name}/bin/rustc"), &format!("elsewhere/{name}/bin/rustc")]);
        let around = around(&dir, &[("RUSTUP_HOME", "{}/home")]);
        let host = |rustc: &str| host_of_toolchain(dir.path().join(rustc).as_os_str(), &around);
        let [known, elsewhere] = ["home/toolchains", "elsewhere"].map(|above| format!("{above}/{name}"));
        assert_eq!(host(&format!("{known}/bin/rustc")), None, "without its libraries");
        for toolchain in [&known, &elsewhere] {
            fs::create_dir_all(dir.path().join(toolchain).join("lib/rustlib/x86_64-unknown-linux-gnu")).expect("folder");
        }
        assert_eq!(host(&format!("{known}/bin/rustc")).as_deref(), Some("x86_64-unknown-linux-gnu"));
        assert_eq!(host(&format!("{elsewhere}/bin/rustc")), None);
        assert_eq!(host("rustc"), None);
    }

    #[test]
    fn only_the_cargo_beside_a_compiler_and_not_beside_rustup_is_a_toolchains() {
        let dir = folder(&["one/cargo", "one/rustc", "proxies/cargo", "proxies/rustc", "proxies/rustup", "alone/cargo"]);
        for (folder, expected) in [("one", true), ("proxies", false), ("alone", false), ("none", false)] {
            assert_eq!(is_of_one_toolchain(dir.path().join(folder).join("cargo").as_os_str()), expected, "{folder}");
        }
        assert!(!is_of_one_toolchain("cargo".as_ref()));
    }

    #[test]
    fn the_compiler_is_asked_itself_where_rustup_has_chosen_it_already() {
        let dir =
            folder(&["bin/rustup", "own/rustc", "up/toolchains/chosen/bin/rustc", "user/.rustup/toolchains/chosen/bin/rustc"]);
        symlink("rustup", dir.path().join("bin/rustc")).expect("link");
        fs::create_dir(dir.path().join("hard")).expect("folder");
        fs::hard_link(dir.path().join("bin/rustup"), dir.path().join("hard/rustc")).expect("link");
        let all = |path, toolchain| [("PATH", path), ("RUSTUP_HOME", "{}/up"), ("RUSTUP_TOOLCHAIN", toolchain)];
        let of_user = [("PATH", "{}/bin"), ("HOME", "{}/user"), ("RUSTUP_TOOLCHAIN", "chosen")];
        let table: [(&Env, &str); 8] = [
            (&all("{}/bin", "chosen"), "up/toolchains/chosen/bin/rustc"),
            (&all("{}/hard:{}/bin", "chosen"), "up/toolchains/chosen/bin/rustc"),
            (&of_user, "user/.rustup/toolchains/chosen/bin/rustc"),
            (&all("{}/own:{}/bin", "chosen"), ""),
            (&all("{}/own", "chosen"), ""),
            (&all("{}/bin", "other"), ""),
            (&all("{}/bin", "{}/up/toolchains/chosen"), ""),
            (&all("{}/bin", "chosen")[..2], ""),
        ];
        for (env, expected) in table {
            let expected = dir.path().join(expected);
            let expected = if expected == dir.path().join("") { RUSTC } else { expected.to_str().expect("text") };
            assert_eq!(rustc(&around(&dir, env)), expected, "{env:?}");
        }
    }
}
