//! The login attempt queue: the throttle, and logins that wait for the outcome of other attempts.
//!
//! A login that waits has no attempt under way, and no lock is held while it waits. Beside those in the throttle's lines, some wait for the
//! end of a delay: who comes from addresses that are new to the user, and has the next turn. They need not come again for it, and few are like them.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use durward_identity::Moment;
use durward_identity::login::{
    AttemptOutcome, CredentialKind, DeviceId, GuessNews, LoginAttempt, LoginThrottle, QueueTicket,
    RetryDelay, ThrottleDecision, ThrottleSettings,
};
use durward_identity::session::User;
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::Clock;

/// When to come again, for those who have waited for so long or found the line full.
const COME_AGAIN: Duration = Duration::from_secs(1);

/// How many may wait for the end of a delay: each keeps its request, some KiB.
const HELD_FOR_TURN_MAX: usize = 1024;

/// Why an attempt is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptRejected {
    /// Too many failures.
    Delayed { retry_after: Duration },
    /// Too many undecided attempts.
    Crowded { retry_after: Duration },
}

/// Tells when the client disconnects, where the surface notices it before it answers: its sender is dropped then. A login under way still runs
/// to its end, but a queued one leaves the queue.
pub(super) type ClientGone = oneshot::Receiver<()>;

/// Who tries to log in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claimant<'a> {
    pub(super) proof: CredentialKind,
    pub(super) user: &'a User,
    pub(super) address: IpAddr,
    /// The device whose proof was shown and was good for this user and this kind of credential.
    pub(super) device: Option<DeviceId>,
}

/// The throttle and who waits. Cloning shares them.
#[derive(Clone)]
pub(crate) struct AttemptQueue(Arc<AttemptQueueInner>);

struct AttemptQueueInner {
    clock: Clock,
    held_max: Duration,
    queue: Mutex<WaitingAttempts>,
    /// Places for those who wait for the end of a delay.
    held: Semaphore,
    /// Rings when there is something to tell to other nodes.
    news: Notify,
}

struct WaitingAttempts {
    throttle: LoginThrottle,
    waiting: HashMap<QueueTicket, oneshot::Sender<AttemptTurn>>,
}

type AttemptTurn = Result<AttemptPermit, RetryDelay>;

impl AttemptQueue {
    /// Nobody is there yet, and nobody waits for longer than this.
    pub(crate) fn new(settings: ThrottleSettings, held_max: Duration, clock: Clock) -> AttemptQueue {
        AttemptQueue::with(LoginThrottle::new(settings), held_max, clock)
    }

    /// The same for a node that shares what it counts with others, which have the same secret.
    pub(crate) fn shared(
        settings: ThrottleSettings,
        held_max: Duration,
        clock: Clock,
        secret: &[u8; 32],
    ) -> AttemptQueue {
        AttemptQueue::with(LoginThrottle::shared(settings, secret), held_max, clock)
    }

    fn with(throttle: LoginThrottle, held_max: Duration, clock: Clock) -> AttemptQueue {
        let queue = Mutex::new(WaitingAttempts { throttle, waiting: HashMap::new() });
        let (held, news) = (Semaphore::new(HELD_FOR_TURN_MAX), Notify::new());
        AttemptQueue(Arc::new(AttemptQueueInner { clock, held_max, queue, held, news }))
    }

    /// Waits until somebody may try, or has gone.
    ///
    /// # Errors
    /// The attempt is not allowed.
    pub(super) async fn attempt(
        &self,
        claimant: Claimant<'_>,
        gone: &mut ClientGone,
    ) -> Result<AttemptPermit, AttemptRejected> {
        let deadline = Instant::now() + self.0.held_max;
        let mut held = None;
        loop {
            let delay = match self.turn(claimant, deadline, gone).await? {
                Ok(guess) => return Ok(guess.begun()),
                Err(delay) => delay,
            };
            let RetryDelay { retry_after, is_next } = delay;
            // A moment late rather than early: the clock is another one.
            let over = Instant::now() + retry_after + Duration::from_millis(10);
            if is_next && over <= deadline {
                held = held.or_else(|| self.0.held.try_acquire().ok());
            }
            if !is_next || over > deadline || held.is_none() {
                return Err(AttemptRejected::Delayed { retry_after });
            }
            tokio::select! {
                () = sleep_until(over) => {}
                _ = &mut *gone => return Err(AttemptRejected::Crowded { retry_after: COME_AGAIN }),
            }
        }
    }

