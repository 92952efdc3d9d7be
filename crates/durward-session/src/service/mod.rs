//! The service: what surfaces ask.

mod accounts;
mod administer;
mod code;
mod devices;
mod follow;
mod grants;
mod guesses;
mod holder;
mod listing;
mod login;
mod lost_steps;
mod names;
mod own_account;
mod own_passkeys;
mod passkey_login;
mod passkey_ticket;
mod password_change;
mod reset;
mod secrets;
mod standing;
mod turns;
mod upstream;

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durward_identity::Moment;
use durward_identity::audit::AuditEvent;
use durward_identity::protocol::{AskId, AskOutcome, Lack, Mode, NodeEvent, NodeHealth};
use durward_identity::session::{
    FreshnessProof, Level, Refusal, Scratch, Session, SessionClaims, SessionId, SessionTable,
    TOKEN_LENGTH_MAX, User, ValidationGate,
};
use durward_identity::user::{Account, UserStore};
use tokio::runtime::Handle;
use tokio::sync::{RwLock, mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::Clock;
use crate::audit::SessionAuditLog;
use crate::challenge::{Challenges, derive};
use crate::clocks::ClockReport;
use crate::counters::{Counter, Counters};
use crate::device::Devices;
use crate::directory::{DirectoryFault, UserDirectory};
use crate::driver::PendingAsk;
use crate::enrolment::Enrolments;
use crate::listeners::{Listeners, SessionNews};
use crate::outcome::{Failed, Granted, Who};
use crate::reset::ResetLinks;
use crate::seldom::Seldom;
use crate::settings::ServiceSettings;
use crate::users::UsersView;

/// How long a login waits for a node that is just starting.
const START_PATIENCE: Duration = Duration::from_secs(1);

pub(crate) use self::turns::AttemptQueue;

pub use accounts::{AccountPage, Accounts};
pub use durward_identity::session::Purpose;
pub use grants::TurnUse;
pub use login::{LoginRequest, Wanted};
pub use own_account::{AccountHolder, Enrolment};
pub use passkey_login::{AMR, PasskeyAnswer};
pub use passkey_ticket::PasskeyRequest;
pub use password_change::PasswordChoice;
pub use reset::{ResetAnswer, ResetForm};
pub use secrets::{SecretAttempt, SecretAttempts};
pub use upstream::UpstreamLogin;

/// The session service of a node. Cloning shares it; it may be used from any thread, within any runtime.
#[derive(Clone)]
pub struct Service(Arc<ServiceInner>);

struct ServiceInner {
    parts: ServiceParts,
    challenges: Challenges,
    upstream_challenges: Challenges,
    enrolments: Enrolments,
    devices: Devices,
    reset_links: ResetLinks,
    turns: AttemptQueue,
    asks: AtomicU64,
    /// Under which realm failures of a realm's users are counted, where that is not its own.
    counted_in: HashMap<Box<str>, Box<str>>,
    /// By realm: that its directory does not answer.
    unanswered: HashMap<Box<str>, Seldom>,
    /// The users that others may change.
    stores: Vec<Arc<dyn UserStore>>,
    /// Whether sessions whose users were changed while the node did not run have been ended. Until then each validation looks.
    is_swept: AtomicBool,
    due: Mutex<follow::PendingUserChanges>,
    /// Held for reading while a session begins, and for writing while changes of users are taken in.
    beginning: RwLock<()>,
}

/// What a service is made of.
pub(crate) struct ServiceParts {
    pub(crate) settings: ServiceSettings,
    pub(crate) sessions: Arc<SessionTable>,
    pub(crate) clock: Clock,
    pub(crate) secret: [u8; 32],
    pub(crate) realms: HashMap<Box<str>, Arc<dyn UserDirectory>>,
    /// Whether there may be other nodes, each with users of its own.
    pub(crate) is_shared: bool,
    /// What delays logins; the driver tells it what other nodes count.
    pub(crate) turns: AttemptQueue,
    /// How it stands with users that nodes share, where they do.
    pub(crate) users: Option<UsersView>,
    pub(crate) questions: mpsc::Sender<PendingAsk>,
    pub(crate) listeners: Arc<Listeners>,
    pub(crate) outlook: watch::Receiver<NodeHealth>,
    /// The store's, for as long as it cannot be used.
    pub(crate) complaint: watch::Receiver<Option<String>>,
    pub(crate) clocks: watch::Receiver<ClockReport>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) audit: Option<SessionAuditLog>,
    pub(crate) runtime: Handle,
}

