//! The sessions of a server, found by their authentication tokens.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak,
};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::AbortHandle;
use opcua_types::StatusCode;
use tokio::time::Instant;

use super::server::{ServerCore, ServerLimits};
use super::service::{CloseReason, SessionHandler, SessionInfo};
use crate::crypto::Nonce;
use crate::error::Error;

/// The first delay after too many wrong proofs, and the longest.
const ACTIVATION_DELAY: Duration = Duration::from_secs(1);
const ACTIVATION_DELAY_MAX: Duration = Duration::from_secs(60);

/// An authentication token: random, and nobody but its client and this server knows it.
pub(super) type AuthenticationToken = [u8; 32];

/// A session that was activated: has a user and the service's own state.
pub struct ActiveSession<S: SessionHandler> {
    info: SessionInfo,
    user: ArcSwap<S::User>,
    state: S::State,
    token: AuthenticationToken,
    server: Weak<ServerCore<S>>,
}

impl<S: SessionHandler> ActiveSession<S> {
    /// What does not change about the session.
    pub fn info(&self) -> &SessionInfo {
        &self.info
    }

    /// The user now.
    pub fn user(&self) -> Arc<S::User> {
        self.user.load_full()
    }

    /// What the service keeps for the session.
    pub fn state(&self) -> &S::State {
        &self.state
    }

    /// Ends the session: requests that are under way are answered with `BadSessionClosed`, later ones with `BadSessionIdInvalid`.
    pub fn close(&self) {
        if let Some(server) = self.server.upgrade() {
            server.close_session(&self.token, CloseReason::Service);
        }
    }

    /// Ends the session, and the channel that it is on now.
    pub fn close_with_channel(&self) {
        if let Some(server) = self.server.upgrade() {
            let channel = server.sessions.get(&self.token).map(|entry| entry.channel());
            server.close_session(&self.token, CloseReason::Service);
            if let Some(channel) = channel {
                server.close_channel(channel);
            }
        }
    }
}

impl<S: SessionHandler> fmt::Debug for ActiveSession<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActiveSession").field("info", &self.info).finish_non_exhaustive()
    }
}

/// A session, activated or not.
pub(super) struct SessionEntry<S: SessionHandler> {
    pub(super) info: SessionInfo,
    pub(super) token: AuthenticationToken,
    /// Room is kept for the client's sessions.
    preferred: bool,
    created: Instant,
    /// The channel that requests must come on.
    channel: AtomicU32,
    /// When the last request came, in milliseconds after `created`.
    last_seen_ms: AtomicU64,
    closed: AtomicBool,
    /// Activations that are being verified.
    activating: AtomicU32,
    proofs: Mutex<ActivationProofs>,
    active: OnceLock<Arc<ActiveSession<S>>>,
    pending: Mutex<PendingRequests>,
}

/// What an activation is checked against, and changes.
struct ActivationProofs {
    nonce: Nonce,
    /// Counts the nonces.
    number: u32,
    failures: u32,
    /// Of these, those whose proofs were wrong, and when the last of them was.
    wrong: u32,
    wrong_at: Instant,
}

/// Requests that are under way.
#[derive(Default)]
struct PendingRequests {
    next: u64,
    /// By a number of ours: the client's handle, and what stops it.
    requests: HashMap<u64, (u32, AbortHandle)>,
}

/// What an activation brought.
pub(super) struct ActivationOutcome<S: SessionHandler> {
    pub(super) user: Arc<S::User>,
    /// Made at the first activation.
    pub(super) state: Option<S::State>,
    pub(super) channel: u32,
    /// The nonce that was signed.
    pub(super) nonce: Nonce,
    pub(super) next_nonce: Nonce,
}

/// An activation under way.
pub(super) struct Activating<'a>(&'a AtomicU32);

impl Drop for Activating<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl<S: SessionHandler> SessionEntry<S> {
    pub(super) fn new(
        info: SessionInfo,
        token: AuthenticationToken,
        channel: u32,
        nonce: Nonce,
        preferred: bool,
    ) -> SessionEntry<S> {
        SessionEntry {
            info,
            token,
            preferred,
            created: Instant::now(),
            channel: AtomicU32::new(channel),
            last_seen_ms: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            activating: AtomicU32::new(0),
            proofs: Mutex::new(ActivationProofs {
                nonce,
                number: 0,
                failures: 0,
                wrong: 0,
                wrong_at: Instant::now(),
            }),
            active: OnceLock::new(),
            pending: Mutex::default(),
        }
    }

