//! The short way to read an XACML 3.0 request: plain documents at several times the speed of the general reader.
//!
//! It knows only what almost every request looks like: the XACML namespace as default, no prefixes, references,
//! comments, content or CDATA. At anything else it gives up without an opinion, and [`super::xml`] reads the
//! document from the start: errors are found and worded there only. So without this way of reading nothing
//! changes but speed. What it does accept, the general reader accepts with the same result; tests hold it to that
//! over all test data and over mutations of it.

use durward_ir::DataType;
use durward_ir::attribute::Names;
use memchr::{memchr, memchr2};

use super::{Format, Limits, RawRequest, Request};
use crate::xml::{CORE3, SCHEMA_INSTANCE};

/// `<Request>`, `<Attributes>`, `<Attribute>`, `<AttributeValue>`.
const DEPTH: usize = 4;
/// Prefixes declared on `<Request>` and not used; a document with more is left to the general reader.
const PREFIXES_MAX: usize = 4;

/// The request in `text`, where it is plain; `None` says nothing about it.
pub(super) fn read(text: &[u8], limits: &Limits) -> Option<Request> {
    RawRequest::with_xml(text, limits, RawRequest::to_request)?
}

impl<'t> RawRequest<'t> {
    /// Reads a plain request in XML, and gives it to `look`; `None` says nothing about the text.
    ///
    /// ```
    /// use durward_xacml::request::{Limits, RawRequest};
    ///
    /// let text = br#"<Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" CombinedDecision="false"
    ///   ReturnPolicyIdList="false"><Attributes Category="c"/></Request>"#;
    /// let read = RawRequest::with_xml(text, &Limits::default(), |raw| raw.to_request().is_some());
    /// assert_eq!(read, Some(true));
    /// ```
    #[inline]
    pub fn with_xml<R>(
        text: &'t [u8],
        limits: &Limits,
        look: impl FnOnce(&RawRequest<'t>) -> R,
    ) -> Option<R> {
        // It is too large to be handed on.
        let mut raw = RawRequest::new(Format::Xml);
        read_raw(text, limits, &mut raw)?;
        Some(look(&raw))
    }
}

/// The same into `raw`, which is empty; what that holds where it is not plain means nothing.
fn read_raw<'t>(text: &'t [u8], limits: &Limits, raw: &mut RawRequest<'t>) -> Option<()> {
    if limits.depth_max < DEPTH || text.len() > limits.bytes_max {
        return None;
    }
    let PlainText { text, has_breaks } = PlainText::of(text)?;
    Names::with(|names| Plain { text, has_breaks, at: 0, names, limits, raw }.request())
}

/// A whole text, looked through once, so that its pieces need not be: UTF-8, without references, and without any character that
/// XML forbids or changes.
struct PlainText<'t> {
    text: &'t str,
    /// Whether there is a tab or a line break, which an attribute's value may not keep.
    has_breaks: bool,
}

impl<'t> PlainText<'t> {
    #[inline]
    fn of(bytes: &'t [u8]) -> Option<PlainText<'t>> {
        // U+FFFE and U+FFFF begin with 0xef.
        if memchr2(b'&', 0xef, bytes).is_some() {
            return None;
        }
        let has_breaks = has_controls(bytes);
        if has_breaks && has_forbidden_controls(bytes) {
            return None;
        }
        Some(PlainText { text: str::from_utf8(bytes).ok()?, has_breaks })
    }
}

/// A place in the document, and what was read up to there.
struct Plain<'t, 'r> {
    text: &'t str,
    has_breaks: bool,
    at: usize,
    names: &'r Names,
    limits: &'r Limits,
    raw: &'r mut RawRequest<'t>,
}

/// How a start tag ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tag {
    /// `>`: there is content, and an end tag.
    Open,
    /// `/>`
    Closed,
}

/// What the loop over the attributes of a tag meets next.
enum Next<'a> {
    Attribute(&'a [u8], &'a str),
    End(Tag),
}

/// How most attributes begin, before and behind their identifiers.
const USUAL_ATTRIBUTE: (&[u8], &[u8]) = (b"<Attribute AttributeId=\"", b"\" IncludeInResult=\"false\">");
/// How most values begin.
const USUAL_VALUE: &[u8] = b"<AttributeValue DataType=\"http://www.w3.org/2001/XMLSchema#string\">";

