//! Threads for work that computes: RSA, looking at certificates.

use std::sync::Arc;

use opcua_types::StatusCode;
use tokio::sync::Semaphore;

use crate::error::Error;

/// Runs work that computes off the tasks that read and write, so much at a time. Who waits for a turn holds no thread.
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
            work()
        })
        .await
        .map_err(broken)?
    }
}
