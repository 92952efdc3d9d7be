//! Pages of search results: what a request says of its page, and the token that the next one begins with.
//!
//! A token holds where the search stopped, which may be an id that its caller may not learn of: it is sealed. It is good for the same request
//! of the same tenant and caller only, and for as long as there is its key: that of the users, where there are some, else of this process.

use durward_common::question::Wrong;
use durward_pdp::ir::Value;
use durward_pdp::ir::value::{Object, write_json_text};
use durward_session::Service;
use durward_session::identity::SystemEntropy;
use durward_session::identity::session::{open_text, seal_text};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::decide::Asking;
use super::parts::object_member;

/// What keys are derived for.
const PURPOSE: &str = "authzen pages";

/// Makes tokens and reads them.
pub(super) struct Pages {
    key: [u8; 32],
}

/// Where a search goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// What the request was, without its page.
    request: [u8; 32],
    /// The most results of a page that the first request asked for.
    pub(super) limit: Option<usize>,
    /// Which source of candidates.
    pub(super) source: u8,
    /// The last candidate that was decided.
    pub(super) after: String,
}

/// The page that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PageAsked {
    /// Whether the request says anything of pages.
    pub(super) is_asked: bool,
    pub(super) limit: Option<usize>,
    pub(super) begins: Option<Cursor>,
    request: [u8; 32],
}

impl Pages {
    pub(super) fn new(service: Option<&Service>) -> Pages {
        let key = service.map(|service| service.derive_key(PURPOSE));
        Pages { key: key.unwrap_or_else(random) }
    }

    /// What a request says of its page.
    pub(super) fn read(&self, asking: &Asking<'_>, request: &Object) -> Result<PageAsked, Wrong> {
        let digest = digest(asking, request);
        let Some(page) = object_member(request, "page")? else {
            return Ok(PageAsked { is_asked: false, limit: None, begins: None, request: digest });
        };
        let mut limit = match page.get("limit") {
            None | Some(Value::Null) => None,
            Some(limit) => Some(
                number(limit)
                    .ok_or_else(|| Wrong::request("`page.limit` must be a whole number from 1 on"))?,
            ),
        };
        let begins = match page.get("token") {
            None | Some(Value::Null) => None,
            // Where nothing more comes, there is nothing to go on with.
            Some(Value::Text(token)) => {
                let cursor = self.open(token).filter(|cursor| cursor.request == digest).ok_or_else(|| {
                    Wrong::request(
                        "`page.token` is none for this request: send all of the first request again with it, or begin anew",
                    )
                })?;
                if limit.is_some() && limit != cursor.limit {
                    return Err(Wrong::request("`page.limit` must be that of the first request"));
                }
                limit = cursor.limit;
                Some(cursor)
            }
            Some(_) => return Err(Wrong::request("`page.token` must be a string")),
        };
        Ok(PageAsked { is_asked: true, limit, begins, request: digest })
    }

    fn open(&self, token: &str) -> Option<Cursor> {
        let content = open_text(token, |period| (period == 0).then_some(self.key))?;
        serde_json::from_slice(&content).ok()
    }

    /// The token of the page behind a candidate.
    pub(super) fn token(&self, page: &PageAsked, source: u8, after: &str) -> Result<String, Wrong> {
        let cursor = Cursor { request: page.request, limit: page.limit, source, after: after.to_owned() };
        let failed = || {
            let status = hyper::StatusCode::INTERNAL_SERVER_ERROR;
            Wrong::new(status, "the token of the next page could not be made")
        };
        let content = serde_json::to_vec(&cursor).map_err(|_| failed())?;
        seal_text(&self.key, 0, &content, &SystemEntropy).map_err(|_| failed())
    }
}

fn random() -> [u8; 32] {
    let mut key = [0; 32];
    // Without randomness nothing can be sealed either, and no token is given.
    let _ = getrandom::fill(&mut key);
    key
}

fn number(value: &Value) -> Option<usize> {
    let number = value.as_number().filter(|number| number.is_integer())?.to_i64()?;
    usize::try_from(number).ok().filter(|number| *number > 0)
}

/// What a request is, whatever its members' order, without its page.
fn digest(asking: &Asking<'_>, request: &Object) -> [u8; 32] {
    let mut text = String::new();
    for part in [asking.ask.as_str(), &asking.identity.tenant, &asking.identity.name] {
        write_json_text(part, &mut text);
    }
    write_sorted(request, |name| name != "page", &mut text);
    Sha256::digest(text.as_bytes()).into()
}

/// An object with its keys in order.
fn write_sorted(object: &Object, is_meant: impl Fn(&str) -> bool, out: &mut String) {
    let mut members: Vec<_> = object.iter().filter(|(name, _)| is_meant(name)).collect();
    members.sort_by_key(|(name, _)| *name);
    out.push('{');
    for (name, value) in members {
        write_json_text(name, out);
        out.push(':');
        write_value(value, out);
        out.push(',');
    }
    out.push('}');
}

fn write_value(value: &Value, out: &mut String) {
    if let Some(object) = value.as_object() {
        write_sorted(object, |_| true, out);
    } else if let Some(elements) = value.as_array() {
        out.push('[');
        for element in elements.iter() {
            write_value(element, out);
            out.push(',');
        }
        out.push(']');
    } else {
        value.write_json(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor() -> Cursor {
        Cursor { request: [7; 32], limit: Some(3), source: 1, after: "secret-id".to_owned() }
    }

    #[test]
    fn a_token_tells_nothing_and_cannot_be_changed() {
        let pages = Pages { key: [1; 32] };
        let page = PageAsked { is_asked: true, limit: Some(3), begins: None, request: [7; 32] };
        let token = pages.token(&page, 1, "secret-id").unwrap();
        assert_eq!(pages.open(&token), Some(cursor()));
        assert!(!token.contains("secret") && pages.token(&page, 1, "secret-id").unwrap() != token);
        assert_eq!(Pages { key: [2; 32] }.open(&token), None);
        for place in 0..token.len() {
            let mut other = token.clone().into_bytes();
            other[place] = if other[place] == b'A' { b'Q' } else { b'A' };
            assert_eq!(pages.open(std::str::from_utf8(&other).unwrap()), None, "{place}");
            assert_eq!(pages.open(&token[..place]), None);
        }
    }

    #[test]
    fn what_a_request_is_does_not_depend_on_the_order_of_its_members() {
        let text = |json: &str| {
            let value = durward_pdp::ir::json::read(json).unwrap();
            let mut text = String::new();
            write_sorted(value.as_object().unwrap(), |name| name != "page", &mut text);
            text
        };
        assert_eq!(
            text(r#"{"a":{"x":1,"y":[{"b":1,"a":2}]},"b":2}"#),
            text(r#"{"page":7,"b":2,"a":{"y":[{"a":2,"b":1}],"x":1}}"#)
        );
        assert_ne!(text(r#"{"a":[1,2]}"#), text(r#"{"a":[2,1]}"#));
        assert_ne!(text(r#"{"a":"1"}"#), text(r#"{"a":1}"#));
    }
}
