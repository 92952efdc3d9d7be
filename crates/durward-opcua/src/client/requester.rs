//! Sends requests over a session, or over a client that opens another session when one is lost.

use std::future::Future;

use opcua_types::{BinaryDecodable, BinaryEncodable, MessageInfo};

use crate::error::Error;
use crate::session::ClientSession;

/// Whether a request may be sent a second time when nobody knows whether the first one was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    /// It changes nothing.
    Yes,
    /// It may change something, or is bound to the session.
    No,
}

/// Takes requests.
pub(super) trait ClientRequester: Sync {
    /// Sends a request and gives its response.
    fn ask<Q, R>(&self, request: &Q, again: Resend) -> impl Future<Output = Result<R, Error>> + Send
    where
        Q: BinaryEncodable + MessageInfo + Sync,
        R: BinaryDecodable + MessageInfo + Send;
}

impl ClientRequester for ClientSession {
    async fn ask<Q, R>(&self, request: &Q, _again: Resend) -> Result<R, Error>
    where
        Q: BinaryEncodable + MessageInfo + Sync,
        R: BinaryDecodable + MessageInfo + Send,
    {
        self.call(request).await
    }
}