impl Service {
    pub(crate) fn new(parts: ServiceParts) -> Service {
        let challenges = Challenges::new(&parts.secret);
        let upstream_challenges = Challenges::of_upstreams(&parts.secret);
        let enrolments = Enrolments::new(&parts.secret);
        let devices = Devices::new(&parts.secret, parts.settings.session.devices_max);
        let reset_links = ResetLinks::new(&parts.secret);
        let turns = parts.turns.clone();
        let stores = follow::stores_of(parts.realms.values());
        let counted_in = names::counted_in(&parts.realms);
        let unanswered = parts.realms.keys().map(|realm| (realm.clone(), Seldom::default())).collect();
        let (asks, due, beginning) = (AtomicU64::new(0), Mutex::default(), RwLock::new(()));
        let is_swept = AtomicBool::new(stores.is_empty());
        let (runtime, is_shared) = (parts.runtime.clone(), parts.is_shared);
        let inner = ServiceInner {
            parts,
            challenges,
            upstream_challenges,
            enrolments,
            devices,
            reset_links,
            turns,
            asks,
            counted_in,
            unanswered,
            stores,
            is_swept,
            due,
            beginning,
        };
        let service = Service(Arc::new(inner));
        // It ends with the runtime, or with the last of those who have the service.
        runtime.spawn(follow::keep(Arc::downgrade(&service.0)));
        if is_shared {
            runtime.spawn(guesses::tell(Arc::downgrade(&service.0), service.0.turns.clone()));
        }
        service
    }

    /// How the node works.
    pub fn settings(&self) -> &ServiceSettings {
        &self.0.parts.settings
    }

    /// What is promised.
    pub fn mode(&self) -> Mode {
        self.0.parts.settings.node.mode
    }

    /// What is counted.
    pub fn counters(&self) -> &Counters {
        &self.0.parts.counters
    }

    /// How many sessions are known.
    pub fn live_count(&self) -> usize {
        self.0.parts.sessions.live_count()
    }

    /// How many revocations are remembered.
    pub fn revoked_count(&self) -> usize {
        self.0.parts.sessions.revoked_count()
    }

    /// How many logins wait for their password to be looked at, and how many are being looked at.
    pub fn login_load(&self) -> (usize, usize) {
        let loads = self.0.parts.realms.values().map(|users| users.load());
        loads.fold((0, 0), |(waiting, running), load| (waiting + load.0, running + load.1))
    }

    /// How many logins wait for what comes of others of the same user, or from the same address.
    pub fn logins_held(&self) -> usize {
        self.0.turns.waiting()
    }

    /// The names of the realms, in order.
    pub fn realms(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.0.parts.realms.keys().map(|name| &**name).collect();
        names.sort_unstable();
        names
    }

    /// What the node can promise at the moment, for its health.
    pub fn outlook(&self) -> NodeHealth {
        let mut outlook = *self.0.parts.outlook.borrow();
        outlook.lack = outlook.lack.or_else(|| self.lacks_users());
        outlook
    }

    /// What keeps the node from knowing its users as the others do.
    fn lacks_users(&self) -> Option<Lack> {
        self.0.parts.users.as_ref().and_then(UsersView::lack)
    }

    /// Why the store cannot be used at the moment, in the operator's words; `None` when it can, or does not say.
    pub fn store_complaint(&self) -> Option<String> {
        let complaint = self.0.parts.complaint.borrow().clone();
        complaint.or_else(|| self.0.parts.users.as_ref().and_then(UsersView::complaint))
    }

    /// How this node's clock compares with those of others, as far as its store can say. A node whose clock is
    /// [wrong](crate::ClockStanding::Wrong) goes on, and should get no requests: others refuse its tokens, and it accepts sessions beyond
    /// their end.
    pub fn clocks(&self) -> ClockReport {
        self.0.parts.clocks.borrow().clone()
    }

    /// Waits until the node lacks nothing and can give sessions. `false` when it has stopped.
    pub async fn ready(&self) -> bool {
        let mut outlook = self.0.parts.outlook.clone();
        let is_ready = outlook.wait_for(|outlook| outlook.lack.is_none()).await.is_ok();
        match &self.0.parts.users {
            Some(users) => is_ready && users.are_current().await,
            None => is_ready,
        }
    }