    fn proofs(&self) -> MutexGuard<'_, ActivationProofs> {
        self.proofs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pending(&self) -> MutexGuard<'_, PendingRequests> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_of_same_client(&self, other: &SessionEntry<S>) -> bool {
        self.info.client.certificate.der() == other.info.client.certificate.der()
    }

    /// The nonce that the next activation must sign, and its number.
    pub(super) fn nonce(&self) -> (Nonce, u32) {
        let proofs = self.proofs();
        (proofs.nonce, proofs.number)
    }

    /// The channel that the session is on.
    pub(super) fn channel(&self) -> u32 {
        self.channel.load(Ordering::Acquire)
    }

    /// The session with its user, once it was activated.
    pub(super) fn active(&self) -> Option<&Arc<ActiveSession<S>>> {
        self.active.get()
    }

    /// A request came.
    pub(super) fn touch(&self) {
        let since = self.created.elapsed().as_millis();
        self.last_seen_ms.store(u64::try_from(since).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// A turn to verify an activation, given back when it is dropped; `None` when as many are under way as may be.
    pub(super) fn begin_activation(&self, most: u32) -> Option<Activating<'_>> {
        let turn = Activating(&self.activating);
        (self.activating.fetch_add(1, Ordering::AcqRel) < most).then_some(turn)
    }

    /// How long a session that is active has to wait until it may be activated again: not at all until so many wrong proofs, then a second,
    /// and twice as long after each further one, up to a minute.
    pub(super) fn activation_delay(&self, wrong_max: u32) -> Option<Duration> {
        self.active.get()?;
        let proofs = self.proofs();
        let doublings = proofs.wrong.checked_sub(wrong_max)?.min(6);
        let delay = ACTIVATION_DELAY.saturating_mul(1 << doublings).min(ACTIVATION_DELAY_MAX);
        delay.checked_sub(proofs.wrong_at.elapsed()).filter(|delay| !delay.is_zero())
    }

    /// Counts an activation that failed, because of a wrong proof or for another reason; how many did.
    pub(super) fn failed(&self, wrong: bool) -> u32 {
        let mut proofs = self.proofs();
        if wrong {
            proofs.wrong = proofs.wrong.saturating_add(1);
            proofs.wrong_at = Instant::now();
        }
        proofs.failures = proofs.failures.saturating_add(1);
        proofs.failures
    }

    /// The one swap: new nonce, new user, new channel, all or nothing. Of two activations that signed the same nonce only the first
    /// gets here with it.
    ///
    /// # Errors
    /// `BadNonceInvalid` when another activation came first, `BadSessionClosed` when the session ended meanwhile.
    pub(super) fn commit(
        &self,
        activated: ActivationOutcome<S>,
        server: Weak<ServerCore<S>>,
    ) -> Result<bool, Error> {
        let mut proofs = self.proofs();
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(StatusCode::BadSessionClosed, "the session ended during its activation"));
        }
        if proofs.nonce != activated.nonce {
            return Err(Error::new(StatusCode::BadNonceInvalid, "another activation used the nonce first"));
        }
        let first = match (self.active.get(), activated.state) {
            (Some(active), _) => {
                active.user.store(activated.user);
                false
            }
            (None, Some(state)) => {
                let active = ActiveSession {
                    info: self.info.clone(),
                    user: ArcSwap::new(activated.user),
                    state,
                    token: self.token,
                    server,
                };
                self.active.set(Arc::new(active)).is_ok()
            }
            (None, None) => {
                return Err(Error::new(StatusCode::BadInternalError, "a first activation made no state"));
            }
        };
        (proofs.nonce, proofs.number) = (activated.next_nonce, proofs.number.wrapping_add(1));
        (proofs.failures, proofs.wrong) = (0, 0);
        self.channel.store(activated.channel, Ordering::Release);
        Ok(first)
    }

    /// Remembers a request that is under way. `None` when the session ended already.
    pub(super) fn register(&self, handle: u32, abort: AbortHandle) -> Option<u64> {
        let mut pending = self.pending();
        if self.closed.load(Ordering::Acquire) {
            return None;
        }
        pending.next += 1;
        let number = pending.next;
        pending.requests.insert(number, (handle, abort));
        Some(number)
    }

    /// Forgets a request that is done.
    pub(super) fn unregister(&self, number: u64) {
        self.pending().requests.remove(&number);
    }

    /// Stops requests with this handle: how many there were.
    pub(super) fn cancel(&self, handle: u32) -> u32 {
        let mut count = 0;
        self.pending().requests.retain(|_, (known, abort)| {
            if *known == handle {
                abort.abort();
                count += 1;
            }
            *known != handle
        });
        count
    }

    /// Whether the session ended.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Marks the session as ended and stops what is under way; true for the one who did it.
    fn end(&self) -> bool {
        let first = {
            let _proofs = self.proofs();
            !self.closed.swap(true, Ordering::AcqRel)
        };
        for (_, (_, abort)) in self.pending().requests.drain() {
            abort.abort();
        }
        first
    }

    fn is_overdue(&self, limits: &ServerLimits) -> bool {
        let age = self.created.elapsed();
        let idle = age.saturating_sub(Duration::from_millis(self.last_seen_ms.load(Ordering::Relaxed)));
        let never = self.active.get().is_none() && age > limits.unactivated_max;
        never || idle > Duration::from_millis(self.info.timeout_ms)
    }
}

