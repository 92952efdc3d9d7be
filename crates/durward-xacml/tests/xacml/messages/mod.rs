//! Requests and responses: every wire form, good and bad.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests may fail them"
)]

mod conformance;
mod echoed;
mod json;
mod multiple;
mod response;
mod xml_bad;
mod xml_good;

use durward_ir::Value;
use durward_xacml::request::{Categories, Request};

fn read_xml(text: &str) -> Request {
    Request::from_xml(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Everything about the attributes that matters, as text.
fn described(categories: &Categories) -> Vec<String> {
    let mut lines = Vec::new();
    for category in categories.iter() {
        lines.push(format!("{} {:?} {:?}", category.category, category.xml_id, category.content));
        for attribute in category.attributes() {
            let values: Vec<String> = attribute.values().iter().map(value).collect();
            let (id, issuer, include) = (&attribute.id, &attribute.issuer, attribute.include_in_result);
            lines.push(format!("  {id} {issuer:?} {include} {values:?}"));
        }
    }
    lines
}

fn value(value: &Value) -> String {
    format!("{:?} {}", value.data_type(), value.lexical())
}

/// The attributes alone, sorted: what two forms of one request have in common.
fn facts(request: &Request) -> Vec<String> {
    let attributes = request.categories.attributes();
    let mut facts: Vec<String> = attributes
        .flat_map(|attribute| {
            let name = format!("{} {} {:?}", attribute.category(), attribute.id, attribute.issuer);
            attribute.values().iter().map(move |given| format!("{name} {}", value(given)))
        })
        .collect();
    facts.sort_unstable();
    facts
}
