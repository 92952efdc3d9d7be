//! Values in protocol buffers: `Value`, `ArrayValue`, `ObjectValue`.
//!
//! ```text
//! Value { oneof: 1 NullValue{}, 2 bool, 3 string number, 4 string text, 5 ArrayValue, 6 ObjectValue, 7 bool undefined,
//!         8 ErrorValue }          ArrayValue { 1 repeated Value }          ObjectValue { 1 map<string, Value> }
//! ```
//!
//! Reading keeps what is open on a list of its own and not on the stack, so that depth costs neither a stack nor trust.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::BytesMut;
use durward_ir::Value;
use durward_ir::datatype::Decimal;
use durward_ir::value::ObjectBuilder;
use smol_str::SmolStr;

use crate::protobuf::{Content, DecodeError, Field, Reader, error, put_bytes, put_message, put_number};

/// Deepest nesting of values, as SAPL has it.
pub const VALUE_DEPTH_MAX: usize = 1000;

/// A value nested deeper than [`VALUE_DEPTH_MAX`], which no client would read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooDeep;

/// How many more values a message may hold.
#[derive(Debug)]
pub(super) struct Budget(pub(super) usize);

impl Budget {
    pub(super) fn spend(&mut self) -> Result<(), DecodeError> {
        match self.0.checked_sub(1) {
            Some(left) => self.0 = left,
            None => return error("a message holds too many values"),
        }
        Ok(())
    }
}

