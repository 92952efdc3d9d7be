//! Schedules calls: a password attempt waits for the throttle, a call for a permit and a thread.

use std::sync::Arc;

use durward_identity::Moment;
use opcua_types::StatusCode;

use super::figures::RefusalReason;
use super::issue::TokenRequestRefused;
use super::places::CallQuota;
use super::service::{AuthorizationService, AuthorizationServiceInner, DATED_AHEAD_MAX};
use super::{Identity, MethodCaller, Reply};
use crate::channel::Workers;
use crate::protocol::PENDING_MAX;
use crate::session::{LoginOrigin, PasswordAttempt};

/// Calls of one client under way at a time: of its users as a rule, which are many behind a gate.
const CALLS_PER_CLIENT_MAX: usize = PENDING_MAX / 4;
/// Calls under way with which gates follow, and of one gate.
const GATE_CALLS_MAX: usize = 1_024;
const GATE_CALLS_PER_CLIENT_MAX: usize = 16;
/// Threads for those calls: they neither hash nor decide.
const GATE_WORKERS: usize = 2;

/// Who does the work of calls, and how many of them may be under way or wait.
pub(super) struct CallLane {
    workers: Workers,
    places: CallQuota,
}

impl CallLane {
    /// For calls of clients.
    pub(super) fn of_clients(workers: Workers) -> CallLane {
        CallLane { workers, places: CallQuota::new(PENDING_MAX, CALLS_PER_CLIENT_MAX) }
    }

    /// For calls with which gates follow.
    pub(super) fn of_gates() -> CallLane {
        let places = CallQuota::new(GATE_CALLS_MAX, GATE_CALLS_PER_CLIENT_MAX);
        CallLane { workers: Workers::new(GATE_WORKERS), places }
    }
}

/// How much a call computes.
#[derive(Clone, Copy)]
pub(super) enum CallCost {
    Little,
    /// A password is looked at.
    Long,
}

impl CallCost {
    pub(super) fn with(guess: Option<&PasswordAttempt>) -> CallCost {
        if guess.is_some() { CallCost::Long } else { CallCost::Little }
    }
}

impl AuthorizationService {
    /// Does work on another thread and answers with what comes out.
    pub(super) fn reply<T, W>(&self, caller: &MethodCaller, resource: &str, work: W) -> Reply<T>
    where
        T: Send + 'static,
        W: FnOnce(&AuthorizationServiceInner) -> Result<T, TokenRequestRefused> + Send + 'static,
    {
        self.reply_on(|inner| &inner.calls, CallCost::Little, caller, resource, work)
    }

    /// As [`Self::reply`], for calls with which gates follow.
    pub(super) fn reply_to_gate<T, W>(&self, caller: &MethodCaller, resource: &str, work: W) -> Reply<T>
    where
        T: Send + 'static,
        W: FnOnce(&AuthorizationServiceInner) -> Result<T, TokenRequestRefused> + Send + 'static,
    {
        self.reply_on(|inner| &inner.gate_calls, CallCost::Little, caller, resource, work)
    }

    fn reply_on<T, W>(
        &self,
        lane: fn(&AuthorizationServiceInner) -> &CallLane,
        takes: CallCost,
        caller: &MethodCaller,
        resource: &str,
        work: W,
    ) -> Reply<T>
    where
        T: Send + 'static,
        W: FnOnce(&AuthorizationServiceInner) -> Result<T, TokenRequestRefused> + Send + 'static,
    {
        let (inner, resource) = (Arc::clone(&self.inner), resource.to_owned());
        let (application, client) = (Arc::clone(&caller.application_uri), caller.certificate.clone());
        Box::pin(async move {
            let worker = Arc::clone(&inner);
            let CallLane { workers, places } = lane(&inner);
            let work = move || Ok(work(&worker));
            let done = match (places.take(&client), takes) {
                (Some(_place), CallCost::Little) => workers.run(work).await,
                (Some(_place), CallCost::Long) => workers.run_long(work).await,
                (None, _) => {
                    let words = "too many calls are under way: ask again";
                    Ok(Err(TokenRequestRefused::new(
                        StatusCode::BadResourceUnavailable,
                        RefusalReason::Busy,
                        words,
                    )))
                }
            };
            done.map_err(|error| error.status())?.map_err(|refused| {
                inner.refused(&application, &resource, &refused);
                refused.status
            })
        })
    }

    /// Waits until the password in a call may be looked at; nothing for other identities.
    pub(super) async fn begin_login(
        &self,
        caller: &MethodCaller,
        identity: &Identity,
        resource: &str,
    ) -> Result<Option<PasswordAttempt>, StatusCode> {
        let Identity::Name(token) = identity else { return Ok(None) };
        let certificate = caller.certificate.as_deref().unwrap_or_default();
        let is_gate = self.inner.is_gate(certificate);
        let origin =
            if is_gate { LoginOrigin::Gate(certificate) } else { LoginOrigin::Application(certificate) };
        let guess = self.inner.logins.attempt(token.user_name.as_ref(), origin).await;
        guess.map(Some).map_err(|error| {
            let refused =
                TokenRequestRefused::new(error.status(), RefusalReason::Busy, error.reason().to_owned());
            self.inner.refused(&caller.application_uri, resource, &refused);
            refused.status
        })
    }

    /// As [`Self::reply`], for what comes with a token: handed out when the token is not dated ahead any more.
    pub(super) fn reply_in_time<T, W>(
        &self,
        takes: CallCost,
        caller: &MethodCaller,
        resource: &str,
        work: W,
    ) -> Reply<T>
    where
        T: Send + 'static,
        W: FnOnce(&AuthorizationServiceInner) -> Result<(T, Moment), TokenRequestRefused> + Send + 'static,
    {
        let (inner, reply) =
            (Arc::clone(&self.inner), self.reply_on(|inner| &inner.calls, takes, caller, resource, work));
        Box::pin(async move {
            let (value, issued) = reply.await?;
            let ahead = issued.since(inner.now().plus(DATED_AHEAD_MAX));
            if !ahead.is_zero() {
                tokio::time::sleep(ahead).await;
            }
            Ok(value)
        })
    }
}
