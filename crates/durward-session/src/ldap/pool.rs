//! Connections that are kept, and servers in the place of one that fails.
//!
//! Searching and checking passwords have connections of their own: a connection is whoever was bound last, and a search must never
//! be made as the user who tried to log in. So has looking up who has a session already: anybody may try to log in, and however many
//! do, decisions must not wait for them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};

use super::address::LdapAddress;
use super::connect::{LdapConnection, LdapConnector, LdapFault, LdapOperation, LdapReply};
use crate::seldom::Seldom;

/// A connection that lay unused for so long is not trusted to be there still.
const UNUSED_MAX: Duration = Duration::from_secs(30);

/// For each connection, so many may wait.
const WAITING_PER_CONNECTION: usize = 8;

/// What a connection is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionPurpose {
    /// Somebody who tries to log in.
    Login,
    /// Somebody who has logged in before.
    Session,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LdapUnavailable {
    /// Too many ask.
    Busy,
    /// What is wrong.
    Failed(String),
}

/// A server, and until when it is asked last.
struct LdapServer {
    address: LdapAddress,
    rests_until: Mutex<Option<Instant>>,
    failures: Seldom,
}

/// A connection that is not used at the moment.
struct IdleConnection {
    server: usize,
    connection: LdapConnection,
    since: Instant,
}

/// Connections for one purpose.
struct PurposePool {
    permits: Semaphore,
    /// How many there may be with those that wait.
    entry: Semaphore,
    kept: Mutex<Vec<IdleConnection>>,
}

/// All connections to a directory.
pub(super) struct LdapPool {
    connector: LdapConnector,
    servers: Vec<LdapServer>,
    search_as: Option<(String, String)>,
    searching: PurposePool,
    looking_up: PurposePool,
    checking: PurposePool,
    connections_max: usize,
    patience: Duration,
    rest: Duration,
}

impl PurposePool {
    fn new(connections_max: usize) -> PurposePool {
        PurposePool {
            permits: Semaphore::new(connections_max),
            entry: Semaphore::new(connections_max.saturating_mul(1 + WAITING_PER_CONNECTION)),
            kept: Mutex::default(),
        }
    }

    async fn enter(&self, patience: Duration) -> Option<(SemaphorePermit<'_>, SemaphorePermit<'_>)> {
        let entry = self.entry.try_acquire().ok()?;
        let permit = timeout(patience, self.permits.acquire()).await.ok()?.ok()?;
        Some((entry, permit))
    }

    fn take(&self, is_wanted: impl Fn(usize) -> bool) -> Option<IdleConnection> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain_mut(|it| it.since.elapsed() < UNUSED_MAX && !it.connection.is_closed());
        let at = kept.iter().rposition(|it| is_wanted(it.server))?;
        Some(kept.remove(at))
    }

    fn keep(&self, server: usize, connection: LdapConnection) {
        let kept = IdleConnection { server, connection, since: Instant::now() };
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
    }
}

impl LdapPool {
    pub(super) fn new(
        connector: LdapConnector,
        addresses: Vec<LdapAddress>,
        search_as: Option<(String, String)>,
        connections_max: usize,
        patience: Duration,
        rest: Duration,
    ) -> LdapPool {
        let server =
            |address| LdapServer { address, rests_until: Mutex::default(), failures: Seldom::default() };
        LdapPool {
            connector,
            servers: addresses.into_iter().map(server).collect(),
            search_as,
            searching: PurposePool::new(connections_max),
            looking_up: PurposePool::new(connections_max),
            checking: PurposePool::new(connections_max),
            connections_max,
            patience,
            rest,
        }
    }

    /// How many logins wait and how many are being served.
    pub(super) fn load(&self) -> (usize, usize) {
        let of = |lane: &PurposePool| {
            let all = self.connections_max.saturating_mul(1 + WAITING_PER_CONNECTION);
            let inside = all.saturating_sub(lane.entry.available_permits());
            let served = self.connections_max.saturating_sub(lane.permits.available_permits());
            (inside.saturating_sub(served), served)
        };
        let ((a, b), (c, d)) = (of(&self.searching), of(&self.checking));
        (a + c, b + d)
    }

