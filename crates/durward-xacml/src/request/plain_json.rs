//! The short way to read a request in JSON: plain documents at several times the speed of the general reader.
//!
//! As [`super::plain`] does for XML, it knows only what almost every request looks like, and at anything else (escapes, fractions,
//! `null`, content, references, members twice or out of order) it gives up without an opinion: errors are found and worded by
//! [`super::json`] only. What it does accept, the general reader accepts with the same result; tests hold it to that.

use durward_ir::DataType;
use durward_ir::attribute::Names;
use memchr::memchr2;
use smallvec::SmallVec;

use super::plain::has_controls;
use super::{Format, Limits, RawRequest, Request};
use crate::json::category_of_shorthand;

/// The request in `text`, where it is plain; `None` says nothing about it.
pub(super) fn read(text: &[u8], limits: &Limits) -> Option<Request> {
    RawRequest::with_json(text, limits, RawRequest::to_request)?
}

impl<'t> RawRequest<'t> {
    /// Reads a plain request in JSON, and gives it to `look`; `None` says nothing about the text.
    #[inline]
    pub fn with_json<R>(
        text: &'t [u8],
        limits: &Limits,
        look: impl FnOnce(&RawRequest<'t>) -> R,
    ) -> Option<R> {
        let mut raw = RawRequest::new(Format::Json);
        read_raw(text, limits, &mut raw)?;
        Some(look(&raw))
    }
}

/// The same into `raw`, which is empty; what that holds where it is not plain means nothing.
fn read_raw<'t>(text: &'t [u8], limits: &Limits, raw: &mut RawRequest<'t>) -> Option<()> {
    if text.len() > limits.bytes_max {
        return None;
    }
    let has_controls = has_controls(text);
    let text = str::from_utf8(text).ok()?;
    Names::with(|names| Plain { text, has_controls, at: 0, names, limits, raw }.document())
}

/// A place in the document, and what was read up to there.
struct Plain<'t, 'r> {
    text: &'t str,
    /// Whether there is a control character at all, which strings may not have.
    has_controls: bool,
    at: usize,
    names: &'r Names,
    limits: &'r Limits,
    raw: &'r mut RawRequest<'t>,
}

/// A scalar of JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Integer,
    Boolean,
}

/// The values of one attribute, which may stand before its data type.
type Scalars<'t> = SmallVec<[(Kind, &'t str); 4]>;

/// What an attribute holds.
#[derive(Default)]
struct Given<'t> {
    id: Option<&'t str>,
    issuer: Option<&'t str>,
    include_in_result: Option<bool>,
    data_type: Option<&'t str>,
    values: Option<Scalars<'t>>,
}

/// Digits of an integer that this fast reader takes; the general one reads longer integers.
const DIGITS_MAX: usize = 18;

