//! A server from its settings to its end.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use durward_common::access::sessions;
use durward_common::access::subject::finder::SessionFinder;
use durward_common::base::Clock;
use durward_common::base::log::LogHandle;
use durward_common::decider::{Decider, OfSessions, Tenants};
use durward_common::policies::{Loaded, PolicyLoadError};
use durward_pdp::stream::Finder;
use durward_pdp::{Pdp, PolicyError, ReadError};
use durward_session::identity::IdentityError;
use durward_session::{Running, Service};
use durward_settings::{ConfigError, ListenSurface, RsocketSettings, Settings, SurfaceSet, TlsSettings};
use tokio::runtime;
use tokio::sync::{oneshot, watch};

use super::compose::{Observers, Parts};
use super::listener::{Door, Listener};
use super::reload::{SettingsWatch, TakingUp};
use super::state::Http;
use super::{listener, rsocket};
#[cfg(feature = "nats")]
use crate::surfaces::brokers;
use durward_net::tls::{Acceptor, Certificates, TlsError};
use durward_sources::Sources;

/// How long the decision log may take to be written to its end.
const FLUSH_TIME_MAX: Duration = Duration::from_secs(5);

/// A server that listens and does not yet answer.
pub struct Server {
    parts: Parts,
    /// That of `server.listen` first.
    listeners: Vec<Listener>,
    address: SocketAddr,
    addresses: Vec<SocketAddr>,
    rsocket: Vec<rsocket::Listener>,
    rsocket_address: Option<SocketAddr>,
    policies: Option<Loaded>,
    identity: Option<Running>,
}

/// Sockets that somebody listens on already, in the place of those that settings name: connections that come while no server accepts
/// them wait. Where there is none, the server opens its own.
#[derive(Debug, Default)]
pub struct Listeners {
    /// In the place of `server.listen`.
    pub http: Option<TcpListener>,
    /// In the place of `rsocket.listen`.
    pub rsocket: Option<TcpListener>,
    /// In the places of `[[listen]]`, in their order.
    pub more: Vec<TcpListener>,
}

/// What a server did, once it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// How many connections were still open when the time for stopping was over, and were cut off.
    pub connections_cut: usize,
}

/// Why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// A setting is wrong.
    Config(ConfigError),
    /// The policies cannot be found or read.
    Read(ReadError),
    /// The policies are wrong, each with its place.
    Policies(Vec<PolicyError>),
    /// No tenant has policies that can be used, or a bundle or secret is not to be used; each reason is a line.
    Tenants(String),
    /// The address cannot be listened on.
    Listen(SocketAddr, io::Error),
    /// The address or path for RSocket cannot be listened on.
    ListenRsocket(String, io::Error),
    /// The decision log cannot be opened.
    DecisionLog(String, io::Error),
    /// Users, sessions or the audit cannot be used.
    Identity(IdentityError),
    /// A thread cannot be started.
    Thread(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Config(error) => error.fmt(f),
            StartError::Read(error) => error.fmt(f),
            StartError::Policies(errors) => {
                let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
                f.write_str(&texts.join("\n"))
            }
            StartError::Tenants(reasons) => f.write_str(reasons),
            StartError::Listen(address, error) => {
                write!(
                    f,
                    "cannot listen on {address}: {error}; choose another address with `server.listen` or `[[listen]]`"
                )
            }
            StartError::ListenRsocket(place, error) => {
                let setting = "`rsocket.listen` or `rsocket.socket`";
                write!(f, "cannot listen on {place}: {error}; choose another place with {setting}")
            }
            StartError::DecisionLog(path, error) => {
                write!(f, "cannot write the decision log `{path}`: {error}; see `decision_log.to`")
            }
            StartError::Identity(error) => write!(f, "{error}; see `[identity]`"),
            StartError::Thread(error) => write!(f, "cannot start a thread: {error}"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StartError::Listen(_, error)
            | StartError::ListenRsocket(_, error)
            | StartError::DecisionLog(_, error)
            | StartError::Thread(error) => Some(error),
            // Said in full by what is displayed.
            StartError::Config(_)
            | StartError::Read(_)
            | StartError::Policies(_)
            | StartError::Tenants(_)
            | StartError::Identity(_) => None,
        }
    }
}

