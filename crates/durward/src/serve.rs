//! `durward serve`: the decision point on the network.

use std::future::Future;
use std::io::{self, IsTerminal};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use durward_pdp::{Algorithm, IndexKind};
use durward_server::{
    Clock, ConfigError, Listeners, LogHandle, Overrides, Server, Settings, StartError, start_log_on,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::console::progress::{self, Progress};
use crate::failure::{CommandError, CommandResult, without_number};
use crate::{policies, sockets};

const EXAMPLES: &str = "\
Examples:
  durward serve --policies policies/
  durward serve --config durward.toml
  durward serve --config durward.toml --listen 0.0.0.0:8080

Without --config, durward reads `durward.toml` in the current directory, if there is one. Environment variables override
the file: DURWARD_SERVER__LISTEN is `server.listen`. Flags override both.
Changed policies come into force while durward serves, and so do credentials, clients, the log level and some limits
in a changed `durward.toml`; SIGHUP has it read again, unless a terminal is open. On SIGTERM and Ctrl-C durward
finishes the requests under way, then ends. Sockets that are passed to it (LISTEN_FDS, as systemd does) take precedence
over addresses: the first is for HTTP, the second for RSocket, further ones are for `[[listen]]` in its order.";

/// The configuration file looked for where none is named.
const CONFIG_FILE: &str = "durward.toml";

/// Answer requests over HTTP and RSocket
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The configuration
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A policy file, or a directory: *.xml in and below it, *.sapl and pdp.json directly in it
    #[arg(long, value_name = "DIR|FILE")]
    policies: Option<PathBuf>,
    /// The address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Start at the policy or policy set with this identifier
    #[arg(long, value_name = "ID")]
    root: Option<String>,
    /// How several root policies are combined
    #[arg(long, value_name = "ALGORITHM", value_parser = policies::combining)]
    combining: Option<Algorithm>,
    /// The index: auto, scan, bloom, canonical or diagram
    #[arg(long, value_name = "NAME", value_parser = policies::index)]
    index: Option<IndexKind>,
}

/// Where settings come from, the first time and again.
struct Source {
    arguments: Arguments,
    /// The configuration file, where there was one at the start.
    file: Option<PathBuf>,
    /// Where sockets listen that were passed.
    http: Option<SocketAddr>,
    rsocket: Option<SocketAddr>,
    more: Vec<SocketAddr>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let listeners = sockets::inherited()?;
    let address = |listener: &Option<TcpListener>| listener.as_ref().map(TcpListener::local_addr).transpose();
    let source = Source {
        arguments: arguments.clone(),
        file: config_file(arguments.config.as_deref()),
        http: address(&listeners.http)?,
        rsocket: address(&listeners.rsocket)?,
        more: listeners.more.iter().map(TcpListener::local_addr).collect::<Result<_, _>>()?,
    };
    let settings = source.read()?;
    sockets::check(&listeners, &settings)?;
    let log = start_log_on(&settings.log, progress::write_line)
        .map_err(|error| CommandError::new(error.to_string()))?;
    raise_open_files();
    #[cfg(feature = "opcua")]
    if settings.opcua.authority.in_serve {
        return with_authority(settings, source, listeners, log);
    }
    #[cfg(not(feature = "opcua"))]
    if settings.opcua.authority.in_serve {
        return crate::absent::run("opcua.authority.in_serve", "opcua");
    }
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Before anything is answered: a signal that comes early must not be lost.
        let signals = Signals::listen()?;
        let server = bind(settings, listeners)?;
        let stop = source.stop(&server, signals, log)?;
        server.serve(stop).await.map_err(failure)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Serves, and beside it the authorization service for OPC UA, for the same users and sessions.
#[cfg(feature = "opcua")]
fn with_authority(settings: Settings, source: Source, listeners: Listeners, log: LogHandle) -> CommandResult {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let signals = Signals::listen()?;
        let server = bind(settings.clone(), listeners)?;
        let sessions = server.sessions().cloned().ok_or_else(crate::opcua::no_users)?;
        let authority = crate::opcua::start_authority(&settings, sessions).await?;
        let stop = source.stop(&server, signals, log)?;
        let served = server.serve(stop).await.map_err(failure);
        authority.stop().await;
        served.map(|_| ExitCode::SUCCESS)
    })
}

/// A server that listens; it reads its policies meanwhile, which may take long.
fn bind(settings: Settings, listeners: Listeners) -> Result<Server, CommandError> {
    let _progress = Progress::start("reading policies, starting");
    Server::bind_on(settings, clock(), listeners).map_err(failure)
}

impl Source {
    /// Settings out of the file, the environment, flags and sockets.
    fn read(&self) -> Result<Settings, ConfigError> {
        let mut settings = self.arguments.settings(self.file.as_deref())?;
        settings.server.listen = self.http.unwrap_or(settings.server.listen);
        settings.rsocket.listen = self.rsocket.or(settings.rsocket.listen);
        for (listen, address) in settings.listen.iter_mut().zip(&self.more) {
            listen.address = *address;
        }
        Ok(settings)
    }

