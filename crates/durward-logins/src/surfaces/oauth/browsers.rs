//! Tokens for users who logged in with a browser: for the code that it carried, and for each refresh token that follows.

use std::time::Duration;

use durward_common::access::dpop::{CheckedProof, ProvenKey, ShownFor, TakenProof};
use durward_common::access::issued::grant::{GRANT, Grant, NotTaken, Taken};
use durward_common::access::issued::id_token::acr;
use durward_common::access::issued::subject;
use durward_common::access::issued::user_claims::OPENID;
use durward_common::surfaces::http::Answer;
use durward_session::identity::IdentityError;
use durward_session::identity::audit::{AuditEvent, Kind};
use durward_session::identity::jwt::Request;
use durward_settings::ClientGrant;
use hyper::StatusCode;
use serde::Serialize;
use serde_json::json;

use super::refusal::Refusal;
use super::{ClientRequest, grants, json as answer_of, proof};

/// RFC 6749, 5.1; OpenID Connect Core, 3.1.3.3.
#[derive(Serialize)]
struct Given<'g> {
    access_token: &'g str,
    token_type: &'static str,
    expires_in: u64,
    scope: &'g str,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token: Option<String>,
}

pub(super) async fn of_code(request: &ClientRequest<'_>) -> Result<Answer, Refusal> {
    may(request, ClientGrant::AuthorizationCode)?;
    let (code, redirect_uri) = (request.form.need("code")?, request.form.need("redirect_uri")?);
    let verifier = request.form.get("code_verifier");
    let grant = request.issued.read_code(code, request.client, redirect_uri, verifier, request.now);
    give(request, grant).await
}

pub(super) async fn of_refresh_token(request: &ClientRequest<'_>) -> Result<Answer, Refusal> {
    may(request, ClientGrant::RefreshToken)?;
    let token = request.form.need("refresh_token")?;
    give(request, request.issued.read_refresh_token(token, request.client, request.now)).await
}

fn may(request: &ClientRequest<'_>, grant: ClientGrant) -> Result<(), Refusal> {
    if request.client.may(grant) {
        return Ok(());
    }
    Err(Refusal::unauthorized("this client may not use this grant"))
}

/// What a request may have is found out before the turn is used up: whoever asks for too much may ask again for less.
async fn give(request: &ClientRequest<'_>, grant: Option<Grant>) -> Result<Answer, Refusal> {
    let grant = grant.ok_or_else(Refusal::grant)?;
    let proof = proof::checked(request, ShownFor::Token)?;
    if !grant.is_for_key(proof.as_ref().map(CheckedProof::thumbprint)) {
        return Err(Refusal::grant());
    }
    let scopes = narrowed(request, &grant)?;
    has_still(request, &grant)?;
    // Before the turn, so that a proof that was seen uses up nothing; and given back where the turn was used.
    let proof = proof::taken(request, proof.as_ref(), ShownFor::Token)?;
    let taken = take(request, grant).await?;
    let key = proof.map(TakenProof::keep);
    // A token does not outlive its session's last possible moment.
    let lifetime = request.issued.settings.token_lifetime().min(taken.session.ends.since(request.now));
    if lifetime < Duration::from_secs(1) {
        return Err(Refusal::grant());
    }
    let made = make(request, &taken, key.as_ref(), &scopes, lifetime);
    let (access_token, id_token, refresh_token) = made.map_err(|error| {
        tracing::error!(%error, client = request.client.id, "a token could not be made");
        Refusal::unavailable("the token could not be made; log in again")
    })?;
    if request.client.backchannel_logout_uri.is_some()
        && !request.issued.participants.note(&taken.who, request.client.id.clone())
    {
        tracing::warn!(client = request.client.id, "too many sessions to tell this client when one ends");
    }
    let event = AuditEvent::new(Kind::TokenIssued).of(&taken.who.user).session(taken.who.id);
    note(request, event.detail(&format!("for {}", audience(request, &taken, &scopes).join(" ")))).await;
    let given = Given {
        access_token: &access_token,
        token_type: proof::token_type(key.as_ref()),
        expires_in: lifetime.as_secs(),
        scope: &scopes,
        refresh_token,
        id_token,
    };
    Ok(answer_of(StatusCode::OK, &given))
}

