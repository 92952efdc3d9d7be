//! A server of PostgreSQL for tests, with files of its own that go with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::SetUpError;

/// Longest until a server answers.
const START_TIME_MAX: Duration = Duration::from_secs(60);

/// Longest until a server that was told to end has ended.
const END_TIME_MAX: Duration = Duration::from_secs(10);

/// The user that PostgreSQL runs as where tests run as root: it does not run as root.
const USER: &str = "postgres";

/// A server's process, which is ended when this is dropped.
#[derive(Debug)]
pub struct ServerProcess(Child);

impl ServerProcess {
    /// Starts a server, and waits until it answers.
    ///
    /// # Errors
    /// It cannot be started, ends, or does not answer.
    pub fn start(command: &mut Command, is_ready: impl Fn() -> bool) -> Result<ServerProcess, SetUpError> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let mut process = ServerProcess(child.map_err(|error| format!("cannot start `{name}`: {error}"))?);
        let begun = Instant::now();
        while !is_ready() {
            if let Ok(Some(status)) = process.0.try_wait() {
                return Err(format!("`{name}`: {status}").into());
            }
            if begun.elapsed() > START_TIME_MAX {
                return Err(format!("`{name}` does not answer").into());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(process)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // By the signal that databases take for the end, whoever is connected: their own processes end with them.
        let _ = Command::new("kill").args(["-INT", &self.0.id().to_string()]).status();
        let begun = Instant::now();
        while matches!(self.0.try_wait(), Ok(None)) {
            if begun.elapsed() > END_TIME_MAX {
                let _ = self.0.kill();
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A server of PostgreSQL, reached through a socket in its folder by its user `postgres`, who needs no password there.
#[derive(Debug)]
pub struct Postgres {
    process: Option<ServerProcess>,
    program: PathBuf,
    folder: PathBuf,
    settings: Vec<String>,
}

impl Postgres {
    /// The newest server program that Debian has put on this machine.
    pub fn program() -> Option<PathBuf> {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
        let newest = versions.map(|entry| entry.path()).max_by_key(version)?;
        Some(newest.join("bin/postgres")).filter(|program| program.is_file())
    }

    /// Starts a server with settings such as `port=5433` and with new files in this folder. Without `listen_addresses` it is reached by its socket
    /// alone. The path of a socket has about a hundred characters at most.
    ///
    /// # Errors
    /// In words: what cannot be started.
    pub fn start(program: &Path, folder: &Path, settings: &[&str]) -> Result<Postgres, SetUpError> {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        if is_root() {
            succeed(Command::new("chown").arg(USER).arg(folder))?;
        }
        let usual = ["listen_addresses=", "fsync=off", "synchronous_commit=off", "full_page_writes=off"];
        let settings = usual.iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
        let (program, folder) = (program.to_owned(), folder.to_owned());
        let mut server = Postgres { process: None, program, folder, settings };
        let mut init = server.command("initdb");
        init.args([
            "--no-sync",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--username=postgres",
            "-D",
        ]);
        succeed(init.arg(server.data()))?;
        server.begin()?;
        Ok(server)
    }

    /// Where its files are.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Starts it again after [`Postgres::end`].
    ///
    /// # Errors
    /// In words.
    pub fn begin(&mut self) -> Result<(), SetUpError> {
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).arg("-k").arg(&self.folder);
        for setting in self.settings.iter().map(String::as_str).chain(["log_min_messages=panic"]) {
            command.args(["-c", setting]);
        }
        self.process = Some(ServerProcess::start(&mut command, || self.ask("SELECT 1").is_ok())?);
        Ok(())
    }

    /// Ends it, whoever is connected.
    pub fn end(&mut self) {
        self.process = None;
    }

    /// What SQL answers, as psql shows it without frames.
    ///
    /// # Errors
    /// What psql says is wrong.
    pub fn ask(&self, sql: &str) -> Result<String, SetUpError> {
        let mut psql = self.command("psql");
        psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-U", USER, "-d", USER, "-h"]);
        psql.arg(&self.folder).args(self.port()).args(["-c", sql]);
        let output = succeed(&mut psql)?;
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// From now on whoever comes over TCP needs a password.
    ///
    /// # Errors
    /// In words.
    pub fn demand_passwords(&mut self) -> Result<(), SetUpError> {
        let rules = "local all all trust\nhost all all all scram-sha-256\n";
        let path = self.data().join("pg_hba.conf");
        fs::write(&path, rules).map_err(|error| format!("{}: {error}", path.display()))?;
        self.begin_again()
    }

    /// From now on speaks TLS with whoever wants it over TCP, and shows this certificate.
    ///
    /// # Errors
    /// In words.
    pub fn encrypt(&mut self, certificate: &Path, key: &Path) -> Result<(), SetUpError> {
        for (from, to) in [(certificate, "server.crt"), (key, "server.key")] {
            let to = self.data().join(to);
            fs::copy(from, &to).map_err(|error| format!("{}: {error}", to.display()))?;
            if is_root() {
                succeed(Command::new("chown").arg(USER).arg(&to))?;
            }
            succeed(Command::new("chmod").arg("600").arg(&to))?;
        }
        self.ask("ALTER SYSTEM SET ssl = on")?;
        self.begin_again()
    }

    fn begin_again(&mut self) -> Result<(), SetUpError> {
        self.end();
        self.begin()
    }

    /// The port that the settings name, as an argument of psql.
    fn port(&self) -> Vec<&str> {
        let port = self.settings.iter().find_map(|setting| setting.strip_prefix("port="));
        port.map_or_else(Vec::new, |port| vec!["-p", port])
    }

    /// A program of PostgreSQL, as a user who may run it.
    fn command(&self, name: &str) -> Command {
        let program = self.program.with_file_name(name);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", USER, "--regid", USER, "--clear-groups", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(&self.folder);
        command
    }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn succeed(command: &mut Command) -> Result<Output, SetUpError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("cannot start `{name}`: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!("`{name}`: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim_end()).into())
}