    /// One turn, after those who stand in line: a permit, or the delay that begins.
    async fn turn(
        &self,
        claimant: Claimant<'_>,
        deadline: Instant,
        gone: &mut ClientGone,
    ) -> Result<AttemptTurn, AttemptRejected> {
        let (place, turn) = match self.arrive(claimant)? {
            ArrivedAttempt::Turn(turn) => return Ok(turn),
            ArrivedAttempt::Wait(place, turn) => (place, turn),
        };
        let _waiting = WaitingAttempt { turns: self, place };
        let told = tokio::select! {
            told = timeout_at(deadline, turn) => told,
            _ = gone => return Err(AttemptRejected::Crowded { retry_after: COME_AGAIN }),
        };
        match told {
            Ok(Ok(turn)) => Ok(turn),
            // Each place is given a turn, so the sender is not dropped before.
            Ok(Err(_)) | Err(_) => Err(AttemptRejected::Crowded { retry_after: COME_AGAIN }),
        }
    }

    fn arrive(&self, claimant: Claimant<'_>) -> Result<ArrivedAttempt, AttemptRejected> {
        let Claimant { proof, user, address, device } = claimant;
        let mut queue = self.lock();
        match queue.throttle.attempt_on(self.now(), proof, user, address, device) {
            ThrottleDecision::Go(attempt) => Ok(ArrivedAttempt::Turn(Ok(self.guess(attempt)))),
            ThrottleDecision::Wait(place) => {
                let (sender, turn) = oneshot::channel();
                queue.waiting.insert(place, sender);
                Ok(ArrivedAttempt::Wait(place, turn))
            }
            ThrottleDecision::Delayed(delay) => Ok(ArrivedAttempt::Turn(Err(delay))),
            ThrottleDecision::Crowded => Err(AttemptRejected::Crowded { retry_after: COME_AGAIN }),
        }
    }

    /// An operator lets a user in again.
    pub(super) fn forgive(&self, user: &User) {
        self.change(|queue, now| queue.throttle.forgive(now, user));
    }

    /// What another node counted.
    pub(crate) fn hear(&self, news: &GuessNews) {
        self.change(|queue, now| queue.throttle.hear(now, news));
    }

    /// Waits until this node has counted something that others are to be told, and gives it.
    pub(super) async fn news(&self) -> GuessNews {
        loop {
            if let Some(news) = self.lock().throttle.take_news(self.now()) {
                return news;
            }
            self.0.news.notified().await;
        }
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.lock().throttle.waiting()
    }

    /// Changes something, and tells those whose turn it is after that.
    fn change(
        &self,
        change: impl FnOnce(&mut WaitingAttempts, Moment) -> durward_identity::login::ReadyTickets,
    ) {
        let told: Vec<(Option<oneshot::Sender<AttemptTurn>>, AttemptTurn)> = {
            let mut queue = self.lock();
            let turns = change(&mut queue, self.now());
            if queue.throttle.has_news() {
                self.0.news.notify_one();
            }
            let told = turns
                .into_iter()
                .map(|(place, turn)| (queue.waiting.remove(&place), turn.map(|attempt| self.guess(attempt))));
            told.collect()
        };
        // Without the lock: a login whose client disconnects now passes its turn on when it is dropped.
        for (sender, turn) in told {
            if let Some(sender) = sender {
                drop(sender.send(turn));
            }
        }
    }

    fn guess(&self, attempt: LoginAttempt) -> AttemptPermit {
        AttemptPermit { turns: self.clone(), attempt: Some(attempt), untold: AttemptOutcome::Undecided }
    }

    fn now(&self) -> Moment {
        (self.0.clock)()
    }

    fn lock(&self) -> MutexGuard<'_, WaitingAttempts> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum ArrivedAttempt {
    Turn(AttemptTurn),
    Wait(QueueTicket, oneshot::Receiver<AttemptTurn>),
}

/// A queued login; it leaves the queue when this is dropped.
struct WaitingAttempt<'a> {
    turns: &'a AttemptQueue,
    place: QueueTicket,
}

impl Drop for WaitingAttempt<'_> {
    fn drop(&mut self) {
        self.turns.change(|queue, now| {
            queue.waiting.remove(&self.place);
            queue.throttle.leave(now, self.place)
        });
    }
}

/// The permit for one attempt. The outcome is reported once; a permit that is dropped counts as a failure.
#[must_use = "a guess that is dropped has failed"]
pub(super) struct AttemptPermit {
    turns: AttemptQueue,
    attempt: Option<LoginAttempt>,
    /// What has come of it when it is dropped.
    untold: AttemptOutcome,
}

impl AttemptPermit {
    /// It was the user.
    pub(super) fn succeeded(&mut self) {
        self.tell(AttemptOutcome::Succeeded);
    }

    /// It was not.
    pub(super) fn failed(&mut self) {
        self.tell(AttemptOutcome::Failed);
    }

