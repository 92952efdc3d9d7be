//! The thread pool that hashes passwords, and its bounded queue.
//!
//! As many threads as [`PoolSettings::at_once`] says do nothing else, so that hashing never takes a thread that answers. Where there
//! are fewer cores than threads, they step back behind those that answer. Who finds the queue full is told when to come again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use durward_identity::login::{LoginPool, PoolAdmission, PoolSettings, PoolTicket};
use durward_identity::user::{keep_hash_memory, release_hash_memory};
use tokio::sync::oneshot;

/// After so long without a password, a thread gives the memory of its hashes back: short enough that a node at rest is small, and
/// longer than the pauses between logins where there are many.
const REST_AFTER: Duration = Duration::from_secs(5);

/// How nice threads that hash are to others, on Linux: where they share a core with threads that answer without a pause, these get
/// most of it (docs/performance.md, "A flood of logins"), and logins wait. Where cores are free it changes nothing.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 15;

type HashingWork = Box<dyn FnOnce() + Send>;

/// The threads and the queue. Cloning shares them; they end with the last clone.
#[derive(Clone)]
pub(crate) struct HashingPool(Arc<HashingShared>);

struct HashingShared {
    queue: Mutex<HashingQueue>,
    jobs: Arc<HashingJobs>,
}

/// What threads take their work from.
#[derive(Default)]
struct HashingJobs {
    state: Mutex<JobsState>,
    changed: Condvar,
}

#[derive(Default)]
struct JobsState {
    waiting: VecDeque<HashingWork>,
    /// Whether no more will come.
    is_closed: bool,
}

struct HashingQueue {
    pool: LoginPool,
    waiting: HashMap<PoolTicket, oneshot::Sender<()>>,
}

/// Whose turn comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HashingTurn {
    /// Those on known devices.
    First,
    InOrder,
}

/// The queue is full; the time after which to retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HashingQueueFull {
    pub(crate) retry_after: Duration,
}

impl HashingPool {
    /// Starts the threads.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(crate) fn start(settings: PoolSettings) -> io::Result<HashingPool> {
        HashingPool::start_resting_after(REST_AFTER, settings)
    }

    fn start_resting_after(rest_after: Duration, settings: PoolSettings) -> io::Result<HashingPool> {
        let queue = HashingQueue { pool: LoginPool::new(settings), waiting: HashMap::new() };
        let jobs = Arc::new(HashingJobs::default());
        // Where a thread cannot be started, dropping this ends those before it.
        let shared = HashingShared { queue: Mutex::new(queue), jobs: Arc::clone(&jobs) };
        for number in 0..settings.at_once.max(1) {
            let jobs = Arc::clone(&jobs);
            thread::Builder::new().name(format!("hashing-{number}")).spawn(move || {
                step_back();
                work_off(&jobs, rest_after);
            })?;
        }
        Ok(HashingPool(Arc::new(shared)))
    }

    /// Does the work on one of the threads, when it is its turn. `None` when the work panicked.
    ///
    /// # Errors
    /// The queue is full.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        whose: HashingTurn,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Option<T>, HashingQueueFull> {
        let place = self.arrive(whose)?;
        place.turn().await;
        let (done, result) = oneshot::channel();
        // The place goes along, so that its end is told also when whoever waits is gone, or the work panics.
        let job = move || {
            let value = work();
            drop(place);
            // Whoever waited may have gone.
            let _ = done.send(value);
        };
        self.0.jobs.add(Box::new(job));
        Ok(result.await.ok())
    }

    fn arrive(&self, whose: HashingTurn) -> Result<QueueSlot, HashingQueueFull> {
        let mut queue = self.0.lock();
        let admission = match whose {
            HashingTurn::First => queue.pool.arrive_first(),
            HashingTurn::InOrder => queue.pool.arrive(),
        };
        let (ticket, turn) = match admission {
            PoolAdmission::Start(ticket) => (ticket, None),
            PoolAdmission::Wait(ticket) => {
                let (sender, receiver) = oneshot::channel();
                queue.waiting.insert(ticket, sender);
                (ticket, Some(receiver))
            }
            PoolAdmission::Full { retry_after } => return Err(HashingQueueFull { retry_after }),
        };
        Ok(QueueSlot { shared: Arc::clone(&self.0), ticket, turn: Mutex::new(turn), began: Mutex::new(None) })
    }

    /// How many wait and how many are being hashed.
    pub(crate) fn load(&self) -> (usize, usize) {
        let queue = self.0.lock();
        (queue.pool.waiting(), queue.pool.running())
    }
}

