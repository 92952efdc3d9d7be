//! `/.well-known/...`: what others must know of this server (RFC 8414), and its public keys (RFC 7517).

use durward_common::access::issued::id_token::acr;
use durward_common::access::issued::{Issued, user_claims};
use durward_common::surfaces::http::Answer;
use durward_session::Service;
use durward_session::identity::Moment;
use durward_session::identity::jwt::PROOF_ALGORITHMS;
use durward_settings::{ClientDpop, ClientGrant};
use hyper::header::HeaderValue;
use serde_json::{Value, json};

use super::kept;

/// How long the document may be kept: it changes with the settings alone.
const DOCUMENT_KEPT: HeaderValue = HeaderValue::from_static("public, max-age=3600");

/// The public keys. They may be kept for a part of the time in which a new key is published and does not sign yet.
pub(super) fn keys(issued: &Issued, now: Moment) -> Answer {
    let seconds = (issued.settings.key_overlap_s / 4).min(3600);
    let how = HeaderValue::try_from(format!("public, max-age={seconds}"));
    kept(&issued.keys.to_jwks(now), how.unwrap_or(HeaderValue::from_static("no-store")))
}

/// What there is, and no more: what concerns browsers only where there are users, and a client whose users have browsers.
pub(super) fn document(issued: &Issued) -> Answer {
    let (issuer, clients) = (&issued.issuer, issued.clients.load());
    let scopes: std::collections::BTreeSet<&String> =
        clients.iter().flat_map(|client| &client.scopes).collect();
    let has = |grant: ClientGrant| clients.iter().any(|client| client.may(grant));
    let has_browsers = issued.service.is_some() && has(ClientGrant::AuthorizationCode);
    let mut authentication = vec!["client_secret_basic", "client_secret_post"];
    let mut grants = vec!["client_credentials"];
    if issued.service.is_some() {
        grants.push("urn:ietf:params:oauth:grant-type:token-exchange");
    }
    if has_browsers {
        grants.extend(["authorization_code", "refresh_token"]);
        if clients.iter().any(|client| client.public) {
            authentication.push("none");
        }
    }
    let mut document: Value = json!({
        "issuer": issuer,
        "token_endpoint": format!("{issuer}/oauth2/token"),
        "jwks_uri": format!("{issuer}/.well-known/jwks.json"),
        "introspection_endpoint": format!("{issuer}/oauth2/introspect"),
        "revocation_endpoint": format!("{issuer}/oauth2/revoke"),
        "grant_types_supported": grants,
        "response_types_supported": [],
        "scopes_supported": scopes,
        "token_endpoint_auth_methods_supported": authentication,
        "introspection_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "revocation_endpoint_auth_methods_supported": authentication,
    });
    if let Value::Object(members) = &mut document
        && clients.iter().any(|client| client.dpop != ClientDpop::Off)
    {
        let algorithms: Vec<&str> = PROOF_ALGORITHMS.iter().map(|algorithm| algorithm.name()).collect();
        members.insert("dpop_signing_alg_values_supported".to_owned(), json!(algorithms));
    }
    let service = issued.service.as_ref().filter(|_| has_browsers);
    let more = service.map(|service| of_browsers(issued, service));
    if let (Value::Object(members), Some(Value::Object(more))) = (&mut document, more) {
        members.extend(more);
    }
    kept(&document, DOCUMENT_KEPT)
}

/// OpenID Connect Discovery, 3; RFC 9126, 5; RFC 9207, 3; the logout specifications.
fn of_browsers(issued: &Issued, service: &Service) -> Value {
    let issuer = &issued.issuer;
    let algorithms: Vec<&str> =
        issued.settings.algorithms.iter().map(|algorithm| algorithm.of_keys().name()).collect();
    let settings = service.settings();
    json!({
        "authorization_endpoint": format!("{issuer}/oauth2/authorize"),
        "pushed_authorization_request_endpoint": format!("{issuer}/oauth2/par"),
        "userinfo_endpoint": issued.userinfo(),
        "end_session_endpoint": format!("{issuer}/oauth2/logout"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": algorithms,
        "code_challenge_methods_supported": ["S256"],
        "acr_values_supported": [acr(settings.password_level.0), acr(settings.second_step_level.0)],
        "claims_supported": user_claims::names(),
        "prompt_values_supported": ["none", "login", "consent", "select_account"],
        "authorization_response_iss_parameter_supported": true,
        "claims_parameter_supported": false,
        "request_parameter_supported": false,
        "request_uri_parameter_supported": false,
        "backchannel_logout_supported": true,
        "backchannel_logout_session_supported": true,
    })
}
