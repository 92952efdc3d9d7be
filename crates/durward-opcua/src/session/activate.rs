//! ActivateSession (Part 4, 5.7.3): who the user is, from now on.
//!
//! Everything is verified beside the session, which keeps serving requests under the user that it has; then one swap. Two activations that
//! race sign the same nonce, and only the first swap finds it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use opcua_types::{ActivateSessionRequest, ActivateSessionResponse, StatusCode};

use super::connection::{ConnectionPeer, find_session};
use super::endpoint::Endpoint;
use super::logins::{LoginOrigin, PasswordAttempt, is_wrong};
use super::server::ServerCore;
use super::service::{Activation, ActivationAttempt, CloseReason, SessionHandler, UserIdentity};
use super::store::{ActivationOutcome, SessionEntry};
use super::token::{SentToken, verify_proof};
use crate::channel::SecurityOffer;
use crate::crypto;
use crate::error::Error;
use crate::wire::{self, RequestPeek};

/// Locales that are read.
const LOCALES_MAX: usize = 16;

/// Answers ActivateSession.
pub(super) async fn activate<S: SessionHandler>(
    core: &Arc<ServerCore<S>>,
    peer: &ConnectionPeer,
    peek: &RequestPeek,
    body: &[u8],
) -> Result<Bytes, Error> {
    let entry = find_session(core, peek, body)?;
    entry.touch();
    let _turn =
        entry.begin_activation(core.settings.limits.activations_per_session_max).ok_or_else(|| {
            Error::new(StatusCode::BadTooManyOperations, "the session has too many activations under way")
        })?;
    if let Some(wait) = entry.activation_delay(core.settings.limits.activation_failures_max) {
        let words =
            format!("too many activations failed: the next one is looked at in {} s", wait.as_secs() + 1);
        return Err(Error::new(StatusCode::BadTooManyOperations, words));
    }
    let activated = attempt(core, peer, &entry, body).await;
    let nonce = activated.inspect_err(|error| refused(core, &entry, error))?;
    peer.activated.store(true, Ordering::Relaxed);
    peer.place.set_in_use(true);
    let response = ActivateSessionResponse {
        response_header: wire::response_header(peek.handle, StatusCode::Good, (core.channel.clock)()),
        server_nonce: nonce.to_vec().into(),
        results: None,
        diagnostic_infos: None,
    };
    wire::encode_service(&core.context.context(), &response)
}

/// A session that nobody activated is not left open to be tried on and on. One that is active stays, and waits for its next try.
fn refused<S: SessionHandler>(core: &ServerCore<S>, entry: &SessionEntry<S>, error: &Error) {
    let failures = entry.failed(is_wrong(error.status()));
    tracing::info!(session = entry.info.number, failures, %error, "a session was not activated");
    if entry.active().is_none() && failures >= core.settings.limits.activation_failures_max {
        core.close_session(&entry.token, CloseReason::Timeout);
    }
}

