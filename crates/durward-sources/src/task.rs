//! Tasks that end when their handle is dropped.

use std::future::Future;

use durward_net::trace;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// A task that is stopped where it is when this is dropped.
#[derive(Debug)]
pub(super) struct Task(AbortHandle);

impl Task {
    /// For the request that is answered now, if there is one.
    pub(super) fn spawn(runtime: &Handle, work: impl Future<Output = ()> + Send + 'static) -> Task {
        Task(runtime.spawn(trace::carried(work)).abort_handle())
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Tells a task that it may take its leave: the receiver becomes ready when this is dropped.
#[derive(Debug)]
pub(super) struct Leave {
    _sender: oneshot::Sender<()>,
}

/// A handle, and what becomes ready when the handle is dropped.
pub(super) fn leave() -> (Leave, oneshot::Receiver<()>) {
    let (sender, receiver) = oneshot::channel();
    (Leave { _sender: sender }, receiver)
}
