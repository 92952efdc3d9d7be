//! XML text into the flat tree. Splitting text into tags is left to `quick-xml`; what it lets through that XML does
//! not allow is refused here, and so is every document type: without one there are no entities to expand.

use std::borrow::Cow;
use std::collections::HashMap;

use quick_xml::Reader;
use quick_xml::events::Event;
use smol_str::SmolStr;

use super::error::ContentError;
use super::name;
use super::tree::{Binding, Content, Kind, Name, Node};
use super::{CONTENT_BYTES_MAX, CONTENT_DEPTH_MAX, CONTENT_NODES_MAX};
use crate::xml::attributes::{self, RawAttribute};
use crate::xml::characters;

/// Bound always (Namespaces in XML 1.0, section 3).
pub(super) const XML_SPACE: &str = "http://www.w3.org/XML/1998/namespace";
const XMLNS_SPACE: &str = "http://www.w3.org/2000/xmlns/";

type Read<T> = Result<T, String>;
/// Seeded anew for each process: names come from whoever asks.
type Hashing = foldhash::quality::RandomState;

impl Content {
    /// Reads what stands between `<Content>` and `</Content>`: one element, and around it comments, processing
    /// instructions and white space. `namespaces` are the prefixes bound there; "" is the default namespace.
    ///
    /// # Errors
    /// Text that is not well-formed XML with one root element, that has a document type, or that goes beyond
    /// [`CONTENT_BYTES_MAX`], [`CONTENT_NODES_MAX`] or [`CONTENT_DEPTH_MAX`].
    pub fn parse(inner: &str, namespaces: &[(SmolStr, SmolStr)]) -> Result<Content, ContentError> {
        let mut builder = Builder::new(inner);
        builder.bind_around(namespaces);
        builder.read(inner)
    }

    /// Reads a whole document, such as an XACML 2.0 request.
    ///
    /// # Errors
    /// See [`Content::parse`].
    pub fn parse_document(xml: &str) -> Result<Content, ContentError> {
        Content::parse(xml, &[])
    }
}

struct Builder {
    content: Content,
    /// The elements that are open; the document node is the first.
    open: Vec<u32>,
    /// The bindings of each prefix, innermost last.
    scopes: HashMap<SmolStr, Vec<u32>, Hashing>,
    /// The names met, by what is written and by the binding (or 0) that tells what it means.
    names: HashMap<(u32, SmolStr), u32, Hashing>,
    has_root: bool,
}

impl Builder {
    fn new(xml: &str) -> Builder {
        let document = Node { kind: Kind::Document, name: 0, parent: 0, end: 0, value: (0, 0) };
        let mut nodes = Vec::with_capacity((xml.len() / 24).min(CONTENT_NODES_MAX));
        nodes.push(document);
        let content = Content {
            nodes,
            text: String::with_capacity(xml.len() / 2),
            other: String::new(),
            names: Vec::new(),
            bindings: Vec::new(),
        };
        let mut builder = Builder {
            content,
            open: vec![0],
            scopes: HashMap::default(),
            names: HashMap::default(),
            has_root: false,
        };
        builder.bind("xml", XML_SPACE, 0);
        builder
    }

    fn bind_around(&mut self, namespaces: &[(SmolStr, SmolStr)]) {
        for (prefix, space) in namespaces.iter().filter(|(prefix, _)| prefix != "xml") {
            self.bind(prefix, space, 0);
        }
    }

    fn read(mut self, xml: &str) -> Result<Content, ContentError> {
        let marked = if xml.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
        let text = xml.get(marked..).unwrap_or_default();
        let at = |offset: usize, message: String| {
            let offset = (offset + marked).min(xml.len());
            let line = xml.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1;
            ContentError { message, offset, line }
        };
        if xml.len() > CONTENT_BYTES_MAX {
            let message = format!("the content has {} bytes, and {CONTENT_BYTES_MAX} are allowed", xml.len());
            return Err(at(0, message));
        }
        if let Some(offset) = characters::first_forbidden(text) {
            return Err(at(offset, "a character that XML does not allow".to_owned()));
        }
        let mut reader = Reader::from_str(text);
        reader.config_mut().check_comments = true;
        loop {
            let start = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
            let event = match reader.read_event() {
                Ok(event) => event,
                Err(error) => {
                    let offset = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
                    return Err(at(offset, error.to_string()));
                }
            };
            match self.take(event, start == 0) {
                Ok(true) => {}
                Ok(false) => return Ok(self.content),
                Err(message) => return Err(at(start, message)),
            }
        }
    }