impl From<PolicyLoadError> for StartError {
    fn from(error: PolicyLoadError) -> StartError {
        match error {
            PolicyLoadError::Config(error) => StartError::Config(error),
            PolicyLoadError::Read(error) => StartError::Read(error),
            PolicyLoadError::Policies(errors) => StartError::Policies(errors),
            PolicyLoadError::Tenants(reasons) => StartError::Tenants(reasons),
            PolicyLoadError::Thread(error) => StartError::Thread(error),
        }
    }
}

impl From<ConfigError> for StartError {
    fn from(error: ConfigError) -> StartError {
        StartError::Config(error)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Reads the policies that the settings name and opens the socket. Connections wait from now on; they are
    /// answered when [`Server::serve`] runs. Needs a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// Settings, policies, address or decision log that cannot be used.
    pub fn bind(settings: Settings, clock: Clock) -> Result<Server, StartError> {
        Server::build(settings, clock, None, Listeners::default())
    }

    /// The same with sockets that somebody listens on already.
    ///
    /// # Errors
    /// Settings, policies, address or decision log that cannot be used.
    pub fn bind_on(settings: Settings, clock: Clock, listeners: Listeners) -> Result<Server, StartError> {
        Server::build(settings, clock, None, listeners)
    }

    /// The same with a decision point made elsewhere: the policies are those it has, `[policies]` and
    /// `[[attributes]]` are not read, and nothing is watched.
    ///
    /// # Errors
    /// Settings, address or decision log that cannot be used.
    pub fn with_pdp(settings: Settings, clock: Clock, pdp: Arc<Pdp>) -> Result<Server, StartError> {
        Server::build(settings, clock, Some(pdp), Listeners::default())
    }

    fn build(
        mut settings: Settings,
        clock: Clock,
        pdp: Option<Arc<Pdp>>,
        listeners: Listeners,
    ) -> Result<Server, StartError> {
        let named = listeners.name_in(&mut settings);
        named.map_err(|error| StartError::Listen(settings.server.listen, error))?;
        settings.check()?;
        settings.check_reach()?;
        settings.sources.check_published().map_err(ConfigError::from)?;
        let metrics = Parts::metrics();
        let observers = Observers::open(&settings, &metrics)?;
        let doors = doors(&settings)?;
        // RSocket has no name registered.
        let rsocket_tls = acceptor(settings.rsocket.tls.as_ref(), "rsocket.tls", &[])?;
        let identity = sessions::start_sessions(&settings.identity, &clock).map_err(StartError::Identity)?;
        let (service, identity) = identity.unzip();
        let parts = Parts::new(settings, clock, metrics, observers, service)?;
        let policies = match pdp {
            Some(pdp) => {
                parts.policies.put_in_place(pdp);
                None
            }
            None => Some(Loaded::first(&parts.policies)?),
        };
        let (rsocket, rsocket_address) =
            listen_rsocket(&parts.settings.rsocket, rsocket_tls, listeners.rsocket)?;
        let passed = std::iter::once(listeners.http).chain(listeners.more.into_iter().map(Some));
        let listeners = listen_http(doors, passed)?;
        let addresses = listeners.iter().map(|(address, _)| *address).collect();
        let address = listeners.first().map_or(parts.settings.server.listen, |(address, _)| *address);
        let listeners = listeners.into_iter().map(|(_, listener)| listener).collect();
        Ok(Server { parts, listeners, address, addresses, rsocket, rsocket_address, policies, identity })
    }

    /// The address listened on; where port 0 was asked for, with the port that was free.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All addresses listened on for HTTP: that of `server.listen`, then those of `[[listen]]` in their order.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The address listened on for RSocket, if there is one; where port 0 was asked for, with the port that was free.
    pub fn rsocket_address(&self) -> Option<SocketAddr> {
        self.rsocket_address
    }

    /// The decision point, once there are policies.
    pub fn pdp(&self) -> Option<Arc<Pdp>> {
        self.parts.policies.pdp().clone()
    }

    /// Who is asking, where the settings name users.
    pub fn sessions(&self) -> Option<&Service> {
        self.parts.service.as_ref()
    }

    /// Lets this one decide what SAPL's clients ask. Until there is one, they are told to come back. `false` where
    /// there is one already.
    pub fn set_decider(&self, decider: Arc<dyn Decider>) -> bool {
        self.parts.decider.set(of_sessions(&self.parts, decider)).is_ok()
    }

    /// Answers OpenAM's calls by these sessions, where the settings ask for that but name no users. Without any, [`Server::serve`]
    /// refuses. `false` where there are some already.
    pub fn set_sessions(&self, sessions: durward_session::Service) -> bool {
        self.parts.http.openam.set_sessions(sessions)
    }

    /// Reads the settings again when their file changes, and whenever [`SettingsWatch::read_again`] asks for it, for as long as what comes is
    /// held. `read` gives them, as it did for [`Server::bind`]. Credentials, clients, the log's level and some limits come into force at once;
    /// of others that changed, the log says so. Settings that cannot be used change nothing.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn watch_settings(
        &self,
        file: Option<PathBuf>,
        log: Option<LogHandle>,
        read: impl Fn() -> Result<Settings, ConfigError> + Send + 'static,
    ) -> Result<SettingsWatch, StartError> {
        let taking = TakingUp::new(&self.parts, log);
        SettingsWatch::start(taking, file, Box::new(read)).map_err(StartError::Thread)
    }

