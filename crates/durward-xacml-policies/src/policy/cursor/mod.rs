//! Walks through an XML document element by element, once, keeping place, namespaces and limits.
//!
//! Tokens come from quick-xml; this adds what it leaves to its caller: places, namespace scopes, entity
//! references, limits, and the well-formedness rules it does not check. The first error of XML itself halts
//! the cursor: nothing after it can be trusted to mean what it seems to.

mod start_tag;

use std::borrow::Cow;
use std::sync::Arc;

use durward_xacml::wording::quote;
use quick_xml::Reader;
use quick_xml::errors::{Error as XmlError, IllFormedError};
use quick_xml::events::{BytesRef, Event};
use smol_str::SmolStr;

use super::decode::{advance, is_xml_character};
use super::error::Problems;
use super::limits::{DEPTH_CAP, Limits};
use super::names::Names;
use crate::tree::{NamespaceScope, XmlLocation};

const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

/// Where a reader stands in a document.
pub(super) struct Cursor<'a> {
    text: &'a str,
    /// Bytes before `text`: a byte order mark.
    skipped: u32,
    reader: Reader<&'a [u8]>,
    limits: Limits,
    /// The place last computed; places are only ever computed forwards, each byte passed once.
    place: XmlLocation,
    /// Where the last token began, in `text`.
    token: usize,
    depth: usize,
    elements: usize,
    /// An element without content was opened: its end is the next token.
    closes_next: bool,
    halted: bool,
    /// The namespace prefixes in scope.
    scope: Arc<NamespaceScope>,
    /// The depths of open elements that declare prefixes, each with the scope around it.
    outer_scopes: Vec<(usize, Arc<NamespaceScope>)>,
    /// The policy namespace of this document, once its root is known.
    pub(super) namespace: SmolStr,
    pub(super) problems: Problems,
    pub(super) names: Names,
}

/// The next thing in the document.
pub(super) enum Step<'a> {
    /// A start tag; its end tag follows as [`Step::Close`], for `<a/>` too.
    Open(Element<'a>),
    /// Character data, references resolved.
    Text(Cow<'a, str>),
    /// The end tag of the innermost open element.
    Close,
    /// The end of the document, or of what can be read of it.
    End,
}

/// A start tag.
pub(super) struct Element<'a> {
    /// The local name.
    pub(super) name: &'a str,
    pub(super) namespace: Namespace,
    pub(super) place: XmlLocation,
    pub(super) attributes: Vec<Attribute<'a>>,
    /// Where its content begins, in the text of the document.
    pub(super) content: usize,
}

/// An attribute of a start tag, namespace declarations left out.
pub(super) struct Attribute<'a> {
    /// The prefix, empty if there is none.
    pub(super) prefix: &'a str,
    /// The local name.
    pub(super) name: &'a str,
    /// The value, references resolved and white space normalised.
    pub(super) value: Cow<'a, str>,
    /// Where it begins, counted from the `<` of its tag.
    pub(super) offset: usize,
}

/// Which namespace an element is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Namespace {
    None,
    /// That of the document's root.
    Policy,
    Other(SmolStr),
}

