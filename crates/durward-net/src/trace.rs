//! The trace that what is done belongs to: known wherever it is done for one request, so that lines of logs and requests to others can name it.
//!
//! It goes along with the task, not with the arguments of each function between the door and the log. A task that is spawned for a request
//! takes it along with [`carried`].

use std::future::Future;
use std::sync::Arc;

use durward_wire::trace::{SpanId, TraceParent};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

tokio::task_local! {
    static CURRENT: Trace;
}

/// A trace, and the span in which the current request is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// As it is told to whoever is asked on.
    pub own: TraceParent,
    /// The span of whoever asked, if they said so.
    pub caller: Option<SpanId>,
    /// What vendors say of the trace, to be passed on.
    pub state: Option<Arc<str>>,
}

/// The fields by which a trace goes from one service to the next.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// What vendors say of the trace.
pub const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Does this for a request of that trace. What is returned holds the work once: an `async fn` would have room for it twice.
pub fn scope<F: Future>(trace: Trace, work: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(trace, work)
}

/// Does this at once for a request of that trace.
pub fn scope_now<T>(trace: Trace, work: impl FnOnce() -> T) -> T {
    CURRENT.sync_scope(trace, work)
}

/// The same work for the trace of whoever calls this, whichever task does it.
pub fn carried<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let trace = current();
    async move {
        match trace {
            Some(trace) => scope(trace, work).await,
            None => work.await,
        }
    }
}

/// The trace of what is done now.
pub fn current() -> Option<Trace> {
    CURRENT.try_with(Trace::clone).ok()
}

/// What `see` makes of the trace of what is done now.
pub fn with_current<T>(see: impl FnOnce(&Trace) -> T) -> Option<T> {
    CURRENT.try_with(see).ok()
}

/// Names the trace of what is done now to whoever is asked on, unless the fields name one already.
pub fn pass_on(headers: &mut HeaderMap) {
    if headers.contains_key(TRACEPARENT) {
        return;
    }
    let Some(trace) = current() else { return };
    if let Ok(value) = HeaderValue::try_from(trace.own.to_string()) {
        headers.insert(TRACEPARENT, value);
        let state = trace.state.and_then(|state| HeaderValue::from_str(&state).ok());
        state.map(|state| headers.insert(TRACESTATE, state));
    }
}
