//! Subscriptions without their values.

use crate::protobuf::{Content, DecodeError, Field, Reader};
use durward_ir::Value;
use durward_ir::path::Element;
use durward_ir::question::{RawSubscription, RawValue, WantsValues};

use super::Limits;
use super::value::{self, Budget};

/// Why a subscription is read by its values: what is wrong with it is found out there as well.
impl From<DecodeError> for Unread {
    fn from(_: DecodeError) -> Unread {
        Unread
    }
}

impl From<WantsValues> for Unread {
    fn from(_: WantsValues) -> Unread {
        Unread
    }
}

struct Unread;

/// Reads an `AuthorizationSubscription` as [`super::read_subscription`] does; `None` where that has to read it.
pub fn read_raw<'b>(bytes: &'b [u8], limits: &Limits) -> Option<RawSubscription<'b>> {
    subscription(bytes, &mut Budget(limits.values_max)).ok()
}

fn subscription<'b>(bytes: &'b [u8], budget: &mut Budget) -> Result<RawSubscription<'b>, Unread> {
    let mut raw = RawSubscription::new();
    let mut has_secrets = false;
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        let element = match number {
            1 => Element::Subject,
            2 => Element::Action,
            3 => Element::Resource,
            4 => Element::Environment,
            5 if !has_secrets => {
                has_secrets = true;
                raw.put_secrets(value::read(content.bytes()?, budget)?);
                continue;
            }
            _ => return Err(Unread),
        };
        put(&mut raw, element, content.bytes()?, budget)?;
    }
    raw.seal();
    Ok(raw)
}

/// Puts in an element that is this `Value`.
fn put<'b>(
    raw: &mut RawSubscription<'b>,
    element: Element,
    bytes: &'b [u8],
    budget: &mut Budget,
) -> Result<(), Unread> {
    let (first, rest) = only_field(bytes)?;
    match (first, rest) {
        (Some(Field { number: 6, content }), true) => {
            budget.spend()?;
            raw.put_object(element)?;
            let mut entries = Reader::new(content.bytes()?);
            while let Some(entry) = entries.next()? {
                put_entry(raw, element, entry, budget)?;
            }
        }
        _ => raw.put(element, read_value(bytes, budget, 1)?)?,
    }
    Ok(())
}

/// Puts in the entry of an `ObjectValue`. Undefined is no value of a key.
#[inline]
fn put_entry<'b>(
    raw: &mut RawSubscription<'b>,
    element: Element,
    entry: Field<'b>,
    budget: &mut Budget,
) -> Result<(), Unread> {
    let Field { number: 1, content } = entry else { return Err(Unread) };
    let mut fields = Reader::new(content.bytes()?);
    let (Some(Field { number: 1, content: key }), Some(Field { number: 2, content: held }), None) =
        (fields.next()?, fields.next()?, fields.next()?)
    else {
        return Err(Unread);
    };
    let key = key.text()?;
    let value = read_value(held.bytes()?, budget, 2)?;
    if !matches!(value, RawValue::Value(Value::Undefined)) {
        raw.put_key(element, key, value)?;
    }
    Ok(())
}

/// A `Value` that is within so many, itself included.
#[inline]
fn read_value<'b>(bytes: &'b [u8], budget: &mut Budget, depth: usize) -> Result<RawValue<'b>, Unread> {
    if let (Some(Field { number: 4, content: Content::Bytes(text) }), true) = only_field(bytes)? {
        budget.spend()?;
        return Ok(RawValue::Text(str::from_utf8(text).map_err(|_| Unread)?));
    }
    Ok(RawValue::Value(value::read_within(bytes, budget, depth)?))
}

/// The first field, and whether it is the only one.
#[inline]
fn only_field(bytes: &[u8]) -> Result<(Option<Field<'_>>, bool), Unread> {
    let mut fields = Reader::new(bytes);
    let first = fields.next()?;
    Ok((first, fields.is_at_end()))
}