impl<'t> Plain<'t, '_> {
    fn declaration(&mut self) {
        let declarations: [&[u8]; 2] =
            [b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>", b"<?xml version=\"1.0\" encoding=\"utf-8\"?>"];
        let _ = declarations.into_iter().any(|declaration| self.eat(declaration));
    }

    fn request(mut self) -> Option<()> {
        self.declaration();
        self.skip_space();
        if self.request_tag()? == Tag::Closed {
            return None;
        }
        self.skip_space();
        while self.category()? {
            self.skip_space();
        }
        self.expect(b"</Request>")?;
        self.skip_space();
        (self.at == self.text.len() && self.raw.has_category()).then_some(())
    }

    fn request_tag(&mut self) -> Option<Tag> {
        let mut namespace = None;
        let mut combined = None;
        let mut policy_ids = None;
        let mut location = None;
        let mut instance = false;
        let mut prefixes: [&[u8]; PREFIXES_MAX] = [b""; PREFIXES_MAX];
        let mut prefix_count = 0;
        self.expect(b"<Request")?;
        let end = loop {
            match self.next()? {
                Next::End(end) => break end,
                Next::Attribute(b"xmlns", value) => once(&mut namespace, value)?,
                Next::Attribute(b"CombinedDecision", value) => once(&mut combined, truth(value)?)?,
                Next::Attribute(b"ReturnPolicyIdList", value) => once(&mut policy_ids, truth(value)?)?,
                Next::Attribute(b"xsi:schemaLocation", value) => once(&mut location, value)?,
                Next::Attribute(name, value) => {
                    let prefix = name.strip_prefix(b"xmlns:")?;
                    let is_usual = prefix.iter().all(u8::is_ascii_lowercase) && !prefix.is_empty();
                    if !is_usual
                        || prefix.starts_with(b"xml")
                        || prefixes.contains(&prefix)
                        || value.is_empty()
                    {
                        return None;
                    }
                    instance |= prefix == b"xsi" && value == SCHEMA_INSTANCE;
                    *prefixes.get_mut(prefix_count)? = prefix;
                    prefix_count += 1;
                }
            }
        };
        if namespace != Some(CORE3) || (location.is_some() && !instance) {
            return None;
        }
        self.raw.ask(combined?, policy_ids?);
        Some(end)
    }

    /// One `<Attributes>`; false where there is none any more.
    fn category(&mut self) -> Option<bool> {
        if self.rest().starts_with(b"</") {
            return Some(false);
        }
        self.expect(b"<Attributes")?;
        let mut category = None;
        let end = loop {
            match self.next()? {
                Next::End(end) => break end,
                Next::Attribute(b"Category", value) => once(&mut category, value)?,
                Next::Attribute(..) => return None,
            }
        };
        self.raw.begin_category(category?, self.limits)?;
        if end == Tag::Open {
            self.skip_space();
            while self.attribute()? {
                self.skip_space();
            }
            self.expect(b"</Attributes>")?;
        }
        Some(true)
    }

    /// One `<Attribute>`; false where there is none any more.
    fn attribute(&mut self) -> Option<bool> {
        match self.usual_attribute() {
            Some(id) => self.raw.begin_attribute(self.names, id, None, false, self.limits)?,
            None if self.rest().starts_with(b"</") => return Some(false),
            None => self.other_attribute()?,
        }
        self.skip_space();
        loop {
            self.value()?;
            self.skip_space();
            if self.eat(b"</Attribute>") {
                return Some(true);
            }
        }
    }

    /// The identifier of an attribute that begins as most do.
    #[inline]
    fn usual_attribute(&mut self) -> Option<&'t str> {
        let (before, behind) = USUAL_ATTRIBUTE;
        if !self.rest().starts_with(before) {
            return None;
        }
        let id = self.quoted(self.at + before.len(), b'"')?;
        let end = self.at + before.len() + id.len();
        if !self.from(end).starts_with(behind) {
            return None;
        }
        self.at = end + behind.len();
        Some(id)
    }

    /// The value of an XML attribute that begins at `start`, up to its quote, where it stands for itself: tabs and line breaks would
    /// have to become spaces, and `<` is an error.
    #[inline]
    fn quoted(&self, start: usize, quote: u8) -> Option<&'t str> {
        let bytes = self.from(start);
        let length = memchr2(quote, b'<', bytes)?;
        if bytes.get(length) != Some(&quote) {
            return None;
        }
        let value = self.text.get(start..start + length)?;
        let is_changed = self.has_breaks && value.bytes().any(|byte| byte < b' ');
        (!is_changed).then_some(value)
    }

    fn other_attribute(&mut self) -> Option<()> {
        self.expect(b"<Attribute")?;
        let mut id = None;
        let mut include = None;
        let mut issuer = None;
        loop {
            match self.next()? {
                Next::End(Tag::Open) => break,
                Next::Attribute(b"AttributeId", value) => once(&mut id, value)?,
                Next::Attribute(b"IncludeInResult", value) => once(&mut include, truth(value)?)?,
                Next::Attribute(b"Issuer", value) => once(&mut issuer, value)?,
                Next::End(Tag::Closed) | Next::Attribute(..) => return None,
            }
        }
        self.raw.begin_attribute(self.names, id?, issuer, include?, self.limits)
    }

    /// One `<AttributeValue>` with its text.
    #[inline]
    fn value(&mut self) -> Option<()> {
        let (data_type, uri) = match self.eat(USUAL_VALUE) {
            true => (DataType::Text, ""),
            false => self.other_value()?,
        };
        // `]]>` is an error; whoever writes `>` as it is does so rarely.
        let length = memchr2(b'<', b'>', self.rest())?;
        let text = self.text.get(self.at..self.at + length)?;
        self.at += length;
        self.expect(b"</AttributeValue>")?;
        self.raw.put(data_type, uri, text, self.limits)
    }

    fn other_value(&mut self) -> Option<(DataType, &'t str)> {
        self.expect(b"<AttributeValue")?;
        let mut data_type = None;
        loop {
            match self.next()? {
                Next::End(Tag::Open) => break,
                Next::Attribute(b"DataType", value) => once(&mut data_type, value)?,
                Next::End(Tag::Closed) | Next::Attribute(..) => return None,
            }
        }
        let uri = data_type?;
        Some((DataType::from_uri(uri)?, uri))
    }

    /// The next attribute of a tag, or the tag's end.
    fn next(&mut self) -> Option<Next<'t>> {
        let spaces = self.skip_space();
        match self.rest() {
            [b'>', ..] => {
                self.at += 1;
                return Some(Next::End(Tag::Open));
            }
            [b'/', b'>', ..] => {
                self.at += 2;
                return Some(Next::End(Tag::Closed));
            }
            _ if spaces == 0 => return None,
            _ => {}
        }
        let equals = memchr(b'=', self.rest().get(..32).unwrap_or(self.rest()))?;
        let name = self.rest().get(..equals)?;
        self.at += equals + 1;
        let quote = *self.rest().first()?;
        if quote != b'"' && quote != b'\'' {
            return None;
        }
        let value = self.quoted(self.at + 1, quote)?;
        self.at += value.len() + 2;
        Some(Next::Attribute(name, value))
    }

    fn expect(&mut self, expected: &[u8]) -> Option<()> {
        self.eat(expected).then_some(())
    }

    #[inline]
    fn eat(&mut self, expected: &[u8]) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    /// Skips white space, and says how much.
    #[inline]
    fn skip_space(&mut self) -> usize {
        let rest = self.rest();
        let length = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n')).unwrap_or(rest.len());
        self.at += length;
        length
    }

    #[inline]
    fn rest(&self) -> &'t [u8] {
        self.from(self.at)
    }

    #[inline]
    fn from(&self, at: usize) -> &'t [u8] {
        self.text.as_bytes().get(at..).unwrap_or_default()
    }
}

/// Whether a character below U+0020 is there. All bytes are looked at, sixteen with a few instructions, as long as the loop is not inlined:
/// as a part of a long function it is compiled byte by byte.
#[inline(never)]
pub(super) fn has_controls(bytes: &[u8]) -> bool {
    bytes.iter().fold(u8::MAX, |least, byte| least.min(*byte)) < b' '
}

/// The same of those that are neither tab nor line break.
#[inline(never)]
fn has_forbidden_controls(bytes: &[u8]) -> bool {
    let is_forbidden = |byte: u8| (byte < b' ') & (byte.wrapping_sub(b'\t') > 1);
    bytes.iter().fold(false, |found, byte| found | is_forbidden(*byte))
}

/// Sets what may be set once.
fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

fn truth(value: &str) -> Option<bool> {
    match value {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
