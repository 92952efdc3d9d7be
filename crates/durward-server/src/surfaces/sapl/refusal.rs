//! Why a request gets no decision.

use hyper::StatusCode;

use super::Ask;

/// A refusal.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// What is wrong with what was sent, or what there is instead.
    pub(super) message: Option<String>,
    /// Whether the connection is of no use afterwards.
    pub(super) closes: bool,
}

impl Refusal {
    pub(super) fn new(status: StatusCode) -> Refusal {
        Refusal { status, message: None, closes: false }
    }
}

/// What is said of a body that another path takes.
pub(super) fn misdirected(ask: Ask, text: &[u8]) -> Option<&'static str> {
    if text.trim_ascii_start().starts_with(b"<") {
        return Some("this is XML, and a SAPL subscription is JSON; send an XACML request to /pdp");
    }
    let value = durward_pdp::ir::json::read(text).ok()?;
    let object = value.as_object()?;
    let has = |name: &str| object.iter().any(|(key, _)| key.as_str() == name);
    if has("Request") {
        return Some("this is an XACML request, not a SAPL subscription; send it to /pdp");
    }
    let takes_several = match ask {
        Ask::DecideOnce | Ask::Decide | Ask::Plan => false,
        Ask::MultiDecide | Ask::MultiDecideAll | Ask::MultiDecideAllOnce => true,
    };
    let is_one = has("subject") && has("action");
    (takes_several && is_one).then_some(
        "this is one subscription, and several belong here, each with an id: {\"id\": {\"subject\": ...}}; send one to \
         /api/pdp/decide-once or /api/pdp/decide",
    )
}
