//! Servers of databases, with files of their own, which go with them: PostgreSQL and MariaDB, reached by sockets alone.

use crate::process;
use crate::tools::{MARIADBD, POSTGRES};
use durward_testdata::{Postgres, ServerProcess};
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Both, each if it is there.
pub(super) struct Servers {
    folder: PathBuf,
    postgres: Result<Running<Postgres>, String>,
    mariadb: Result<Running<ServerProcess>, String>,
}

/// A server that is ended when it is no longer needed.
struct Running<S> {
    _server: S,
    address: String,
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
        let ended = "ended".to_owned();
        drop(std::mem::replace(&mut self.postgres, Err(ended.clone())));
        drop(std::mem::replace(&mut self.mariadb, Err(ended)));
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn start_postgres(folder: &Path) -> Result<Running<Postgres>, String> {
    let folder = folder.join("postgres");
    // Memory for a table of a million rows, as a small server has it.
    let settings = ["shared_buffers=512MB", "max_wal_size=4GB"];
    let server = Postgres::start(&POSTGRES.get()?, &folder, &settings)?;
    let address = format!("host={} user=postgres dbname=postgres", folder.display());
    Ok(Running { _server: server, address })
}

/// Without tables of privileges there is nobody to be refused, and nothing to install before.
fn start_mariadb(folder: &Path) -> Result<Running<ServerProcess>, String> {
    let server = MARIADBD.get()?;
    let folder = folder.join("mariadb");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let socket = folder.join("socket");
    let is_root = process::output_of(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    let mut command = Command::new(server);
    command.args(["--no-defaults", "--skip-networking", "--skip-grant-tables"]);
    command.arg("--innodb-flush-log-at-trx-commit=0").args(is_root.then_some("--user=root"));
    command.arg(format!("--datadir={}", folder.display())).arg(format!("--socket={}", socket.display()));
    println!("$ {}", process::shown(&command));
    let is_ready = || UnixStream::connect(&socket).is_ok();
    let server = ServerProcess::start(command.stderr(Stdio::null()), is_ready)?;
    Ok(Running { _server: server, address: socket.display().to_string() })
}
