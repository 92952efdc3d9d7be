//! The question: an XACML request, read from XML or JSON or built in code, ready to be encoded and decided.
//!
//! [`Request::from_xml`] and [`Request::from_json`] read the two wire forms, [`Request::builder`] makes one in
//! code. The attributes lie flat in [`Categories`], in words for decisions and, behind those, as they were given.
//! [`RawRequest`] is a request that is still in its text: most are decided by that.

mod builder;
mod categories;
mod content;
mod error;
pub mod identifiers;
#[cfg(feature = "json")]
mod json;
mod limits;
mod plain;
#[cfg(feature = "json")]
mod plain_json;
mod raw;
mod short;
mod write;
#[cfg(feature = "json")]
mod write_json;
mod written;
mod xml;
mod xml2;

use std::sync::Arc;

use smol_str::SmolStr;

pub use builder::{IntoValue, RequestBuilder};
pub use categories::{Attribute, AttributeView, Categories, Category, CategoryView};
pub use content::RawContent;
pub use error::{ErrorLocation, RequestError, RequestErrorKind, ResponseError};
pub use raw::RawRequest;
pub(crate) use written::{Form, Written};
pub(crate) use xml::{read_category, read_value};

pub use limits::{
    ATTRIBUTE_COUNT_MAX, CATEGORY_COUNT_MAX, Limits, REQUEST_BYTES_MAX, REQUEST_DEPTH_MAX, VALUE_COUNT_MAX,
};

/// Which generation of the standard a request was written in; the response is written in the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// XACML 1.0 and 1.1: namespace `urn:oasis:names:tc:xacml:1.0:context`.
    V1,
    /// XACML 2.0: namespace `urn:oasis:names:tc:xacml:2.0:context:schema:os`.
    V2,
    /// XACML 3.0: namespace `urn:oasis:names:tc:xacml:3.0:core:schema:wd-17`, and the JSON profile.
    V3,
}

/// The form in which a request came; the response usually goes out in the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// XML.
    Xml,
    /// JSON (JSON Profile of XACML 3.0, version 1.1).
    Json,
    /// No text at all: built in code.
    Built,
}

/// One `<RequestReference>`: the `xml:id`s of the categories that together make one individual request
/// (Multiple Decision Profile 1.0, section 2.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestReference {
    /// The referenced `xml:id`s, in order.
    pub ids: Vec<SmolStr>,
}

/// One request, of any version and form.
#[derive(Clone, Debug)]
// What decisions look at stands together, at the start, up to the rows of the attributes; aligned, so that it is in as few lines of
// memory in every request.
#[repr(C, align(64))]
pub struct Request {
    /// The individual requests asked for by reference (`<MultiRequests>`); usually none.
    pub multi_requests: Vec<RequestReference>,
    /// Whether the result shall list the policies that applied (`ReturnPolicyIdList`).
    pub return_policy_ids: bool,
    /// Whether several individual results shall be combined into one (`CombinedDecision`).
    pub combined_decision: bool,
    /// Which generation of the standard it was written in.
    pub version: Version,
    /// The form in which it came.
    pub format: Format,
    /// The attributes, by category, in the order in which they were given.
    pub categories: Categories,
    /// The XPath version asked for (`<RequestDefaults>`), as written: one of the spellings of 1.0, if any, since requests
    /// that declare another are refused.
    pub xpath_version: Option<SmolStr>,
    /// The whole document as text, for XPath over a 1.x or 2.0 request; `None` for all others.
    pub document: Option<Arc<str>>,
}

impl Request {
    /// A request without any attribute.
    pub fn new(version: Version, format: Format) -> Request {
        Request {
            categories: Categories::default(),
            return_policy_ids: false,
            combined_decision: false,
            xpath_version: None,
            multi_requests: Vec::new(),
            version,
            format,
            document: None,
        }
    }

    /// What a result of XACML 1.x and 2.0 names as its `ResourceId`: the first `resource-id` of such a request;
    /// `None` for 3.0, which echoes attributes instead.
    pub fn resource_id(&self) -> Option<Box<str>> {
        if self.version == Version::V3 {
            return None;
        }
        let resource = self.categories.find(identifiers::RESOURCE)?;
        let value = resource.named(identifiers::RESOURCE_ID).flat_map(AttributeView::values).next()?;
        Some(value.lexical().into())
    }
}