impl<'t> Plain<'t, '_> {
    fn document(mut self) -> Option<()> {
        self.skip_space();
        self.expect(b'{')?;
        if self.key()? != "Request" {
            return None;
        }
        self.request()?;
        self.skip_space();
        self.expect(b'}')?;
        self.skip_space();
        (self.at == self.text.len() && self.raw.has_category()).then_some(())
    }

    fn request(&mut self) -> Option<()> {
        let (mut combined, mut policy_ids) = (None, None);
        let mut met: SmallVec<[&str; 8]> = SmallVec::new();
        self.open(b'{')?;
        let mut is_first = true;
        while self.goes_on(b'}', &mut is_first)? {
            match self.key()? {
                "CombinedDecision" => once(&mut combined, self.boolean()?)?,
                "ReturnPolicyIdList" => once(&mut policy_ids, self.boolean()?)?,
                name => {
                    let implied = category_of_shorthand(name);
                    if (implied.is_none() && name != "Category") || met.contains(&name) {
                        return None;
                    }
                    met.push(name);
                    self.one_or_many(|plain| plain.category(implied))?;
                }
            }
        }
        self.raw.ask(combined.unwrap_or(false), policy_ids.unwrap_or(false));
        Some(())
    }

    fn category(&mut self, implied: Option<&'static str>) -> Option<()> {
        let mut has_attributes = false;
        let mut has_begun = implied.is_some();
        if let Some(implied) = implied {
            self.raw.begin_category(implied, self.limits)?;
        }
        self.open(b'{')?;
        let mut is_first = true;
        while self.goes_on(b'}', &mut is_first)? {
            match self.key()? {
                "CategoryId" if !has_begun => {
                    has_begun = true;
                    let name = self.text()?;
                    self.raw.begin_category(category_of_shorthand(name).unwrap_or(name), self.limits)?;
                }
                "Attribute" if has_begun && !has_attributes => {
                    has_attributes = true;
                    self.one_or_many(Plain::attribute)?;
                }
                _ => return None,
            }
        }
        has_begun.then_some(())
    }

    fn attribute(&mut self) -> Option<()> {
        let mut given = Given::default();
        self.open(b'{')?;
        let mut is_first = true;
        while self.goes_on(b'}', &mut is_first)? {
            match self.key()? {
                "AttributeId" => once(&mut given.id, self.text()?)?,
                "Issuer" => once(&mut given.issuer, self.text()?)?,
                "IncludeInResult" => once(&mut given.include_in_result, self.boolean()?)?,
                "DataType" => once(&mut given.data_type, self.text()?)?,
                "Value" => {
                    let mut values = Scalars::new();
                    self.one_or_many(|plain| {
                        values.push(plain.scalar()?);
                        Some(())
                    })?;
                    once(&mut given.values, values)?;
                }
                _ => return None,
            }
        }
        self.put(&given)
    }

    fn put(&mut self, given: &Given<'t>) -> Option<()> {
        let include_in_result = given.include_in_result.unwrap_or(false);
        self.raw.begin_attribute(self.names, given.id?, given.issuer, include_in_result, self.limits)?;
        let values = given.values.as_ref()?;
        let (first, _) = *values.first()?;
        let data_type = match given.data_type {
            Some(name) => DataType::from_short_name(name).or_else(|| DataType::from_uri(name))?,
            None if values.iter().all(|(kind, _)| *kind == first) => first.data_type(),
            None => return None,
        };
        // Short names have one meaning; only another identifier of a type is worth echoing.
        let uri = given.data_type.filter(|name| name.contains(':')).unwrap_or("");
        for (kind, text) in values {
            if !kind.may_be(data_type) {
                return None;
            }
            self.raw.put(data_type, uri, text, self.limits)?;
        }
        Some(())
    }

    /// What is read of each item of an array, or of what stands there without brackets.
    fn one_or_many(&mut self, mut read: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.skip_space();
        if self.peek() != Some(b'[') {
            return read(self);
        }
        self.open(b'[')?;
        let mut is_first = true;
        while self.goes_on(b']', &mut is_first)? {
            self.skip_space();
            read(self)?;
        }
        Some(())
    }

    fn scalar(&mut self) -> Option<(Kind, &'t str)> {
        match self.peek()? {
            b'"' => Some((Kind::Text, self.text()?)),
            b't' | b'f' => Some((Kind::Boolean, if self.boolean()? { "true" } else { "false" })),
            _ => Some((Kind::Integer, self.integer()?)),
        }
    }

    /// A whole number, as it is written.
    fn integer(&mut self) -> Option<&'t str> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        let has_zero = digits > 1 && self.peek() == Some(b'0');
        self.at += digits;
        let is_fraction = matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        if digits == 0 || digits > DIGITS_MAX || has_zero || is_fraction {
            return None;
        }
        self.text.get(start..self.at)
    }

    fn boolean(&mut self) -> Option<bool> {
        self.skip_space();
        let (value, length) = match self.rest() {
            [b't', b'r', b'u', b'e', ..] => (true, 4),
            [b'f', b'a', b'l', b's', b'e', ..] => (false, 5),
            _ => return None,
        };
        self.at += length;
        Some(value)
    }

    /// The name of a member, and its colon.
    #[inline]
    fn key(&mut self) -> Option<&'t str> {
        let key = self.text()?;
        self.skip_space();
        self.expect(b':')?;
        Some(key)
    }

    /// A string without escapes.
    #[inline]
    fn text(&mut self) -> Option<&'t str> {
        self.skip_space();
        self.expect(b'"')?;
        let length = memchr2(b'"', b'\\', self.rest())?;
        let text = self.text.get(self.at..self.at + length)?;
        self.at += length;
        self.expect(b'"')?;
        let is_wrong = self.has_controls && text.bytes().any(|byte| byte < b' ');
        (!is_wrong).then_some(text)
    }

    fn open(&mut self, bracket: u8) -> Option<()> {
        self.skip_space();
        self.expect(bracket)
    }

    /// Whether an item follows, rather than the end of the array or object.
    #[inline]
    fn goes_on(&mut self, end: u8, is_first: &mut bool) -> Option<bool> {
        self.skip_space();
        if self.peek()? == end {
            self.at += 1;
            return Some(false);
        }
        if !std::mem::take(is_first) {
            self.expect(b',')?;
            self.skip_space();
        }
        Some(true)
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }
}

impl Kind {
    /// The data type that a scalar has by itself (JSON profile, section 3.3.2).
    fn data_type(self) -> DataType {
        match self {
            Kind::Text => DataType::Text,
            Kind::Integer => DataType::Integer,
            Kind::Boolean => DataType::Boolean,
        }
    }

    /// Whether it may be written of a value of this type: texts of any that is written as text.
    fn may_be(self, data_type: DataType) -> bool {
        match self {
            Kind::Text => data_type != DataType::XPathExpression,
            Kind::Integer => matches!(data_type, DataType::Integer | DataType::Double),
            Kind::Boolean => data_type == DataType::Boolean,
        }
    }
}

/// Sets what may be set once.
fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

#[cfg(test)]
mod tests;
