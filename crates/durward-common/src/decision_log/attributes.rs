//! What a line says of the question: attributes by category, their values where they may be written.

use std::collections::HashSet;

use durward_pdp::Request;
use durward_pdp::ir::Value;
use durward_pdp::ir::path::Element;
use durward_pdp::xacml::request::AttributeView;
use durward_settings::{DecisionLogSettings, Redaction};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use smol_str::{SmolStr, format_smolstr};

use crate::access::subject::document;
use durward_pdp::sapl::Subscription;

/// Bytes of attributes in one line: those of a usual request fit, and a caller who sends megabytes cannot fill the
/// disk.
pub(super) const ATTRIBUTES_BYTES_MAX: usize = 64 * 1024;

/// The attributes of a question as JSON.
#[derive(Debug)]
pub struct Written {
    pub(super) json: Option<Box<RawValue>>,
    /// Whether there were more than fit.
    pub(super) is_cut: bool,
}

impl Written {
    pub(super) const NOTHING: Written = Written { json: None, is_cut: false };

    /// What it holds in memory.
    pub(super) fn len(&self) -> usize {
        self.json.as_ref().map_or(0, |json| json.get().len())
    }
}

/// What may be written of attributes.
#[derive(Debug)]
pub(super) struct Rule {
    redact: Redaction,
    always_redacted: HashSet<String>,
}

#[derive(Serialize)]
struct Category<'q> {
    category: &'q str,
    attributes: Vec<Attribute>,
}

#[derive(Serialize)]
struct Attribute {
    id: SmolStr,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<SmolStr>,
    /// Absent where values are redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
}

/// Categories as they are written, for as long as there is room.
struct Page<'q> {
    categories: Vec<Category<'q>>,
    left: usize,
    is_cut: bool,
}

impl<'q> Page<'q> {
    fn new() -> Page<'q> {
        Page { categories: Vec::new(), left: ATTRIBUTES_BYTES_MAX, is_cut: false }
    }

    fn push(&mut self, category: &'q str, attribute: Attribute) {
        let values = attribute.values.iter().flatten().map(|value| value.len() + 4);
        let bytes = 32 + attribute.id.len() + attribute.issuer.as_ref().map_or(0, SmolStr::len);
        let Some(left) = self.left.checked_sub(bytes + values.sum::<usize>()) else {
            self.is_cut = true;
            return;
        };
        self.left = left;
        match self.categories.last_mut() {
            Some(last) if last.category == category => last.attributes.push(attribute),
            _ => self.categories.push(Category { category, attributes: vec![attribute] }),
        }
    }

    fn finish(self) -> Written {
        Written { json: to_raw_value(&self.categories).ok(), is_cut: self.is_cut }
    }
}

impl Rule {
    pub(super) fn new(settings: &DecisionLogSettings) -> Rule {
        Rule {
            redact: settings.redact,
            always_redacted: settings.redact_attributes.iter().cloned().collect(),
        }
    }

    /// Messages quote values, so they are written in full only where every value may be.
    pub(super) fn shows_all(&self) -> bool {
        self.redact == Redaction::None && self.always_redacted.is_empty()
    }

    /// Whether anything of a question may be written.
    pub(super) fn shows_names(&self) -> bool {
        self.redact != Redaction::All
    }

    fn shows_values(&self) -> bool {
        self.redact == Redaction::None
    }

    /// The attributes by category, in the order of the request.
    pub(super) fn request(&self, request: &Request) -> Written {
        if !self.shows_names() {
            return Written::NOTHING;
        }
        let mut page = Page::new();
        for attribute in request.categories.attributes() {
            page.push(attribute.category(), self.attribute(attribute));
        }
        page.finish()
    }

    fn attribute(&self, attribute: AttributeView<'_>) -> Attribute {
        let is_shown = self.shows_values() && !self.always_redacted.contains(attribute.id.as_str());
        let values = || attribute.values().iter().map(|value| value.lexical().into_owned()).collect();
        Attribute {
            id: attribute.id.clone(),
            issuer: attribute.issuer.clone(),
            values: is_shown.then(values),
        }
    }

    /// The keys of the four values of a subscription; one that is no object is its own attribute. Secrets are nowhere, nor
    /// is a token that a subject is named by.
    pub(super) fn subscription(&self, subscription: &Subscription) -> Written {
        if !self.shows_names() {
            return Written::NOTHING;
        }
        let mut page = Page::new();
        for element in Element::ALL {
            let value = subscription.element(element);
            let is_token = element == Element::Subject && document::shown(value).is_some();
            if let Some(object) = value.as_object() {
                for (key, value) in object.iter() {
                    page.push(element.as_str(), self.part(key.clone(), value, is_token));
                }
            } else if !value.is_undefined() {
                let id = format_smolstr!("{}-id", element.as_str());
                page.push(element.as_str(), self.part(id, value, false));
            }
        }
        page.finish()
    }

    fn part(&self, id: SmolStr, value: &Value, is_token: bool) -> Attribute {
        let is_shown = self.shows_values()
            && !is_token
            && !self.always_redacted.contains(id.as_str())
            && !self.holds_redacted(value);
        let values = || match value.as_array() {
            Some(values) => values.iter().map(text).collect(),
            None => vec![text(value)],
        };
        Attribute { id, issuer: None, values: is_shown.then(values) }
    }

    /// Whether a key somewhere inside is never to be written.
    fn holds_redacted(&self, value: &Value) -> bool {
        if self.always_redacted.is_empty() {
            return false;
        }
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            if let Some(object) = value.as_object() {
                if object.iter().any(|(key, _)| self.always_redacted.contains(key.as_str())) {
                    return true;
                }
                open.extend(object.iter().map(|(_, value)| value));
            } else if let Some(values) = value.as_array() {
                open.extend(values.iter());
            }
        }
        false
    }
}

/// A text as it is, everything else as JSON.
pub(super) fn text(value: &Value) -> String {
    value.as_text().map_or_else(|| value.to_json(), str::to_owned)
}
