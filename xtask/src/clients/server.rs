//! `durward serve` over a folder of policies that scenarios change, on two free ports that it keeps.

use crate::metadata::Metadata;
use crate::process::output_of;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// The digests are Argon2id of the words beside them, with little memory so that a busy machine is quick.
const SETTINGS: &str = r#"
policies.path = "policies"
sapl.http = true
sapl.keep_alive_ms = 500
server.shutdown_time_ms_max = 2000

[[auth.users]]
id = "anna"
name = "anna"
password = "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQxMjM0NTY$+QzL9T/y4vwK5yLwyPcXDCCH946RYwDKvHpQzCVMTnU" # s3cret

[[auth.users]]
id = "robot"
api_key_id = "abcdefghij" # sapl_abcdefghij_0123456789
api_key = "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQxMjM0NTY$N/O9EphF5oFsgXpYrQuOue0QdZk1EG/TOVGjob4cIRA"
"#;

/// The server, its folder and its ports.
pub(super) struct Server {
    binary: PathBuf,
    folder: PathBuf,
    pub(super) http: u16,
    pub(super) rsocket: u16,
    child: Option<Child>,
}

impl Server {
    pub(super) fn start(binary: &Path) -> Result<Server, String> {
        let folder = Metadata::read()?.target_directory.join("clients/server");
        let (http, rsocket) = (free_port()?, free_port()?);
        // What an earlier run left, if any.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("policies")).map_err(|error| format!("no folder: {error}"))?;
        let listen = format!("server.listen = '127.0.0.1:{http}'\nrsocket.listen = '127.0.0.1:{rsocket}'\n");
        put(&folder.join("durward.toml"), &format!("{listen}{SETTINGS}"))?;
        let binary = binary.to_path_buf();
        Ok(Server { binary, folder, http, rsocket, child: None })
    }

    /// Takes all policies away.
    pub(super) fn clear(&self) -> Result<(), String> {
        let folder = self.folder.join("policies");
        let cleared = fs::remove_dir_all(&folder).and_then(|()| fs::create_dir(&folder));
        cleared.map_err(|error| format!("cannot clear `{}`: {error}", folder.display()))
    }

    /// Puts a policy in its place, whole.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let new = self.folder.join("policies.new");
        put(&new, text)?;
        fs::rename(&new, self.folder.join("policies").join(name)).map_err(|error| format!("{name}: {error}"))
    }

    /// Starts it, or starts it again, on the same ports; ready when this returns.
    pub(super) fn run(&mut self) -> Result<(), String> {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.folder.join("durward.log"));
        let log = log.map_err(|error| format!("no log: {error}"))?;
        let mut command = Command::new(&self.binary);
        command.arg("serve").arg("--config").arg(self.folder.join("durward.toml"));
        let errors = log.try_clone().map_err(|error| format!("no log: {error}"))?;
        let child = command.stdout(Stdio::from(log)).stderr(Stdio::from(errors)).spawn();
        self.child = Some(child.map_err(|error| format!("durward does not start: {error}"))?);
        self.within("ready", |server| server.get("/health/ready").is_some())
    }

    /// Ends it as an operator does, and waits for it.
    pub(super) fn stop(&mut self) -> Result<(), String> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        output_of(Command::new("kill").args(["-TERM", &child.id().to_string()]))?;
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            match child.try_wait().map_err(|error| error.to_string())? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("durward ended with {status}")),
                None => std::thread::sleep(PAUSE),
            }
        }
        let _ = child.kill();
        Err(format!("durward did not end within {} s", PATIENCE.as_secs()))
    }

    /// Whether streams and connections are gone with the client, and nothing went wrong inside.
    pub(super) fn nothing_is_left(&self) -> Result<(), String> {
        let names = [
            "durward_streams_open{surface=\"sse\"}",
            "durward_streams_open{surface=\"rsocket\"}",
            "durward_rsocket_connections_open",
            "durward_panics_total",
        ];
        self.within("0 in its metrics of what is open", |server| {
            let metrics = server.get("/metrics").unwrap_or_default();
            names.iter().all(|name| metric(&metrics, name) == Some("0"))
        })
    }

    /// Whether nothing went wrong inside so far.
    pub(super) fn is_sound(&self) -> Result<(), String> {
        let metrics = self.get("/metrics").unwrap_or_default();
        match metric(&metrics, "durward_panics_total") {
            Some("0") => Ok(()),
            other => Err(format!("durward_panics_total is {other:?}")),
        }
    }

    /// The last lines of its log.
    pub(super) fn last_words(&self) -> String {
        let log = fs::read_to_string(self.folder.join("durward.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(5).collect();
        lines.into_iter().rev().map(|line| format!("  {line}\n")).collect()
    }

    /// How often somebody was refused since it was started.
    pub(super) fn refusals(&self) -> u64 {
        let metrics = self.get("/metrics").unwrap_or_default();
        let refused = metric(&metrics, "durward_authentications_total{result=\"refused\"}");
        refused.and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    fn within(&self, what: &str, is_so: impl Fn(&Server) -> bool) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        while !is_so(self) {
            if Instant::now() > end {
                return Err(format!(
                    "durward is not {what}; see {}",
                    self.folder.join("durward.log").display()
                ));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// The answer to a plain request, if it is 200.
    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.http)).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        text.starts_with("HTTP/1.1 200 ").then_some(text)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

fn metric<'m>(metrics: &'m str, name: &str) -> Option<&'m str> {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
}

fn put(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}

fn free_port() -> Result<u16, String> {
    let probe = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| format!("no free port: {error}"))?;
    Ok(probe.local_addr().map_err(|error| error.to_string())?.port())
}
