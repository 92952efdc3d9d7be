//! XACML: policies, requests and responses as text, as trees, and policies as programs.
//!
//! Policies: [`policy`] reads text into a [`tree`], [`lower`] makes one program of all trees. Messages: [`request`]
//! and [`response`] in XML (3.0, 2.0) and JSON (profile 1.1); [`multiple`] takes a request for several decisions
//! apart. [`content`] evaluates XPath over what a request carries as XML. [`check`] finds what is allowed in policies
//! but hardly meant.
//!
//! The feature `json`, which is on unless left out, is the JSON profile: requests and responses as JSON.

pub mod check;
pub mod content;
pub mod encoding;
#[cfg(feature = "json")]
mod json;
pub mod lower;
pub mod multiple;
pub mod policy;
pub mod request;
pub mod response;
pub mod tree;
pub mod wording;
mod xml;
