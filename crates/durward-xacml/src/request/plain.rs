//! The short way to read an XACML 3.0 request: plain documents at several times the speed of the general reader.
//!
//! It knows only what almost every request looks like: the XACML namespace as default, no prefixes, references,
//! comments, content or CDATA. At anything else it gives up without an opinion, and [`super::xml`] reads the
//! document from the start: errors are found and worded there only. So this file may be deleted and nothing
//! changes but speed. What it does accept, the general reader accepts with the same result; tests hold it to that
//! over all test data and over mutations of it.

use durward_ir::{DataType, Value};
use memchr::{memchr, memchr2, memmem};
use smol_str::SmolStr;

use super::identifiers::shared;
use super::{Categories, Format, Limits, Request, Version, Written};
use crate::xml::{CORE3, SCHEMA_INSTANCE, first_forbidden};

/// `<Request>`, `<Attributes>`, `<Attribute>`, `<AttributeValue>`.
const DEPTH: usize = 4;
/// Prefixes declared on `<Request>` and not used; a document with more is left to the general reader.
const PREFIXES_MAX: usize = 4;

/// The request in `text`, where it is plain; `None` says nothing about it.
pub(super) fn read(text: &str, limits: &Limits) -> Option<Request> {
    if limits.depth_max < DEPTH
        || memchr2(b'&', b'\r', text.as_bytes()).is_some()
        || memmem::find(text.as_bytes(), b"<!").is_some()
        || first_forbidden(text).is_some()
    {
        return None;
    }
    let mut plain = Plain { text, bytes: text.as_bytes(), at: 0 };
    plain.declaration();
    plain.request(limits)
}

/// A place in the document.
struct Plain<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
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
    Attribute(&'a str, &'a str),
    End(Tag),
}