    /// Answers until `shutdown` is ready. Then nothing new is accepted, requests under way are finished within
    /// `server.shutdown_time_ms_max`, and the decision log is written to its end.
    ///
    /// The first worker is the caller's runtime; the others are threads of their own.
    ///
    /// # Errors
    /// A thread that cannot be started, OpenAM's calls without users, attribute sources that cannot be used.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> Result<Served, StartError> {
        let Server { parts, listeners, address, addresses, rsocket, rsocket_address, policies, identity } =
            self;
        check_sessions(&parts.http)?;
        for weakness in parts.http.health.weaknesses().iter() {
            tracing::warn!("WEAK SETTING: {weakness}");
        }
        if parts.settings.answers_authzen_to_this_machine() {
            tracing::info!("AuthZEN is open to every program of this machine, as `authzen.on` is not set");
        }
        if parts.settings.answers_sapl_to_this_machine() {
            tracing::info!(
                "SAPL over HTTP is open to every program of this machine, as `sapl.http` is not set"
            );
        }
        let _sources = decide_by_policies(&parts)?;
        #[cfg(feature = "nats")]
        let _logins =
            brokers::nats::start(&parts.settings, &parts.http.brokers).map_err(StartError::Identity)?;
        let _entities = parts.entities.watch().map_err(StartError::Thread)?;
        let _watch = policies.map(|policies| policies.watch(&parts.policies)).transpose()?;
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let worker_count = parts.settings.server.worker_count(cores);
        let stopping = parts.stop.subscribe();
        let served = rsocket::Served::new(&parts.rsocket, &parts.http.metrics, &parts.settings.server);
        let work = Work { http: Arc::clone(&parts.http), rsocket: served };
        let mut others = Vec::new();
        for number in 1..worker_count {
            let sockets = Sockets::clone_of(&listeners, &rsocket).map_err(StartError::Thread)?;
            others.push(worker(number, sockets, &work, &stopping).map_err(StartError::Thread)?);
        }
        tracing::info!(%address, workers = worker_count, "serving");
        for (listen, address) in parts.settings.listen.iter().zip(addresses.iter().skip(1)) {
            let surfaces: Vec<&str> = listen.surfaces.iter().map(|surface| surface.as_str()).collect();
            tracing::info!(%address, surfaces = surfaces.join(", "), "listening too");
        }
        if let Some(address) = rsocket_address {
            tracing::info!(%address, "serving RSocket");
        }
        let own = Sockets { listeners, rsocket }.work(work, stopping);
        let stop_when_told = async {
            shutdown.await;
            tracing::info!("stopping");
            // Nobody listens any more only if every worker has ended already.
            parts.stop.send_replace(true);
        };
        let (worked, ()) = tokio::join!(own, stop_when_told);
        worked.map_err(StartError::Thread)?;
        for other in others {
            // A worker that panicked has ended too.
            let _ = other.await;
        }
        if let Some(path) = &parts.settings.rsocket.socket {
            // Whoever comes next must not think that somebody listens.
            let _ = std::fs::remove_file(path);
        }
        let connections_cut = parts.http.connection_count() + parts.rsocket.connection_count();
        if let Some(log) = &parts.decision_log {
            log.flush(FLUSH_TIME_MAX);
        }
        if let Some(telemetry) = &parts.telemetry {
            telemetry.flush(FLUSH_TIME_MAX);
        }
        if let Some(identity) = identity {
            identity.stop().await;
        }
        tracing::info!(connections_cut, "stopped");
        Ok(Served { connections_cut })
    }
}

