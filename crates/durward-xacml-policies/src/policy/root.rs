//! Tells what kind of document an XML text is, from its root element.

use super::cursor::{Cursor, Namespace, Step};
use super::decode::{decode, in_utf8};
use super::error::Problems;
use super::limits::Limits;
use crate::tree::Standard;

/// What a document's root element says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RootKind {
    /// A policy, or meant to be one: `Policy` in an XACML namespace known or not, or in none. Reading it says
    /// what is wrong; passing over it silently could leave a denial out.
    Policy,
    /// A policy set, in the same sense.
    PolicySet,
    /// An XACML request context.
    Request,
    /// An XACML response context.
    Response,
    /// Other XML.
    Other,
    /// No XML that can be read as far as its root element.
    Unreadable,
}

/// Tells what kind of document this is without reading past its first tag, so that a directory may hold
/// requests and responses beside policies.
pub fn root_kind(text: &[u8]) -> RootKind {
    let Ok(bytes) = in_utf8(text) else { return RootKind::Unreadable };
    let Ok((text, skipped)) = decode(&bytes) else { return RootKind::Unreadable };
    let mut xml = Cursor::new(text, skipped, &Limits::default(), Problems::new(""));
    loop {
        match xml.step() {
            Step::Open(root) => return kind_of(root.name, &root.namespace),
            Step::Text(_) | Step::Close => {}
            Step::End => return RootKind::Unreadable,
        }
    }
}

fn kind_of(name: &str, namespace: &Namespace) -> RootKind {
    let uri = match namespace {
        Namespace::Other(uri) => uri.as_str(),
        Namespace::None | Namespace::Policy => "",
    };
    // Other vocabularies have a `Policy` (WS-Policy) and, more of them, a `Request`.
    let is_xacml = Standard::of_namespace(uri).is_some() || uri.to_ascii_lowercase().contains("xacml");
    match name {
        "Policy" if is_xacml || uri.is_empty() => RootKind::Policy,
        "PolicySet" if is_xacml || uri.is_empty() => RootKind::PolicySet,
        "Request" if is_xacml => RootKind::Request,
        "Response" if is_xacml => RootKind::Response,
        _ => RootKind::Other,
    }
}
