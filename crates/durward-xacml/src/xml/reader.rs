//! Pulls elements and text out of an XML document, strictly.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesDecl, Event};

use super::attributes::{self, RawAttribute};
use super::characters;
use super::names::{NAMESPACES_MAX, Scopes, Space};
use crate::request::{ErrorLocation, RequestError, RequestErrorKind};

/// The result of reading something; errors are rare and boxed.
pub(crate) type Read<T> = Result<T, Box<RequestError>>;

/// The start of an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element<'a> {
    /// Its namespace.
    pub(crate) space: Space,
    /// Its name without prefix.
    pub(crate) local: &'a str,
    /// Its name as written.
    pub(crate) name: &'a str,
}

/// What stands in an element.
#[derive(Debug)]
pub(crate) enum Token<'a> {
    /// An element starts; its attributes are in [`XmlReader::attributes`].
    Start(Element<'a>),
    /// The element at hand ends.
    End,
    /// Text, references resolved.
    Text(Cow<'a, str>),
    /// The document ends.
    Eof,
}

/// A strict pull reader over one document.
pub(crate) struct XmlReader<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
    pub(super) scopes: Scopes<'a>,
    pub(super) attributes: Vec<RawAttribute<'a>>,
    depth: usize,
    depth_max: usize,
    /// Whether the element just started was written `<a/>`, so that its end comes without an event.
    closed: bool,
}

impl<'a> XmlReader<'a> {
    /// Starts at the beginning of `text`.
    ///
    /// # Errors
    /// Characters XML does not allow, and a second byte order mark, which the reader below would pass over in silence.
    pub(crate) fn new(text: &'a str, depth_max: usize) -> Read<XmlReader<'a>> {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let mut reader = Reader::from_str(text);
        reader.config_mut().check_comments = true;
        let reader = XmlReader {
            text,
            reader,
            scopes: Scopes::default(),
            attributes: Vec::with_capacity(8),
            depth: 0,
            depth_max,
            closed: false,
        };
        match characters::first_forbidden(text) {
            None if text.starts_with('\u{FEFF}') => {
                Err(reader.ill_formed(0, "there is text before the root element".to_owned()))
            }
            None => Ok(reader),
            Some(offset) => Err(reader.ill_formed(offset, "a character that XML does not allow".to_owned())),
        }
    }

    /// For a document known to be well-formed: where the name in its root element's tag ends, and the names of the
    /// attributes there. Prefixes need not be declared.
    pub(crate) fn root_tag(text: &'a str) -> Option<(usize, Vec<&'a str>)> {
        let mut reader = Reader::from_str(text);
        loop {
            match reader.read_event().ok()? {
                Event::Start(tag) | Event::Empty(tag) => {
                    let start = (tag.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
                    let end = start + tag.name().as_ref().len();
                    let rest = text.get(end..start + tag.len())?;
                    let mut found = Vec::new();
                    attributes::split(rest, &mut found).ok()?;
                    return Some((end, found.into_iter().map(|attribute| attribute.name).collect()));
                }
                Event::Eof => return None,
                Event::End(_)
                | Event::Text(_)
                | Event::CData(_)
                | Event::Comment(_)
                | Event::Decl(_)
                | Event::PI(_)
                | Event::DocType(_)
                | Event::GeneralRef(_) => {}
            }
        }
    }

    /// The root element.
    pub(crate) fn root(&mut self) -> Read<Element<'a>> {
        loop {
            match self.next()? {
                Token::Start(element) => return Ok(element),
                Token::Text(text) if is_space(&text) => {}
                Token::Text(_) => return Err(self.ill_formed_here("there is text before the root element")),
                Token::End | Token::Eof => return Err(self.ill_formed_here("there is no root element")),
            }
        }
    }

    /// Makes sure that nothing but white space and comments follows the root element.
    pub(crate) fn finish(&mut self) -> Read<()> {
        loop {
            match self.next()? {
                Token::Eof => return Ok(()),
                Token::Text(text) if is_space(&text) => {}
                Token::Text(_) | Token::Start(_) | Token::End => {
                    return Err(self.ill_formed_here("there is more after the end of the root element"));
                }
            }
        }
    }

    /// The next element in the element at hand, or `None` at its end. Text in between is refused.
    pub(crate) fn child(&mut self) -> Read<Option<Element<'a>>> {
        loop {
            match self.next()? {
                Token::Start(element) => return Ok(Some(element)),
                Token::End => return Ok(None),
                Token::Text(text) if is_space(&text) => {}
                Token::Text(text) => {
                    return Err(
                        self.structure(format!("there may be no text here: `{}`", excerpt(text.trim())))
                    );
                }
                Token::Eof => return Err(self.unclosed()),
            }
        }
    }

