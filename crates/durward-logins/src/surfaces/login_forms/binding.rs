//! Ties a form to the browser that it was given to, and to a time: the browser has a cookie with a name that nobody else knows, and the
//! form has its digest. So a page of another site can neither send a form (it has none of this browser) nor have this browser finish a
//! login that somebody else began.

use durward_common::access::issued::authorization::FORMS_S;
use durward_common::access::issued::digest::digest;
use durward_common::surfaces::http::Answer;
use durward_common::surfaces::http::cookies::is_of_other_site;
use durward_session::identity::{IdentityError, Moment};
use hyper::header::HeaderMap;
use serde::{Deserialize, Serialize};

use super::cookies::{self, CookieNames};

/// Sealed into a form, with all else that it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The digest of the browser's name.
    browser: String,
    /// The name, where the browser has none yet.
    #[serde(skip)]
    new_browser: Option<String>,
    until_s: u64,
}

impl Binding {
    /// To the browser that asks, from now on.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn new(headers: &HeaderMap, names: &CookieNames, now: Moment) -> Result<Binding, IdentityError> {
        let known = cookies::value(headers, &names.browser);
        let new_browser = if known.is_none() { Some(cookies::new_browser()?) } else { None };
        let name = known.or(new_browser.as_deref()).unwrap_or_default();
        let until_s = now.ms() / 1000 + FORMS_S;
        Ok(Binding { browser: digest(name.as_bytes()), new_browser, until_s })
    }

    /// Whether the form that it was sealed into is of the browser that sends it, and still good.
    pub fn is_good(&self, headers: &HeaderMap, names: &CookieNames, now: Moment) -> bool {
        self.is_of(headers, names) && self.until_s > now.ms() / 1000
    }

    /// Whether it is of the browser that sends these headers, however old it is.
    pub fn is_of(&self, headers: &HeaderMap, names: &CookieNames) -> bool {
        let browser = cookies::value(headers, &names.browser);
        browser.is_some_and(|browser| self.browser == digest(browser.as_bytes()))
    }

    /// Has a browser that has no name keep the one that the form was made for.
    pub fn keep(&self, answer: &mut Answer, names: &CookieNames) {
        if let Some(name) = &self.new_browser {
            names.set(answer, &names.browser, name, None);
        }
    }
}

/// Whether a form may come from a page of this server: it was posted, and the browser does not say that another origin's page did it.
pub fn is_from_own_page(is_post: bool, headers: &HeaderMap) -> bool {
    is_post && !is_of_other_site(headers, &["cross-site", "same-site"])
}
