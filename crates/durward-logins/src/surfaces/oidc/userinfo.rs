//! `/oauth2/userinfo`: who an access token is about (OpenID Connect Core, 5.3).

use bytes::Bytes;
use durward_common::access::dpop::{self, DPOP, DPOP_NONCE, NotProved, Share, ShownFor, TakenProof};
use durward_common::access::issued::user_claims::{self, OPENID};
use durward_common::access::issued::{Issued, subject};
use durward_common::base::parameters::Parameters;
use durward_common::surfaces::http::Answer;
use durward_session::Service;
use durward_session::identity::Moment;
use durward_session::identity::jwt::{Binding, Claims, ProofExpected, ProofRefusal};
use durward_session::identity::session::{SessionId, User};
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request;
use hyper::{Response, StatusCode};
use serde_json::{Map, Value};

/// Why nothing is said.
enum Refused {
    /// No token was shown.
    Unshown,
    /// The token is not good, or not good any more, or it is bound to a key and shown as if it were not.
    Token(Scheme),
    /// A token was shown in two ways, or in a form that cannot be read.
    Request,
    /// It was not given for this.
    Scope(Scheme),
    /// It is bound to a key, and the proof is none, or of something else.
    Proof(NotProved),
    Unavailable,
}

/// How a token is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Bearer,
    Dpop,
}

/// One request.
struct Asked<'a> {
    issued: &'a Issued,
    service: &'a Service,
    head: &'a request::Parts,
    now: Moment,
}

pub(super) async fn answer(issued: &Issued, service: &Service, head: &request::Parts, now: Moment) -> Answer {
    let asked = Asked { issued, service, head, now };
    let (mut answer, why) = match said(&asked).await {
        Ok(claims) => {
            let text = Value::Object(claims).to_string() + "\n";
            let mut answer = Response::new(Full::new(Bytes::from(text)));
            let json = HeaderValue::from_static("application/json");
            answer.headers_mut().insert(header::CONTENT_TYPE, json);
            (answer, None)
        }
        Err(refused) => {
            let why = match refused {
                Refused::Proof(why) => Some(why),
                Refused::Unshown
                | Refused::Token(_)
                | Refused::Request
                | Refused::Scope(_)
                | Refused::Unavailable => None,
            };
            (refusal(&refused), why)
        }
    };
    let nonce = issued.proofs.next_nonce(why, now).filter(|_| head.headers.contains_key(DPOP));
    if let Some(nonce) = nonce {
        answer.headers_mut().insert(DPOP_NONCE, nonce);
    }
    for_any_page(answer)
}

/// A token in a form is what a Bearer token in the header is (RFC 6750, 2.2), and is put there. Not where a token is shown in both.
pub(super) fn show_token_of(form: &[u8], headers: &mut HeaderMap) -> bool {
    let Ok(parameters) = Parameters::read(form) else { return false };
    let Some(token) = parameters.get("access_token") else { return true };
    let Ok(shown) = HeaderValue::try_from(format!("Bearer {token}")) else { return false };
    headers.insert(header::AUTHORIZATION, shown).is_none()
}

pub(super) fn wrong_request() -> Answer {
    for_any_page(refusal(&Refused::Request))
}

fn for_any_page(mut answer: Answer) -> Answer {
    let headers = answer.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // The token is shown, and no cookie counts: any page that has one may ask.
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    let exposed = HeaderValue::from_static("DPoP-Nonce, WWW-Authenticate");
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    answer
}

