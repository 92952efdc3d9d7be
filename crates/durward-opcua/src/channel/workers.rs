//! Threads for work that computes: RSA, looking at certificates.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread;

use opcua_types::StatusCode;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

use crate::error::Error;

/// By how much the threads give way to those that read and write, as `nice` counts.
const NICE: i32 = 5;

type Job = Box<dyn FnOnce() + Send>;

/// Runs work that computes off the tasks that read and write, so much at a time, on threads of its own. Who waits for a turn holds no thread. On
/// Linux those tasks go first where there are not cores for all.
#[derive(Clone)]
pub struct Workers {
    turns: Arc<Semaphore>,
    threads: Arc<Threads>,
}

/// Begun with the first work; they end when nobody has work for them any more.
struct Threads {
    count: usize,
    jobs: OnceLock<mpsc::Sender<Job>>,
}

impl Workers {
    /// So many at a time: the number of cores is right.
    pub fn new(count: usize) -> Workers {
        let count = count.max(1);
        let threads = Threads { count, jobs: OnceLock::new() };
        Workers { turns: Arc::new(Semaphore::new(count)), threads: Arc::new(threads) }
    }

    /// Does the work on another thread.
    ///
    /// # Errors
    /// Those of the work; `BadInternalError` when it panics, or there is no thread for it.
    pub async fn run<T, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce() -> Result<T, Error> + Send + 'static,
    {
        let broken = || Error::new(StatusCode::BadInternalError, "the work was not done to its end");
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let turn = turn.map_err(|_| Error::new(StatusCode::BadShutdown, "the program ends"))?;
        let runtime = Handle::current();
        let (sender, done) = oneshot::channel();
        let job = move || {
            let _runtime = runtime.enter();
            let result = work();
            drop(turn);
            let _ = sender.send(result);
        };
        self.threads.jobs().send(Box::new(job)).map_err(|_| broken())?;
        done.await.map_err(|_| broken())?
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("count", &self.threads.count).finish_non_exhaustive()
    }
}

impl Threads {
    fn jobs(&self) -> &mpsc::Sender<Job> {
        self.jobs.get_or_init(|| {
            let (sender, jobs) = mpsc::channel();
            let jobs = Arc::new(Mutex::new(jobs));
            for _ in 0..self.count {
                let jobs = Arc::clone(&jobs);
                let begun = thread::Builder::new().name("opcua-crypto".to_owned()).spawn(move || work(&jobs));
                if let Err(error) = begun {
                    tracing::error!(%error, "a thread that signs and decrypts does not begin");
                }
            }
            sender
        })
    }
}

/// One thread's life.
fn work(jobs: &Mutex<mpsc::Receiver<Job>>) {
    // On Linux a priority is a thread's; elsewhere it would be the whole program's. Refused, it goes on as it is.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICE);
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // What it had is dropped, and whoever waits for it hears so.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_panics_takes_no_thread_and_no_turn_with_it() {
        let workers = Workers::new(1);
        for _ in 0..3 {
            let broken: Result<(), _> = workers.run(|| panic!("in the middle of it")).await;
            assert_eq!(broken.unwrap_err().status(), StatusCode::BadInternalError);
        }
        assert_eq!(workers.run(|| Ok(7)).await.unwrap(), 7);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn only_threads_of_its_own_give_way() {
        let nice = || rustix::process::getpriority_process(None).map_err(|_| Error::decoding("no priority"));
        let workers = Workers::new(2);
        let before = nice().unwrap();
        assert_eq!(workers.run(nice).await.unwrap(), (before + NICE).min(19));
        let other = tokio::task::spawn_blocking(move || nice().unwrap()).await.unwrap();
        assert_eq!((other, nice().unwrap()), (before, before));
    }
}