    /// Has a server read its settings again when their file changes and on SIGHUP, until the process is asked to end.
    fn stop(
        self,
        server: &Server,
        signals: Signals,
        log: LogHandle,
    ) -> Result<impl Future<Output = ()> + use<>, CommandError> {
        let file = self.file.clone();
        let settings = server.watch_settings(file, Some(log), move || self.read()).map_err(failure)?;
        Ok(signals.stop(move || settings.read_again()))
    }
}

/// Lets the process open as many files as whoever runs it allows. Connections are files, and the usual 1024 are fewer than
/// connections, journals and stores need together. Where that cannot be, it is as it was.
pub(crate) fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Time, for whatever needs it: the binary is where it comes from.
pub(crate) fn clock() -> Clock {
    #[expect(clippy::disallowed_methods, reason = "the binary hands the clock to what it builds")]
    Arc::new(std::time::SystemTime::now)
}

/// Makes a server in a runtime of one thread and serves until a signal comes. Further workers are the server's.
pub(crate) fn in_runtime(make: impl FnOnce() -> Result<Server, CommandError>) -> CommandResult {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Before anything is answered: a signal that comes early must not be lost.
        let stop = stop_signal()?;
        make()?.serve(stop).await.map_err(failure)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Ready when the process is asked to end. SIGHUP is ignored, as far as [`Signals`] says.
pub(crate) fn stop_signal() -> Result<impl Future<Output = ()>, CommandError> {
    Ok(Signals::listen()?.stop(|| {}))
}

/// What the process is told from outside. SIGHUP has servers look at their files again, and must not end one that looks anyway; where a
/// terminal is open, it says that the terminal is closed, and ends the process.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Option<Signal>,
}

impl Signals {
    /// From now on, no signal is lost.
    fn listen() -> Result<Signals, CommandError> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: if io::stderr().is_terminal() { None } else { Some(signal(SignalKind::hangup())?) },
        })
    }

    /// Ready when the process is asked to end.
    async fn stop(self, on_hang_up: impl Fn()) {
        let Signals { mut terminate, mut interrupt, mut hang_up } = self;
        loop {
            tokio::select! {
                _ = terminate.recv() => return,
                _ = interrupt.recv() => return,
                () = next(&mut hang_up) => on_hang_up(),
            }
        }
    }
}

/// Waits for a signal; for ever where it is left as it is.
async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// The configuration file: the one that is named, or `durward.toml` where there is one.
fn config_file(named: Option<&Path>) -> Option<PathBuf> {
    let implied = Path::new(CONFIG_FILE);
    named.or_else(|| implied.is_file().then_some(implied)).map(Path::to_path_buf)
}

/// Settings out of this file, or out of `durward.toml` where there is one, and out of the environment, which counts more.
///
/// # Errors
/// A file that cannot be read; a file or a variable that says something no setting means.
pub(crate) fn read_settings(config: Option<&Path>) -> Result<Settings, ConfigError> {
    Settings::read_with(config_file(config).as_deref(), &Overrides::of(std::env::vars_os())?)
}

/// Why a server did not start, for whoever started it.
pub(crate) fn failure(error: StartError) -> CommandError {
    match error {
        StartError::Policies(errors) => CommandError::policies(&errors),
        StartError::Read(error) => CommandError::new(without_number(&error.to_string()))
            .hint(
                "name the policies with `--policies DIR`, or in durward.toml as `policies.path`; `durward init` writes a project",
            ),
        StartError::Listen(address, error) => {
            let why = without_number(&error.to_string());
            CommandError::new(format!("cannot listen on {address}: {why}"))
                .hint("choose another address with `--listen`")
        }
        StartError::ListenRsocket(place, error) => {
            let why = without_number(&error.to_string());
            CommandError::new(format!("cannot listen on {place}: {why}"))
                .hint("choose another place in durward.toml, as `rsocket.listen` or `rsocket.socket`")
        }
        StartError::Config(_)
        | StartError::Tenants(_)
        | StartError::Identity(_)
        | StartError::DecisionLog(..)
        | StartError::Thread(_) => CommandError::new(without_number(&error.to_string())),
    }
}

impl Arguments {
    /// Settings out of this file, the environment and flags.
    fn settings(&self, file: Option<&Path>) -> Result<Settings, ConfigError> {
        let mut settings = Settings::read_with(file, &Overrides::of(std::env::vars_os())?)?;
        if let Some(path) = &self.policies {
            settings.policies.path.clone_from(path);
        }
        settings.server.listen = self.listen.unwrap_or(settings.server.listen);
        settings.policies.combining = self.combining.unwrap_or(settings.policies.combining);
        settings.policies.index = self.index.unwrap_or(settings.policies.index);
        settings.policies.root = self.root.clone().or(settings.policies.root);
        Ok(settings)
    }
}
