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

/// A [`DecodeError`] as the result of anything.
///
/// # Errors
/// Always.
pub const fn error<T>(message: &'static str) -> Result<T, DecodeError> {
    Err(DecodeError { message })
}

/// One field of a message.
#[derive(Clone, Copy, Debug)]
pub struct Field<'b> {
    /// Its number, from 1.
    pub number: u64,
    /// What it holds.
    pub content: Content<'b>,
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub enum Content<'b> {
    /// A number.
    Varint(u64),
    /// A text, bytes or a message.
    Bytes(&'b [u8]),
    /// Of a fixed length; no message here has one.
    Fixed,
}

impl<'b> Content<'b> {
    /// Bytes.
    ///
    /// # Errors
    /// A field of another type.
    pub fn bytes(self) -> Result<&'b [u8], DecodeError> {
        match self {
            Content::Bytes(bytes) => Ok(bytes),
            Content::Varint(_) | Content::Fixed => error("a field is of another type than it should be"),
        }
    }

    /// A text.
    ///
    /// # Errors
    /// A field of another type, or one that is not UTF-8.
    pub fn text(self) -> Result<&'b str, DecodeError> {
        str::from_utf8(self.bytes()?).or(error("a text is not UTF-8"))
    }

    /// A number.
    ///
    /// # Errors
    /// A field of another type.
    pub fn varint(self) -> Result<u64, DecodeError> {
        match self {
            Content::Varint(number) => Ok(number),
            Content::Bytes(_) | Content::Fixed => error("a field is of another type than it should be"),
        }
    }
}

/// The fields of a message, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    /// The fields of these bytes.
    #[inline]
    pub fn new(bytes: &'b [u8]) -> Reader<'b> {
        Reader { rest: bytes }
    }

    /// Whether there is no further field.
    #[inline]
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next field; `None` at the end.
    ///
    /// # Errors
    /// Bytes that are no field.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "an iterator could not be left with `?`")]
    pub fn next(&mut self) -> Result<Option<Field<'b>>, DecodeError> {
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
        // Tags and lengths mostly are one byte.
        match self.rest {
            [byte, rest @ ..] if *byte < 0x80 => {
                self.rest = rest;
                Ok((*byte).into())
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, DecodeError> {
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

/// Appends a number without a tag.
#[inline]
pub fn put_varint(out: &mut BytesMut, mut value: u64) {
    while value >= 0x80 {
        out.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

/// Appends a field that is a number.
#[inline]
pub fn put_number(out: &mut BytesMut, field: u64, value: u64) {
    put_varint(out, field << 3);
    put_varint(out, value);
}

/// Appends a field that is a text, bytes, or a message that is there already.
#[inline]
pub fn put_bytes(out: &mut BytesMut, field: u64, bytes: &[u8]) {
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.put_slice(bytes);
}

/// A field whose content `write` appends. Its length is known only afterwards: one byte is left for it, and a content
/// of 128 bytes or more is moved to make room.
///
/// # Errors
/// What `write` says.
pub fn put_message<E>(
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

/// The same where writing does not fail.
pub fn put_nested(out: &mut BytesMut, field: u64, write: impl FnOnce(&mut BytesMut)) {
    let Ok(()) = put_message::<std::convert::Infallible>(out, field, |out| {
        write(out);
        Ok(())
    });
}
