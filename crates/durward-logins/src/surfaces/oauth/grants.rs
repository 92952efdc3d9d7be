//! `/oauth2/token`: a client gets a token, for itself or for a user whose session it shows.

use std::time::Duration;

use durward_common::access::dpop::ProvenKey;
use durward_common::access::issued::subject;
use durward_common::surfaces::http::Answer;
use durward_session::identity::audit::{AuditEvent, Kind};
use durward_session::identity::jwt::{Binding, Request};
use durward_session::identity::session::{Refusal as TokenRefusal, Session};
use durward_session::{Failed, Purpose, Who};
use durward_settings::{ClientGrant, is_scope};
use hyper::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::{ClientRequest, browsers, json as answer_of, proof};

/// How many audiences one token may be for: one that many services take can be carried from each to all others.
const AUDIENCES_MAX: usize = 8;

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

/// The token of a session, as `subject_token_type`.
const SESSION: &str = "urn:durward:params:oauth:token-type:session";

const CODE: &str = "authorization_code";

const REFRESH: &str = "refresh_token";

const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";

/// RFC 6749, 5.1; RFC 8693, 2.2.1.
#[derive(Serialize)]
struct Given<'g> {
    access_token: String,
    token_type: &'static str,
    expires_in: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    scope: &'g str,
    #[serde(skip_serializing_if = "Option::is_none")]
    issued_token_type: Option<&'static str>,
}

pub(super) async fn answer(request: &ClientRequest<'_>) -> Result<Answer, Refusal> {
    match request.form.need("grant_type")? {
        "client_credentials" => for_itself(request).await,
        EXCHANGE => for_user(request).await,
        CODE => browsers::of_code(request).await,
        REFRESH => browsers::of_refresh_token(request).await,
        _ => Err(Refusal::grant_type()),
    }
}

async fn for_itself(request: &ClientRequest<'_>) -> Result<Answer, Refusal> {
    may(request, ClientGrant::ClientCredentials)?;
    let (audience, scope) = (audience(request)?, scope(request)?);
    let key = proof::key(request)?;
    let lifetime = request.issued.settings.token_lifetime();
    let token = issue(
        request,
        Request {
            issuer: &request.issued.issuer,
            subject: &subject::of_client(&request.client.id),
            audience: &audience,
            lifetime,
            client: Some(&request.client.id),
            scope: named(&scope),
            session: None,
            more: bound_to(key.as_ref()).collect(),
        },
    )?;
    record(request, &audience, None).await;
    Ok(given(token, key.as_ref(), lifetime, &scope, None))
}

async fn for_user(request: &ClientRequest<'_>) -> Result<Answer, Refusal> {
    may(request, ClientGrant::TokenExchange)?;
    is_of_types_there_are(request)?;
    let (audience, scope) = (audience(request)?, scope(request)?);
    let (who, session) = session(request).await?;
    // A token does not outlive its session's last possible moment.
    let lifetime = request.issued.settings.token_lifetime().min(session.ends.since(request.now));
    if lifetime < Duration::from_secs(1) {
        return Err(refused());
    }
    let key = proof::key(request)?;
    let began = session.stamp.moment().ms() / 1000;
    let more = [
        ("realm", json!(who.user.realm())),
        ("level", json!(session.level.min(who.level).0)),
        ("auth_time", json!(began)),
    ];
    let token = issue(
        request,
        Request {
            issuer: &request.issued.issuer,
            subject: &subject::of_user(&who.user),
            audience: &audience,
            lifetime,
            client: Some(&request.client.id),
            scope: named(&scope),
            session: Some(&who.id.to_string()),
            more: more
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .chain(bound_to(key.as_ref()))
                .collect(),
        },
    )?;
    record(request, &audience, Some(&who)).await;
    Ok(given(token, key.as_ref(), lifetime, &scope, Some(ACCESS_TOKEN)))
}

fn may(request: &ClientRequest<'_>, grant: ClientGrant) -> Result<(), Refusal> {
    if request.client.grants.contains(&grant) {
        return Ok(());
    }
    Err(Refusal::unauthorized("this client may not use this grant"))
}

