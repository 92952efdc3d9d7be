//! Bytes of requests that are under way: a service may keep a request until it is answered, and a server behind it may be slow.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opcua_types::StatusCode;

use super::server::ServerLimits;
use crate::error::Error;

/// Requests up to so many bytes do not count for the whole server: they are served while others fill its budget.
const SMALL_BYTES: usize = 8 * 1024;

/// So many bytes may be under way.
#[derive(Debug)]
pub(super) struct ByteBudget {
    taken: AtomicUsize,
    max: usize,
}

impl ByteBudget {
    fn new(max: usize) -> Arc<ByteBudget> {
        Arc::new(ByteBudget { taken: AtomicUsize::new(0), max })
    }

    /// Of a server.
    pub(super) fn of_server(limits: &ServerLimits) -> Arc<ByteBudget> {
        ByteBudget::new(limits.request_bytes_max)
    }

    /// Of a connection.
    pub(super) fn of_connection(limits: &ServerLimits) -> Arc<ByteBudget> {
        ByteBudget::new(limits.request_bytes_per_connection_max)
    }

    fn take(self: &Arc<ByteBudget>, bytes: usize) -> Option<BudgetShare> {
        let fits = |taken: usize| taken.checked_add(bytes).filter(|taken| *taken <= self.max);
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).ok()?;
        Some(BudgetShare { budget: Arc::clone(self), bytes })
    }
}

/// Bytes of a budget, given back when this is dropped.
#[derive(Debug)]
struct BudgetShare {
    budget: Arc<ByteBudget>,
    bytes: usize,
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// What a request takes of both budgets for as long as it is under way.
#[derive(Debug)]
pub(super) struct RequestShares {
    _of_connection: BudgetShare,
    _of_server: Option<BudgetShare>,
}

/// Takes what a request of so many bytes needs.
///
/// # Errors
/// `BadTooManyOperations`: the connection has too much under way. `BadServerTooBusy`: all connections together have.
pub(super) fn take(
    connection: &Arc<ByteBudget>,
    server: &Arc<ByteBudget>,
    bytes: usize,
) -> Result<RequestShares, Error> {
    let of_connection = connection.take(bytes).ok_or_else(|| {
        Error::new(
            StatusCode::BadTooManyOperations,
            "too many bytes of requests are under way on the connection",
        )
    })?;
    let of_server = (bytes > SMALL_BYTES).then(|| {
        server.take(bytes).ok_or_else(|| {
            Error::new(StatusCode::BadServerTooBusy, "too many bytes of requests are under way: ask again")
        })
    });
    Ok(RequestShares { _of_connection: of_connection, _of_server: of_server.transpose()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_kept_and_given_back() {
        let limits = ServerLimits {
            request_bytes_max: 50_000,
            request_bytes_per_connection_max: 30_000,
            ..ServerLimits::default()
        };
        let server = ByteBudget::of_server(&limits);
        let (first, second) = (ByteBudget::of_connection(&limits), ByteBudget::of_connection(&limits));
        let status = |connection, bytes| take(connection, &server, bytes).map_err(|error| error.status());
        let held = status(&first, 30_000).unwrap();
        assert_eq!(status(&first, 1).unwrap_err(), StatusCode::BadTooManyOperations);
        assert_eq!(status(&second, 20_001).unwrap_err(), StatusCode::BadServerTooBusy);
        let rest = status(&second, 20_000).unwrap();
        assert!(status(&second, 8_192).is_ok(), "small requests go on");
        drop((held, rest));
        assert_eq!((server.taken.load(Ordering::Relaxed), first.taken.load(Ordering::Relaxed)), (0, 0));
        assert_eq!(second.taken.load(Ordering::Relaxed), 0, "what was refused takes nothing");
    }
}
