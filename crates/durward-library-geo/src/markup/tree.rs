//! The elements of a document.

use quick_xml::NsReader;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;

use super::super::Refused;
use durward_functions::document::READ_DEPTH_MAX;

/// An element: what it is called, and what is in it.
#[derive(Debug, Default)]
pub(super) struct MarkupElement {
    /// Without a prefix.
    pub(super) name: String,
    /// Whether it is of the language's namespace, or of none.
    pub(super) is_own: bool,
    attributes: Vec<(String, String)>,
    pub(super) text: String,
    pub(super) children: Vec<MarkupElement>,
}

impl MarkupElement {
    /// The children of this name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a MarkupElement> {
        self.children.iter().filter(move |child| child.name == name)
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The outermost element.
///
/// # Errors
/// The document is not well-formed, uses a prefix that it does not declare, or is nested too deep.
pub(super) fn read(text: &str, namespace: &str) -> Result<MarkupElement, Refused> {
    let mut reader = NsReader::from_str(text);
    let mut open: Vec<MarkupElement> = Vec::new();
    let mut root = None;
    loop {
        let (resolved, event) = reader.read_resolved_event().map_err(|_| Refused::Invalid)?;
        let is_own = match resolved {
            ResolveResult::Unbound => true,
            ResolveResult::Bound(bound) => bound.as_ref() == namespace,
            ResolveResult::Unknown(_) => return Err(Refused::Invalid),
        };
        let closed = match event {
            Event::Start(tag) if open.len() < READ_DEPTH_MAX && root.is_none() => {
                open.push(element(&tag, is_own)?);
                continue;
            }
            Event::Empty(tag) if root.is_none() => element(&tag, is_own)?,
            Event::End(_) => open.pop().ok_or(Refused::Invalid)?,
            Event::Eof => break,
            event => {
                characters(&event, open.last_mut())?;
                continue;
            }
        };
        match open.last_mut() {
            Some(parent) => parent.children.push(closed),
            None => root = Some(closed),
        }
    }
    if open.is_empty() { root.ok_or(Refused::Invalid) } else { Err(Refused::Invalid) }
}

fn element(tag: &BytesStart<'_>, is_own: bool) -> Result<MarkupElement, Refused> {
    let name = tag.local_name().as_ref().to_string();
    let mut attributes = Vec::new();
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|_| Refused::Invalid)?;
        attributes.push((attribute.key.local_name().as_ref().to_string(), attribute.value.to_string()));
    }
    Ok(MarkupElement { name, is_own, attributes, ..MarkupElement::default() })
}

/// Text, where there may be some. Only numbers are read from it, which need no references.
fn characters(event: &Event<'_>, inside: Option<&mut MarkupElement>) -> Result<(), Refused> {
    match (event, inside) {
        (Event::Text(text), Some(element)) => element.text.push_str(text),
        (Event::CData(text), Some(element)) => element.text.push_str(text),
        (Event::Text(text), None) if text.trim().is_empty() => {}
        (Event::Comment(_) | Event::PI(_) | Event::Decl(_) | Event::DocType(_), _) => {}
        (Event::GeneralRef(name), Some(element)) if is_predefined(name) => element.text.push('?'),
        _ => return Err(Refused::Invalid),
    }
    Ok(())
}

fn is_predefined(name: &str) -> bool {
    matches!(name, "lt" | "gt" | "amp" | "apos" | "quot") || name.starts_with('#')
}