    /// Adds what the reader met; `false` at the end of the text.
    fn take(&mut self, event: Event<'_>, is_first: bool) -> Read<bool> {
        match event {
            Event::Start(tag) => self.start(&tag, tag.name().as_ref().len())?,
            Event::Empty(tag) => {
                self.start(&tag, tag.name().as_ref().len())?;
                self.end();
            }
            Event::End(_) => self.end(),
            Event::Text(text) => self.characters(&text.xml10_content())?,
            Event::CData(_) | Event::GeneralRef(_) if self.open.len() == 1 => {
                return Err("there is text outside of the root element".to_owned());
            }
            Event::CData(text) => self.text(&text.xml10_content())?,
            Event::GeneralRef(name) => self.reference(&name)?,
            Event::Comment(comment) => self.leaf(Kind::Comment, 0, &comment.xml10_content())?,
            Event::PI(instruction) => self.instruction(instruction.target(), instruction.content())?,
            Event::Decl(_) if is_first => {}
            Event::Decl(_) => return Err("an XML declaration may only stand at the very start".to_owned()),
            Event::DocType(_) => {
                return Err("a document type declaration is refused; remove `<!DOCTYPE ...>`".to_owned());
            }
            Event::Eof => return self.finish().map(|()| false),
        }
        Ok(true)
    }

    fn finish(&mut self) -> Read<()> {
        if let Some(name) = self.open.get(1).and_then(|_| self.open_name()) {
            return Err(format!("`<{name}>` is not closed"));
        }
        if !self.has_root {
            return Err("there is no element".to_owned());
        }
        self.end();
        Ok(())
    }

    fn open_name(&self) -> Option<&str> {
        let node = self.content.node(*self.open.last()?)?;
        self.content.names.get(node.name as usize).map(|name| name.written.as_str())
    }

    fn start(&mut self, tag: &str, name_length: usize) -> Read<()> {
        if self.open.len() == 1 && std::mem::replace(&mut self.has_root, true) {
            return Err("there is a second root element; `<Content>` holds one".to_owned());
        }
        if self.open.len() > CONTENT_DEPTH_MAX {
            return Err(format!("elements nest deeper than {CONTENT_DEPTH_MAX}"));
        }
        let (written, rest) = tag.split_at_checked(name_length).unwrap_or((tag, ""));
        let mut found = Vec::new();
        attributes::split(rest, &mut found).map_err(|fault| fault.message)?;
        let element = self.push(Kind::Element, 0)?;
        self.open.push(element);
        self.declare(&found, element)?;
        let name = self.name(written, true)?;
        if let Some(node) = self.content.nodes.last_mut() {
            node.name = name;
        }
        self.attributes(&found)
    }

    fn end(&mut self) {
        let Some(element) = self.open.pop() else { return };
        let end = self.content.node_count();
        let text_end = length(&self.content.text);
        if let Some(node) = self.content.nodes.get_mut(element as usize) {
            node.end = end;
            node.value.1 = text_end;
        }
        let declared = self.content.declared_at(element);
        for binding in self.content.bindings.get(declared).unwrap_or_default() {
            if let Some(bound) = self.scopes.get_mut(&binding.prefix) {
                bound.pop();
            }
        }
    }

