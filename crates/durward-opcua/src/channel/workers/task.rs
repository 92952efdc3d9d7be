//! A unit of work, and the task that waits for it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use opcua_types::StatusCode;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::lane::WorkFn;
use crate::error::Error;

pub(super) fn not_done() -> Error {
    Error::new(StatusCode::BadInternalError, "the work was not done to its end")
}

/// Work that may be done by two threads at the same time.
pub(super) struct SharedTask<T, W> {
    work: W,
    runtime: Handle,
    /// Who waits, and the turn; taken by the first thread that is done.
    reply: Mutex<Option<TaskReply<T>>>,
}

struct TaskReply<T> {
    sender: oneshot::Sender<Result<T, Error>>,
    turn: Option<OwnedSemaphorePermit>,
}

impl<T, W> SharedTask<T, W> {
    /// What comes of it is received; an error there means that nothing does.
    pub(super) fn new(
        work: W,
        turn: OwnedSemaphorePermit,
    ) -> (SharedTask<T, W>, oneshot::Receiver<Result<T, Error>>) {
        let (sender, done) = oneshot::channel();
        let reply = Mutex::new(Some(TaskReply { sender, turn: Some(turn) }));
        (SharedTask { work, runtime: Handle::current(), reply }, done)
    }

    fn take(&self) -> Option<TaskReply<T>> {
        self.reply.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn is_waited_for(&self) -> bool {
        self.reply.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl<T, W> WorkFn for SharedTask<T, W>
where
    T: Send,
    W: Fn() -> Result<T, Error> + Send + Sync,
{
    fn run(&self) {
        if !self.is_waited_for() {
            return;
        }
        let _runtime = self.runtime.enter();
        let result = catch_unwind(AssertUnwindSafe(&self.work));
        // The first result counts. Of work that panicked there is none, and whoever waits hears so.
        let Some(TaskReply { sender, turn }) = self.take() else { return };
        drop(turn);
        if let Ok(result) = result {
            let _ = sender.send(result);
        }
    }

    fn free_turn(&self) {
        if let Some(reply) = &mut *self.reply.lock().unwrap_or_else(PoisonError::into_inner) {
            reply.turn = None;
        }
    }

    fn give_up(&self) {
        drop(self.take());
    }
}

/// Work that can be done once only.
pub(super) struct RunOnce<W>(Mutex<Option<W>>);

impl<W> RunOnce<W> {
    pub(super) fn new(work: W) -> RunOnce<W> {
        RunOnce(Mutex::new(Some(work)))
    }

    pub(super) fn run<T>(&self) -> Result<T, Error>
    where
        W: FnOnce() -> Result<T, Error>,
    {
        let work = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        work.ok_or_else(not_done)?()
    }
}
