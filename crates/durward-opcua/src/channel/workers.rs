//! Threads for work that computes: RSA, looking at certificates.

use std::cell::Cell;
use std::sync::Arc;

use opcua_types::StatusCode;
use tokio::sync::Semaphore;

use crate::error::Error;

/// By how much the threads give way to those that read and write, as `nice` counts.
const NICE: i32 = 5;

thread_local! {
    static GIVES_WAY: Cell<bool> = const { Cell::new(false) };
}

/// On Linux a priority is a thread's; elsewhere it would be the whole program's.
fn give_way() {
    if cfg!(target_os = "linux") && !GIVES_WAY.replace(true) {
        // Refused, it goes on as it is.
        let _ = rustix::process::setpriority_process(None, NICE);
    }
}

/// Runs work that computes off the tasks that read and write, so much at a time. Who waits for a turn holds no thread. On Linux those tasks go
/// first where there are not cores for all.
#[derive(Clone, Debug)]
pub struct Workers {
    turns: Arc<Semaphore>,
}

impl Workers {
    /// So many at a time: the number of cores is right.
    pub fn new(count: usize) -> Workers {
        Workers { turns: Arc::new(Semaphore::new(count.max(1))) }
    }

    /// Does the work on another thread.
    ///
    /// # Errors
    /// Those of the work; `BadInternalError` when it panics or the runtime ends.
    pub async fn run<T, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce() -> Result<T, Error> + Send + 'static,
    {
        let broken = |_| Error::new(StatusCode::BadInternalError, "the work was not done to its end");
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let turn = turn.map_err(|_| Error::new(StatusCode::BadShutdown, "the program ends"))?;
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            give_way();
            work()
        })
        .await
        .map_err(broken)?
    }
}
