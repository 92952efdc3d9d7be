//! Builds, starts and stops a node.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use durward_identity::protocol::SessionNode;
use durward_identity::session::{ClusterKey, SessionTable, User};
use durward_identity::{Entropy, IdentityError, SystemEntropy};
use tokio::runtime;
use tokio::sync::{mpsc, oneshot, watch};

use crate::Clock;
use crate::audit::{AuditSettings, SessionAuditLog};
use crate::challenge::derive;
use crate::counters::Counters;
use crate::directory::UserDirectory;
use crate::driver::{QUESTIONS_MAX, SessionDriver};
use crate::listeners::{Listeners, NodeGoneNotifier};
use crate::service::{AttemptQueue, Service};
use crate::settings::ServiceSettings;
use crate::store::memory::MemoryStore;
use crate::store::{NodeLink, ORDERS_MAX, SessionStore};

/// How long a store may take to finish what it has taken.
const STOP_TIME_MAX: Duration = Duration::from_secs(5);

/// What a node is made of.
pub struct Builder {
    settings: ServiceSettings,
    clock: Clock,
    entropy: Arc<dyn Entropy>,
    secret: Option<[u8; 32]>,
    store: Box<dyn SessionStore>,
    realms: HashMap<Box<str>, Arc<dyn UserDirectory>>,
    audit: Option<AuditSettings>,
}

impl Builder {
    /// A node without a store, users or audit, and with a cluster key that nobody else has.
    pub fn new(settings: ServiceSettings, clock: Clock) -> Builder {
        Builder {
            settings,
            clock,
            entropy: Arc::new(SystemEntropy),
            secret: None,
            store: Box::new(MemoryStore),
            realms: HashMap::new(),
            audit: None,
        }
    }

    /// The secret that all nodes of a cluster share. Sessions survive a restart only with the same one.
    #[must_use]
    pub fn cluster_secret(self, secret: [u8; 32]) -> Builder {
        Builder { secret: Some(secret), ..self }
    }

    /// What carries records. Default: [`MemoryStore`].
    #[must_use]
    pub fn store(self, store: impl SessionStore) -> Builder {
        Builder { store: Box::new(store), ..self }
    }

    /// The same for one that was chosen at run time.
    #[must_use]
    pub fn boxed_store(self, store: Box<dyn SessionStore>) -> Builder {
        Builder { store, ..self }
    }

    /// Where the users of a realm are. The root realm is `/`.
    ///
    /// # Errors
    /// The realm's name cannot be used, or was given before.
    pub fn realm(mut self, name: &str, users: Arc<dyn UserDirectory>) -> Result<Builder, IdentityError> {
        User::new(name, "somebody")?;
        if !name.starts_with('/') {
            return Err(IdentityError::new(format!("the realm `{name}` must begin with `/`")));
        }
        if self.realms.insert(name.into(), users).is_some() {
            return Err(IdentityError::new(format!("the realm `{name}` is there twice")));
        }
        Ok(self)
    }

    /// Where what happened is written down. Default: nowhere.
    #[must_use]
    pub fn audit(self, audit: AuditSettings) -> Builder {
        Builder { audit: Some(audit), ..self }
    }

