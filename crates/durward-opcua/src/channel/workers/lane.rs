//! Threads of one priority, and the work that waits for them.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use super::priority::WorkerPriority;

/// What a thread does.
pub(super) trait WorkFn: Send + Sync {
    /// Does it, unless nobody waits for it any more.
    fn run(&self);

    /// Somebody else may begin, though this is not done.
    fn free_turn(&self);

    /// Nobody waits for it any more.
    fn give_up(&self);
}

pub(super) type LaneJob = Arc<dyn WorkFn>;

/// So many threads of one priority. They begin with the first job, and end when the lane is dropped.
pub(super) struct WorkerLane {
    count: usize,
    priority: WorkerPriority,
    queue: Arc<LaneQueue>,
    /// How many have begun.
    threads: OnceLock<usize>,
}

#[derive(Default)]
struct LaneQueue {
    state: Mutex<LaneState>,
    changed: Condvar,
}

#[derive(Default)]
struct LaneState {
    waiting: VecDeque<LaneJob>,
    running: Vec<RunningJob>,
    is_ended: bool,
}

struct RunningJob {
    job: LaneJob,
    /// It takes too long: another thread does it.
    is_taken_back: bool,
}

impl WorkerLane {
    pub(super) fn new(count: usize, priority: WorkerPriority) -> WorkerLane {
        WorkerLane { count, priority, queue: Arc::default(), threads: OnceLock::new() }
    }

    /// Adds a job. Where there is no thread, nothing comes of it.
    pub(super) fn push(&self, job: LaneJob) {
        if self.threads() > 0 {
            self.queue.state().waiting.push_back(job);
            self.queue.changed.notify_one();
        }
    }

    /// Adds a job that can be taken back; gives it back at once where every thread is busy with one that was taken back.
    pub(super) fn give(&self, job: LaneJob) -> Result<JobHandle<'_>, LaneJob> {
        let threads = self.threads();
        let mut state = self.queue.state();
        if state.running.iter().filter(|running| running.is_taken_back).count() >= threads {
            return Err(job);
        }
        state.waiting.push_back(Arc::clone(&job));
        drop(state);
        self.queue.changed.notify_one();
        Ok(JobHandle { lane: self, job: Some(job) })
    }

    /// Whether no thread had begun with it.
    fn take_back(&self, job: &LaneJob) -> bool {
        let mut state = self.queue.state();
        let was_waiting = state.remove(job);
        if let Some(running) = state.running.iter_mut().find(|running| Arc::ptr_eq(&running.job, job)) {
            running.is_taken_back = true;
        }
        was_waiting
    }

    fn threads(&self) -> usize {
        let is_there = self.priority.is_there();
        *self
            .threads
            .get_or_init(|| if is_there { (0..self.count).filter(|_| self.start()).count() } else { 0 })
    }

    fn start(&self) -> bool {
        let (queue, priority) = (Arc::clone(&self.queue), self.priority);
        let thread = thread::Builder::new().name("opcua-crypto".to_owned());
        let begun = thread.spawn(move || {
            priority.take();
            while queue.work() {}
        });
        if let Err(error) = &begun {
            tracing::error!(%error, "a thread that signs and decrypts does not begin");
        }
        begun.is_ok()
    }
}

impl Drop for WorkerLane {
    fn drop(&mut self) {
        self.queue.state().is_ended = true;
        self.queue.changed.notify_all();
    }
}

impl LaneState {
    /// Whether it was waiting.
    fn remove(&mut self, job: &LaneJob) -> bool {
        let place = self.waiting.iter().position(|waiting| Arc::ptr_eq(waiting, job));
        place.and_then(|place| self.waiting.remove(place)).is_some()
    }
}

impl LaneQueue {
    fn state(&self) -> MutexGuard<'_, LaneState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does one job; `false` when there will be none any more.
    fn work(&self) -> bool {
        let mut state = self.state();
        let job = loop {
            if let Some(job) = state.waiting.pop_front() {
                break job;
            }
            if state.is_ended {
                return false;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        state.running.push(RunningJob { job: Arc::clone(&job), is_taken_back: false });
        drop(state);
        job.run();
        self.state().running.retain(|running| !Arc::ptr_eq(&running.job, &job));
        true
    }
}

/// The handle of a queued job. Dropping it abandons the result.
pub(super) struct JobHandle<'a> {
    lane: &'a WorkerLane,
    job: Option<LaneJob>,
}

impl JobHandle<'_> {
    /// Takes the job back, for another lane. A thread that has begun with it goes on.
    pub(super) fn take_back(mut self) -> Option<LaneJob> {
        let job = self.job.take()?;
        self.lane.take_back(&job);
        Some(job)
    }

    /// Takes the job back if no thread has begun with it. Otherwise that thread counts as busy, and others have its turn.
    pub(super) fn take_back_unbegun(mut self) -> Option<LaneJob> {
        let job = self.job.take()?;
        if self.lane.take_back(&job) {
            return Some(job);
        }
        job.free_turn();
        None
    }
}

impl Drop for JobHandle<'_> {
    fn drop(&mut self) {
        if let Some(job) = self.job.take() {
            self.lane.take_back(&job);
            job.give_up();
        }
    }
}
