//! Reads requests written in JSON (JSON Profile of XACML 3.0, version 1.1), and writes requests as JSON or XML.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use smol_str::SmolStr;

use super::{Format, Limits, Request, RequestError, RequestErrorKind, RequestReference, Version};
use crate::content::{OTHER_VERSION_HELP, check_version};
use crate::json::{self, CategoryJson, List, Text, category_of_shorthand, error_at};
use crate::xml::Read;

impl Request {
    /// Reads a request in JSON, within the usual [`Limits`].
    ///
    /// ```
    /// use durward_xacml::request::Request;
    ///
    /// let text = br#"{"Request": {"AccessSubject": {"Attribute": [{"AttributeId": "role", "Value": "nurse"}]}}}"#;
    /// assert_eq!(Request::from_json(text).map(|request| request.categories.attribute_count()), Ok(1));
    /// ```
    ///
    /// # Errors
    /// See [`Request::from_json_within`].
    pub fn from_json(bytes: &[u8]) -> Result<Request, RequestError> {
        Request::from_json_within(bytes, &Limits::default())
    }

    /// Reads a request in JSON.
    ///
    /// # Errors
    /// The text is not UTF-8 or not JSON, has members the profile does not know or twice, holds a value that is not
    /// of its data type, or goes beyond the limits.
    pub fn from_json_within(bytes: &[u8], limits: &Limits) -> Result<Request, RequestError> {
        if let Some(request) = super::plain_json::read(bytes, limits) {
            return Ok(request);
        }
        Request::from_json_generally(bytes, limits)
    }

    /// The same by the general reader alone.
    pub(super) fn from_json_generally(bytes: &[u8], limits: &Limits) -> Result<Request, RequestError> {
        let read = || -> Read<Request> {
            let document: DocumentJson<'_> = json::read(bytes, limits)?;
            read_request(&document.request, limits)
        };
        read().map_err(|error| *error)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentJson<'a> {
    #[serde(rename = "Request", borrow)]
    request: RequestJson<'a>,
}

/// Section 4.2.1 of the profile. Categories keep the order of the document, whichever member they are in.
#[derive(Debug, Default)]
struct RequestJson<'a> {
    return_policy_ids: Option<bool>,
    combined_decision: Option<bool>,
    xpath_version: Option<Text<'a>>,
    categories: Vec<Member<'a>>,
    multi_requests: Option<MultiRequestsJson<'a>>,
}

/// The categories under one member of the request.
#[derive(Debug)]
struct Member<'a> {
    name: &'static str,
    implied: Option<&'static str>,
    list: List<CategoryJson<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MultiRequestsJson<'a> {
    #[serde(rename = "RequestReference", borrow)]
    references: List<ReferenceJson<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceJson<'a> {
    #[serde(rename = "ReferenceId", borrow)]
    ids: Vec<Text<'a>>,
}

/// What a request may hold, for error messages and for the names of shorthand members.
const MEMBERS: [&str; 13] = [
    "ReturnPolicyIdList",
    "CombinedDecision",
    "XPathVersion",
    "Category",
    "AccessSubject",
    "Resource",
    "Action",
    "Environment",
    "RecipientSubject",
    "IntermediarySubject",
    "Codebase",
    "RequestingMachine",
    "MultiRequests",
];

impl<'de: 'a, 'a> Deserialize<'de> for RequestJson<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RequestJson<'a>, D::Error> {
        deserializer.deserialize_map(RequestVisitor)
    }
}

struct RequestVisitor;

impl<'de> Visitor<'de> for RequestVisitor {
    type Value = RequestJson<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<RequestJson<'de>, A::Error> {
        let mut request = RequestJson::default();
        while let Some(name) = members.next_key::<Text<'de>>()? {
            let Some(name) = MEMBERS.into_iter().find(|known| *known == &*name) else {
                return Err(A::Error::unknown_field(&name, &MEMBERS));
            };
            match name {
                "ReturnPolicyIdList" => once(&mut request.return_policy_ids, members.next_value()?, name)?,
                "CombinedDecision" => once(&mut request.combined_decision, members.next_value()?, name)?,
                "XPathVersion" => once(&mut request.xpath_version, members.next_value()?, name)?,
                "MultiRequests" => once(&mut request.multi_requests, members.next_value()?, name)?,
                _ if request.categories.iter().any(|member| member.name == name) => {
                    return Err(A::Error::duplicate_field(name));
                }
                _ => {
                    let implied = category_of_shorthand(name);
                    // `null` is an empty list.
                    request.categories.push(Member { name, implied, list: members.next_value()? });
                }
            }
        }
        Ok(request)
    }
}

/// Sets what may be set once; `null` sets nothing.
fn once<T, E: Error>(place: &mut Option<T>, value: Option<T>, name: &'static str) -> Result<(), E> {
    let Some(value) = value else { return Ok(()) };
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::duplicate_field(name)),
    }
}

fn read_request(given: &RequestJson<'_>, limits: &Limits) -> Read<Request> {
    let mut request = Request::new(Version::V3, Format::Json);
    request.return_policy_ids = given.return_policy_ids.unwrap_or(false);
    request.combined_decision = given.combined_decision.unwrap_or(false);
    if let Some(declared) = given.xpath_version.as_deref() {
        check_version(declared.trim()).map_err(|other| {
            let message = format!("{other}; {OTHER_VERSION_HELP}");
            error_at(RequestErrorKind::Value, "Request.XPathVersion".to_owned(), message)
        })?;
        request.xpath_version = Some(SmolStr::new(declared.trim()));
    }
    for member in &given.categories {
        for (number, category) in member.list.0.iter().enumerate() {
            let path = || format!("Request.{}[{number}]", member.name);
            json::read_category(category, member.implied, &path, &mut request.categories, limits)?;
        }
    }
    if request.categories.is_empty() {
        let message = "a request needs at least one category";
        return Err(error_at(RequestErrorKind::Structure, "Request".to_owned(), message));
    }
    if let Some(id) = request.categories.repeated_id() {
        let message = format!("the `Id` `{id}` stands twice");
        return Err(error_at(RequestErrorKind::Structure, "Request".to_owned(), message));
    }
    if let Some(multi) = &given.multi_requests {
        request.multi_requests = read_multi_requests(multi, limits)?;
    }
    Ok(request)
}

fn read_multi_requests(given: &MultiRequestsJson<'_>, limits: &Limits) -> Read<Vec<RequestReference>> {
    let path = || "Request.MultiRequests".to_owned();
    let references = &given.references.0;
    let count: usize = references.iter().map(|reference| reference.ids.len()).sum();
    if count > limits.values_max {
        return Err(error_at(RequestErrorKind::Limit, path(), "too many references in one request"));
    }
    if references.is_empty() || references.iter().any(|reference| reference.ids.is_empty()) {
        return Err(error_at(
            RequestErrorKind::Structure,
            path(),
            "every list of references needs at least one",
        ));
    }
    let owned = |reference: &ReferenceJson<'_>| RequestReference {
        ids: reference.ids.iter().map(|id| SmolStr::new(&**id)).collect(),
    };
    Ok(references.iter().map(owned).collect())
}
