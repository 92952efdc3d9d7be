//! Starts servers to be measured, and assigns cores to them and to the load.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, io, process, thread};

use crate::failure::{CommandError, complain};

/// What stands in the log before the address of HTTP.
pub(super) const HTTP_MARK: &str = "serving address=";

/// How many were started by this process: each has a folder of its own.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// Which cores a server and its load run on.
#[derive(Clone, Copy, Debug)]
pub(super) enum CoreSplit {
    Any,
    Of { server: u16, load: u16 },
}

impl CoreSplit {
    /// Keeps this process, and what it starts from now on, on the core of servers.
    pub(super) fn pin_server(self) {
        if let CoreSplit::Of { server, .. } = self {
            pin(server);
        }
    }

    /// Keeps this process on the core of the load.
    pub(super) fn pin_load(self) {
        if let CoreSplit::Of { load, .. } = self {
            pin(load);
        }
    }
}

/// Reads what a flag says.
pub(super) fn cores(text: &str) -> Result<CoreSplit, String> {
    if text == "none" {
        return Ok(CoreSplit::Any);
    }
    let pair =
        text.split_once(',').and_then(|(server, load)| Some((server.parse().ok()?, load.parse().ok()?)));
    let (server, load) = pair.ok_or("`none`, or two numbers of cores such as 0,1")?;
    Ok(CoreSplit::Of { server, load })
}

/// The address that `http://host:port` or `host:port` means.
pub(super) fn resolve(url: &str) -> Result<SocketAddr, CommandError> {
    let host = url.strip_prefix("http://").unwrap_or(url).trim_end_matches('/');
    let unclear = || CommandError::new(format!("`{url}` is no `http://host:port` and no `host:port`"));
    host.to_socket_addrs().map_err(|_| unclear())?.next().ok_or_else(unclear)
}

/// Keeps this process, and those it starts from now on, on one core. Where that does not work, it is said.
fn pin(core: u16) {
    let words = ["-cp".to_owned(), core.to_string(), process::id().to_string()];
    let pinned = Command::new("taskset").args(words).stdin(Stdio::null()).output();
    if !pinned.is_ok_and(|output| output.status.success()) {
        complain(format_args!("`taskset` did not keep the measurement on core {core}; see `--cores`"));
    }
}

/// A server that was started for a measurement; it ends with it.
pub(super) struct StartedServer {
    child: Child,
    address: SocketAddr,
    /// What goes with it; empty where there is none.
    folder: PathBuf,
}

impl StartedServer {
    /// Starts one with settings of its own, which are made for its folder. `mark` stands before its address in the log.
    pub(super) fn start(
        cores: CoreSplit,
        mark: &str,
        settings: impl FnOnce(&Path) -> Result<Vec<u8>, CommandError>,
    ) -> Result<StartedServer, CommandError> {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("durward-bench-{}-{number}", process::id()));
        fs::create_dir_all(&folder)?;
        let config = folder.join("durward.toml");
        fs::write(&config, settings(&folder)?)?;
        StartedServer::spawn(cores, mark, &config, folder)
    }

    /// Starts one with the settings of a file, on a free port.
    pub(super) fn configured(cores: CoreSplit, config: &Path) -> Result<StartedServer, CommandError> {
        StartedServer::spawn(cores, HTTP_MARK, config, PathBuf::new())
    }

    fn spawn(
        cores: CoreSplit,
        mark: &str,
        config: &Path,
        folder: PathBuf,
    ) -> Result<StartedServer, CommandError> {
        cores.pin_server();
        let mut command = Command::new(env::current_exe()?);
        command.arg("serve").arg("--config").arg(config);
        if folder.as_os_str().is_empty() {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut started = StartedServer { child: child?, address, folder };
        started.address = started.wait(mark)?;
        Ok(started)
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Reads the log until it says where the server listens, and then for as long as it says anything.
    fn wait(&mut self, mark: &str) -> Result<SocketAddr, CommandError> {
        let log = self.child.stderr.take().ok_or_else(|| CommandError::new("the server has no log"))?;
        let mut log = BufReader::new(log);
        let mut said = String::new();
        loop {
            let start = said.len();
            if log.read_line(&mut said)? == 0 {
                return Err(CommandError::new(format!("the server did not start: {}", said.trim())));
            }
            let line = said.get(start..).unwrap_or_default();
            let address =
                line.split_once(mark).and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
            if let Some(address) = address {
                thread::spawn(move || io::copy(&mut log, &mut io::sink()));
                return Ok(address);
            }
        }
    }
}

impl Drop for StartedServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !self.folder.as_os_str().is_empty() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