    /// Makes sure that the element at hand is empty, and ends it.
    pub(crate) fn nothing(&mut self, parent: &Element<'_>) -> Read<()> {
        match self.child()? {
            None => Ok(()),
            Some(child) => Err(self.unexpected(&child, parent)),
        }
    }

    /// The text of the element at hand, which is ended; elements in it are refused.
    pub(crate) fn text(&mut self, parent: &Element<'_>) -> Read<Cow<'a, str>> {
        let mut collected = Cow::Borrowed("");
        loop {
            match self.next()? {
                Token::Text(text) if collected.is_empty() => collected = text,
                Token::Text(text) => collected.to_mut().push_str(&text),
                Token::End => return Ok(collected),
                Token::Start(child) => return Err(self.unexpected(&child, parent)),
                Token::Eof => return Err(self.unclosed()),
            }
        }
    }

    /// What stands in the element at hand, as written, and the number of its child elements; the element is ended.
    /// Checked to be balanced and not too deep, no more.
    pub(crate) fn raw(&mut self) -> Read<(&'a str, usize)> {
        let start = self.offset();
        if self.closed {
            self.next()?;
            return Ok(("", 0));
        }
        let depth = self.depth;
        let mut end = start;
        let mut children = 0;
        while self.depth >= depth {
            end = self.offset();
            match self.next()? {
                Token::Start(_) if self.depth == depth + 1 => children += 1,
                Token::Start(_) | Token::Text(_) | Token::End => {}
                Token::Eof => return Err(self.unclosed()),
            }
        }
        Ok((self.text.get(start..end).unwrap_or_default(), children))
    }

    /// The text of the element at hand, which is ended; where it holds elements, what stands in it as written.
    pub(crate) fn mixed(&mut self) -> Read<(Cow<'a, str>, bool)> {
        let start = self.offset();
        let depth = self.depth;
        let mut collected = Cow::Borrowed("");
        let mut has_elements = false;
        loop {
            let end = self.offset();
            match self.next()? {
                Token::Text(text) if collected.is_empty() => collected = text,
                Token::Text(text) => collected.to_mut().push_str(&text),
                Token::Start(_) => has_elements = true,
                Token::End if self.depth >= depth => {}
                Token::End if has_elements => {
                    return Ok((Cow::Borrowed(self.text.get(start..end).unwrap_or_default()), true));
                }
                Token::End => return Ok((collected, false)),
                Token::Eof => return Err(self.unclosed()),
            }
        }
    }

    /// The place where the content of the element just started begins; to be given to [`XmlReader::since`].
    pub(crate) fn mark(&self) -> usize {
        self.offset()
    }

    /// What was read from a [`XmlReader::mark`] to the end tag just met, without that tag.
    pub(crate) fn since(&self, mark: usize) -> &'a str {
        let read = self.text.get(mark..self.offset()).unwrap_or_default();
        read.rfind("</").and_then(|end| read.get(..end)).unwrap_or_default()
    }

