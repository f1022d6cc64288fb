//! A PostgreSQL server of the laboratory's own.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::{Lab, Running, wait};

/// A running server. It listens on a socket in the laboratory and on no port, so that two never meet.
#[derive(Debug)]
pub struct Postgres {
    folder: PathBuf,
    server: Option<Running>,
}

impl Postgres {
    /// Makes a database cluster and starts a server on it. The server refuses to run as the superuser, so then it runs
    /// as the user `postgres`.
    ///
    /// # Panics
    ///
    /// If the programs of PostgreSQL are not installed.
    pub fn start(lab: &Lab) -> Self {
        let folder = lab.path("postgres");
        fs::create_dir(&folder).expect("the laboratory is writable");
        let user = server_user(lab);
        give_to(lab, &folder, user);
        let data = folder.join("data");
        let mut initdb = as_user(lab.command(program(lab, "initdb")), user);
        initdb.args(["--no-sync", "--auth", "trust", "--username", "lab", "--encoding", "UTF8", "--pgdata"]).arg(&data);
        lab.run(initdb).expect_success();
        let mut postgres = as_user(lab.command(program(lab, "postgres")), user);
        postgres.arg("-D").arg(&data).arg("-k").arg(&folder);
        for setting in ["listen_addresses=", "fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=40"]
        {
            postgres.args(["-c", setting]);
        }
        let server = Some(lab.start(postgres));
        let postgres = Self { folder, server };
        wait::until_true("PostgreSQL answers", || postgres.answers(lab));
        postgres
    }

    /// Where a database of this server is, as `psql` and every driver take it.
    pub fn url(&self, database: &str) -> String {
        format!("postgresql://lab@/{database}?host={}", self.folder.display())
    }

    fn answers(&self, lab: &Lab) -> bool {
        let mut psql = lab.command("psql");
        psql.args(["--no-psqlrc", "--command", "select 1", "--dbname", &self.url("postgres")]);
        lab.run(psql).status.success()
    }
}

impl Drop for Postgres {
    /// Ends the server at once; what it wrote is removed with the laboratory.
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take()
            && !server.has_ended()
        {
            server.signal(Signal::QUIT);
            if !std::thread::panicking() {
                server.finish();
            }
        }
    }
}

/// A program of PostgreSQL: from the path, else from where Debian keeps it.
fn program(lab: &Lab, name: &str) -> PathBuf {
    let mut command = lab.command(name);
    command.arg("--version").stdout(std::process::Stdio::null());
    if command.status().is_ok() {
        return name.into();
    }
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().filter_map(Result::ok);
    let found = versions.map(|version| version.path().join("bin").join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("this test needs the program {name} of PostgreSQL, and there is none"))
}

/// The ids of the user `postgres` if we are the superuser.
fn server_user(lab: &Lab) -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let id = |flag: &str| {
        let mut command = lab.command("id");
        command.args([flag, "postgres"]);
        lab.run(command).expect_success().stdout.trim().parse().expect("an id is a number")
    };
    Some((id("-u"), id("-g")))
}

fn as_user(mut command: Command, user: Option<(u32, u32)>) -> Command {
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
    command
}

/// The server's user must reach its folder through ours.
fn give_to(lab: &Lab, folder: &Path, user: Option<(u32, u32)>) {
    if let Some((uid, gid)) = user {
        fs::set_permissions(lab.root(), fs::Permissions::from_mode(0o755)).expect("the laboratory is ours");
        chown(folder, Some(uid), Some(gid)).expect("the superuser may give a folder away");
    }
}