async fn take(request: &ClientRequest<'_>, grant: Grant) -> Result<Taken, Refusal> {
    match request.issued.take(grant, request.now).await {
        Ok(taken) => Ok(taken),
        Err(NotTaken::Invalid) => Err(Refusal::grant()),
        Err(NotTaken::Again) => {
            let detail = "a code or refresh token was used again: its grant has ended";
            note(request, AuditEvent::new(Kind::Revoked).detail(detail)).await;
            Err(Refusal::grant())
        }
        Err(NotTaken::Unavailable) => {
            Err(Refusal::unavailable("the session cannot be asked about; try again"))
        }
    }
}

type Made = (String, Option<String>, Option<String>);

fn make(
    request: &ClientRequest<'_>,
    taken: &Taken,
    key: Option<&ProvenKey>,
    scopes: &str,
    lifetime: Duration,
) -> Result<Made, IdentityError> {
    let (issued, client, now) = (request.issued, request.client, request.now);
    let more = [
        ("realm", json!(taken.who.user.realm())),
        ("level", json!(taken.level())),
        ("acr", json!(acr(taken.level()))),
        ("auth_time", json!(taken.auth_time_s())),
        (GRANT, json!(taken.name().to_string())),
    ];
    let audience = audience(request, taken, scopes);
    let audience: Vec<&str> = audience.iter().map(String::as_str).collect();
    let token = Request {
        issuer: &issued.issuer,
        subject: &subject::of_user(&taken.who.user),
        audience: &audience,
        lifetime,
        client: Some(&client.id),
        scope: (!scopes.is_empty()).then_some(scopes),
        session: Some(&taken.who.id.to_string()),
        more: more
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .chain(grants::bound_to(key))
            .collect(),
    };
    let access_token = issued.keys.issue(client.algorithm, now, token)?;
    // Of the scopes of this token: what the client may not have any more, or did not ask for, makes no ID token.
    let id_token = is_openid(scopes)
        .then(|| issued.id_token(client, taken, &access_token, lifetime, now))
        .transpose()?;
    let may_refresh = client.may(ClientGrant::RefreshToken);
    let refresh_token = may_refresh.then(|| issued.refresh_token(client, taken, key)).transpose()?;
    Ok((access_token, id_token, refresh_token))
}

/// The services that were named; and `userinfo`, for a token that may ask there. A token for `userinfo` alone is nobody's subject of a
/// decision: for that the client names a service, or the issuer. No token is without an audience (RFC 9068, 2.2).
fn audience(request: &ClientRequest<'_>, taken: &Taken, scopes: &str) -> Vec<String> {
    let resources = &taken.grant.resources;
    let userinfo = (is_openid(scopes) || resources.is_empty()).then(|| request.issued.userinfo());
    userinfo.into_iter().chain(resources.iter().cloned()).collect()
}

fn is_openid(scopes: &str) -> bool {
    scopes.split(' ').any(|scope| scope == OPENID)
}

/// What was granted, or the part of it that is asked for (RFC 6749, 6); without what the client may not have any more.
fn narrowed(request: &ClientRequest<'_>, grant: &Grant) -> Result<String, Refusal> {
    let is_allowed = |scope: &&String| request.client.scopes.contains(scope);
    let granted: Vec<&str> = grant.scopes.iter().filter(is_allowed).map(String::as_str).collect();
    let Some(wanted) = request.form.get("scope") else { return Ok(granted.join(" ")) };
    let wanted: Vec<&str> = wanted.split(' ').filter(|scope| !scope.is_empty()).collect();
    if wanted.iter().all(|scope| granted.contains(scope)) {
        Ok(wanted.join(" "))
    } else {
        Err(Refusal::scope())
    }
}

/// A token without one of the services that it was granted for would be another token: the client asks for a new grant.
fn has_still(request: &ClientRequest<'_>, grant: &Grant) -> Result<(), Refusal> {
    if grant.resources.iter().all(|resource| request.client.audiences.contains(resource)) {
        return Ok(());
    }
    Err(Refusal::target())
}

async fn note(request: &ClientRequest<'_>, event: AuditEvent) {
    if let Some(service) = request.service {
        service.audit(event.address(&request.address.to_string()).by(&request.client.id)).await;
    }
}
