//! XACML: requests and responses as text, and what decisions need of them. Policies are read in `durward-xacml-policies`.
//!
//! [`request`] and [`response`] are messages in XML (3.0, 2.0) and JSON (profile 1.1); [`multiple`] takes a request for
//! several decisions apart. [`content`] evaluates XPath over what a request carries as XML. Readers of policies share
//! [`content`], [`encoding`] and [`wording`].
//!
//! The feature `json`, which is on unless left out, is the JSON profile: requests and responses as JSON.

pub mod content;
pub mod encoding;
#[cfg(feature = "json")]
mod json;
pub mod multiple;
pub mod request;
pub mod response;
pub mod wording;
mod xml;