impl<'a> Cursor<'a> {
    /// `skipped` bytes stand before `text` in the source.
    pub(super) fn new(text: &'a str, skipped: u32, limits: &Limits, problems: Problems) -> Cursor<'a> {
        let limits = Limits { depth_max: limits.depth_max.min(DEPTH_CAP), ..*limits };
        Cursor {
            text,
            skipped,
            reader: Reader::from_str(text),
            limits,
            place: XmlLocation { offset: skipped, line: 1, column: 1 },
            token: 0,
            depth: 0,
            elements: 0,
            closes_next: false,
            halted: false,
            scope: Arc::new(outermost_scope()),
            outer_scopes: Vec::new(),
            namespace: SmolStr::default(),
            problems,
            names: Names::default(),
        }
    }

    /// Goes one step further. Comments and processing instructions are passed over.
    pub(super) fn step(&mut self) -> Step<'a> {
        if std::mem::take(&mut self.closes_next) {
            self.token = self.position();
            return self.close();
        }
        while !self.halted {
            self.token = self.position();
            match self.reader.read_event() {
                Ok(Event::Start(tag)) => return self.open(tag.len(), tag.name().into_inner().len()),
                Ok(Event::Empty(tag)) => {
                    self.closes_next = true;
                    return self.open(tag.len(), tag.name().into_inner().len());
                }
                Ok(Event::End(_)) => return self.close(),
                Ok(Event::Text(text)) => return Step::Text(text.xml10_content()),
                Ok(Event::CData(text)) => return Step::Text(text.xml10_content()),
                Ok(Event::GeneralRef(reference)) => return self.resolve_reference(&reference),
                Ok(Event::Comment(_) | Event::PI(_)) => {}
                Ok(Event::Decl(_)) => self.declaration(),
                Ok(Event::DocType(_)) => self.halt(
                    "a document type definition is not allowed in a policy".to_owned(),
                    Some(
                        "remove `<!DOCTYPE ...>`: entities could make the document unboundedly large"
                            .to_owned(),
                    ),
                ),
                Ok(Event::Eof) => return self.end(),
                Err(error) => self.ill_formed(&error),
            }
        }
        Step::End
    }

