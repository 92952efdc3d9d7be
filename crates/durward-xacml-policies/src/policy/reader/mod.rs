//! What reading every element has in common: its children held to the schema, its attributes, its text.

mod attributes;

use std::borrow::Cow;

use durward_xacml::wording::quote;
use smol_str::SmolStr;

use super::cursor::{Cursor, Element, Namespace, Step};
use super::error::{list, suggestion};
use super::grammar::{Model, Occurs, STAGES_MAX, Stage, belongs_elsewhere, is_expressions};
use crate::tree::{Standard, XmlLocation};

/// Reads one document. The `read_...` methods are given an element just opened, take everything up to its end
/// tag, and return its node. What is wrong is reported; a node then holds any value where the document gives
/// none: a document with problems is refused as a whole, so no such value is ever seen.
pub(super) struct Reader<'a> {
    pub(super) xml: Cursor<'a>,
    pub(super) standard: Standard,
}

/// The children of one element, as far as read.
pub(super) struct Children {
    parent: SmolStr,
    place: XmlLocation,
    model: Model,
    stage: usize,
    counts: [u32; STAGES_MAX],
    text_reported: bool,
    /// A child was refused: it may well be the one that is missing.
    child_refused: bool,
}

impl Children {
    pub(super) fn of(parent: &Element<'_>, model: Model) -> Children {
        let Element { name, place, .. } = *parent;
        Children {
            parent: name.into(),
            place,
            model,
            stage: 0,
            counts: [0; STAGES_MAX],
            text_reported: false,
            child_refused: false,
        }
    }

    fn is_full(&self, index: usize, stage: &Stage) -> bool {
        stage.occurs.at_most_once() && self.count(index) > 0
    }

    fn count(&self, index: usize) -> u32 {
        self.counts.get(index).copied().unwrap_or(0)
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.model.iter().flat_map(|stage| stage.names.iter().copied())
    }
}

