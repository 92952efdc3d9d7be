//! `/.well-known/authzen-configuration`: where a client of AuthZEN asks what, also signed where this server signs tokens (`[oauth]`).

use durward_common::surfaces::http::problem::Problem;
use durward_common::surfaces::http::{Answer, text_answer};
use durward_session::identity::Moment;
use durward_session::identity::jwt::TokenKind;
use durward_settings::is_tenant;
use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use serde_json::{Map, Value, json};

use super::Surface;

/// Where it is; behind it may stand a tenant.
pub(super) const PATH: &str = "/.well-known/authzen-configuration";

/// How long it may be kept, and half of how long what is signed is good.
const KEPT_S: u64 = 3600;

/// What there is, for a tenant where one is named. That a tenant is named says nothing of whether there is one.
pub(super) fn answer(surface: &Surface, tenant: &str) -> Result<Answer, Problem> {
    let url = surface.settings.url.as_deref().filter(|_| tenant.is_empty() || is_tenant(tenant));
    let Some(url) = url else {
        let detail = "there is no metadata: `authzen.url` says what this decision point is called";
        return Err(Problem::new(StatusCode::NOT_FOUND, detail));
    };
    let url = if tenant.is_empty() { url.to_owned() } else { format!("{url}/{tenant}") };
    let mut document = document(surface, &url);
    if let Some(signed) = signed(surface, &document)? {
        document.insert("signed_metadata".to_owned(), signed.into());
    }
    let mut answer = text_answer("application/json", Value::Object(document).to_string() + "\n");
    if let Ok(kept) = HeaderValue::try_from(format!("public, max-age={KEPT_S}")) {
        answer.headers_mut().insert(header::CACHE_CONTROL, kept);
    }
    Ok(answer)
}

fn document(surface: &Surface, url: &str) -> Map<String, Value> {
    let settings = &surface.settings;
    let mut document = Map::new();
    let mut say = |name: &str, value: Value| drop(document.insert(name.to_owned(), value));
    say("policy_decision_point", url.into());
    say("access_evaluation_endpoint", format!("{url}/access/v1/evaluation").into());
    say("access_evaluations_endpoint", format!("{url}/access/v1/evaluations").into());
    if settings.has_entities() {
        say("search_subject_endpoint", format!("{url}/access/v1/search/subject").into());
        say("search_resource_endpoint", format!("{url}/access/v1/search/resource").into());
    }
    if !settings.actions.is_empty() {
        say("search_action_endpoint", format!("{url}/access/v1/search/action").into());
    }
    document
}

/// The same as a signed token, where tokens are signed here.
fn signed(surface: &Surface, document: &Map<String, Value>) -> Result<Option<String>, Problem> {
    let Some(issued) = &surface.issued else { return Ok(None) };
    let now = Moment::of((surface.clock)());
    let now_s = now.ms() / 1000;
    let mut claims = document.clone();
    let times = [("iat", now_s), ("nbf", now_s), ("exp", now_s.saturating_add(2 * KEPT_S))];
    claims.extend(times.map(|(name, at)| (name.to_owned(), json!(at))));
    claims.insert("iss".to_owned(), json!(issued.issuer));
    let signed = issued.keys.sign(None, now, TokenKind::Metadata, &claims);
    signed.map(Some).map_err(|error| {
        tracing::error!(%error, "the metadata of AuthZEN cannot be signed");
        Problem::unavailable("the metadata cannot be signed at the moment")
    })
}
