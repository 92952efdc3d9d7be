//! Requests for tokens between `StartRequestToken` and `FinishRequestToken`: bound to the session, for a while, few.

use std::collections::HashMap;
use std::time::Duration;

use durward_identity::Moment;
use opcua_types::{ByteString, StatusCode};

use super::{CallerSessionId, StartRequest};

/// How long a request can be finished.
pub const REQUEST_LIFETIME: Duration = Duration::from_secs(60);
/// Requests of one session; the oldest goes when there are more.
const PER_SESSION_MAX: usize = 4;
/// Requests of all sessions.
const REQUESTS_MAX: usize = 10_000;

/// The bytes of a request's Guid: 128 random bits.
pub type TokenRequestId = [u8; 16];

/// A request that was started.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StartedRequest {
    pub(crate) request: StartRequest,
    pub(crate) service_data: ByteString,
}

#[derive(Debug)]
struct OpenRequestEntry {
    session: CallerSessionId,
    started: StartedRequest,
    ends: Moment,
}

/// The requests that are open.
#[derive(Debug, Default)]
pub(crate) struct OpenRequests {
    open: HashMap<TokenRequestId, OpenRequestEntry>,
}

impl OpenRequests {
    /// Keeps a request.
    ///
    /// # Errors
    /// `BadResourceUnavailable` where too many are open.
    pub(crate) fn insert(
        &mut self,
        id: TokenRequestId,
        session: CallerSessionId,
        started: StartedRequest,
        now: Moment,
    ) -> Result<(), StatusCode> {
        if self.open.len() >= REQUESTS_MAX {
            self.open.retain(|_, entry| now < entry.ends);
        }
        let mut own: Vec<(Moment, TokenRequestId)> = self
            .open
            .iter()
            .filter(|(_, entry)| entry.session == session)
            .map(|(id, entry)| (entry.ends, *id))
            .collect();
        if own.len() >= PER_SESSION_MAX {
            own.sort_unstable();
            if let Some((_, oldest)) = own.first() {
                self.open.remove(oldest);
            }
        }
        if self.open.len() >= REQUESTS_MAX {
            return Err(StatusCode::BadResourceUnavailable);
        }
        self.open.insert(id, OpenRequestEntry { session, started, ends: now.plus(REQUEST_LIFETIME) });
        Ok(())
    }

    /// The request, if this session started it and its time is not over. It cannot be taken again.
    pub(crate) fn take(
        &mut self,
        id: &TokenRequestId,
        session: CallerSessionId,
        now: Moment,
    ) -> Option<StartedRequest> {
        // Another session's request stays: nobody can use up what is not theirs.
        self.open.get(id).filter(|entry| entry.session == session)?;
        self.open.remove(id).filter(|entry| now < entry.ends).map(|entry| entry.started)
    }
}
