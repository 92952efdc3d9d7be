//! The throttle for password logins: after some failures a user has to wait before the next attempt, longer each time.
//!
//! The counts are durward's own ([`LoginThrottle`]). What is an address there is an application here, by its certificate: that is proven, and an
//! address is not. So an attack on a user's password from one application does not lock the user out at their usual ones.
//! Logins beyond those that may be tried at once wait for what comes of the others.

use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher as _;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use durward_identity::Moment;
use durward_identity::login::{
    AttemptOutcome, CredentialKind, LoginAttempt, LoginThrottle, QueueTicket, ReadyTickets, RetryDelay,
    ThrottleDecision, ThrottleSettings,
};
use durward_identity::session::User;
use foldhash::quality::RandomState;
use opcua_types::StatusCode;
use tokio::sync::oneshot;

use crate::channel::Clock;
use crate::error::Error;

/// How long a login waits for others.
const WAITING_MAX: Duration = Duration::from_secs(30);

/// Where a login comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LoginOrigin<'a> {
    /// An application with this certificate (DER). Wrong passwords of all its users count for it.
    Application(&'a [u8]),
    /// A gate with this certificate, behind which are many applications: nobody is held up by the mistakes of others.
    Gate(&'a [u8]),
}

/// Counts wrong passwords of one server. It takes its memory (6 MiB) with the first login by password.
pub(crate) struct PasswordThrottle {
    clock: Clock,
    hasher: RandomState,
    queue: OnceLock<Mutex<LoginQueue>>,
}

struct LoginQueue {
    throttle: LoginThrottle,
    waiting: HashMap<QueueTicket, oneshot::Sender<LoginTurn>>,
}

type LoginTurn = Result<PasswordAttempt, RetryDelay>;

fn delayed(retry_after: Duration) -> Error {
    let seconds = retry_after.as_secs().max(1);
    Error::new(
        StatusCode::BadResourceUnavailable,
        format!("too many wrong passwords: the next one is looked at in {seconds} s"),
    )
}

fn crowded() -> Error {
    Error::new(StatusCode::BadResourceUnavailable, "too many logins are under way: ask again")
}

impl PasswordThrottle {
    pub(crate) fn new(clock: Clock) -> Arc<PasswordThrottle> {
        Arc::new(PasswordThrottle { clock, hasher: RandomState::default(), queue: OnceLock::new() })
    }

    fn queue(&self) -> MutexGuard<'_, LoginQueue> {
        let queue = self.queue.get_or_init(|| {
            let throttle = LoginThrottle::new(ThrottleSettings::default());
            Mutex::new(LoginQueue { throttle, waiting: HashMap::new() })
        });
        queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a user's password may be looked at.
    ///
    /// # Errors
    /// `BadResourceUnavailable`: not yet.
    pub(crate) async fn attempt(
        self: &Arc<PasswordThrottle>,
        name: &str,
        origin: LoginOrigin<'_>,
    ) -> Result<PasswordAttempt, Error> {
        // A name that durward has for nobody is nobody's, and all of them are one.
        let user = User::new("/", name).or_else(|_| User::new("/", "\u{1}")).map_err(|_| crowded())?;
        let (place, turn) = {
            let mut queue = self.queue();
            match queue.throttle.attempt(
                (self.clock)(),
                CredentialKind::Password,
                &user,
                self.address(origin, name),
            ) {
                ThrottleDecision::Go(attempt) => return Ok(self.guess(attempt)),
                ThrottleDecision::Delayed(RetryDelay { retry_after, .. }) => {
                    return Err(delayed(retry_after));
                }
                ThrottleDecision::Crowded => return Err(crowded()),
                ThrottleDecision::Wait(place) => {
                    let (sender, turn) = oneshot::channel();
                    queue.waiting.insert(place, sender);
                    (place, turn)
                }
            }
        };
        let _waiting = WaitingLogin { logins: self, place };
        match tokio::time::timeout(WAITING_MAX, turn).await {
            Ok(Ok(Ok(guess))) => Ok(guess),
            Ok(Ok(Err(RetryDelay { retry_after, .. }))) => Err(delayed(retry_after)),
            Ok(Err(_)) | Err(_) => Err(crowded()),
        }
    }

    fn guess(self: &Arc<PasswordThrottle>, attempt: LoginAttempt) -> PasswordAttempt {
        PasswordAttempt {
            logins: Arc::clone(self),
            attempt: Some(attempt),
            untold: AttemptOutcome::Undecided,
        }
    }

    /// What stands for an address: of IPv6, the first half counts. It is one that is no address of IPv4.
    fn address(&self, origin: LoginOrigin<'_>, name: &str) -> IpAddr {
        let bits = match origin {
            LoginOrigin::Application(certificate) => self.hasher.hash_one(certificate),
            LoginOrigin::Gate(certificate) => self.hasher.hash_one((certificate, name)),
        };
        IpAddr::V6(Ipv6Addr::from_bits(u128::from(bits | 1 << 63) << 64))
    }

    /// Changes something, and tells those whose turn it is after that.
    fn change(self: &Arc<PasswordThrottle>, change: impl FnOnce(&mut LoginQueue, Moment) -> ReadyTickets) {
        let told: Vec<_> = {
            let mut queue = self.queue();
            let turns = change(&mut queue, (self.clock)());
            let told = turns
                .into_iter()
                .map(|(place, turn)| (queue.waiting.remove(&place), turn.map(|attempt| self.guess(attempt))));
            told.collect()
        };
        // Without the lock: whoever has gone in this moment gives the turn on when it is dropped.
        for (sender, turn) in told {
            if let Some(sender) = sender {
                drop(sender.send(turn));
            }
        }
    }
}

/// A login that waits; it goes when this is dropped.
struct WaitingLogin<'a> {
    logins: &'a Arc<PasswordThrottle>,
    place: QueueTicket,
}