    /// Waits while a node that has just started has no store or no key yet, for [`START_PATIENCE`] at most: who logs in right
    /// after a start need not try again.
    async fn has_started(&self) {
        let mut outlook = self.0.parts.outlook.clone();
        let started = async {
            let started = |outlook: &NodeHealth| !matches!(outlook.lack, Some(Lack::Starting | Lack::Key));
            if outlook.wait_for(started).await.is_ok()
                && let Some(users) = &self.0.parts.users
            {
                users.are_current().await;
            }
        };
        // What is still lacking then is the answer to the login.
        let _ = timeout(START_PATIENCE, started).await;
    }

    /// Hears from now on when a session ends before its time, on any node. What ends of itself (its time, lying unused) is not told, and
    /// neither is what was there before: look at the session once more after this.
    pub fn news_of(&self, who: &Who) -> SessionNews {
        self.0.parts.listeners.listen(who)
    }

    /// A key for a purpose of a surface's own, made of the cluster's secret: the same on all nodes, different for each purpose.
    pub fn derive_key(&self, purpose: &str) -> [u8; 32] {
        derive(&self.0.parts.secret, &format!("surface {purpose}"))
    }

    /// The time, by the service's clock.
    #[inline]
    pub fn now(&self) -> Moment {
        (self.0.parts.clock)()
    }