    /// It could not be found out.
    pub(super) fn undecided(&mut self) {
        self.tell(AttemptOutcome::Undecided);
    }

    /// Somebody has it and may have tried: until now it was on its way to whoever waited, who may have gone.
    fn begun(mut self) -> AttemptPermit {
        self.untold = AttemptOutcome::Failed;
        self
    }

    fn tell(&mut self, outcome: AttemptOutcome) {
        if let Some(attempt) = self.attempt.take() {
            self.turns.change(|queue, now| queue.throttle.end(now, attempt, outcome));
        }
    }
}

impl Drop for AttemptPermit {
    fn drop(&mut self) {
        self.tell(self.untold);
    }
}

impl fmt::Debug for AttemptPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guess").field(&self.attempt).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::net::Ipv4Addr;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

    /// On a clock that stands still.
    fn lasting(held_max: Duration) -> AttemptQueue {
        AttemptQueue::new(ThrottleSettings::default(), held_max, Arc::new(|| Moment::from_s(1_700_000_000)))
    }

    fn turns() -> AttemptQueue {
        lasting(Duration::from_secs(3600))
    }

    fn anna() -> User {
        User::new("/", "anna").unwrap()
    }

    /// As many as may try at once.
    async fn full(turns: &AttemptQueue) -> Vec<AttemptPermit> {
        let mut guesses = Vec::new();
        while guesses.len() < 4 {
            guesses.push(attempt(turns, HOME).await.unwrap());
        }
        guesses
    }

    /// An attempt of somebody who stays.
    async fn attempt(turns: &AttemptQueue, address: IpAddr) -> Result<AttemptPermit, AttemptRejected> {
        let (_here, mut gone) = oneshot::channel();
        let (proof, user) = (CredentialKind::Password, &anna());
        turns.attempt(Claimant { proof, user, address, device: None }, &mut gone).await
    }

    fn is_waiting<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> bool {
        matches!(future.poll(&mut Context::from_waker(Waker::noop())), Poll::Pending)
    }

    #[tokio::test]
    async fn a_waiter_who_goes_does_not_take_a_turn() {
        let turns = turns();
        let mut guesses = full(&turns).await;
        let mut waiting = Vec::new();
        for _ in 0..3 {
            waiting.push(Box::pin(attempt(&turns, HOME)));
        }
        assert!(waiting.iter_mut().all(|waiter| is_waiting(waiter.as_mut())));
        assert_eq!(turns.waiting(), 3);
        drop(waiting.remove(0));
        assert_eq!(turns.waiting(), 2);
        guesses[0].succeeded();
        let mut second = waiting.pop().unwrap();
        let mut first = waiting.pop().unwrap();
        assert!(is_waiting(second.as_mut()), "one decision, one turn");
        assert!(!is_waiting(first.as_mut()));
    }

    /// The turn was given and nobody came for it: nothing was tried.
    #[tokio::test]
    async fn a_waiter_who_goes_in_the_moment_of_his_turn_gives_it_on() {
        let turns = turns();
        let mut guesses = full(&turns).await;
        let mut first = Box::pin(attempt(&turns, HOME));
        let mut second = pin!(attempt(&turns, HOME));
        assert!(is_waiting(first.as_mut()) && is_waiting(second.as_mut()));
        guesses[0].succeeded();
        assert_eq!(turns.waiting(), 1);
        drop(first);
        assert_eq!(turns.waiting(), 0);
        drop(second.await.unwrap());
        drop(guesses);
        // The fourth failure is the first that delays; at their usual address the user is known by now. Who is new waits for a turn.
        let mut new = pin!(attempt(&turns, ELSEWHERE));
        assert!(is_waiting(new.as_mut()));
        assert_eq!(turns.waiting(), 0, "not for somebody else");
    }

    #[tokio::test]
    async fn who_does_not_say_what_came_of_it_has_failed() {
        let turns = turns();
        let guesses = full(&turns).await;
        let mut waiter = pin!(attempt(&turns, HOME));
        assert!(is_waiting(waiter.as_mut()));
        drop(guesses);
        let retry_after = Duration::from_secs(1);
        assert_eq!(waiter.await.map(drop), Err(AttemptRejected::Delayed { retry_after }));
    }

    #[tokio::test]
    async fn nobody_waits_for_ever() {
        let turns = lasting(Duration::ZERO);
        let _guesses = full(&turns).await;
        let held = attempt(&turns, HOME).await.map(drop);
        assert_eq!(held, Err(AttemptRejected::Crowded { retry_after: COME_AGAIN }));
        assert_eq!(turns.waiting(), 0);
    }
}
