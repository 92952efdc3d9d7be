//! The cookies of a browser: its session, what ties its forms to it, and the consents that were given in it.
//!
//! `SameSite=Lax`: applications send browsers here from their own sites. No other surface takes these cookies, and nothing is changed
//! without a form that only this browser was given.

use std::time::Duration;

use durward_common::surfaces::http::Answer;
use durward_common::surfaces::http::cookies::{self, Cookies};
use durward_session::identity::{Entropy, IdentityError, SystemEntropy, hex};
use hyper::header::{self, HeaderMap, HeaderValue};

/// How long consents are remembered by the browser.
pub const CONSENT_S: u64 = 180 * 86_400;

/// How the cookies are called, and sent.
pub struct CookieNames {
    /// The cookie with the session's token.
    pub session: String,
    /// The cookie that ties forms to a browser.
    pub browser: String,
    /// The cookie that remembers consent.
    pub consent: String,
    /// A login at another provider that is not finished.
    pub upstream: String,
    /// What a logout at another provider needs.
    pub upstream_login: String,
    is_secure: bool,
}

impl CookieNames {
    /// Over TLS alone, browsers take a cookie of such a name from this very host alone, and no neighbour can set one (RFC 6265bis, 4.1.3.2).
    pub fn new(is_secure: bool) -> CookieNames {
        let prefix = if is_secure { "__Host-" } else { "" };
        let name = |rest: &str| format!("{prefix}durward_{rest}");
        CookieNames {
            session: name("login"),
            browser: name("browser"),
            consent: name("consent"),
            upstream: name("upstream"),
            upstream_login: name("upstream_login"),
            is_secure,
        }
    }

    /// Sets a cookie, until the browser is closed or for some seconds; 0 removes it.
    pub fn set(&self, answer: &mut Answer, name: &str, value: &str, max_age_s: Option<u64>) {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let age = max_age_s.map(|seconds| format!("; Max-Age={seconds}")).unwrap_or_default();
        let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{age}");
        if let Ok(text) = HeaderValue::try_from(text) {
            answer.headers_mut().append(header::SET_COOKIE, text);
        }
    }

    /// Has the browser keep the proof that its user has logged in with it, which all surfaces share.
    pub fn keep_device(&self, answer: &mut Answer, proof: Option<&str>, kept_for: Duration) {
        cookies::keep_device(answer, proof, kept_for, self.is_secure);
    }
}

/// The value of a cookie, if there is one of the name, and not two that differ.
pub fn value<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    match Cookies::named(headers, |one| one == name) {
        Cookies::One(value) if !value.is_empty() => Some(value),
        Cookies::One(_) | Cookies::None | Cookies::Several => None,
    }
}

/// A new name for a browser, that nobody can guess.
///
/// # Errors
/// There is no randomness.
pub fn new_browser() -> Result<String, IdentityError> {
    let mut name = [0; 16];
    SystemEntropy.fill(&mut name)?;
    Ok(hex(&name))
}