    /// Passes over the rest of the element last opened, whatever is in it.
    pub(super) fn skip(&mut self) {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.step() {
                Step::Open(_) => depth += 1,
                Step::Close => depth -= 1,
                Step::Text(_) => {}
                Step::End => return,
            }
        }
    }

    /// The namespace prefixes in scope.
    pub(super) fn scope(&self) -> &Arc<NamespaceScope> {
        &self.scope
    }

    /// The document's text from an offset to where the last token began.
    pub(super) fn text_since(&self, start: usize) -> &'a str {
        self.text.get(start..self.token).unwrap_or("")
    }

    /// The place of an attribute of an element.
    pub(super) fn attribute_place(&self, element: &Element<'_>, attribute: &Attribute<'_>) -> XmlLocation {
        let start = (element.place.offset - self.skipped) as usize;
        let passed = self.text.as_bytes().get(start..start + attribute.offset).unwrap_or(&[]);
        advance(element.place, passed)
    }

    /// The place of the last token.
    pub(super) fn token_place(&mut self) -> XmlLocation {
        self.place_at(self.token)
    }

    /// Reports an error after which nothing more is read.
    pub(super) fn halt(&mut self, message: String, help: Option<String>) {
        let place = self.token_place();
        self.halt_at(place, message, help);
    }

    fn halt_at(&mut self, place: XmlLocation, message: String, help: Option<String>) {
        self.problems.report_last(place, message, help);
        self.halted = true;
    }

    /// Whether reading stopped before the end of the document.
    pub(super) fn is_halted(&self) -> bool {
        self.halted
    }

    fn open(&mut self, tag_length: usize, name_length: usize) -> Step<'a> {
        self.elements += 1;
        self.depth += 1;
        let place = self.token_place();
        let start = self.token + 1;
        let tag = self.text.get(start..start + tag_length).unwrap_or("");
        let full_name = tag.get(..name_length).unwrap_or("");
        if let Some((message, help)) = self.beyond_limits() {
            self.halt_at(place, message, help);
        } else if full_name.is_empty() {
            self.halt(
                "`<` begins no element here".to_owned(),
                Some("write `&lt;` for the character".to_owned()),
            );
        }
        let attributes = self.attributes(tag, name_length);
        if self.halted {
            return Step::End;
        }
        let (prefix, name) = full_name.split_once(':').unwrap_or(("", full_name));
        let namespace = self.namespace_of(prefix);
        if namespace == Namespace::None && !prefix.is_empty() {
            self.problems.report(place, format!("namespace prefix {} is not declared", quote(prefix)), None);
        }
        Step::Open(Element { name, namespace, place, attributes, content: self.position() })
    }

    fn close(&mut self) -> Step<'a> {
        if let Some((_, outer)) = self.outer_scopes.pop_if(|(depth, _)| *depth == self.depth) {
            self.scope = outer;
        }
        self.depth = self.depth.saturating_sub(1);
        Step::Close
    }

    fn end(&mut self) -> Step<'a> {
        if self.depth > 0 {
            let unclosed = if self.depth == 1 { "element is" } else { "elements are" };
            let message = format!("the document ends while {} {unclosed} open", self.depth);
            self.halt(message, Some("is it complete?".to_owned()));
        }
        Step::End
    }

    fn beyond_limits(&self) -> Option<(String, Option<String>)> {
        let Limits { depth_max, elements_max, .. } = self.limits;
        if self.problems.is_full() {
            Some(("too many problems".to_owned(), None))
        } else if self.depth > depth_max {
            let help = "split the policy, or combine more arguments in one `Apply`".to_owned();
            Some((format!("elements are nested more than {depth_max} deep"), Some(help)))
        } else if self.elements > elements_max {
            let help = "split the document, or raise the limit".to_owned();
            Some((format!("the document has more than {elements_max} elements"), Some(help)))
        } else {
            None
        }
    }

    fn namespace_of(&self, prefix: &str) -> Namespace {
        match self.scope.resolve(prefix) {
            None => Namespace::None,
            Some(uri) if uri == self.namespace => Namespace::Policy,
            Some(uri) => Namespace::Other(uri.into()),
        }
    }

    fn resolve_reference(&mut self, reference: &BytesRef<'a>) -> Step<'a> {
        let resolved = match reference.resolve_char_ref() {
            Ok(Some(character)) if is_xml_character(character) => Some(Cow::Owned(character.to_string())),
            Ok(None) => quick_xml::escape::resolve_predefined_entity(reference).map(Cow::Borrowed),
            Ok(Some(_)) | Err(_) => None,
        };
        match resolved {
            Some(text) => Step::Text(text),
            None => {
                let message = format!("unknown reference {}", quote(&format!("&{};", &**reference)));
                self.halt(message, Some(REFERENCES.to_owned()));
                Step::End
            }
        }
    }

    fn declaration(&mut self) {
        if self.token > 0 {
            self.halt("`<?xml ...?>` may stand only at the very beginning".to_owned(), None);
        }
    }

    fn ill_formed(&mut self, error: &XmlError) {
        let offset = usize::try_from(self.reader.error_position()).unwrap_or(usize::MAX);
        let place = self.place_at(offset.max(self.token).min(self.text.len()));
        let (message, help) = match error {
            XmlError::IllFormed(IllFormedError::UnclosedReference) => (
                "`&` begins no reference here".to_owned(),
                Some("write `&amp;` for the character".to_owned()),
            ),
            XmlError::IllFormed(error) => (not_well_formed(error), None),
            XmlError::Syntax(error) => (not_well_formed(error), None),
            XmlError::Io(_)
            | XmlError::InvalidAttr(_)
            | XmlError::Encoding(_)
            | XmlError::Escape(_)
            | XmlError::Namespace(_) => (not_well_formed(error), None),
        };
        self.halt_at(place, message, help);
    }

    /// Halts at a number of bytes after the `<` of the tag last opened.
    fn halt_in_tag(&mut self, offset: usize, message: String, help: Option<String>) {
        let place = self.place_at((self.token + offset).min(self.text.len()));
        self.halt_at(place, message, help);
    }

    fn position(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX)
    }

    fn place_at(&mut self, offset: usize) -> XmlLocation {
        let known = (self.place.offset - self.skipped) as usize;
        self.place = advance(self.place, self.text.as_bytes().get(known..offset).unwrap_or(&[]));
        self.place
    }
}

/// The references a document without a type definition can use.
const REFERENCES: &str = "only `&lt;` `&gt;` `&amp;` `&quot;` `&apos;` and `&#...;` are known";

fn outermost_scope() -> NamespaceScope {
    NamespaceScope { declared: vec![("xml".into(), XML_NAMESPACE.into())], outer: None }
}

/// Messages of the XML layer may quote the document at any length.
fn not_well_formed(error: &dyn std::fmt::Display) -> String {
    const MESSAGE_LENGTH_MAX: usize = 200;
    let message: String = error.to_string().chars().take(MESSAGE_LENGTH_MAX).collect();
    format!("not well-formed XML: {message}")
}