/// TLS, where it is set.
fn acceptor(
    tls: Option<&TlsSettings>,
    section: &'static str,
    protocols: &'static [&'static str],
) -> Result<Option<Acceptor>, ConfigError> {
    let Some(TlsSettings { certificate, key, client_authorities }) = tls.cloned() else { return Ok(None) };
    let accepted = Acceptor::new(Certificates { certificate, key, client_authorities, section, protocols });
    let failed =
        |error: TlsError| ConfigError { source: String::new(), place: None, message: error.to_string() };
    accepted.map(Some).map_err(failed)
}

/// OpenAM's calls are logins: without users, every one would be answered 503. Asked last, because sessions can come from elsewhere
/// ([`Server::set_sessions`]).
fn check_sessions(http: &Http) -> Result<(), ConfigError> {
    if !http.openam.lacks_sessions() {
        return Ok(());
    }
    let message = "is true, and there are no users who could log in: name them with `identity.users` or `[[identity.ldap]]`";
    Err(ConfigError::of_setting("openam.on", message.into()))
}

/// Lets the policies in force decide what SAPL's and AuthZEN's clients ask, unless somebody else does. Gives where their attributes come from:
/// they end with it.
fn decide_by_policies(parts: &Parts) -> Result<Option<Sources>, StartError> {
    let settings = &parts.settings;
    let is_asked = settings.answers_sapl()
        || settings.answers_authzen()
        || settings.doors.on
        || settings.rsocket.is_on()
        || settings.openam.asks_sapl();
    if !is_asked || parts.decider.get().is_some() {
        return Ok(None);
    }
    let mut sources = Sources::start(&parts.settings.sources, &parts.clock).map_err(ConfigError::from)?;
    if let Some(subjects) = &parts.subjects {
        sources.add(Finder::outside(SessionFinder::new(subjects.clone(), sources.runtime())));
    }
    let (clock, finders) = (Arc::clone(&parts.clock), sources.all_finders());
    let tenants = match parts.recorder.is_on() {
        true => Tenants::recording(clock, finders, parts.recorder.recording()),
        false => Tenants::new(clock, finders),
    };
    let tenants = tenants.map_err(StartError::Thread)?;
    let told = tenants.clone();
    parts.policies.follow(Box::new(move |tenant, pdp| told.put(tenant, pdp)));
    // Only this place fills it, once.
    let _ = parts.decider.set(of_sessions(parts, Arc::new(tenants)));
    Ok(Some(sources))
}

/// Lets subjects be sessions, where there are any.
fn of_sessions(parts: &Parts, decider: Arc<dyn Decider>) -> Arc<dyn Decider> {
    match &parts.subjects {
        Some(subjects) => Arc::new(OfSessions::new(decider, subjects.clone())),
        None => decider,
    }
}

/// What a worker serves connections with.
#[derive(Clone)]
struct Work {
    http: Arc<Http>,
    rsocket: rsocket::Served,
}

/// What a worker accepts connections from.
struct Sockets {
    listeners: Vec<Listener>,
    rsocket: Vec<rsocket::Listener>,
}

impl Sockets {
    fn clone_of(listeners: &[Listener], rsocket: &[rsocket::Listener]) -> io::Result<Sockets> {
        let rsocket = rsocket.iter().map(rsocket::Listener::try_clone).collect::<io::Result<_>>()?;
        let listeners = listeners.iter().map(Listener::try_clone).collect::<io::Result<_>>()?;
        Ok(Sockets { listeners, rsocket })
    }

    /// Serves until the server stops.
    async fn work(self, work: Work, stopping: watch::Receiver<bool>) -> io::Result<()> {
        let mut http = tokio::task::JoinSet::new();
        for listener in self.listeners {
            http.spawn(listener::work(listener, Arc::clone(&work.http), stopping.clone()));
        }
        let rsocket = rsocket::work(self.rsocket, &work.rsocket, stopping);
        let (http, rsocket) = tokio::join!(http.join_all(), rsocket);
        http.into_iter().collect::<io::Result<()>>().and(rsocket)
    }
}