fn too_many(reason: &'static str) -> Error {
    Error::new(StatusCode::BadTooManySessions, reason)
}

/// Ends the oldest of these sessions that was never activated; nothing where there is none.
fn evict<S: SessionHandler>(
    by_token: &mut HashMap<AuthenticationToken, Arc<SessionEntry<S>>>,
    may_go: impl Fn(&SessionEntry<S>) -> bool,
) -> Option<()> {
    let unactivated = by_token.values().filter(|entry| entry.active().is_none() && may_go(entry));
    let oldest = unactivated.min_by_key(|entry| entry.created).map(|entry| entry.token)?;
    by_token.remove(&oldest)?.end();
    Some(())
}

/// All sessions.
pub(super) struct SessionStore<S: SessionHandler> {
    by_token: RwLock<HashMap<AuthenticationToken, Arc<SessionEntry<S>>>>,
    next_number: AtomicU64,
}

impl<S: SessionHandler> SessionStore<S> {
    pub(super) fn new() -> SessionStore<S> {
        SessionStore { by_token: RwLock::default(), next_number: AtomicU64::new(1) }
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<AuthenticationToken, Arc<SessionEntry<S>>>> {
        self.by_token.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<AuthenticationToken, Arc<SessionEntry<S>>>> {
        self.by_token.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that no session had.
    pub(super) fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds one, within the limits. When there are too many, the oldest that was never activated goes (Part 4, 5.7.2), but those of preferred
    /// clients not for others.
    ///
    /// # Errors
    /// `BadTooManySessions`.
    pub(super) fn insert(&self, entry: Arc<SessionEntry<S>>, limits: &ServerLimits) -> Result<(), Error> {
        let mut by_token = self.write();
        let on_channel = by_token.values().filter(|other| other.channel() == entry.channel()).count();
        if on_channel >= limits.sessions_per_channel_max {
            return Err(Error::new(
                StatusCode::BadTooManySessions,
                "the channel has as many sessions as one may have",
            ));
        }
        let (all_max, client_max) = limits.sessions_of(entry.preferred);
        let own = by_token.values().filter(|other| other.is_of_same_client(&entry)).count();
        if own >= client_max {
            evict(&mut by_token, |other| other.is_of_same_client(&entry))
                .ok_or_else(|| too_many("the client has as many sessions as one may have"))?;
        }
        if by_token.len() >= all_max {
            evict(&mut by_token, |other| entry.preferred || !other.preferred)
                .ok_or_else(|| too_many("the server has as many sessions as it may have"))?;
        }
        by_token.insert(entry.token, entry);
        Ok(())
    }

    pub(super) fn get(&self, token: &[u8]) -> Option<Arc<SessionEntry<S>>> {
        let token = AuthenticationToken::try_from(token).ok()?;
        self.read().get(&token).cloned()
    }

    /// Takes one out and ends it; `None` when it ended already.
    pub(super) fn remove(&self, token: &AuthenticationToken) -> Option<Arc<SessionEntry<S>>> {
        let entry = self.write().remove(token)?;
        entry.end().then_some(entry)
    }

    pub(super) fn len(&self) -> usize {
        self.read().len()
    }

    /// Tokens of sessions whose time is over.
    pub(super) fn overdue(&self, limits: &ServerLimits) -> Vec<AuthenticationToken> {
        self.read().values().filter(|entry| entry.is_overdue(limits)).map(|entry| entry.token).collect()
    }

    /// Whether there are sessions on a channel, and whether one of them is activated.
    pub(super) fn on_channel(&self, channel: u32) -> (bool, bool) {
        let entries = self.read();
        let mut on_channel = entries.values().filter(|entry| entry.channel() == channel).peekable();
        (on_channel.peek().is_some(), on_channel.any(|entry| entry.active().is_some()))
    }

    /// Tokens of sessions on a channel that were never activated: nobody can activate them any more when it ends.
    pub(super) fn unactivated_on(&self, channel: u32) -> Vec<AuthenticationToken> {
        let entries = self.read();
        let orphans = entries.values().filter(|entry| entry.channel() == channel && entry.active().is_none());
        orphans.map(|entry| entry.token).collect()
    }

    pub(super) fn all(&self) -> Vec<AuthenticationToken> {
        self.read().keys().copied().collect()
    }
}