impl fmt::Debug for HashingPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hashing").field(&self.load()).finish()
    }
}

/// Lets threads that answer go first. The system has that for a single thread on Linux only.
fn step_back() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getpriority_process, setpriority_process};
        let thread = Some(rustix::thread::gettid());
        // A process that was started further behind stays there.
        let set = getpriority_process(thread).and_then(|own| setpriority_process(thread, own.max(NICENESS)));
        if let Err(error) = set {
            tracing::warn!(%error, "hashing passwords is not put behind answering");
        }
    }
}

/// Takes jobs until there can be none any more. A job that panics ends its own login and nothing else.
fn work_off(jobs: &HashingJobs, rest_after: Duration) {
    keep_hash_memory();
    while let Some(job) = jobs.next(rest_after) {
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
    }
}

impl HashingJobs {
    fn lock(&self) -> MutexGuard<'_, JobsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, job: HashingWork) {
        self.lock().waiting.push_back(job);
        self.changed.notify_one();
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// The next job, or nothing when no more will come. A thread that waits for longer than `rest_after` gives its memory back.
    fn next(&self, rest_after: Duration) -> Option<HashingWork> {
        let mut jobs = self.lock();
        let mut rests = false;
        loop {
            if let Some(job) = jobs.waiting.pop_front() {
                return Some(job);
            }
            if jobs.is_closed {
                return None;
            }
            if rests {
                jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let waited = self.changed.wait_timeout(jobs, rest_after);
            let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            jobs = woken;
            if timeout.timed_out() && jobs.waiting.is_empty() {
                // Overwriting takes some milliseconds, in which others take jobs.
                drop(jobs);
                release_hash_memory();
                rests = true;
                jobs = self.lock();
            }
        }
    }
}

impl Drop for HashingShared {
    fn drop(&mut self) {
        self.jobs.close();
    }
}

impl HashingShared {
    fn lock(&self) -> MutexGuard<'_, HashingQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the queue or on a thread; given back when dropped.
struct QueueSlot {
    shared: Arc<HashingShared>,
    ticket: PoolTicket,
    turn: Mutex<Option<oneshot::Receiver<()>>>,
    /// When its turn came.
    began: Mutex<Option<Instant>>,
}

impl QueueSlot {
    async fn turn(&self) {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(turn) = turn {
            // The sender is dropped only by giving the turn.
            let _ = turn.await;
        }
        *self.began.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        let began = *self.began.lock().unwrap_or_else(PoisonError::into_inner);
        let took = began.map_or(Duration::ZERO, |began| began.elapsed());
        let mut queue = self.shared.lock();
        queue.waiting.remove(&self.ticket);
        if queue.pool.leave(self.ticket) {
            return;
        }
        let next = queue.pool.finish(took);
        if let Some(turn) = next.and_then(|next| queue.waiting.remove(&next)) {
            // A client that disconnects at this moment frees its slot when the slot is dropped.
            let _ = turn.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use durward_identity::SystemEntropy;
    use durward_identity::user::{HashCosts, Password, StoredPassword};

    use super::*;

    fn settings(at_once: usize) -> PoolSettings {
        PoolSettings { at_once, ..PoolSettings::default() }
    }

    #[tokio::test]
    async fn everybody_who_is_let_in_is_served() {
        let hashing = HashingPool::start(settings(2)).unwrap();
        let all: Vec<_> = (0..100)
            .map(|number| {
                let hashing = hashing.clone();
                tokio::spawn(async move { hashing.run(HashingTurn::InOrder, move || number * 2).await })
            })
            .collect();
        for (number, one) in all.into_iter().enumerate() {
            assert_eq!(one.await.unwrap(), Ok(Some(number * 2)));
        }
        assert_eq!(hashing.load(), (0, 0));
    }

    #[tokio::test]
    async fn who_finds_the_queue_full_is_told_when_to_come() {
        let hashing = HashingPool::start(PoolSettings { waiting_max: 1, ..settings(1) }).unwrap();
        let (free, blocked) = mpsc::channel::<()>();
        let first = tokio::spawn({
            let hashing = hashing.clone();
            async move { hashing.run(HashingTurn::InOrder, move || blocked.recv().is_ok()).await }
        });
        while hashing.load().1 == 0 {
            tokio::task::yield_now().await;
        }
        let second = tokio::spawn({
            let hashing = hashing.clone();
            async move { hashing.run(HashingTurn::InOrder, || ()).await }
        });
        while hashing.load().0 == 0 {
            tokio::task::yield_now().await;
        }
        assert!(
            hashing.run(HashingTurn::InOrder, || ()).await.unwrap_err().retry_after >= Duration::from_secs(1)
        );
        second.abort();
        let _ = second.await;
        assert_eq!(hashing.load(), (0, 1), "who goes makes room");
        free.send(()).unwrap();
        assert_eq!(first.await.unwrap(), Ok(Some(true)));
        assert_eq!(hashing.load(), (0, 0));
    }

    #[tokio::test]
    async fn work_that_panics_costs_one_login_and_no_thread() {
        let hashing = HashingPool::start(settings(1)).unwrap();
        assert_eq!(hashing.run(HashingTurn::InOrder, || panic!("on purpose")).await, Ok(None::<()>));
        assert_eq!(hashing.run(HashingTurn::InOrder, || 7).await, Ok(Some(7)));
    }

    #[tokio::test]
    async fn a_thread_keeps_its_memory_while_logins_come_and_gives_it_back_when_it_rests() {
        let costs = HashCosts { memory_kib: 64, passes: 1, lanes: 1 };
        let hash = move || {
            let password = Password::new("secret").unwrap();
            StoredPassword::hash(&password, costs, &SystemEntropy).unwrap();
        };
        let busy = HashingPool::start_resting_after(Duration::from_secs(3600), settings(1)).unwrap();
        busy.run(HashingTurn::InOrder, hash).await.unwrap().unwrap();
        assert_eq!(
            busy.run(HashingTurn::InOrder, release_hash_memory).await,
            Ok(Some(true)),
            "the memory of the login before"
        );
        let quick = HashingPool::start_resting_after(Duration::from_millis(1), settings(1)).unwrap();
        for pause_ms in (5..).take(1000) {
            quick.run(HashingTurn::InOrder, hash).await.unwrap().unwrap();
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
            if quick.run(HashingTurn::InOrder, release_hash_memory).await == Ok(Some(false)) {
                return;
            }
        }
        panic!("the thread never gave its memory back");
    }

    #[test]
    fn threads_end_with_the_pool() {
        let pool = HashingPool::start(settings(2)).unwrap();
        let jobs = Arc::downgrade(&pool.0.jobs);
        drop(pool);
        while jobs.strong_count() > 0 {
            thread::yield_now();
        }
    }

    /// What a thread does for itself is not done to the others.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn threads_that_hash_are_behind_the_others() {
        let niceness = || {
            let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            // Behind the name, which may hold anything, the seventeenth field is the niceness.
            let (_, fields) = text.rsplit_once(") ").unwrap();
            fields.split(' ').nth(16).unwrap().parse::<i32>().unwrap()
        };
        let own = niceness();
        let hashing = HashingPool::start(settings(1)).unwrap();
        assert_eq!(hashing.run(HashingTurn::InOrder, niceness).await, Ok(Some(NICENESS.max(own))));
        assert_eq!(niceness(), own);
    }
}
