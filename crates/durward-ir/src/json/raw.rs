//! Subscriptions of JSON without their values.

use jiter::{Jiter, Peek};
use smallvec::SmallVec;

use super::{Failure, Fractions, JSON_VALUES_MAX, Reader, RepeatedKeys};
use crate::path::Element;
use crate::question::{RawSubscription, RawValue, WantsValues};
use crate::value::Value;

/// Reads a subscription: an object with `subject`, `action`, `resource` and perhaps `environment` and `secrets`.
///
/// # Errors
/// The text is no subscription, or one that is read by its values: with keys that it does not need, that come twice or
/// are escaped, or with very many.
pub fn read_subscription(text: &[u8]) -> Result<RawSubscription<'_>, WantsValues> {
    let mut reader = Reader {
        jiter: Jiter::new(text),
        left: JSON_VALUES_MAX,
        fractions: Fractions::Exact,
        repeated: RepeatedKeys::Refused,
    };
    reader.subscription()
}

impl From<Failure> for WantsValues {
    fn from(_: Failure) -> WantsValues {
        WantsValues
    }
}

impl From<jiter::JiterError> for WantsValues {
    fn from(_: jiter::JiterError) -> WantsValues {
        WantsValues
    }
}

impl<'t> Reader<'t> {
    fn subscription(&mut self) -> Result<RawSubscription<'t>, WantsValues> {
        let mut raw = RawSubscription::new();
        if self.jiter.peek()? != Peek::Object {
            return Err(WantsValues);
        }
        let mut has_secrets = false;
        let mut next = self.key(true)?;
        while let Some(key) = next {
            let element = match key {
                "subject" => Element::Subject,
                "action" => Element::Action,
                "resource" => Element::Resource,
                "environment" => Element::Environment,
                "secrets" if !has_secrets => {
                    has_secrets = true;
                    raw.put_secrets(self.secrets()?);
                    next = self.key(false)?;
                    continue;
                }
                _ => return Err(WantsValues),
            };
            self.element(&mut raw, element)?;
            next = self.key(false)?;
        }
        self.jiter.finish()?;
        let needed = [Element::Subject, Element::Action, Element::Resource];
        if !needed.into_iter().all(|element| raw.is_given(element)) {
            return Err(WantsValues);
        }
        raw.seal();
        Ok(raw)
    }

    fn secrets(&mut self) -> Result<Value, WantsValues> {
        match self.jiter.peek()? {
            first @ (Peek::Object | Peek::Null) => Ok(self.value(first, 1)?),
            _ => Err(WantsValues),
        }
    }

    fn element(&mut self, raw: &mut RawSubscription<'t>, element: Element) -> Result<(), WantsValues> {
        let first = self.jiter.peek()?;
        if first != Peek::Object {
            let value = self.raw_value(first, 1)?;
            return raw.put(element, value);
        }
        raw.put_object(element)?;
        let mut next = self.key(true)?;
        while let Some(key) = next {
            let first = self.jiter.peek()?;
            let value = self.raw_value(first, 2)?;
            raw.put_key(element, key, value)?;
            next = self.key(false)?;
        }
        Ok(())
    }

    /// A value within so many arrays and objects.
    #[inline]
    fn raw_value(&mut self, first: Peek, depth: usize) -> Result<RawValue<'t>, WantsValues> {
        if first != Peek::String {
            return Ok(RawValue::Value(self.value(first, depth)?));
        }
        self.left = self.left.checked_sub(1).ok_or(WantsValues)?;
        let start = self.jiter.current_index();
        self.jiter.known_bytes()?;
        match self.jiter.slice_to_current(start) {
            [b'"', text @ .., b'"'] => Ok(RawValue::Text(unescaped(text)?)),
            _ => Err(WantsValues),
        }
    }

    /// The first key of the object that begins, or the next one of the object that is open.
    #[inline]
    fn key(&mut self, is_first: bool) -> Result<Option<&'t str>, WantsValues> {
        let start = self.jiter.current_index();
        let key = if is_first { self.jiter.next_object_bytes()? } else { self.jiter.next_key_bytes()? };
        let Some(length) = key.map(<[u8]>::len) else { return Ok(None) };
        let read = self.jiter.slice_to_current(start);
        // Before a key are its quotation mark, white space, and a comma or brace.
        let quote = read.iter().position(|byte| *byte == b'"').ok_or(WantsValues)?;
        let key = read.get(quote + 1..).and_then(|rest| rest.get(..length)).ok_or(WantsValues)?;
        unescaped(key).map(Some)
    }
}

/// The text between quotation marks, if it stands for itself.
#[inline]
fn unescaped(text: &[u8]) -> Result<&str, WantsValues> {
    if text.contains(&b'\\') {
        return Err(WantsValues);
    }
    str::from_utf8(text).map_err(|_| WantsValues)
}

/// Who is told what is in an object, member by member.
pub trait RawMembers<'t> {
    /// Whether the members of the object at this path are told one by one, and not as a value.
    ///
    /// # Errors
    /// It wants values: a path that it does not know, or that was there before.
    fn enters(&mut self, path: &[&'t str]) -> Result<bool, WantsValues>;

    /// A value, and the path to it.
    ///
    /// # Errors
    /// It wants values.
    fn member(&mut self, path: &[&'t str], value: RawValue<'t>) -> Result<(), WantsValues>;
}

/// Tells the members of the object that a text is, in the order of its bytes. Which paths were there before, whoever is told keeps.
///
/// # Errors
/// The text is no object, has keys that are escaped, or whoever is told wants values.
pub fn read_members<'t>(text: &'t [u8], members: &mut impl RawMembers<'t>) -> Result<(), WantsValues> {
    let mut reader = Reader {
        jiter: Jiter::new(text),
        left: JSON_VALUES_MAX,
        fractions: Fractions::Exact,
        repeated: RepeatedKeys::Refused,
    };
    if reader.jiter.peek()? != Peek::Object {
        return Err(WantsValues);
    }
    reader.members(&mut SmallVec::new(), members)?;
    Ok(reader.jiter.finish()?)
}

/// How deep members of a subscription are read from its bytes; of a deeper one the tree is made first.
const PATH_LENGTH_MAX: usize = 4;

impl<'t> Reader<'t> {
    fn members(
        &mut self,
        path: &mut SmallVec<[&'t str; PATH_LENGTH_MAX]>,
        members: &mut impl RawMembers<'t>,
    ) -> Result<(), WantsValues> {
        if path.len() >= PATH_LENGTH_MAX {
            return Err(WantsValues);
        }
        let mut next = self.key(true)?;
        while let Some(key) = next {
            path.push(key);
            let first = self.jiter.peek()?;
            if first == Peek::Object && members.enters(path)? {
                self.members(path, members)?;
            } else {
                let value = self.raw_value(first, path.len())?;
                members.member(path, value)?;
            }
            path.pop();
            next = self.key(false)?;
        }
        Ok(())
    }
}