/// RFC 6750, 3.1; RFC 9449, 7.1.
fn refusal(refused: &Refused) -> Answer {
    const INVALID: &str = "error=\"invalid_token\"";
    const SCOPE: &str = "error=\"insufficient_scope\", scope=\"openid\"";
    let dpop = |more: &str| format!("{}, {more}", dpop::CHALLENGE);
    let (status, challenges) = match refused {
        Refused::Unshown => (StatusCode::UNAUTHORIZED, vec!["Bearer".to_owned(), dpop::CHALLENGE.to_owned()]),
        Refused::Token(Scheme::Bearer) => (StatusCode::UNAUTHORIZED, vec![format!("Bearer {INVALID}")]),
        Refused::Token(Scheme::Dpop) => (StatusCode::UNAUTHORIZED, vec![dpop(INVALID)]),
        Refused::Scope(Scheme::Bearer) => (StatusCode::FORBIDDEN, vec![format!("Bearer {SCOPE}")]),
        Refused::Scope(Scheme::Dpop) => (StatusCode::FORBIDDEN, vec![dpop(SCOPE)]),
        Refused::Proof(NotProved::Nonce) => {
            (StatusCode::UNAUTHORIZED, vec![dpop("error=\"use_dpop_nonce\"")])
        }
        Refused::Proof(why) => {
            let more = format!("error=\"invalid_dpop_proof\", error_description=\"{why}\"");
            (StatusCode::UNAUTHORIZED, vec![dpop(&more)])
        }
        Refused::Request => (StatusCode::BAD_REQUEST, vec!["Bearer error=\"invalid_request\"".to_owned()]),
        Refused::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, Vec::new()),
    };
    let mut answer = Response::new(Full::new(Bytes::new()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    if challenges.is_empty() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    for challenge in challenges.into_iter().filter_map(|text| HeaderValue::try_from(text).ok()) {
        headers.append(header::WWW_AUTHENTICATE, challenge);
    }
    answer
}

async fn said(asked: &Asked<'_>) -> Result<Map<String, Value>, Refused> {
    let Asked { issued, service, head, now } = *asked;
    let (scheme, token) = shown(&head.headers).ok_or(Refused::Unshown)?;
    let wrong = || Refused::Token(scheme);
    issued.catch_up().await.map_err(|_| Refused::Unavailable)?;
    let claims = issued.good(token, now).ok_or_else(wrong)?;
    let proof = match (scheme, claims.binding()) {
        (Scheme::Bearer, Binding::Bearer) => None,
        (Scheme::Dpop, Binding::Key(key)) => Some(prove(asked, token, &claims, &key)?),
        (Scheme::Bearer, Binding::Key(_) | Binding::Unknown)
        | (Scheme::Dpop, Binding::Bearer | Binding::Unknown) => return Err(wrong()),
    };
    let userinfo = issued.userinfo();
    if !claims.aud.iter().any(|audience| *audience == userinfo || *audience == issued.issuer) {
        return Err(wrong());
    }
    let (user, session) = whose(&claims.sub, claims.sid.as_deref()).ok_or_else(wrong)?;
    let scopes: Vec<&str> = claims.scope.as_deref().unwrap_or_default().split(' ').collect();
    if !scopes.contains(&OPENID) {
        return Err(Refused::Scope(scheme));
    }
    let lives = service.lives(&user, session).await.map_err(|_| Refused::Unavailable)?;
    if !lives {
        return Err(wrong());
    }
    let account = service.active_account(&user).await.map_err(|_| Refused::Unavailable)?;
    let account = account.ok_or_else(wrong)?;
    proof.map(TakenProof::keep);
    Ok(user_claims::of(&user, &account, &scopes))
}

/// The token. Which of several counts must not depend on who looks.
fn shown(headers: &HeaderMap) -> Option<(Scheme, &str)> {
    let mut fields = headers.get_all(header::AUTHORIZATION).iter();
    let (scheme, token) = fields.next()?.to_str().ok()?.split_once(' ')?;
    let schemes = [("bearer", Scheme::Bearer), ("dpop", Scheme::Dpop)];
    let (_, scheme) = schemes.into_iter().find(|(name, _)| scheme.eq_ignore_ascii_case(name))?;
    fields.next().is_none().then_some((scheme, token.trim()))
}

/// That whoever asks has the key of the token. It counts once something comes of it.
fn prove<'a>(asked: &Asked<'a>, token: &str, claims: &Claims, key: &str) -> Result<TakenProof<'a>, Refused> {
    let refused = |why| match why {
        NotProved::Full => Refused::Unavailable,
        NotProved::Several
        | NotProved::Refused(_)
        | NotProved::Key
        | NotProved::Again
        | NotProved::Early
        | NotProved::Nonce => Refused::Proof(why),
    };
    let text = dpop::shown(&asked.head.headers).map_err(refused)?;
    let text = text.ok_or(Refused::Proof(ProofRefusal::Malformed.into()))?;
    let addresses = [asked.issued.userinfo()];
    let method = asked.head.method.as_str();
    let expected = ProofExpected { method, addresses: &addresses, token: Some(token), now: asked.now };
    let proof = asked.issued.proofs.check(text, &expected).map_err(refused)?;
    if proof.thumbprint() != key {
        return Err(Refused::Proof(NotProved::Key));
    }
    let client = claims.client_id.as_deref().unwrap_or_default();
    let shares = [Share::user(&claims.sub), Share::client(client)];
    asked.issued.proofs.take(&proof, ShownFor::Token, asked.now, &shares).map_err(refused)
}

/// The user and the session of a token, where it has one.
fn whose(sub: &str, session: Option<&str>) -> Option<(User, SessionId)> {
    Some((subject::read(sub)?, SessionId::read(session?)?))
}
