//! Starts and stops a gate.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use durward_identity::jwt::VerifyingKeys;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, sleep_until};

use super::audit::GateCounters;
use super::core::{GateCore, GateSessionCell};
use super::link::SessionLink;
use super::settings::GateSettings;
use super::upstream::is_session_lost;
use super::{authority, nodes};
use crate::error::Error;
use crate::protocol::GateEvent;
use crate::session::SessionServer;
use crate::token::{FeedMessage, NodeTable};

/// How often time passes for the machine, and broken channels are looked for.
const TICK: Duration = Duration::from_millis(50);
/// A session upstream without a channel is given up after so long, at the latest.
const REJOIN_MAX: Duration = Duration::from_secs(60);

/// A gate in front of a server. Runs until it is dropped or [`Gate::shutdown`] is called.
pub struct Gate {
    core: Arc<GateCore>,
    server: SessionServer<GateCore>,
    tasks: Vec<JoinHandle<()>>,
}

impl Gate {
    /// Starts a gate: it begins to look at the server's nodes and to follow the authorization service at once, and serves clients from
    /// [`Gate::serve`] on. Neither has to be there yet. Call it inside a tokio runtime.
    ///
    /// # Errors
    /// Settings that contradict each other or the certificate.
    pub fn start(settings: GateSettings) -> Result<Gate, Error> {
        let core = GateCore::new(settings)?;
        let server = SessionServer::new(core.settings.server(), Arc::clone(&core))?;
        let mut tasks =
            vec![tokio::spawn(tick(Arc::clone(&core))), tokio::spawn(nodes::keep(Arc::clone(&core)))];
        if let Some(authority) = core.settings.authority.clone() {
            tasks.push(tokio::spawn(authority::keep(Arc::clone(&core), authority)));
        }
        Ok(Gate { core, server, tasks })
    }

    /// Serves clients that connect, until [`Gate::shutdown`].
    pub async fn serve(&self, listener: TcpListener) {
        self.server.serve(listener).await;
    }

    /// The session layer's server, to serve streams that are no TCP connections.
    pub fn server(&self) -> impl Fn(TcpListener) -> JoinHandle<()> + use<> {
        let server = self.server.clone();
        move |listener| {
            let server = server.clone();
            tokio::spawn(async move { server.serve(listener).await })
        }
    }

    /// The node table in force; `None` until the server was browsed for the first time.
    pub fn table(&self) -> Option<Arc<NodeTable>> {
        self.core.tables.load().current.as_ref().map(|table| Arc::clone(table.rows.table()))
    }

    /// Waits for the node table.
    pub async fn table_ready(&self) -> Arc<NodeTable> {
        let mut changes = self.core.table_changes.subscribe();
        loop {
            if let Some(table) = self.table() {
                return table;
            }
            // INVARIANT: the sender lives as long as the core.
            let _ = changes.changed().await;
        }
    }

    /// Has the server's nodes browsed again, soon.
    pub fn browse_again(&self) {
        self.core.browse.notify_one();
    }

    /// Takes a message of the authorization service: for whoever follows it in another way than the gate itself does.
    pub fn hear(&self, message: FeedMessage<Arc<str>>) {
        self.core.hear(message);
    }

    /// The number of the question that a first snapshot must answer. Another one when the clock was set back.
    pub fn question(&self) -> u64 {
        self.core.question()
    }

    /// Puts other public keys of the issuer in force. Sessions on tokens whose key is not among them are ended: it was withdrawn, and whoever has it
    /// could have made them.
    pub fn set_keys(&self, keys: VerifyingKeys) {
        self.core.verifier.store(Arc::new(self.core.settings.verifier(keys)));
        for cell in self.core.all_cells() {
            self.core.end_without_key(&cell);
        }
    }

    /// Figures for metrics.
    pub fn figures(&self) -> &GateCounters {
        &self.core.figures
    }

    /// Sessions of clients, activated or not.
    pub fn session_count(&self) -> usize {
        self.server.session_count()
    }

    /// Ends all sessions, and [`Gate::serve`].
    pub fn shutdown(&self) {
        let _ = self.core.shutdown.send(true);
        self.server.shutdown();
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.shutdown();
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("settings", &self.core.settings).finish_non_exhaustive()
    }
}

/// Lets time pass for the machine; looks after upstream sessions.
async fn tick(core: Arc<GateCore>) {
    let mut interval = tokio::time::interval(TICK);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        let _ = core.step(GateEvent::Tick);
        let now = core.watch.now();
        for cell in core.all_cells() {
            look_after(&core, &cell);
            if let Some(user) = cell.user() {
                core.renew_due(&user, now);
            }
        }
    }
}

fn look_after(core: &Arc<GateCore>, cell: &GateSessionCell) {
    let Some(link) = cell.link.get() else { return };
    let is_broken = link.session.channel().ended().is_some();
    if is_broken && !link.is_closed() && !link.is_rejoining.swap(true, std::sync::atomic::Ordering::AcqRel) {
        tokio::spawn(rejoin(Arc::clone(core), Arc::clone(link)));
    } else if link.session.is_ping_due() {
        let link = Arc::clone(link);
        tokio::spawn(async move {
            if let Err(error) = nodes::namespaces(&link.session).await
                && is_session_lost(error.status())
            {
                link.lost(error.status());
            }
        });
    }
}

/// Brings a session to a new channel, as long as the server has it.
async fn rejoin(core: Arc<GateCore>, link: Arc<SessionLink>) {
    let settings = &core.settings.upstream;
    let until = Instant::now() + settings.client.session_timeout.min(REJOIN_MAX);
    let mut backoff = settings.backoff_min;
    loop {
        if link.is_closed() {
            return;
        }
        let error = match core.upstream.rejoin(&link.session).await {
            Ok(()) => {
                link.is_rejoining.store(false, std::sync::atomic::Ordering::Release);
                return;
            }
            Err(error) => error,
        };
        tracing::info!(%error, url = settings.url, "a session with the server behind the gate could not go on");
        if is_session_lost(error.status()) || Instant::now() + backoff >= until {
            return link.lost(error.status());
        }
        sleep_until(Instant::now() + backoff).await;
        backoff = backoff.saturating_mul(2).min(settings.backoff_max);
    }
}
