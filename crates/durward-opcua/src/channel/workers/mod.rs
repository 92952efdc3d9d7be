//! Threads for CPU-bound work: RSA, verification of certificates and tokens.
//!
//! Requests of sessions go first. On Linux `nice` does not do that alone: since Linux 6.6 a thread keeps its core to the end of its slice, which is longer
//! than an RSA operation, whoever wakes meanwhile. Only a thread with the policy SCHED_IDLE (`sched(7)`) is interrupted at once; but where other
//! programs keep all cores busy it hardly runs. So work is given to such a thread, and what is not done, or not begun, in time to another thread,
//! which has its share of the cores.

mod lane;
mod priority;
mod task;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use opcua_types::StatusCode;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use self::lane::{JobHandle, LaneJob, WorkerLane};
use self::priority::WorkerPriority;
use self::task::{RunOnce, SharedTask, not_done};
use crate::error::Error;

/// Work that can be done once only is given to a thread that is interrupted where it takes no more than this of a core.
const SHORT_MAX: Duration = Duration::from_millis(1);
/// Work that has not begun after this time is done by a thread that has its share.
const BEGIN_MAX: Duration = Duration::from_millis(1);
/// The second thread gets work after this time at the earliest.
const PATIENCE_MIN: Duration = Duration::from_millis(5);
/// And after so many times what such work takes of a core.
const PATIENCE_FACTOR: u32 = 4;

/// Runs CPU-bound work off the tasks that read and write, so much at a time, on threads of its own. Who waits for a turn holds no thread.
#[derive(Clone)]
pub struct Workers {
    turns: Arc<Semaphore>,
    lanes: Arc<PriorityLanes>,
}

struct PriorityLanes {
    idle: WorkerLane,
    fair: WorkerLane,
    /// Of [`Workers::run`].
    usual_once: Arc<UsualCost>,
    /// Of [`Workers::compute`].
    usual: Arc<UsualCost>,
}

impl Workers {
    /// So many at a time: the number of cores is right.
    pub fn new(count: usize) -> Workers {
        let count = count.max(1);
        let lanes = PriorityLanes {
            idle: WorkerLane::new(count, WorkerPriority::OnlyWhenIdle),
            fair: WorkerLane::new(count, WorkerPriority::GivesWay),
            usual_once: Arc::default(),
            usual: Arc::default(),
        };
        Workers { turns: Arc::new(Semaphore::new(count)), lanes: Arc::new(lanes) }
    }

    /// Does work on another thread, once; without delaying those that read and write, as long as such work is short. What has begun stays where it is: it
    /// ends late where other programs take all cores just then.
    ///
    /// # Errors
    /// Those of the work; `BadInternalError` when it panics, or there is no thread for it.
    pub async fn run<T, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce() -> Result<T, Error> + Send + 'static,
    {
        let usual = Arc::clone(&self.lanes.usual_once);
        if usual.get() > SHORT_MAX {
            return self.run_long(move || usual.time(work)).await;
        }
        let once = RunOnce::new(move || usual.time(work));
        let (task, done) = self.begin(move || once.run()).await?;
        self.finish(Arc::new(task), done, BEGIN_MAX, |given| given.take_back_unbegun()).await
    }

    /// Does work that takes long on another thread, once: passwords are made slow to look at.
    ///
    /// # Errors
    /// As of [`Workers::run`].
    pub async fn run_long<T, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce() -> Result<T, Error> + Send + 'static,
    {
        let once = RunOnce::new(work);
        let (task, done) = self.begin(move || once.run()).await?;
        self.lanes.fair.push(Arc::new(task));
        done.await.map_err(|_| not_done())?
    }

    /// Does work that changes nothing on another thread, without delaying those that read and write. It may be done twice at the same time: the
    /// first result counts.
    ///
    /// # Errors
    /// As of [`Workers::run`].
    pub async fn compute<T, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: Fn() -> Result<T, Error> + Send + Sync + 'static,
    {
        let usual = Arc::clone(&self.lanes.usual);
        let patience = usual.patience();
        let (task, done) = self.begin(move || usual.time(&work)).await?;
        self.finish(Arc::new(task), done, patience, |given| given.take_back()).await
    }

    /// Waits for what comes of a job: of a thread that is interrupted, and where it is taken back after a time, of the other ones.
    async fn finish<T>(
        &self,
        job: LaneJob,
        mut done: oneshot::Receiver<Result<T, Error>>,
        patience: Duration,
        take_back: fn(JobHandle<'_>) -> Option<LaneJob>,
    ) -> Result<T, Error> {
        let PriorityLanes { idle, fair, .. } = &*self.lanes;
        match idle.give(job) {
            Err(job) => fair.push(job),
            Ok(given) => {
                if let Ok(result) = timeout(patience, &mut done).await {
                    return result.map_err(|_| not_done())?;
                }
                take_back(given).into_iter().for_each(|job| fair.push(job));
            }
        }
        done.await.map_err(|_| not_done())?
    }

    /// Waits for a turn, which the task holds until it is done.
    async fn begin<T, W>(
        &self,
        work: W,
    ) -> Result<(SharedTask<T, W>, oneshot::Receiver<Result<T, Error>>), Error> {
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let turn = turn.map_err(|_| Error::new(StatusCode::BadShutdown, "the program ends"))?;
        Ok(SharedTask::new(work, turn))
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("turns", &self.turns.available_permits()).finish_non_exhaustive()
    }
}

/// What work takes of a core, in nanoseconds: a moving average.
#[derive(Default)]
struct UsualCost(AtomicU64);

impl UsualCost {
    fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let begun = priority::cpu_time();
        let result = work();
        let took = priority::cpu_time().saturating_sub(begun).as_nanos();
        let before = self.0.load(Ordering::Relaxed);
        let now = before - before / 8 + u64::try_from(took).unwrap_or(u64::MAX) / 8;
        self.0.store(now, Ordering::Relaxed);
        result
    }

    fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn patience(&self) -> Duration {
        self.get().saturating_mul(PATIENCE_FACTOR).max(PATIENCE_MIN)
    }
}

#[cfg(test)]
mod tests;