impl Drop for WaitingLogin<'_> {
    fn drop(&mut self) {
        self.logins.change(|queue, now| {
            queue.waiting.remove(&self.place);
            queue.throttle.leave(now, self.place)
        });
    }
}

/// The permit to check one password.
#[must_use = "a guess counts until it is told what came of it"]
pub(crate) struct PasswordAttempt {
    logins: Arc<PasswordThrottle>,
    attempt: Option<LoginAttempt>,
    /// What has come of it when it is dropped.
    untold: AttemptOutcome,
}

impl PasswordAttempt {
    /// The password is looked at now: whoever does not wait for the result has failed.
    pub(crate) fn begin(&mut self) {
        self.untold = AttemptOutcome::Failed;
    }

    /// What came of it.
    pub(crate) fn end<T>(mut self, result: &Result<T, StatusCode>) {
        self.untold = match result {
            Ok(_) => AttemptOutcome::Succeeded,
            Err(status) if is_wrong(*status) => AttemptOutcome::Failed,
            Err(_) => AttemptOutcome::Undecided,
        };
    }
}

/// Whether a status says that a password, a token or a signature was wrong, and not that nobody could say.
pub(super) fn is_wrong(status: StatusCode) -> bool {
    [
        StatusCode::BadUserAccessDenied,
        StatusCode::BadIdentityTokenRejected,
        StatusCode::BadIdentityTokenInvalid,
        StatusCode::BadUserSignatureInvalid,
        StatusCode::BadApplicationSignatureInvalid,
        StatusCode::BadSecurityChecksFailed,
    ]
    .contains(&status)
}

impl Drop for PasswordAttempt {
    fn drop(&mut self) {
        if let Some(attempt) = self.attempt.take() {
            let outcome = self.untold;
            self.logins.change(|queue, now| queue.throttle.end(now, attempt, outcome));
        }
    }
}

impl fmt::Debug for PasswordAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guess").field(&self.attempt).finish()
    }
}