/// What is exchanged is the token of a session, and what comes of it an access token.
fn is_of_types_there_are(request: &ClientRequest<'_>) -> Result<(), Refusal> {
    let form = &request.form;
    if form.need("subject_token_type")? != SESSION {
        return Err(Refusal::request(format!("`subject_token_type` must be {SESSION}")));
    }
    if form.get("actor_token").is_some() || form.get("actor_token_type").is_some() {
        return Err(Refusal::request(
            "tokens for somebody in the name of another are not given: no `actor_token`",
        ));
    }
    match form.get("requested_token_type") {
        None | Some(ACCESS_TOKEN | JWT) => Ok(()),
        Some(_) => Err(Refusal::request(format!("`requested_token_type` must be {ACCESS_TOKEN}"))),
    }
}

/// Whom the token is for: always said, and all of it the client's to ask for.
fn audience<'a>(request: &'a ClientRequest<'_>) -> Result<Vec<&'a str>, Refusal> {
    let mut audience: Vec<&str> = request.form.all("audience").chain(request.form.all("resource")).collect();
    audience.sort_unstable();
    audience.dedup();
    if audience.is_empty() {
        return Err(Refusal::request("the parameter `audience` is missing: whom is the token for?"));
    }
    if audience.len() > AUDIENCES_MAX {
        return Err(Refusal::request(format!("a token is for {AUDIENCES_MAX} audiences at most")));
    }
    let is_allowed = |audience: &&str| request.client.audiences.iter().any(|allowed| allowed == *audience);
    if audience.iter().all(is_allowed) { Ok(audience) } else { Err(Refusal::target()) }
}

/// What the token allows: what is asked for, or else all that the client may ask for.
fn scope(request: &ClientRequest<'_>) -> Result<String, Refusal> {
    let Some(wanted) = request.form.get("scope") else { return Ok(request.client.scopes.join(" ")) };
    let mut scopes: Vec<&str> = Vec::new();
    for scope in wanted.split(' ').filter(|scope| !scope.is_empty()) {
        if !is_scope(scope) || !request.client.scopes.iter().any(|allowed| allowed == scope) {
            return Err(Refusal::scope());
        }
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    Ok(scopes.join(" "))
}

fn named(scope: &str) -> Option<&str> {
    (!scope.is_empty()).then_some(scope)
}

/// Whose session is shown, if it lives.
async fn session(request: &ClientRequest<'_>) -> Result<(Who, Session), Refusal> {
    let token = request.form.need("subject_token")?;
    let Some(service) = request.service else {
        return Err(Refusal::request("there are no sessions on this server"));
    };
    service.session(token, Purpose::Use).await.map_err(|failed| match failed {
        Failed::Token(TokenRefusal::Unavailable)
        | Failed::Directory(_)
        | Failed::Unavailable(_)
        | Failed::Delayed { .. }
        | Failed::Unknown => Refusal::unavailable("the session cannot be asked about; try again"),
        Failed::Token(_)
        | Failed::Forbidden
        | Failed::SecondStepNeeded
        | Failed::NoSession
        | Failed::UnknownRealm
        | Failed::Code
        | Failed::Properties(_) => refused(),
    })
}

/// RFC 8693, 2.2.2: a subject token that is not accepted is a wrong request.
fn refused() -> Refusal {
    Refusal::request("the subject token is not accepted: its session has ended, or it is none")
}

fn issue(request: &ClientRequest<'_>, token: Request<'_>) -> Result<String, Refusal> {
    request.issued.keys.issue(request.client.algorithm, request.now, token).map_err(|error| {
        tracing::error!(%error, client = request.client.id, "a token could not be made");
        Refusal::unavailable("the token could not be made; try again")
    })
}

/// The claim that binds a token to a key.
pub(super) fn bound_to(key: Option<&ProvenKey>) -> impl Iterator<Item = (String, Value)> + use<> {
    key.map(|key| Binding::claim(key.thumbprint())).into_iter()
}

fn given(
    access_token: String,
    key: Option<&ProvenKey>,
    lifetime: Duration,
    scope: &str,
    kind: Option<&'static str>,
) -> Answer {
    let (token_type, expires_in) = (proof::token_type(key), lifetime.as_secs());
    let given = Given { access_token, token_type, expires_in, scope, issued_token_type: kind };
    answer_of(StatusCode::OK, &given)
}

async fn record(request: &ClientRequest<'_>, audience: &[&str], who: Option<&Who>) {
    let Some(service) = request.service else { return };
    let event =
        AuditEvent::new(Kind::TokenIssued).address(&request.address.to_string()).by(&request.client.id);
    let event = event.detail(&format!("for {}", audience.join(" ")));
    service
        .audit(match who {
            Some(who) => event.of(&who.user).session(who.id),
            None => event,
        })
        .await;
}