    /// The configured server that an address means.
    pub(super) fn server_of(&self, address: &LdapAddress) -> Option<usize> {
        self.servers.iter().position(|server| server.address.is_meant_by(address))
    }

    /// Puts a question to the first server that answers; or to one alone.
    pub(super) async fn ask(
        &self,
        whom: ConnectionPurpose,
        question: &LdapOperation,
        only: Option<usize>,
    ) -> Result<LdapReply, LdapUnavailable> {
        let lane = match (question, whom) {
            (LdapOperation::Search { .. }, ConnectionPurpose::Login) => &self.searching,
            (LdapOperation::Search { .. }, ConnectionPurpose::Session) => &self.looking_up,
            (
                LdapOperation::Bind { .. } | LdapOperation::ChangePassword { .. },
                ConnectionPurpose::Login | ConnectionPurpose::Session,
            ) => &self.checking,
        };
        let Some(_inside) = lane.enter(self.patience).await else { return Err(LdapUnavailable::Busy) };
        let mut faults = Vec::new();
        for (server, it) in self.in_order(only) {
            match self.ask_one(lane, server, &it.address, question).await {
                Ok(reply) => {
                    *it.rests_until.lock().unwrap_or_else(PoisonError::into_inner) = None;
                    return Ok(reply);
                }
                Err(LdapFault::Settings(message)) => return Err(LdapUnavailable::Failed(message)),
                Err(LdapFault::Server(message)) => {
                    // A directory that is down is asked by each request and each login.
                    if it.failures.is_due() {
                        tracing::warn!(server = %it.address, "the directory's server failed: {message}");
                    }
                    *it.rests_until.lock().unwrap_or_else(PoisonError::into_inner) =
                        Some(Instant::now() + self.rest);
                    faults.push(format!("{}: {message}", it.address));
                }
            }
        }
        Err(LdapUnavailable::Failed(format!("no server of the directory answers: {}", faults.join("; "))))
    }

    /// The servers that are not resting, then those that are.
    fn in_order(&self, only: Option<usize>) -> Vec<(usize, &LdapServer)> {
        let now = Instant::now();
        let all = self.servers.iter().enumerate();
        let mut servers: Vec<_> = all.filter(|(at, _)| only.is_none_or(|only| only == *at)).collect();
        servers.sort_by_key(|(_, server)| {
            server.rests_until.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|until| now < until)
        });
        servers
    }

    /// Asks one server: over a connection that is kept, and if that has ended meanwhile, over a new one.
    async fn ask_one(
        &self,
        lane: &PurposePool,
        server: usize,
        address: &LdapAddress,
        question: &LdapOperation,
    ) -> Result<LdapReply, LdapFault> {
        if let Some(mut kept) = lane.take(|at| at == server) {
            let asked = Instant::now();
            match self.connector.ask(&mut kept.connection, question).await {
                // It ended: connections that lie unused do. One that is there and says nothing is another matter.
                Err(LdapFault::Server(_)) if asked.elapsed() < self.patience / 2 => {}
                Err(fault) => return Err(fault),
                Ok(reply) => {
                    lane.keep(server, kept.connection);
                    return Ok(reply);
                }
            }
        }
        let mut connection = self.connector.connect(address).await?;
        if let (LdapOperation::Search { .. }, Some((dn, password))) = (question, &self.search_as) {
            let bind = LdapOperation::Bind { dn: dn.clone(), password: password.clone() };
            match self.connector.ask(&mut connection, &bind).await? {
                LdapReply::Bound(_) => {}
                LdapReply::WrongPassword
                | LdapReply::PasswordOver
                | LdapReply::Changed(_)
                | LdapReply::NotAllowed
                | LdapReply::Elsewhere(_)
                | LdapReply::Found { .. } => {
                    return Err(LdapFault::Settings(format!(
                        "the directory does not let `{dn}` in: see `search_as` and the file with its password"
                    )));
                }
            }
        }
        let reply = self.connector.ask(&mut connection, question).await?;
        lane.keep(server, connection);
        Ok(reply)
    }
}
