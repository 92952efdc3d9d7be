//! Protocol buffers as bytes: tags, varints and lengths.

use std::fmt;

use bytes::{BufMut, BytesMut};

/// Bytes that are not the message they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// What is wrong.
    pub message: &'static str,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)
    }
}

impl std::error::Error for DecodeError {}

pub(super) const fn error<T>(message: &'static str) -> Result<T, DecodeError> {
    Err(DecodeError { message })
}

/// One field of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'b> {
    pub(super) number: u64,
    pub(super) content: Content<'b>,
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content<'b> {
    Varint(u64),
    Bytes(&'b [u8]),
    /// Of a fixed length; no message here has one.
    Fixed,
}

impl<'b> Content<'b> {
    pub(super) fn bytes(self) -> Result<&'b [u8], DecodeError> {
        match self {
            Content::Bytes(bytes) => Ok(bytes),
            Content::Varint(_) | Content::Fixed => error("a field is of another type than it should be"),
        }
    }

    pub(super) fn text(self) -> Result<&'b str, DecodeError> {
        str::from_utf8(self.bytes()?).or(error("a text is not UTF-8"))
    }

    pub(super) fn varint(self) -> Result<u64, DecodeError> {
        match self {
            Content::Varint(number) => Ok(number),
            Content::Bytes(_) | Content::Fixed => error("a field is of another type than it should be"),
        }
    }
}

/// The fields of a message, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Reader<'b> {
        Reader { rest: bytes }
    }

    /// The next field; `None` at the end.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<Field<'b>>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = tag >> 3;
        if number == 0 || tag > u64::from(u32::MAX) {
            return error("a field has no number");
        }
        let content = match tag & 7 {
            0 => Content::Varint(self.varint()?),
            2 => {
                let length = self.varint()?;
                Content::Bytes(self.take(length)?)
            }
            1 => self.take(8).map(|_| Content::Fixed)?,
            5 => self.take(4).map(|_| Content::Fixed)?,
            // Groups are of a version before this protocol's.
            _ => return error("a field is of an unknown type"),
        };
        Ok(Some(Field { number, content }))
    }

    #[inline]
    fn take(&mut self, length: u64) -> Result<&'b [u8], DecodeError> {
        let split = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let Some((taken, rest)) = split else { return error("a field ends too late") };
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let Some((byte, rest)) = self.rest.split_first() else { return error("a number breaks off") };
            self.rest = rest;
            // Of the tenth byte one bit counts, as everywhere.
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(value);
            }
        }
        error("a number is too long")
    }
}

pub(super) fn put_varint(out: &mut BytesMut, mut value: u64) {
    while value >= 0x80 {
        out.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

pub(super) fn put_number(out: &mut BytesMut, field: u64, value: u64) {
    put_varint(out, field << 3);
    put_varint(out, value);
}

pub(super) fn put_bytes(out: &mut BytesMut, field: u64, bytes: &[u8]) {
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.put_slice(bytes);
}

/// A field whose content `write` appends. Its length is known only afterwards: one byte is left for it, and a content
/// of 128 bytes or more is moved to make room.
pub(super) fn put_message<E>(
    out: &mut BytesMut,
    field: u64,
    write: impl FnOnce(&mut BytesMut) -> Result<(), E>,
) -> Result<(), E> {
    put_varint(out, field << 3 | 2);
    let at = out.len();
    out.put_u8(0);
    write(out)?;
    let start = at + 1;
    let length = (out.len() - start) as u64;
    if length < 0x80 {
        if let Some(byte) = out.get_mut(at) {
            *byte = length as u8;
        }
        return Ok(());
    }
    let mut header = BytesMut::with_capacity(10);
    put_varint(&mut header, length);
    let end = out.len();
    out.put_bytes(0, header.len() - 1);
    out.copy_within(start..end, at + header.len());
    if let Some(room) = out.get_mut(at..at + header.len()) {
        room.copy_from_slice(&header);
    }
    Ok(())
}