impl<'a> Reader<'a> {
    /// The next child of an element, or `None` after its end tag. Children that do not belong are reported and
    /// passed over; those in the wrong order or number are reported and still read, to find what is wrong in
    /// them.
    pub(super) fn next_child(&mut self, children: &mut Children) -> Option<Element<'a>> {
        loop {
            match self.xml.step() {
                Step::Open(child) => {
                    if self.admit(children, &child) {
                        return Some(child);
                    }
                    children.child_refused = true;
                    self.xml.skip();
                }
                Step::Text(text) => self.refuse_text(children, &text),
                Step::Close => {
                    if !children.child_refused {
                        self.report_missing(children);
                    }
                    return None;
                }
                Step::End => return None,
            }
        }
    }

    /// Whether the schema knows the child here.
    fn admit(&mut self, children: &mut Children, child: &Element<'_>) -> bool {
        if child.namespace != Namespace::Policy {
            self.refuse_foreign(children, child);
            return false;
        }
        let has = |stage: &Stage| stage.names.contains(&child.name);
        let stages = || children.model.iter().enumerate();
        let fitting = stages()
            .skip(children.stage)
            .find(|(index, stage)| has(stage) && !children.is_full(*index, stage))
            .map(|(index, _)| index);
        let Some(index) = fitting.or_else(|| stages().find(|(_, stage)| has(stage)).map(|(index, _)| index))
        else {
            self.refuse_unknown(children, child);
            return false;
        };
        if fitting.is_none() {
            self.report_misplaced(children, child, index);
        }
        children.stage = children.stage.max(index);
        if let Some(count) = children.counts.get_mut(index) {
            *count = count.saturating_add(1);
        }
        true
    }

    fn report_misplaced(&mut self, children: &Children, child: &Element<'_>, index: usize) {
        let (name, parent) = (child.name, &children.parent);
        let own = children.model.get(index);
        let full = own.is_some_and(|stage| children.is_full(index, stage));
        let message = match own {
            Some(stage) if full && is_expressions(stage.names) => {
                format!("`{parent}` holds one expression only")
            }
            Some(stage) if full && stage.names.len() > 1 => {
                format!("`{parent}` holds only one of {}", list(stage.names))
            }
            _ if full => format!("second `{name}` in `{parent}`"),
            _ => match children.model.get(children.stage).map(|stage| stage.names) {
                Some([later]) => format!("`{name}` must stand before `{later}` in `{parent}`"),
                Some([later, ..]) => {
                    format!("`{name}` must stand before `{later}` and its like in `{parent}`")
                }
                Some([]) | None => format!("`{name}` stands in the wrong place in `{parent}`"),
            },
        };
        self.report(child.place, message, None);
    }

    fn refuse_foreign(&mut self, children: &Children, child: &Element<'_>) {
        let inside = format!("element {} in `{}`", quote(child.name), children.parent);
        let (message, help) = match &child.namespace {
            Namespace::Other(uri) if Standard::of_namespace(uri).is_some() => {
                (format!("{inside} is of another version of XACML: namespace {}", quote(uri)), None)
            }
            Namespace::Other(uri) => (format!("unknown {inside}: namespace {}", quote(uri)), None),
            Namespace::None | Namespace::Policy => {
                let help = format!("it has no namespace; declare `xmlns=\"{}\"`", self.xml.namespace);
                (format!("unknown {inside}"), Some(help))
            }
        };
        self.report(child.place, message, help);
    }

    fn refuse_unknown(&mut self, children: &Children, child: &Element<'_>) {
        let message = format!("unknown element {} in `{}`", quote(child.name), children.parent);
        let elsewhere = belongs_elsewhere(child.name, self.standard)
            .map(|other| format!("it is of {other}, the namespace says {}", self.standard));
        let help = elsewhere.or_else(|| suggestion(child.name, children.names())).or_else(|| {
            let names: Vec<_> = children.names().collect();
            (!names.is_empty()).then(|| format!("expected {}", list(&names)))
        });
        self.report(child.place, message, help);
    }

    fn refuse_text(&mut self, children: &mut Children, text: &str) {
        let text = text.trim_matches(is_xml_space);
        if !text.is_empty() && !children.text_reported {
            children.text_reported = true;
            let place = self.xml.token_place();
            self.report(place, format!("text {} is not allowed in `{}`", quote(text), children.parent), None);
        }
    }

    fn report_missing(&mut self, children: &Children) {
        for (index, stage) in children.model.iter().enumerate() {
            if stage.occurs.is_required() && children.count(index) == 0 {
                let missing = match stage.occurs {
                    _ if is_expressions(stage.names) => "an expression".to_owned(),
                    Occurs::AtLeastOnce => format!("at least one {}", list(stage.names)),
                    Occurs::Once | Occurs::Optional | Occurs::Any => list(stage.names),
                };
                self.report(children.place, format!("`{}` lacks {missing}", children.parent), None);
            }
        }
    }

    /// Reads an element that must be empty.
    pub(super) fn read_empty(&mut self, element: &Element<'a>) {
        let mut none = Children::of(element, super::grammar::EMPTY);
        while self.next_child(&mut none).is_some() {}
    }

    /// The text of an element that holds no elements, as written.
    pub(super) fn read_text(&mut self, element: &Element<'a>) -> SmolStr {
        let mut text = Cow::Borrowed("");
        loop {
            match self.xml.step() {
                Step::Text(more) => append(&mut text, more),
                Step::Open(child) => {
                    let message =
                        format!("element {} in `{}`, which holds text only", quote(child.name), element.name);
                    self.report(child.place, message, None);
                    self.xml.skip();
                }
                Step::Close | Step::End => return self.xml.names.share(&text),
            }
        }
    }

    /// The text of an element that holds an identifier, without the white space around it.
    pub(super) fn read_identifier(&mut self, element: &Element<'a>) -> SmolStr {
        let text = self.read_text(element);
        self.xml.names.share(text.trim_matches(is_xml_space))
    }

    pub(super) fn report(&mut self, place: XmlLocation, message: String, help: Option<String>) {
        self.xml.problems.report(place, message, help);
    }
}

/// Adds to a text that usually comes in one piece.
pub(super) fn append<'a>(text: &mut Cow<'a, str>, more: Cow<'a, str>) {
    if text.is_empty() {
        *text = more;
    } else {
        text.to_mut().push_str(&more);
    }
}

/// White space in the sense of XML, not of Unicode.
pub(super) fn is_xml_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}
