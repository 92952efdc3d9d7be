//! Cookies, and what browsers say about who has them sent.

use std::time::Duration;

use hyper::header::{self, HeaderMap, HeaderValue};

use super::Answer;

/// The cookie with the proof that its user has logged in with this browser before. It opens nothing, so all surfaces that log in share it.
const DEVICE: &str = "durward_device";

/// The cookies of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cookies<'h> {
    /// There is no such cookie.
    None,
    /// There is one, or several with the same value.
    One(&'h str),
    /// Of different values: a neighbour may have set one of them.
    Several,
}

impl<'h> Cookies<'h> {
    /// Those of a name.
    pub fn named(headers: &'h HeaderMap, is_name: impl Fn(&str) -> bool) -> Cookies<'h> {
        let fields = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        Cookies::within(fields, is_name)
    }

    /// The same in the values of the fields `Cookie`.
    pub fn within(fields: impl Iterator<Item = &'h str>, is_name: impl Fn(&str) -> bool) -> Cookies<'h> {
        let pairs = fields.flat_map(|field| field.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut found = Cookies::None;
        for (_, value) in pairs.filter(|(name, _)| is_name(name)) {
            found = match found {
                Cookies::None => Cookies::One(value),
                Cookies::One(known) if known == value => found,
                Cookies::One(_) | Cookies::Several => return Cookies::Several,
            };
        }
        found
    }
}

/// The proof of a device that a browser sends, for a login.
pub fn device(headers: &HeaderMap) -> Option<&str> {
    match Cookies::named(headers, |name| name == DEVICE) {
        Cookies::One(proof) => Some(proof),
        Cookies::None | Cookies::Several => None,
    }
}

/// Has the browser keep the proof of a device.
pub fn keep_device(answer: &mut Answer, proof: Option<&str>, kept_for: Duration, is_secure: bool) {
    let Some(proof) = proof else { return };
    let secure = if is_secure { "; Secure" } else { "" };
    let seconds = kept_for.as_secs();
    let text = format!("{DEVICE}={proof}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    // It is Base64 with dots.
    if let Ok(cookie) = HeaderValue::try_from(text) {
        answer.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

/// Whether a browser says that a page of one of these kinds of other sites calls (Fetch Metadata).
pub fn is_of_other_site(headers: &HeaderMap, kinds: &[&str]) -> bool {
    let mut said = headers.get_all("sec-fetch-site").iter();
    said.any(|value| kinds.iter().any(|kind| value == kind))
}