    /// Whether a token's session lives, on the caller's thread and without waiting or allocating: the hot path. In the mode
    /// `assured-read` the answer is always [`Refusal::Unavailable`]: ask [`Service::asks_store`] first, and if it does,
    /// [`Service::permit`], then [`Service::validate_with`].
    ///
    /// # Errors
    /// The token is refused: whoever presented it is to be told no more than that, save [`Refusal::Unavailable`].
    // A validation may come with every request, a login comes seldom: `release` does not optimise this crate. This, the other ways to
    // validate and what they call here are `inline`, and so compiled, and optimised, in the crate that calls them; so is what
    // `session_here` asks of users that are in memory, and what counts.
    #[inline]
    pub fn validate_now<'b>(
        &self,
        token: &str,
        purpose: Purpose,
        scratch: &'b mut Scratch,
    ) -> Result<SessionClaims<'b>, Refusal> {
        let sessions = &self.0.parts.sessions;
        let result = match purpose {
            Purpose::Use => sessions.validate(self.now(), token, scratch),
            Purpose::Look => sessions.look(self.now(), token, scratch, None),
        };
        self.counted(result)
    }

    /// Whether a validation must have a permit: in the mode `assured-read`.
    #[inline]
    pub fn asks_store(&self) -> bool {
        self.0.parts.sessions.gate() == ValidationGate::Asking
    }

    /// The same for tokens of any length, where nothing but the token and what this node knows is needed; `None` where the mode asks the store,
    /// or the node does not know enough, and then nothing was counted.
    ///
    /// # Errors
    /// Within: the token is refused, also with [`Refusal::Unavailable`] where the node comes to know too little at that moment.
    #[inline]
    pub fn validate_here<'b>(
        &self,
        token: &str,
        purpose: Purpose,
        scratch: &'b mut Scratch,
    ) -> Option<Result<SessionClaims<'b>, Refusal>> {
        if self.0.parts.sessions.gate() != ValidationGate::Open {
            return None;
        }
        Some(self.has_length(token).and_then(|()| self.validate_now(token, purpose, scratch)))
    }

    /// What validating needs besides the token: a permit where the mode asks the store for each. What is no token by its length is
    /// refused before.
    ///
    /// # Errors
    /// [`Refusal::Malformed`], and as [`Service::permit`].
    pub async fn fresh(&self, token: &str) -> Result<Option<FreshnessProof>, Refusal> {
        self.has_length(token)?;
        if self.asks_store() { self.permit().await.map(Some) } else { Ok(None) }
    }

    /// Refuses what is no token by its length.
    #[inline]
    fn has_length(&self, token: &str) -> Result<(), Refusal> {
        if is_of_length(token) {
            return Ok(());
        }
        self.count(Counter::ValidationRefused);
        Err(Refusal::Malformed)
    }

    /// Waits until this node knows everything that was acknowledged before. Those who wait at the same time share one question to the
    /// store.
    ///
    /// # Errors
    /// [`Refusal::Unavailable`]: the store does not answer, or the node has stopped.
    pub async fn permit(&self) -> Result<FreshnessProof, Refusal> {
        match self.ask(|ask| NodeEvent::Validate { ask }).await {
            Some(AskOutcome::Permit(permit)) => Ok(permit),
            Some(
                AskOutcome::Token { .. }
                | AskOutcome::Done
                | AskOutcome::NoSession
                | AskOutcome::Used
                | AskOutcome::Forgotten
                | AskOutcome::Full(_)
                | AskOutcome::Unavailable(_)
                | AskOutcome::Unknown,
            )
            | None => {
                self.count(Counter::ValidationUnavailable);
                Err(Refusal::Unavailable)
            }
        }
    }

    /// As [`Service::validate_now`], with a permit.
    ///
    /// # Errors
    /// The token is refused.
    #[inline]
    pub fn validate_with<'b>(
        &self,
        permit: FreshnessProof,
        token: &str,
        purpose: Purpose,
        scratch: &'b mut Scratch,
    ) -> Result<SessionClaims<'b>, Refusal> {
        let sessions = &self.0.parts.sessions;
        let result = match purpose {
            Purpose::Use => sessions.validate_fresh(self.now(), token, scratch, permit),
            Purpose::Look => sessions.look(self.now(), token, scratch, Some(permit)),
        };
        self.counted(result)
    }

    /// Whose session a token is, in every mode: waits only where the mode asks for it. What is longer than a token is refused
    /// before anything is waited for.
    ///
    /// # Errors
    /// The token is refused.
    pub async fn validate(&self, token: &str, purpose: Purpose) -> Result<Who, Refusal> {
        let permit = self.fresh(token).await?;
        let mut scratch = Scratch::new();
        let claims = match permit {
            Some(permit) => self.validate_with(permit, token, purpose, &mut scratch),
            None => self.validate_now(token, purpose, &mut scratch),
        };
        claims.and_then(|claims| Who::of(&claims))
    }

    #[inline]
    fn counted<'b>(&self, result: Result<SessionClaims<'b>, Refusal>) -> Result<SessionClaims<'b>, Refusal> {
        let result = result.and_then(|claims| self.unless_due(claims));
        self.count(match &result {
            Ok(_) => Counter::Validated,
            Err(Refusal::Unavailable) => Counter::ValidationUnavailable,
            Err(
                Refusal::Malformed
                | Refusal::UnknownKey
                | Refusal::Forged
                | Refusal::Future
                | Refusal::Expired
                | Refusal::Idle
                | Refusal::Revoked,
            ) => Counter::ValidationRefused,
        });
        result
    }

    /// What is known of a user. `None` where there is no such user.
    ///
    /// # Errors
    /// There is no such realm, or its directory cannot say.
    pub async fn account(&self, user: &User) -> Result<Option<Account>, Failed> {
        Ok(self.shared_account(user).await?.map(Arc::unwrap_or_clone))
    }

    /// The same, shared with the directory where it can be: for those who only look.
    ///
    /// # Errors
    /// As [`Service::account`].
    pub async fn shared_account(&self, user: &User) -> Result<Option<Arc<Account>>, Failed> {
        let users = self.parts().realms.get(user.realm()).ok_or(Failed::UnknownRealm)?;
        // A task of its own costs more than all else that is asked about a session.
        if let Some(found) = users.account_at_hand(user) {
            return found.map_err(failed);
        }
        let (users, user) = (Arc::clone(users), user.clone());
        let answer = self.0.parts.runtime.spawn(async move { users.account(&user).await });
        match answer.await {
            Ok(found) => Ok(found.map_err(failed)?.map(Arc::new)),
            Err(_) => Err(Failed::Unavailable(Lack::Store)),
        }
    }

    /// The account of a user who may still log in: `None` where they were removed or disabled. Directories outside do not tell of that, so
    /// whoever acts for a session asks.
    ///
    /// # Errors
    /// As [`Service::account`].
    pub async fn active_account(&self, user: &User) -> Result<Option<Account>, Failed> {
        Ok(self.account(user).await?.filter(|account| !account.disabled))
    }

    fn parts(&self) -> &ServiceParts {
        &self.0.parts
    }

    fn users(&self, realm: &str) -> Option<Arc<dyn UserDirectory>> {
        self.0.parts.realms.get(realm).cloned()
    }

    /// What is known of a session, if it is there.
    #[inline]
    fn known(&self, who: &Who) -> Result<Session, Failed> {
        self.0.parts.sessions.get(&who.user, who.id).ok_or(Failed::NoSession)
    }

    /// Puts a question to the driver. `None` when the node has stopped.
    async fn ask(&self, event: impl FnOnce(AskId) -> NodeEvent) -> Option<AskOutcome> {
        let ask = AskId(self.0.asks.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = oneshot::channel();
        self.0.parts.questions.send(PendingAsk { ask, event: event(ask), answer: sender }).await.ok()?;
        receiver.await.ok()
    }

    /// Has something done. Whether it was, as surely as the mode promises.
    async fn done(&self, event: impl FnOnce(AskId) -> NodeEvent) -> Result<(), Failed> {
        match self.ask(event).await {
            Some(AskOutcome::Done | AskOutcome::Token { .. } | AskOutcome::Permit(_)) => Ok(()),
            Some(AskOutcome::NoSession) => Err(Failed::NoSession),
            Some(AskOutcome::Unavailable(lack)) => Err(Failed::Unavailable(lack)),
            Some(AskOutcome::Used | AskOutcome::Forgotten) => Err(Failed::Code),
            Some(AskOutcome::Full(_) | AskOutcome::Unknown) => Err(Failed::Unknown),
            None => Err(Failed::Unavailable(Lack::Store)),
        }
    }

    /// Has a token made for a session that is there, of the level of the one that was shown, or of the one that it is raised to.
    async fn retoken(
        &self,
        who: &Who,
        raised: Level,
        event: impl FnOnce(AskId) -> NodeEvent,
    ) -> Result<Granted, Failed> {
        let token = match self.ask(event).await {
            Some(AskOutcome::Token { token, .. }) => token,
            Some(AskOutcome::Unavailable(lack)) => return Err(Failed::Unavailable(lack)),
            Some(AskOutcome::Unknown | AskOutcome::Full(_)) => return Err(Failed::Unknown),
            Some(
                AskOutcome::NoSession
                | AskOutcome::Used
                | AskOutcome::Forgotten
                | AskOutcome::Done
                | AskOutcome::Permit(_),
            ) => {
                return Err(Failed::NoSession);
            }
            None => return Err(Failed::Unavailable(Lack::Store)),
        };
        let session = self.known(who)?;
        let Session { id, ends, idle, level, .. } = session;
        let level = level.min(who.level).max(raised);
        Ok(Granted { token, id, user: who.user.clone(), level, ends, idle, device: None })
    }

    #[inline]
    fn count(&self, counter: Counter) {
        self.0.parts.counters.count(counter);
    }

    async fn record(&self, event: AuditEvent) {
        if let Some(audit) = &self.0.parts.audit {
            audit.record(self.now(), event).await;
        }
    }

    /// Records a request that was rejected before its credentials were checked. Many such requests become few lines.
    async fn record_turned_away(&self, address: IpAddr, event: AuditEvent) {
        if let Some(audit) = &self.0.parts.audit {
            let event = event.address(&address.to_string());
            audit.record_turned_away(self.now(), address, event).await;
        }
    }

    /// Notes an event of a surface's own in the audit, a token issued for instance.
    pub async fn audit(&self, event: AuditEvent) {
        self.record(event).await;
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("mode", &self.mode())
            .field("sessions", &self.0.parts.sessions)
            .finish_non_exhaustive()
    }
}

fn failed(fault: DirectoryFault) -> Failed {
    match fault {
        DirectoryFault::Busy { retry_after } => Failed::Delayed { retry_after },
        DirectoryFault::Failed(error) => Failed::Directory(error),
    }
}

fn from(event: AuditEvent, address: Option<IpAddr>) -> AuditEvent {
    match address {
        Some(address) => event.address(&address.to_string()),
        None => event,
    }
}

/// Names a session in text that came from outside.
pub(crate) fn of_session(event: AuditEvent, user: &User, id: SessionId) -> AuditEvent {
    event.of(user).session(id)
}

/// Whether a text is as long as a token can be.
#[inline]
fn is_of_length(token: &str) -> bool {
    (1..=TOKEN_LENGTH_MAX).contains(&token.len())
}