impl<'a> Plain<'a> {
    fn declaration(&mut self) {
        for declaration in
            ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<?xml version=\"1.0\" encoding=\"utf-8\"?>"]
        {
            if self.eat(declaration) {
                return;
            }
        }
    }

    fn request(&mut self, limits: &Limits) -> Option<Request> {
        self.skip_space();
        let mut request = Request::new(Version::V3, Format::Xml);
        if self.request_tag(&mut request)? == Tag::Closed {
            return None;
        }
        request.categories = Categories::with_capacity(4, (self.bytes.len() / 200).clamp(4, 64));
        self.skip_space();
        while self.category(&mut request.categories, limits)? {
            self.skip_space();
        }
        self.end("</Request>")?;
        self.skip_space();
        (self.at == self.bytes.len() && !request.categories.is_empty()).then_some(request)
    }

    fn request_tag(&mut self, request: &mut Request) -> Option<Tag> {
        let mut namespace = None;
        let mut combined = None;
        let mut policy_ids = None;
        let mut location = None;
        let mut instance = false;
        let mut prefixes: [&str; PREFIXES_MAX] = [""; PREFIXES_MAX];
        let mut prefix_count = 0;
        self.start("<Request")?;
        let end = loop {
            match self.next()? {
                Next::End(end) => break end,
                Next::Attribute("xmlns", value) => once(&mut namespace, value)?,
                Next::Attribute("CombinedDecision", value) => once(&mut combined, truth(value)?)?,
                Next::Attribute("ReturnPolicyIdList", value) => once(&mut policy_ids, truth(value)?)?,
                Next::Attribute("xsi:schemaLocation", value) => once(&mut location, value)?,
                Next::Attribute(name, value) => {
                    let prefix = name.strip_prefix("xmlns:")?;
                    let is_usual = prefix.bytes().all(|byte| byte.is_ascii_lowercase()) && !prefix.is_empty();
                    if !is_usual
                        || prefix.starts_with("xml")
                        || prefixes.contains(&prefix)
                        || value.is_empty()
                    {
                        return None;
                    }
                    instance |= prefix == "xsi" && value == SCHEMA_INSTANCE;
                    *prefixes.get_mut(prefix_count)? = prefix;
                    prefix_count += 1;
                }
            }
        };
        if namespace != Some(CORE3) || (location.is_some() && !instance) {
            return None;
        }
        request.combined_decision = combined?;
        request.return_policy_ids = policy_ids?;
        Some(end)
    }

    /// One `<Attributes>`; false where there is none any more.
    fn category(&mut self, categories: &mut Categories, limits: &Limits) -> Option<bool> {
        if self.rest().starts_with(b"</") {
            return Some(false);
        }
        self.start("<Attributes")?;
        let mut category = None;
        let end = loop {
            match self.next()? {
                Next::End(end) => break end,
                Next::Attribute("Category", value) => once(&mut category, value)?,
                Next::Attribute(..) => return None,
            }
        };
        categories.begin_category(shared(category?), None);
        if categories.len() > limits.categories_max {
            return None;
        }
        if end == Tag::Open {
            self.skip_space();
            while self.attribute(categories, limits)? {
                self.skip_space();
            }
            self.end("</Attributes>")?;
        }
        Some(true)
    }

    /// One `<Attribute>`; false where there is none any more.
    fn attribute(&mut self, categories: &mut Categories, limits: &Limits) -> Option<bool> {
        if self.rest().starts_with(b"</") {
            return Some(false);
        }
        self.start("<Attribute")?;
        let mut id = None;
        let mut include = None;
        let mut issuer = None;
        loop {
            match self.next()? {
                Next::End(Tag::Open) => break,
                Next::Attribute("AttributeId", value) => once(&mut id, value)?,
                Next::Attribute("IncludeInResult", value) => once(&mut include, truth(value)?)?,
                Next::Attribute("Issuer", value) => once(&mut issuer, value)?,
                Next::End(Tag::Closed) | Next::Attribute(..) => return None,
            }
        }
        categories.begin_attribute(shared(id?), issuer.map(SmolStr::new), include?);
        self.skip_space();
        loop {
            self.value(categories)?;
            self.skip_space();
            if self.eat("</Attribute") {
                break;
            }
        }
        self.end("")?;
        let fits = categories.attribute_count() <= limits.attributes_max
            && categories.value_count() <= limits.values_max;
        fits.then_some(true)
    }

    /// One `<AttributeValue>` with its text.
    fn value(&mut self, categories: &mut Categories) -> Option<()> {
        self.start("<AttributeValue")?;
        let mut data_type = None;
        loop {
            match self.next()? {
                Next::End(Tag::Open) => break,
                Next::Attribute("DataType", value) => once(&mut data_type, value)?,
                Next::End(Tag::Closed) | Next::Attribute(..) => return None,
            }
        }
        let length = memchr(b'<', self.rest())?;
        let text = self.text.get(self.at..self.at + length)?;
        if text.contains("]]>") {
            return None;
        }
        self.at += length;
        self.end("</AttributeValue>")?;
        let data_type = data_type?;
        let value = Value::parse(DataType::from_uri(data_type)?, text).ok()?;
        categories.push_as_written(value, |value| Written::of(value, text, data_type));
        Some(())
    }

    /// The next attribute of a tag, or the tag's end.
    fn next(&mut self) -> Option<Next<'a>> {
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
        let name = self.text.get(self.at..self.at + equals)?;
        self.at += equals + 1;
        let quote = *self.bytes.get(self.at)?;
        if quote != b'"' && quote != b'\'' {
            return None;
        }
        self.at += 1;
        let length = memchr(quote, self.rest())?;
        let value = self.text.get(self.at..self.at + length)?;
        // White space characters would have to become spaces; `<` is an error.
        if value.bytes().fold(false, |found, byte| found | (byte < b' ') | (byte == b'<')) {
            return None;
        }
        self.at += length + 1;
        Some(Next::Attribute(name, value))
    }

    /// The beginning of a tag. What follows the name must be its end, or the next call of `next` gives up.
    fn start(&mut self, tag: &str) -> Option<()> {
        self.eat(tag).then_some(())
    }

    /// The end tag, or what is left of one: the name is not the beginning of a longer one.
    fn end(&mut self, tag: &str) -> Option<()> {
        if tag.is_empty() { self.eat(">").then_some(()) } else { self.eat(tag).then_some(()) }
    }

    fn eat(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected.as_bytes());
        if found {
            self.at += expected.len();
        }
        found
    }

    /// Skips white space, and says how much.
    fn skip_space(&mut self) -> usize {
        let rest = self.rest();
        let length = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n')).unwrap_or(rest.len());
        self.at += length;
        length
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }
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
