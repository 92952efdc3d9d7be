//! Consents that were given: kept by the browser, sealed, for the user who gave them.

use durward_common::access::issued::authorization::Authorization;
use durward_common::access::issued::digest::digest;
use durward_common::surfaces::http::Answer;
use serde::{Deserialize, Serialize};

use super::BrowserRequest;
use super::cookies::{CONSENT_S, value};

/// The purpose of the seal.
const PURPOSE: &str = "oidc consents";

/// How many consents a browser keeps; for older ones, users are asked again.
const CONSENTS_MAX: usize = 32;

#[derive(Default, Serialize, Deserialize)]
struct Consents {
    until_s: u64,
    /// Digests of user, client, scopes and resources, oldest first.
    given: Vec<String>,
}

/// What one consent is called. More scopes are another one, and so are other services.
fn name(subject: &str, authorization: &Authorization) -> String {
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort_unstable();
        names
    };
    let (scopes, resources) = (sorted(&authorization.scopes), sorted(&authorization.resources));
    let said = serde_json::json!([subject, authorization.client, scopes, resources]);
    let mut name = digest(said.to_string().as_bytes());
    name.truncate(22);
    name
}

fn read(request: &BrowserRequest<'_>) -> Consents {
    let cookie = value(request.headers, &request.surface.cookies.consent);
    let content = cookie.and_then(|text| request.service.unseal(PURPOSE, text));
    let consents: Option<Consents> = content.and_then(|content| serde_json::from_slice(&content).ok());
    consents.filter(|consents| consents.until_s > request.now.ms() / 1000).unwrap_or_default()
}

/// Whether the user has said yes to this.
pub(super) fn is_given(request: &BrowserRequest<'_>, subject: &str, authorization: &Authorization) -> bool {
    read(request).given.contains(&name(subject, authorization))
}

/// Remembers that they did. What cannot be remembered is asked again.
pub(super) fn remember(
    request: &BrowserRequest<'_>,
    answer: &mut Answer,
    subject: &str,
    authorization: &Authorization,
) {
    let mut consents = read(request);
    let name = name(subject, authorization);
    consents.given.retain(|known| *known != name);
    consents.given.push(name);
    let surplus = consents.given.len().saturating_sub(CONSENTS_MAX);
    consents.given.drain(..surplus);
    consents.until_s = request.now.ms() / 1000 + CONSENT_S;
    let content = serde_json::to_vec(&consents).unwrap_or_default();
    if let Ok(sealed) = request.service.seal(PURPOSE, &content) {
        let cookies = &request.surface.cookies;
        cookies.set(answer, &cookies.consent, &sealed, Some(CONSENT_S));
    }
}
