//! How policies are combined and indexed, as flags say it.

use durward_pdp::ir::combine::Combines;
use durward_pdp::{Algorithm, IndexKind};

/// Reads `--combining`.
pub(crate) fn combining(text: &str) -> Result<Algorithm, String> {
    let named = ["3.0", "1.0"]
        .map(|version| format!("urn:oasis:names:tc:xacml:{version}:policy-combining-algorithm:{text}"));
    let known = named
        .iter()
        .map(String::as_str)
        .chain([text])
        .find_map(|uri| Algorithm::from_uri(uri, Combines::Policies));
    known.ok_or_else(|| {
        "one of deny-overrides, permit-overrides, first-applicable, only-one-applicable, deny-unless-permit, \
         permit-unless-deny, or the identifier of a policy combining algorithm"
            .to_owned()
    })
}

/// Reads `--index`.
pub(crate) fn index(text: &str) -> Result<IndexKind, String> {
    text.parse().map_err(|error: durward_pdp::index::UnknownIndex| error.to_string())
}
