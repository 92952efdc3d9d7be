//! The thread pool that hashes passwords, and its bounded queue.
//!
//! As many threads as [`PoolSettings::at_once`] says do nothing else, so that hashing never takes a thread that answers. Where there
//! are fewer cores than threads, they step back behind those that answer. Who finds the queue full is told when to come again.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};
use std::{collections::HashMap, io, thread};

use durward_identity::login::{LoginPool, PoolAdmission, PoolSettings, PoolTicket};
use tokio::sync::oneshot;

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
    work: mpsc::Sender<HashingWork>,
}

struct HashingQueue {
    pool: LoginPool,
    waiting: HashMap<PoolTicket, oneshot::Sender<()>>,
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
        let (work, jobs) = mpsc::channel::<HashingWork>();
        let jobs = Arc::new(Mutex::new(jobs));
        for number in 0..settings.at_once.max(1) {
            let jobs = Arc::clone(&jobs);
            thread::Builder::new().name(format!("hashing-{number}")).spawn(move || {
                step_back();
                work_off(&jobs);
            })?;
        }
        let queue = HashingQueue { pool: LoginPool::new(settings), waiting: HashMap::new() };
        Ok(HashingPool(Arc::new(HashingShared { queue: Mutex::new(queue), work })))
    }

    /// Does the work on one of the threads, when it is its turn. `None` when the work panicked or the threads are gone.
    ///
    /// # Errors
    /// The queue is full.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Option<T>, HashingQueueFull> {
        let place = self.arrive()?;
        place.turn().await;
        let (done, result) = oneshot::channel();
        // The place goes along, so that its end is told also when whoever waits is gone, or the work panics.
        let job = move || {
            let value = work();
            drop(place);
            // Whoever waited may have gone.
            let _ = done.send(value);
        };
        if self.0.work.send(Box::new(job)).is_err() {
            return Ok(None);
        }
        Ok(result.await.ok())
    }

    fn arrive(&self) -> Result<QueueSlot, HashingQueueFull> {
        let mut queue = self.0.lock();
        let (ticket, turn) = match queue.pool.arrive() {
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
fn work_off(jobs: &Mutex<mpsc::Receiver<HashingWork>>) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
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
                tokio::spawn(async move { hashing.run(move || number * 2).await })
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
            async move { hashing.run(move || blocked.recv().is_ok()).await }
        });
        while hashing.load().1 == 0 {
            tokio::task::yield_now().await;
        }
        let second = tokio::spawn({
            let hashing = hashing.clone();
            async move { hashing.run(|| ()).await }
        });
        while hashing.load().0 == 0 {
            tokio::task::yield_now().await;
        }
        assert!(hashing.run(|| ()).await.unwrap_err().retry_after >= Duration::from_secs(1));
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
        assert_eq!(hashing.run(|| panic!("on purpose")).await, Ok(None::<()>));
        assert_eq!(hashing.run(|| 7).await, Ok(Some(7)));
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
        assert_eq!(hashing.run(niceness).await, Ok(Some(NICENESS.max(own))));
        assert_eq!(niceness(), own);
    }
}