impl Listeners {
    /// Lets settings name their addresses: what is weak depends on who can reach them.
    fn name_in(&self, settings: &mut Settings) -> io::Result<()> {
        if let Some(listener) = &self.http {
            settings.server.listen = listener.local_addr()?;
        }
        if let Some(listener) = &self.rsocket {
            settings.rsocket.listen = Some(listener.local_addr()?);
        }
        for (listen, listener) in settings.listen.iter_mut().zip(&self.more) {
            listen.address = listener.local_addr()?;
        }
        Ok(())
    }
}

/// The socket, or one that is opened.
fn taken(listener: Option<TcpListener>, listen: SocketAddr) -> io::Result<TcpListener> {
    let Some(listener) = listener else { return listener::listen(listen) };
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Where HTTP is listened on, and what becomes of connections there: `server.listen` first.
fn doors(settings: &Settings) -> Result<Vec<(SocketAddr, Door)>, ConfigError> {
    const PROTOCOLS: &[&str] = &["h2", "http/1.1"];
    let door = |tls: Option<&TlsSettings>, section: &'static str, surfaces: &[ListenSurface]| {
        Ok::<Door, ConfigError>(Door {
            tls: acceptor(tls, section, PROTOCOLS)?,
            is_authenticated: tls.is_some_and(|tls| tls.client_authorities.is_some()),
            surfaces: SurfaceSet::of(surfaces),
        })
    };
    let server = &settings.server;
    let mut doors = vec![(server.listen, door(server.tls.as_ref(), "server.tls", &server.surfaces)?)];
    for listen in &settings.listen {
        doors.push((listen.address, door(listen.tls.as_ref(), "listen.tls", &listen.surfaces)?));
    }
    Ok(doors)
}

/// Listens on each of these addresses, on the socket that was passed for it if there is one.
fn listen_http(
    doors: Vec<(SocketAddr, Door)>,
    passed: impl Iterator<Item = Option<TcpListener>>,
) -> Result<Vec<(SocketAddr, Listener)>, StartError> {
    let passed = passed.chain(std::iter::repeat_with(|| None));
    let listened = doors.into_iter().zip(passed).map(|((address, door), passed)| {
        let failed = |error| StartError::Listen(address, error);
        let socket = taken(passed, address).map_err(failed)?;
        Ok::<_, StartError>((socket.local_addr().map_err(failed)?, Listener { socket, door }))
    });
    listened.collect()
}

/// Listens where the settings say.
fn listen_rsocket(
    settings: &RsocketSettings,
    tls: Option<Acceptor>,
    listener: Option<TcpListener>,
) -> Result<(Vec<rsocket::Listener>, Option<SocketAddr>), StartError> {
    let mut listeners = Vec::new();
    let mut address = None;
    if let Some(listen) = settings.listen {
        let failed = |error| StartError::ListenRsocket(listen.to_string(), error);
        let listener = taken(listener, listen).map_err(failed)?;
        address = Some(listener.local_addr().map_err(failed)?);
        listeners.push(rsocket::Listener::Tcp(listener, tls));
    }
    if let Some(path) = &settings.socket {
        let failed = |error| StartError::ListenRsocket(path.display().to_string(), error);
        #[cfg_attr(not(unix), expect(unused_variables, reason = "there is no such listener"))]
        let listener = rsocket::listen_on_path(path).map_err(failed)?;
        #[cfg(unix)]
        listeners.push(rsocket::Listener::Unix(listener));
    }
    Ok((listeners, address))
}

/// A further worker: a thread with a runtime of one thread, so that a connection never moves between cores.
fn worker(
    number: usize,
    sockets: Sockets,
    work: &Work,
    stopping: &watch::Receiver<bool>,
) -> io::Result<oneshot::Receiver<()>> {
    let (done, ended) = oneshot::channel();
    let (work, stopping) = (work.clone(), stopping.clone());
    let runtime = runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    thread::Builder::new().name(format!("worker-{number}")).spawn(move || {
        if let Err(error) = runtime.block_on(sockets.work(work, stopping)) {
            tracing::error!(%error, "a worker ended");
        }
        // Drops connections that did not end in time.
        drop(runtime);
        // The server may be gone already.
        let _ = done.send(());
    })?;
    Ok(ended)
}
