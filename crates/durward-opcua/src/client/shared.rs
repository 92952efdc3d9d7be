//! State shared by the driver, requesters and watches: the current session, the token, the status.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use durward_identity::Moment;
use opcua_types::{BinaryDecodable, BinaryEncodable, MessageInfo, StatusCode};
use tokio::sync::{mpsc, watch};

use super::claims::AccessToken;
use super::driver::DriverEvent;
use super::failure::FailureMeaning;
use super::requester::{ClientRequester, Resend};
use super::settings::TokenClientSettings;
use crate::error::Error;
use crate::protocol::ClientFailure;
use crate::session::ClientSession;

/// How a client stands. Counters only grow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientStatus {
    /// Whether there is a session that stands on a token.
    pub is_active: bool,
    /// Whether the client was stopped.
    pub is_stopped: bool,
    /// What failed last, as long as it stands in the way.
    pub failure: Option<ClientFailure>,
    /// Why something failed last, as long as nothing went well after it.
    pub error: Option<Error>,
    /// Whether that may pass by itself: what a gate refuses that has only just begun.
    pub may_pass: bool,
    /// Sessions that were opened with the authorization service.
    pub authority_sessions: u64,
    /// Sessions that were opened with the resource.
    pub sessions: u64,
    /// Channels to the resource that were opened for a session that was there.
    pub channels: u64,
    /// Tokens that were given.
    pub tokens: u64,
    /// Activations that went well: the first one, renewals, those after reconnecting.
    pub activations: u64,
}

/// A session that is activated, and which one it is.
#[derive(Debug)]
pub(super) struct LiveSession {
    pub(super) session: ClientSession,
    /// What the policy says of the authorization service whose tokens the session takes.
    pub(super) issuer_endpoint_url: Arc<str>,
    pub(super) generation: u64,
}

pub(super) struct ClientShared {
    pub(super) settings: TokenClientSettings,
    pub(super) live: ArcSwapOption<LiveSession>,
    pub(super) token: Mutex<Option<Arc<AccessToken>>>,
    pub(super) status: watch::Sender<ClientStatus>,
    pub(super) events: mpsc::UnboundedSender<DriverEvent>,
}

impl ClientShared {
    pub(super) fn now(&self) -> Moment {
        (self.settings.session.channel.clock)()
    }

    pub(super) fn token(&self) -> Option<Arc<AccessToken>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The session, if requests may be sent on it.
    pub(super) fn usable(&self) -> Option<Arc<LiveSession>> {
        if !self.status.borrow().is_active {
            return None;
        }
        self.live.load_full().filter(|live| live.session.channel().ended().is_none())
    }

    /// Waits until there is a session. `give_up_early`: does not wait where the authorization service or the resource said no.
    pub(super) async fn ready(
        &self,
        within: Duration,
        give_up_early: bool,
    ) -> Result<Arc<LiveSession>, Error> {
        let mut status = self.status.subscribe();
        let waiting = async {
            loop {
                let now = status.borrow_and_update().clone();
                if now.is_stopped {
                    return Err(Error::new(StatusCode::BadShutdown, "the client was stopped"));
                }
                if let Some(live) = self.usable() {
                    return Ok(live);
                }
                if let Some(failure) = now.failure.filter(|_| give_up_early) {
                    return Err(now.error.unwrap_or_else(|| failed(failure)));
                }
                // A channel can end without anybody telling: the driver will, soon.
                let _ = tokio::time::timeout(Duration::from_millis(200), status.changed()).await;
            }
        };
        match tokio::time::timeout(within, waiting).await {
            Ok(ready) => ready,
            Err(_) => {
                let last = self.status.borrow().error.clone();
                Err(last
                    .unwrap_or_else(|| Error::new(StatusCode::BadTimeout, "there was no session in time")))
            }
        }
    }

    /// Ready when the authorization service gives no token: why. What may pass with the next token, such as one that was recalled, is not this.
    pub(super) async fn denied(&self) -> Error {
        let mut status = self.status.subscribe();
        let is_denied =
            |status: &ClientStatus| !status.is_active && status.failure == Some(ClientFailure::Denied);
        match status.wait_for(is_denied).await {
            Ok(status) => status.error.clone().unwrap_or_else(|| failed(ClientFailure::Denied)),
            Err(_) => Error::new(StatusCode::BadShutdown, "the client was stopped"),
        }
    }

    /// Tells the driver what a failed request may mean for the session.
    pub(super) async fn note(&self, live: &LiveSession, error: &Error) -> FailureMeaning {
        let meaning = FailureMeaning::of(error.status());
        let generation = live.generation;
        match meaning {
            // A dead channel is seen by who watches it; the session may outlive it.
            FailureMeaning::Lost if live.session.channel().ended().is_some() => {}
            FailureMeaning::Lost => {
                drop(self.events.send(DriverEvent::SessionLost { generation, error: error.clone() }))
            }
            FailureMeaning::Ended => {
                // Only the service as a whole was refused. If the server refuses to be asked for its state as well, the right has ended.
                match live.session.ping().await {
                    Err(error) if FailureMeaning::of(error.status()) == FailureMeaning::Ended => {
                        drop(self.events.send(DriverEvent::RightEnded { generation, error }));
                    }
                    Ok(()) | Err(_) => return FailureMeaning::Refused,
                }
            }
            FailureMeaning::Silent => {
                if let Err(error) = live.session.ping().await {
                    drop(self.events.send(DriverEvent::SessionLost { generation, error }));
                }
            }
            FailureMeaning::Refused => {}
        }
        meaning
    }
}

fn failed(failure: ClientFailure) -> Error {
    match failure {
        ClientFailure::Denied => {
            Error::new(StatusCode::BadUserAccessDenied, "the authorization service gives no token")
        }
        ClientFailure::Refused => {
            Error::new(StatusCode::BadIdentityTokenRejected, "the resource does not take the token")
        }
        ClientFailure::Ended => {
            Error::new(StatusCode::BadUserAccessDenied, "the token has ended, and no other one could be had")
        }
    }
}

impl ClientRequester for ClientShared {
    /// On the session that is there, or will be there soon. A request that changes nothing is sent once more on the next session when
    /// the first one broke under it.
    async fn ask<Q, R>(&self, request: &Q, again: Resend) -> Result<R, Error>
    where
        Q: BinaryEncodable + MessageInfo + Sync,
        R: BinaryDecodable + MessageInfo + Send,
    {
        let within = self.settings.session.request_max;
        let live = self.ready(within, true).await?;
        let error = match live.session.call(request).await {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        let meaning = self.note(&live, &error).await;
        if again == Resend::No || !matches!(meaning, FailureMeaning::Lost | FailureMeaning::Ended) {
            return Err(error);
        }
        drop(live);
        tokio::time::sleep(Duration::from_millis(10)).await;
        let live = self.ready(within, true).await?;
        live.session.call(request).await
    }
}
