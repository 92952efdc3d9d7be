//! `/.well-known/...`: what others must know of this server (RFC 8414), and its public keys (RFC 7517).

use durward_session::identity::Moment;
use hyper::header::HeaderValue;
use serde_json::{Value, json};

use super::kept;
use crate::access::issued::Issued;
use crate::surfaces::http::Answer;

/// How long the document may be kept: it changes with the settings alone.
const DOCUMENT_KEPT: HeaderValue = HeaderValue::from_static("public, max-age=3600");

/// The public keys. They may be kept for a part of the time in which a new key is published and does not sign yet.
pub(super) fn keys(issued: &Issued, now: Moment) -> Answer {
    let seconds = (issued.settings.key_overlap_s / 4).min(3600);
    let how = HeaderValue::try_from(format!("public, max-age={seconds}"));
    kept(&issued.keys.to_jwks(now), how.unwrap_or(HeaderValue::from_static("no-store")))
}

/// What there is, and no more: no authorization endpoint, hence no response type, and no ID tokens.
pub(super) fn document(issued: &Issued) -> Answer {
    let (issuer, clients) = (&issued.issuer, issued.clients.load());
    let scopes: std::collections::BTreeSet<&String> =
        clients.iter().flat_map(|client| &client.scopes).collect();
    let authentication = json!(["client_secret_basic", "client_secret_post"]);
    let mut grants = vec!["client_credentials"];
    if issued.service.is_some() {
        grants.push("urn:ietf:params:oauth:grant-type:token-exchange");
    }
    let document: Value = json!({
        "issuer": issuer,
        "token_endpoint": format!("{issuer}/oauth2/token"),
        "jwks_uri": format!("{issuer}/.well-known/jwks.json"),
        "introspection_endpoint": format!("{issuer}/oauth2/introspect"),
        "revocation_endpoint": format!("{issuer}/oauth2/revoke"),
        "grant_types_supported": grants,
        "response_types_supported": [],
        "scopes_supported": scopes,
        "token_endpoint_auth_methods_supported": authentication,
        "introspection_endpoint_auth_methods_supported": authentication,
        "revocation_endpoint_auth_methods_supported": authentication,
    });
    kept(&document, DOCUMENT_KEPT)
}