async fn attempt<S: SessionHandler>(
    core: &Arc<ServerCore<S>>,
    peer: &ConnectionPeer,
    entry: &Arc<SessionEntry<S>>,
    body: &[u8],
) -> Result<crypto::Nonce, Error> {
    let request: ActivateSessionRequest = wire::decode_service(&core.context.context(), body)?;
    let endpoint = check_channel(core, peer, entry)?;
    let (nonce, nonce_number) = entry.nonce();
    let sent = SentToken::read(&core.context.context(), &request, endpoint)?;
    let policy_id = sent.policy.id.clone();

    let own = core.channel.own.clone();
    let client = Arc::clone(&entry.info.client.certificate);
    let (policy, secret_bytes_max) = (peer.channel.security_policy, core.settings.limits.secret_bytes_max);
    let signature = request.client_signature.clone();
    let verify = move || {
        verify_proof(&signature, policy, &client, &own, &nonce).map_err(|_| {
            Error::new(
                StatusCode::BadApplicationSignatureInvalid,
                "the client's certificate did not sign the last nonce",
            )
        })?;
        sent.open(&own, &nonce, secret_bytes_max)
    };
    let identity = core.channel.workers.compute(verify).await?;

    let guess = begin_login(core, entry, &identity).await?;
    let current = entry.active().map(|active| active.user());
    let attempt = ActivationAttempt {
        session: &entry.info,
        channel: peer.channel,
        policy_id: &policy_id,
        identity,
        activation: current.as_ref().map_or(Activation::First, |current| Activation::Again { current }),
        nonce_number,
        locales: locales(&request),
        moment: (core.channel.clock)(),
    };
    let refused = |status| Error::new(status, "the user was refused");
    let authenticated = core.service.authenticate(attempt).await;
    if let Some(guess) = guess {
        guess.end(&authenticated);
    }
    let user = Arc::new(authenticated.map_err(refused)?);
    let moves = entry.channel() != peer.channel.id;
    if moves && !current.as_ref().is_some_and(|current| core.service.same_user(current, &user)) {
        return Err(Error::new(
            StatusCode::BadIdentityChangeNotSupported,
            "a session moves to another channel only with the same user",
        ));
    }
    let state = match &current {
        Some(_) => None,
        None => Some(core.service.opened(&entry.info, &user).await.map_err(refused)?),
    };
    let next_nonce = crypto::nonce()?;
    let activated = ActivationOutcome { user, state, channel: peer.channel.id, nonce, next_nonce };
    let first = entry.commit(activated, Arc::downgrade(core))?;
    if let Some(active) = entry.active().filter(|_| !first) {
        core.service.user_changed(active);
    }
    Ok(next_nonce)
}

/// Waits until a password may be looked at; nothing for other identities, which cannot be guessed.
async fn begin_login<S: SessionHandler>(
    core: &ServerCore<S>,
    entry: &SessionEntry<S>,
    identity: &UserIdentity,
) -> Result<Option<PasswordAttempt>, Error> {
    let UserIdentity::UserName { name, .. } = identity else { return Ok(None) };
    let origin = LoginOrigin::Application(entry.info.client.certificate.der());
    let mut guess = core.logins.attempt(name, origin).await?;
    guess.begin();
    Ok(Some(guess))
}

/// The first activation comes on the channel that the session was created on; a later one may come on another, of the same application and
/// secured in the same way.
fn check_channel<'a, S: SessionHandler>(
    core: &'a ServerCore<S>,
    peer: &ConnectionPeer,
    entry: &SessionEntry<S>,
) -> Result<&'a Endpoint, Error> {
    let same_channel = entry.channel() == peer.channel.id;
    if !same_channel && entry.active().is_none() {
        return Err(Error::new(
            StatusCode::BadSecureChannelIdInvalid,
            "a session is first activated on the channel that it was created on",
        ));
    }
    let certificate = &entry.info.client.certificate;
    if peer.client.as_ref().is_none_or(|client| client.der() != certificate.der()) {
        return Err(Error::security("the session belongs to another certificate"));
    }
    let offer = SecurityOffer { policy: peer.channel.security_policy, mode: peer.channel.security_mode };
    if offer != (SecurityOffer { policy: entry.info.security_policy, mode: entry.info.security_mode }) {
        return Err(Error::new(
            StatusCode::BadSecurityModeRejected,
            "a session moves only between channels of the same security policy and mode",
        ));
    }
    let endpoint = core.settings.endpoints.iter().find(|endpoint| endpoint.offer == offer);
    endpoint
        .ok_or_else(|| Error::new(StatusCode::BadSecurityPolicyRejected, "no endpoint is secured like that"))
}

fn locales(request: &ActivateSessionRequest) -> Vec<String> {
    let sent = request.locale_ids.iter().flatten().take(LOCALES_MAX);
    sent.map(|locale| locale.as_ref().to_owned()).collect()
}