impl fmt::Debug for PasswordThrottle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Logins")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_util::FutureExt as _;

    use super::*;

    const WRONG: Result<(), StatusCode> = Err(StatusCode::BadIdentityTokenRejected);

    fn logins() -> (Arc<PasswordThrottle>, Arc<AtomicU32>) {
        let seconds = Arc::new(AtomicU32::new(1_700_000_000));
        let clock = Arc::clone(&seconds);
        (PasswordThrottle::new(Arc::new(move || Moment::from_s(clock.load(Ordering::Relaxed)))), seconds)
    }

    fn tries(
        logins: &Arc<PasswordThrottle>,
        name: &str,
        origin: LoginOrigin<'_>,
        result: &Result<(), StatusCode>,
    ) -> bool {
        let guess = logins.attempt(name, origin).now_or_never().expect("nobody is before it");
        guess.map(|guess| guess.end(result)).is_ok()
    }

    fn wrong_ones(logins: &Arc<PasswordThrottle>, name: &str, origin: LoginOrigin<'_>) -> usize {
        (0..50).take_while(|_| tries(logins, name, origin, &WRONG)).count()
    }

    #[test]
    fn wrong_passwords_are_few_and_the_user_gets_in_where_they_usually_do() {
        let (logins, seconds) = logins();
        let (home, elsewhere) = (LoginOrigin::Application(b"home"), LoginOrigin::Application(b"elsewhere"));
        assert!(tries(&logins, "anna", home, &Ok(())));
        assert_eq!(wrong_ones(&logins, "anna", elsewhere), 4);
        assert!(!tries(&logins, "anna", elsewhere, &Ok(())), "the right one is not looked at either");
        assert!(tries(&logins, "anna", home, &Ok(())));
        seconds.fetch_add(2, Ordering::Relaxed);
        assert_eq!(wrong_ones(&logins, "anna", elsewhere), 1, "then one at a time");
        // Other users from there, until the application itself has to wait.
        let others: usize = (0..30).map(|n| wrong_ones(&logins, &format!("user {n}"), elsewhere)).sum();
        assert!((10..=20).contains(&others), "{others}");
        assert!(!tries(&logins, "bert", elsewhere, &Ok(())));
        assert!(tries(&logins, "bert", home, &Ok(())));
    }

    #[test]
    fn what_nobody_could_say_does_not_count() {
        let (logins, _) = logins();
        let origin = LoginOrigin::Application(b"home");
        for _ in 0..50 {
            assert!(tries(&logins, "anna", origin, &Err(StatusCode::BadResourceUnavailable)));
        }
        // A client that leaves before it hears the result has tried all the same.
        for _ in 0..4 {
            let mut guess = logins.attempt("anna", origin).now_or_never().unwrap().unwrap();
            guess.begin();
        }
        assert!(!tries(&logins, "anna", origin, &Ok(())));
    }

    #[test]
    fn behind_a_gate_users_do_not_hold_each_other_up() {
        let (logins, _) = logins();
        let gate = LoginOrigin::Gate(b"gate");
        for n in 0..50 {
            assert_eq!(wrong_ones(&logins, &format!("user {n}"), gate), 4);
        }
        assert!(tries(&logins, "anna", gate, &Ok(())));
    }

    #[tokio::test]
    async fn logins_beyond_those_that_may_be_tried_at_once_wait() {
        let (logins, _) = logins();
        let origin = LoginOrigin::Application(b"home");
        let go = || logins.attempt("anna", origin).now_or_never().unwrap().unwrap();
        let mut under_way: Vec<PasswordAttempt> = (0..4).map(|_| go()).collect();
        let mut fifth = Box::pin(logins.attempt("anna", origin));
        assert!(fifth.as_mut().now_or_never().is_none());
        under_way.remove(0).end(&Ok::<(), _>(()));
        assert!(fifth.now_or_never().unwrap().is_ok());
    }
}
