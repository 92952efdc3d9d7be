//! Servers of databases, with files of their own, which go with them: PostgreSQL and MariaDB, reached by sockets alone.

use crate::process::{self, run};
use crate::tools::{MARIADBD, POSTGRES};
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longest until a server answers.
const START_TIME_MAX: Duration = Duration::from_secs(60);

/// The user that PostgreSQL of Debian runs as: it does not run as root.
const POSTGRES_USER: &str = "postgres";

/// Both, each if it is there.
pub(super) struct Servers {
    folder: PathBuf,
    postgres: Result<Running, String>,
    mariadb: Result<Running, String>,
}

/// A server that is ended when it is no longer needed.
struct Running {
    child: Child,
    address: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        // By the signal that both take for the end: their own processes end with them.
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if begun.elapsed() > Duration::from_secs(10) {
                let _ = self.child.kill();
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Servers {
    /// Starts those that are there.
    ///
    /// # Errors
    /// There is no folder for them.
    pub(super) fn start() -> Result<Servers, String> {
        // Short: the path of a socket has about a hundred characters at most.
        let folder = std::env::temp_dir().join(format!("durward-plans-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let (postgres, mariadb) = (start_postgres(&folder), start_mariadb(&folder));
        Ok(Servers { folder, postgres, mariadb })
    }

    /// The connection string of PostgreSQL.
    pub(super) fn postgres(&self) -> Result<&str, String> {
        self.postgres.as_ref().map(|running| running.address.as_str()).map_err(Clone::clone)
    }

    /// The socket of MariaDB.
    pub(super) fn mariadb(&self) -> Result<&str, String> {
        self.mariadb.as_ref().map(|running| running.address.as_str()).map_err(Clone::clone)
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let ended = || Err("ended".to_owned());
        drop(std::mem::replace(&mut self.postgres, ended()));
        drop(std::mem::replace(&mut self.mariadb, ended()));
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn is_root() -> bool {
    process::output_of(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// A program of PostgreSQL, as a user who may run it.
fn as_postgres(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", POSTGRES_USER, "--regid", POSTGRES_USER, "--clear-groups", "--"]).arg(program);
    command
}

fn start_postgres(folder: &Path) -> Result<Running, String> {
    let server = POSTGRES.get()?;
    let folder = folder.join("postgres");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    if is_root() {
        run(Command::new("chown").arg(POSTGRES_USER).arg(&folder))?;
    }
    let data = folder.join("data");
    let mut init = as_postgres(&server.with_file_name("initdb"));
    init.args(["--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "--username=postgres", "-D"]);
    run(init.arg(&data).stdout(Stdio::null()).current_dir(&folder))?;
    let mut command = as_postgres(&server);
    command.arg("-D").arg(&data).arg("-k").arg(&folder);
    for setting in ["listen_addresses=", "fsync=off", "synchronous_commit=off", "full_page_writes=off"] {
        command.args(["-c", setting]);
    }
    // Memory for a table of a million rows, as a small server has it.
    command.args(["-c", "shared_buffers=512MB", "-c", "max_wal_size=4GB", "-c", "log_min_messages=panic"]);
    let address = format!("host={} user=postgres dbname=postgres", folder.display());
    let ready = server.with_file_name("pg_isready");
    let is_ready = || {
        let mut ask = Command::new(&ready);
        ask.arg("-q").arg("-h").arg(&folder).stdout(Stdio::null()).stderr(Stdio::null());
        ask.status().is_ok_and(|status| status.success())
    };
    started(command.current_dir(&folder), address, is_ready)
}

/// Without tables of privileges there is nobody to be refused, and nothing to install before.
fn start_mariadb(folder: &Path) -> Result<Running, String> {
    let server = MARIADBD.get()?;
    let folder = folder.join("mariadb");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let socket = folder.join("socket");
    let mut command = Command::new(server);
    command.args(["--no-defaults", "--skip-networking", "--skip-grant-tables"]);
    command.arg("--innodb-flush-log-at-trx-commit=0").args(is_root().then_some("--user=root"));
    command.arg(format!("--datadir={}", folder.display())).arg(format!("--socket={}", socket.display()));
    let is_ready = || UnixStream::connect(&socket).is_ok();
    started(command.stderr(Stdio::null()), socket.display().to_string(), is_ready)
}

/// Starts a server, and waits until it answers.
fn started(command: &mut Command, address: String, is_ready: impl Fn() -> bool) -> Result<Running, String> {
    println!("$ {}", process::shown(command));
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let child = child.map_err(|error| format!("cannot start `{}`: {error}", process::shown(command)))?;
    let mut running = Running { child, address };
    let begun = Instant::now();
    while !is_ready() {
        if let Ok(Some(status)) = running.child.try_wait() {
            return Err(format!("`{}`: {status}", process::shown(command)));
        }
        if begun.elapsed() > START_TIME_MAX {
            return Err(format!("`{}` does not answer", process::shown(command)));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(running)
}