    /// Starts the node on a thread of its own, whose runtime also drives the store and the directories. It is ready when
    /// [`Service::outlook`] lacks nothing, which [`Service::ready`] waits for.
    ///
    /// # Errors
    /// No randomness, no thread, or an audit record that cannot be written.
    pub fn start(self) -> Result<(Service, Running), IdentityError> {
        let Builder { settings, clock, entropy, secret, store, realms, audit } = self;
        let counters = Arc::new(Counters::default());
        let audit =
            audit.map(|audit| SessionAuditLog::open(audit, clock(), Arc::clone(&counters))).transpose()?;
        let secret = secret.map_or_else(|| made_up(&*entropy), Ok)?;
        let sessions = Arc::new(SessionTable::new(settings.session.clone()));
        let cluster = ClusterKey::new(secret)?;
        let node = SessionNode::new(settings.node.clone(), Arc::clone(&sessions), cluster, entropy)?;
        let is_shared = store.is_shared();
        let turns = turns(&settings, &clock, &secret, is_shared);
        let (questions, asked) = mpsc::channel(QUESTIONS_MAX);
        let (orders, ordered) = mpsc::channel(ORDERS_MAX);
        let (link, told) = NodeLink::new();
        let (complaint, clocks) = (link.complaint(), link.clocks());
        let (outlook, seen) = watch::channel(node.outlook());
        let listeners = Listeners::new();
        let driver = SessionDriver {
            node,
            clock: Arc::clone(&clock),
            questions: asked,
            told,
            orders,
            listeners: NodeGoneNotifier(Arc::clone(&listeners)),
            turns: turns.clone(),
            outlook,
            counters: Arc::clone(&counters),
            audit: audit.clone(),
            waiting: HashMap::new(),
            refused: Vec::new(),
        };
        let (stop, stopped) = oneshot::channel();
        let worked = work(driver, store, ordered, link, stopped, audit.clone());
        let (runtime, ends) = on_own_thread(worked)
            .map_err(|error| IdentityError::new(format!("cannot start the session service: {error}")))?;
        let parts = crate::service::ServiceParts {
            settings,
            sessions,
            clock,
            secret,
            realms,
            is_shared,
            turns,
            questions,
            listeners,
            outlook: seen,
            complaint,
            clocks,
            counters,
            audit,
            runtime,
        };
        Ok((Service::new(parts), Running { stop: Some(stop), ends }))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("store", &self.store.name())
            .field("realms", &self.realms.keys())
            .finish_non_exhaustive()
    }
}

/// What delays logins: with what other nodes count, where there may be any.
fn turns(settings: &ServiceSettings, clock: &Clock, secret: &[u8; 32], is_shared: bool) -> AttemptQueue {
    let (throttle, held_max, clock) = (settings.throttle, settings.held_max, Arc::clone(clock));
    match is_shared {
        true => AttemptQueue::shared(throttle, held_max, clock, &derive(secret, "failed logins")),
        false => AttemptQueue::new(throttle, held_max, clock),
    }
}

/// A secret that nobody else has.
fn made_up(entropy: &dyn Entropy) -> Result<[u8; 32], IdentityError> {
    let mut secret = [0; 32];
    entropy.fill(&mut secret)?;
    Ok(secret)
}

/// Does the work on a thread with a runtime of its own: the runtime, for whoever brings more to do, and what tells of the end.
fn on_own_thread(
    work: impl Future<Output = ()> + Send + 'static,
) -> io::Result<(runtime::Handle, oneshot::Receiver<()>)> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (done, ends) = oneshot::channel();
    thread::Builder::new().name("sessions".to_owned()).spawn(move || {
        runtime.block_on(work);
        // Whoever waited for the end may have gone.
        let _ = done.send(());
    })?;
    Ok((handle, ends))
}

/// The thread's work: the driver until it is stopped, then the store until it has finished.
async fn work(
    driver: SessionDriver,
    store: Box<dyn SessionStore>,
    orders: mpsc::Receiver<crate::StoreCommand>,
    link: NodeLink,
    stop: oneshot::Receiver<()>,
    audit: Option<SessionAuditLog>,
) {
    let name = store.name();
    let mut storing = tokio::spawn(store.run(orders, link));
    driver.run(stop).await;
    match tokio::time::timeout(STOP_TIME_MAX, &mut storing).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(store = name, %error, "the session store broke off"),
        Err(_) => tracing::error!(store = name, "the session store did not finish in time"),
    }
    if let Some(audit) = audit {
        audit.close().await;
    }
}

/// A node at work. When this is dropped the node stops as well, and nobody waits for its store.
#[derive(Debug)]
pub struct Running {
    stop: Option<oneshot::Sender<()>>,
    ends: oneshot::Receiver<()>,
}

impl Running {
    /// Stops the node, and waits until the store has finished what it has taken and the audit is written.
    pub async fn stop(mut self) {
        if let Some(stop) = self.stop.take() {
            // When the driver has ended there is nothing to stop.
            let _ = stop.send(());
        }
        // The same.
        let _ = self.ends.await;
    }
}