    /// Binds the prefixes a tag declares (Namespaces in XML 1.0, sections 3 and 6).
    fn declare(&mut self, found: &[RawAttribute<'_>], element: u32) -> Read<()> {
        if self.content.bindings.len() + found.len() > CONTENT_NODES_MAX {
            return Err(format!("there are more than {CONTENT_NODES_MAX} namespace declarations"));
        }
        for attribute in found {
            let Some(prefix) = declared(attribute.name) else { continue };
            let space = value(attribute)?;
            let is_xml = prefix == "xml" && space == XML_SPACE;
            let is_well = match attribute.name {
                "xmlns" => space != XML_SPACE && space != XMLNS_SPACE,
                _ => name::is_name(prefix) && prefix != "xmlns" && !space.is_empty() && space != XMLNS_SPACE,
            };
            if !is_well || (prefix == "xml") != is_xml || (space == XML_SPACE) != is_xml {
                return Err(format!("`{}` may not be declared so", attribute.name));
            }
            self.bind(prefix, &space, element);
        }
        Ok(())
    }

    fn bind(&mut self, prefix: &str, space: &str, element: u32) {
        let number = u32::try_from(self.content.bindings.len()).unwrap_or(u32::MAX);
        let prefix = SmolStr::new(prefix);
        self.scopes.entry(prefix.clone()).or_default().push(number);
        self.content.bindings.push(Binding { element, prefix, space: SmolStr::new(space) });
    }

    fn attributes(&mut self, found: &[RawAttribute<'_>]) -> Read<()> {
        let first = self.content.nodes.len();
        for attribute in found.iter().filter(|attribute| declared(attribute.name).is_none()) {
            let name = self.name(attribute.name, false)?;
            self.leaf(Kind::Attribute, name, &value(attribute)?)?;
        }
        if self.content.nodes.len() < first + 2 {
            return Ok(());
        }
        let names = self.content.nodes.get(first..).unwrap_or_default().iter();
        let names: Vec<_> = names.filter_map(|node| self.content.names.get(node.name as usize)).collect();
        // At most 64 of them: `attributes::split` sees to that, and to repeats as written.
        for (index, name) in names.iter().enumerate().filter(|(_, name)| !name.space.is_empty()) {
            let mut others = names.iter().take(index);
            if others.any(|other| other.local == name.local && other.space == name.space) {
                return Err(format!("attribute `{}` stands twice", name.written));
            }
        }
        Ok(())
    }

    /// The number of a name at the place the reader is at. Unprefixed attributes are in no namespace.
    fn name(&mut self, written: &str, is_element: bool) -> Read<u32> {
        let (prefix, local) = name::split(written).ok_or_else(|| format!("`{written}` is not a name"))?;
        let bound = if prefix.is_empty() && !is_element { None } else { self.scopes.get(prefix) };
        let binding = bound.and_then(|bound| bound.last()).copied();
        if binding.is_none() && !prefix.is_empty() {
            return Err(format!("the prefix of `{written}` is not bound; declare `xmlns:{prefix}`"));
        }
        let space = binding.and_then(|number| self.content.bindings.get(number as usize));
        let space = space.map(|binding| binding.space.clone()).unwrap_or_default();
        Ok(self.intern(binding.map_or(0, |number| number + 1), written, local, space))
    }

    fn intern(&mut self, binding: u32, written: &str, local: &str, space: SmolStr) -> u32 {
        let key = (binding, SmolStr::new(written));
        if let Some(number) = self.names.get(&key) {
            return *number;
        }
        let number = u32::try_from(self.content.names.len()).unwrap_or(u32::MAX);
        self.content.names.push(Name { space, local: SmolStr::new(local), written: key.1.clone() });
        self.names.insert(key, number);
        number
    }

    fn characters(&mut self, text: &str) -> Read<()> {
        if self.open.len() == 1 {
            let is_space = text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
            return if is_space {
                Ok(())
            } else {
                Err("there is text outside of the root element".to_owned())
            };
        }
        if text.contains('>') && text.contains("]]>") {
            return Err("`]]>` may not stand in text".to_owned());
        }
        self.text(text)
    }

    fn reference(&mut self, name: &str) -> Read<()> {
        let unknown =
            || format!("`&{name};` is not known; only `&amp;`, `&lt;`, `&gt;`, `&quot;` and `&apos;` are");
        let character = characters::reference(name).ok_or_else(unknown)?;
        self.text(character.encode_utf8(&mut [0; 4]))
    }

    /// Text, CDATA and references side by side are one text node (XPath 1.0, section 5.7).
    fn text(&mut self, text: &str) -> Read<()> {
        if text.is_empty() {
            return Ok(());
        }
        let goes_on = |last: &Node| last.kind == Kind::Text && Some(&last.parent) == self.open.last();
        if !self.content.nodes.last().is_some_and(goes_on) {
            let number = self.push(Kind::Text, 0)?;
            self.close(number);
        }
        self.content.text.push_str(text);
        let end = length(&self.content.text);
        if let Some(node) = self.content.nodes.last_mut() {
            node.value.1 = end;
        }
        Ok(())
    }

    fn instruction(&mut self, target: &str, content: &str) -> Read<()> {
        if !name::is_name(target) || target.eq_ignore_ascii_case("xml") {
            return Err(format!("`{target}` is not a name for a processing instruction"));
        }
        let number = self.intern(0, target, target, SmolStr::default());
        let content = content.trim_start_matches([' ', '\t', '\r', '\n']);
        let content = if content.contains('\r') {
            Cow::Owned(content.replace("\r\n", "\n").replace('\r', "\n"))
        } else {
            Cow::Borrowed(content)
        };
        self.leaf(Kind::Instruction, number, &content)
    }

    /// Adds a node whose value is not text of its parent.
    fn leaf(&mut self, kind: Kind, name: u32, value: &str) -> Read<()> {
        let number = self.push(kind, name)?;
        let start = length(&self.content.other);
        self.content.other.push_str(value);
        let end = length(&self.content.other);
        if let Some(node) = self.content.nodes.get_mut(number as usize) {
            node.value = (start, end);
        }
        self.close(number);
        Ok(())
    }

    fn close(&mut self, number: u32) {
        if let Some(node) = self.content.nodes.get_mut(number as usize) {
            node.end = number + 1;
        }
    }

    /// Adds a node in the element that is open; its end is set when it is known.
    fn push(&mut self, kind: Kind, name: u32) -> Read<u32> {
        let number = self.content.node_count();
        if self.content.nodes.len() >= CONTENT_NODES_MAX {
            return Err(format!("there are more than {CONTENT_NODES_MAX} nodes"));
        }
        let parent = self.open.last().copied().unwrap_or(0);
        let start = length(&self.content.text);
        self.content.nodes.push(Node { kind, name, parent, end: 0, value: (start, start) });
        Ok(number)
    }
}

/// The prefix an attribute declares, "" for the default namespace; `None` for usual attributes.
fn declared(name: &str) -> Option<&str> {
    if name == "xmlns" { Some("") } else { name.strip_prefix("xmlns:") }
}

fn value<'a>(attribute: &RawAttribute<'a>) -> Read<Cow<'a, str>> {
    let unknown = |_| format!("an unknown reference in the value of `{}`", attribute.name);
    characters::attribute_value(attribute.value).map_err(unknown)
}

/// INVARIANT: text is never longer than what was read, at most `CONTENT_BYTES_MAX`.
fn length(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}