    /// How far into the text the reader is.
    pub(crate) fn offset(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX)
    }

    /// The next thing in the document.
    pub(crate) fn next(&mut self) -> Read<Token<'a>> {
        if self.closed {
            self.closed = false;
            self.leave();
            return Ok(Token::End);
        }
        loop {
            match self.event()? {
                Event::Start(tag) => return self.start(&tag, tag.name().as_ref().len(), false),
                Event::Empty(tag) => return self.start(&tag, tag.name().as_ref().len(), true),
                Event::End(_) => {
                    self.leave();
                    return Ok(Token::End);
                }
                Event::Text(text) => {
                    let text = text.xml10_content();
                    if text.len() > 2 && text.contains("]]>") {
                        return Err(self.ill_formed_here("`]]>` may not stand in text"));
                    }
                    return Ok(Token::Text(text));
                }
                Event::CData(_) | Event::GeneralRef(_) if self.depth == 0 => {
                    return Err(self.ill_formed_here("there is text outside of the root element"));
                }
                Event::CData(text) => return Ok(Token::Text(text.xml10_content())),
                Event::GeneralRef(name) => return self.reference(&name).map(Token::Text),
                Event::Comment(_) => {}
                Event::PI(instruction) => {
                    if instruction.target().is_empty() || instruction.target().eq_ignore_ascii_case("xml") {
                        return Err(self.ill_formed_here("a processing instruction needs a name, not `xml`"));
                    }
                }
                Event::Decl(declaration) => self.declaration(&declaration)?,
                Event::DocType(_) => {
                    return Err(self
                        .ill_formed_here("a document type declaration is refused; remove `<!DOCTYPE ...>`"));
                }
                Event::Eof if self.depth > 0 => return Err(self.unclosed()),
                Event::Eof => return Ok(Token::Eof),
            }
        }
    }

    fn event(&mut self) -> Read<Event<'a>> {
        self.reader.read_event().map_err(|error| {
            let offset = usize::try_from(self.reader.error_position()).unwrap_or(usize::MAX);
            self.ill_formed(offset, error.to_string())
        })
    }

    /// Enters an element: its namespaces are bound, its attributes split.
    fn start(&mut self, tag: &str, name_length: usize, closed: bool) -> Read<Token<'a>> {
        if self.depth >= self.depth_max {
            let message = format!("elements nest deeper than {}", self.depth_max);
            return Err(self.error(RequestErrorKind::Limit, self.offset(), message));
        }
        let text: &'a str = self.text;
        let offset = self.offset_of(tag);
        let tag = text.get(offset..offset + tag.len()).unwrap_or_default();
        let (name, rest) = tag.split_at_checked(name_length).unwrap_or((tag, ""));
        let mut found = std::mem::take(&mut self.attributes);
        if let Err(fault) = attributes::split(rest, &mut found) {
            return Err(self.ill_formed(self.offset_of(fault.at), fault.message));
        }
        self.attributes = found;
        self.depth += 1;
        self.closed = closed;
        self.bind()?;
        let (prefix, local) = split_name(name).unwrap_or(("", name));
        let space = self.scopes.space(prefix).ok_or_else(|| self.unbound(prefix, name))?;
        Ok(Token::Start(Element { space, local, name }))
    }

    fn leave(&mut self) {
        self.scopes.leave(self.depth);
        self.depth = self.depth.saturating_sub(1);
    }

    /// Binds the namespaces the tag declares, and refuses attributes that are one by namespace.
    fn bind(&mut self) -> Read<()> {
        let mut prefixed = 0;
        for index in 0..self.attributes.len() {
            let Some(&attribute) = self.attributes.get(index) else { break };
            let Some((prefix, local)) = split_name(attribute.name) else {
                if attribute.name == "xmlns" {
                    let uri = self.value(attribute)?;
                    self.bind_one("", uri)?;
                }
                continue;
            };
            if prefix == "xmlns" {
                let uri = self.value(attribute)?;
                self.check_declaration(attribute, local, &uri)?;
                self.bind_one(local, uri)?;
            } else {
                prefixed += 1;
            }
        }
        if prefixed > 1 { self.check_prefixed() } else { Ok(()) }
    }

    fn bind_one(&mut self, prefix: &'a str, uri: Cow<'a, str>) -> Read<()> {
        if self.scopes.bind(prefix, uri, self.depth) {
            return Ok(());
        }
        let message = format!("more than {NAMESPACES_MAX} namespace declarations around one element");
        Err(self.error(RequestErrorKind::Limit, self.offset(), message))
    }

    /// Namespaces in XML 1.0, sections 2.2 and 3: what may not be declared.
    fn check_declaration(&self, attribute: RawAttribute<'a>, prefix: &str, uri: &str) -> Read<()> {
        let is_xml = prefix == "xml" && Space::of(uri) == Space::Xml;
        if prefix == "xmlns" || uri.is_empty() || prefix.is_empty() || (prefix == "xml") != is_xml {
            let message = format!("`{}` may not be declared so", attribute.name);
            return Err(self.ill_formed(self.offset_of(attribute.name), message));
        }
        Ok(())
    }

    /// Two attributes of one namespace and one local name are the same attribute, whatever their prefixes.
    fn check_prefixed(&self) -> Read<()> {
        let mut seen: Vec<(&str, &str)> = Vec::new();
        for attribute in &self.attributes {
            let Some((prefix, local)) = split_name(attribute.name) else { continue };
            if matches!(prefix, "xmlns" | "xml") {
                continue;
            }
            let uri = self.scopes.uri(prefix).ok_or_else(|| self.unbound(prefix, attribute.name))?;
            if seen.contains(&(uri, local)) {
                let message = format!("attribute `{}` stands twice", attribute.name);
                return Err(self.ill_formed(self.offset_of(attribute.name), message));
            }
            seen.push((uri, local));
        }
        Ok(())
    }

    fn declaration(&self, declaration: &BytesDecl<'_>) -> Read<()> {
        if self.offset_of(declaration) != 2 {
            return Err(self.ill_formed_here("`<?xml ...?>` may stand at the very beginning only"));
        }
        match declaration.version() {
            Ok(version) if version.starts_with("1.") => {}
            _ => return Err(self.ill_formed_here("`<?xml ...?>` must say `version=\"1.0\"`")),
        }
        match declaration.encoding() {
            None => Ok(()),
            Some(Ok(name)) if name.eq_ignore_ascii_case("utf-8") || name.eq_ignore_ascii_case("us-ascii") => {
                Ok(())
            }
            Some(_) => {
                Err(self.ill_formed_here("the encoding must be `UTF-8` or `UTF-16`, and the text be in it"))
            }
        }
    }

    fn reference(&self, name: &str) -> Read<Cow<'a, str>> {
        match characters::reference(name) {
            Some(character) => Ok(Cow::Owned(character.to_string())),
            None => Err(self.ill_formed_here(&format!("`&{name};` is not a known reference"))),
        }
    }

    // ---- errors ----

    /// An element that may not stand here.
    pub(crate) fn unexpected(&self, found: &Element<'_>, parent: &Element<'_>) -> Box<RequestError> {
        self.structure_at(found.name, format!("`<{}>` may not stand here in `<{}>`", found.name, parent.name))
    }

    /// A mistake against the schema, at the place where the reader is.
    pub(crate) fn structure(&self, message: String) -> Box<RequestError> {
        self.error(RequestErrorKind::Structure, self.offset(), message)
    }

    /// A mistake against the schema, at a part of the text.
    pub(crate) fn structure_at(&self, part: &str, message: String) -> Box<RequestError> {
        self.error(RequestErrorKind::Structure, self.offset_of(part), message)
    }

    /// An error at an offset of the text.
    pub(crate) fn error(&self, kind: RequestErrorKind, offset: usize, message: String) -> Box<RequestError> {
        Box::new(RequestError { kind, message, place: ErrorLocation::at(self.text, offset) })
    }

    pub(super) fn ill_formed(&self, offset: usize, message: String) -> Box<RequestError> {
        self.error(RequestErrorKind::IllFormed, offset, message)
    }

    fn ill_formed_here(&self, message: &str) -> Box<RequestError> {
        self.ill_formed(self.offset(), message.to_owned())
    }

    fn unclosed(&self) -> Box<RequestError> {
        self.ill_formed(self.text.len(), "the text ends within an element".to_owned())
    }

    pub(super) fn unbound(&self, prefix: &str, name: &str) -> Box<RequestError> {
        self.ill_formed(self.offset_of(name), format!("the prefix `{prefix}` of `{name}` is not declared"))
    }

    /// Where a part of the document's text begins. Parts are always slices of it, so their addresses tell.
    pub(crate) fn offset_of(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize).min(self.text.len())
    }
}

fn is_space(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
}

/// Prefix and local name, where there is a prefix. Names are short: a plain loop beats a search.
pub(super) fn split_name(name: &str) -> Option<(&str, &str)> {
    let colon = name.bytes().position(|byte| byte == b':')?;
    Some((name.get(..colon)?, name.get(colon + 1..)?))
}

/// The beginning of a text, for an error message.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    const LENGTH: usize = 60;
    match text.char_indices().nth(LENGTH) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}...", text.get(..end).unwrap_or_default())),
    }
}