/// A message whose end has not been reached.
enum Open<'b> {
    Value(Reader<'b>, Value),
    Array(Reader<'b>, Vec<Value>),
    Object(Reader<'b>, ObjectBuilder),
    Entry(Reader<'b>, SmolStr, Value),
}

/// What follows from a field, or from the end of a message.
enum Step<'b> {
    /// The message goes on.
    On,
    /// A field is a message of its own.
    Into(Open<'b>),
    /// The message is over.
    Value(Value),
    Entry(SmolStr, Value),
}

/// Reads a `Value`. Of several fields the last counts; none means undefined.
///
/// # Errors
/// Bytes that are not a value, an object that has a key twice, values nested deeper than [`VALUE_DEPTH_MAX`], or more of them than the
/// budget has.
pub(super) fn read(bytes: &[u8], budget: &mut Budget) -> Result<Value, DecodeError> {
    read_within(bytes, budget, 1)
}

/// The same of a value within others: at this depth, the outermost has 1.
///
/// # Errors
/// As [`read`].
pub(super) fn read_within(bytes: &[u8], budget: &mut Budget, depth: usize) -> Result<Value, DecodeError> {
    if let Some(value) = scalar(bytes)? {
        budget.spend()?;
        return Ok(value);
    }
    let mut open = vec![Open::value(bytes, budget)?];
    let mut depth = depth;
    loop {
        let Some(top) = open.last_mut() else { return error("a value breaks off") };
        match top.step(budget, depth)? {
            Step::On => {}
            Step::Into(inner) => {
                // `inner` has seen to it that there may be one more.
                depth += usize::from(matches!(inner, Open::Value(..)));
                open.push(inner);
            }
            Step::Value(value) => {
                depth -= usize::from(matches!(open.pop(), Some(Open::Value(..))));
                match open.last_mut() {
                    None => return Ok(value),
                    Some(parent) => parent.take(value),
                }
            }
            Step::Entry(key, value) => {
                open.pop();
                if let Some(Open::Object(_, entries)) = open.last_mut() {
                    insert(entries, key, value)?;
                }
            }
        }
    }
}

/// The value of a message of one field that holds no message; most are.
#[inline]
fn scalar(bytes: &[u8]) -> Result<Option<Value>, DecodeError> {
    let mut reader = Reader::new(bytes);
    let Some(field) = reader.next()? else { return Ok(Some(Value::Undefined)) };
    let value = match field.number {
        5 | 6 => return Ok(None),
        _ => plain(field)?,
    };
    Ok(if reader.next()?.is_none() { value } else { None })
}

/// A field of `Value` that holds no further value; `None` for one of a later version.
fn plain(field: Field<'_>) -> Result<Option<Value>, DecodeError> {
    Ok(Some(match field.number {
        1 => {
            field.content.bytes()?;
            Value::Null
        }
        2 => Value::Boolean(field.content.varint()? != 0),
        3 => match Decimal::parse(field.content.text()?) {
            Ok(number) => Value::number(number),
            Err(_) => return error("a number is none, or too long"),
        },
        4 => Value::Text(field.content.text()?.into()),
        7 => {
            field.content.varint()?;
            Value::Undefined
        }
        8 => return error("an error is no value to ask about"),
        _ => return Ok(None),
    }))
}

impl<'b> Open<'b> {
    fn value(bytes: &'b [u8], budget: &mut Budget) -> Result<Open<'b>, DecodeError> {
        budget.spend()?;
        Ok(Open::Value(Reader::new(bytes), Value::Undefined))
    }

    fn step(&mut self, budget: &mut Budget, depth: usize) -> Result<Step<'b>, DecodeError> {
        match self {
            Open::Value(reader, value) => match reader.next()? {
                None => Ok(Step::Value(std::mem::replace(value, Value::Undefined))),
                Some(Field { number: 5, content }) => {
                    Ok(Step::Into(Open::Array(Reader::new(content.bytes()?), Vec::new())))
                }
                Some(Field { number: 6, content }) => {
                    Ok(Step::Into(Open::Object(Reader::new(content.bytes()?), ObjectBuilder::new())))
                }
                Some(field) => {
                    if let Some(new) = plain(field)? {
                        *value = new;
                    }
                    Ok(Step::On)
                }
            },
            Open::Array(reader, values) => match reader.next()? {
                None => Ok(Step::Value(Value::Array(std::mem::take(values).into()))),
                Some(Field { number: 1, content }) => {
                    inner(content, budget, depth, |value| push(values, value))
                }
                Some(_) => Ok(Step::On),
            },
            Open::Object(reader, entries) => match reader.next()? {
                None => Ok(Step::Value(Value::Object(Arc::new(std::mem::take(entries).finish())))),
                Some(Field { number: 1, content }) => {
                    let reader = Reader::new(content.bytes()?);
                    Ok(Step::Into(Open::Entry(reader, SmolStr::default(), Value::Undefined)))
                }
                Some(_) => Ok(Step::On),
            },
            Open::Entry(reader, key, held) => match reader.next()? {
                None => Ok(Step::Entry(std::mem::take(key), std::mem::replace(held, Value::Undefined))),
                Some(Field { number: 1, content }) => {
                    *key = content.text()?.into();
                    Ok(Step::On)
                }
                Some(Field { number: 2, content }) => inner(content, budget, depth, |value| *held = value),
                Some(_) => Ok(Step::On),
            },
        }
    }

    /// A message within this one was a value.
    fn take(&mut self, value: Value) {
        match self {
            Open::Value(_, own) | Open::Entry(_, _, own) => *own = value,
            Open::Array(_, values) => push(values, value),
            // Its fields are entries.
            Open::Object(..) => {}
        }
    }
}

/// A field that is a value: handed over at once where that is all there is to it.
fn inner<'b>(
    content: Content<'b>,
    budget: &mut Budget,
    depth: usize,
    take: impl FnOnce(Value),
) -> Result<Step<'b>, DecodeError> {
    if depth >= VALUE_DEPTH_MAX {
        return error("a value is nested too deeply");
    }
    let bytes = content.bytes()?;
    match scalar(bytes)? {
        Some(value) => {
            budget.spend()?;
            take(value);
            Ok(Step::On)
        }
        None => Ok(Step::Into(Open::value(bytes, budget)?)),
    }
}

/// Undefined is no element of an array and no value of a key.
fn push(values: &mut Vec<Value>, value: Value) {
    if !matches!(value, Value::Undefined) {
        values.push(value);
    }
}

/// The same; and which of two values of a key counts would depend on who reads.
fn insert(entries: &mut ObjectBuilder, key: SmolStr, value: Value) -> Result<(), DecodeError> {
    if matches!(value, Value::Undefined) {
        return Ok(());
    }
    let count = entries.len();
    entries.insert(key, value);
    if entries.len() == count { error("an object has a key twice") } else { Ok(()) }
}

/// Appends a `Value` as the given field.
///
/// # Errors
/// A value nested too deeply; `out` then ends with half a message.
pub(super) fn put(out: &mut BytesMut, field: u64, value: &Value) -> Result<(), TooDeep> {
    put_within(out, field, value, VALUE_DEPTH_MAX)
}

fn put_within(out: &mut BytesMut, field: u64, value: &Value, depth: usize) -> Result<(), TooDeep> {
    let depth = depth.checked_sub(1).ok_or(TooDeep)?;
    put_message(out, field, |out| write(out, value, depth))
}

fn write(out: &mut BytesMut, value: &Value, depth: usize) -> Result<(), TooDeep> {
    match value {
        Value::Null => put_bytes(out, 1, b""),
        Value::Boolean(value) => put_number(out, 2, u64::from(*value)),
        Value::Number(number) => put_bytes(out, 3, number.to_plain().as_bytes()),
        Value::Text(text) => put_bytes(out, 4, text.as_bytes()),
        Value::Array(values) => return put_array_within(out, 5, values, depth),
        Value::Object(object) => {
            return put_message(out, 6, |out| {
                object.iter().try_for_each(|(key, value)| {
                    put_message(out, 1, |out| {
                        put_bytes(out, 1, key.as_bytes());
                        put_within(out, 2, value, depth)
                    })
                })
            });
        }
        Value::Undefined => put_number(out, 7, 1),
        Value::Integer(_) => put_bytes(out, 3, value.lexical().as_bytes()),
        // XACML's other types have no counterpart: their text.
        Value::Double(_)
        | Value::Time(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::DayTimeDuration(_)
        | Value::YearMonthDuration(_)
        | Value::AnyUri(_)
        | Value::HexBinary(_)
        | Value::Base64Binary(_)
        | Value::Rfc822Name(_)
        | Value::X500Name(_)
        | Value::IpAddress(_)
        | Value::DnsName(_)
        | Value::XPathExpression(_)
        | Value::Opaque(_) => put_bytes(out, 4, value.lexical().as_bytes()),
    }
    Ok(())
}

/// Appends an `ArrayValue` as the given field.
pub(super) fn put_array(
    out: &mut BytesMut,
    field: u64,
    mut values: impl Iterator<Item = Value>,
) -> Result<(), TooDeep> {
    put_message(out, field, |out| values.try_for_each(|value| put(out, 1, &value)))
}

fn put_array_within(out: &mut BytesMut, field: u64, values: &[Value], depth: usize) -> Result<(), TooDeep> {
    put_message(out, field, |out| values.iter().try_for_each(|value| put_within(out, 1, value, depth)))
}

/// The elements of an `ArrayValue`.
pub(super) fn read_array(bytes: &[u8], budget: &mut Budget) -> Result<Vec<Value>, DecodeError> {
    let mut reader = Reader::new(bytes);
    let mut values = Vec::new();
    while let Some(Field { number, content }) = reader.next()? {
        if number == 1 {
            values.push(read(content.bytes()?, budget)?);
        }
    }
    Ok(values)
}

/// A message that cannot fail to be written.
pub(super) fn put_plain(out: &mut BytesMut, field: u64, write: impl FnOnce(&mut BytesMut)) {
    let written: Result<(), Infallible> = put_message(out, field, |out| {
        write(out);
        Ok(())
    });
    match written {
        Ok(()) => {}
        Err(never) => match never {},
    }
}
