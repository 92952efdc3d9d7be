//! Reads little-endian fields from a slice; running out of bytes is an error.

use crate::error::Error;

/// A place in bytes that are read from front to back.
pub(crate) struct WireReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> WireReader<'a> {
    /// Reads from the front.
    pub(crate) fn new(bytes: &'a [u8]) -> WireReader<'a> {
        WireReader { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// What was not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let end = self.at.checked_add(count).ok_or_else(truncated)?;
        let taken = self.bytes.get(self.at..end).ok_or_else(truncated)?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        self.take(N)?.try_into().map_err(|_| truncated())
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Error> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, Error> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// A `ByteString` or `String`: -1 is null, any other negative length is an error (Part 6, 5.2.2.4).
    pub(crate) fn byte_string(&mut self) -> Result<Option<&'a [u8]>, Error> {
        let length = i32::from_le_bytes(self.array()?);
        match usize::try_from(length) {
            Ok(length) => self.take(length).map(Some),
            Err(_) if length == -1 => Ok(None),
            Err(_) => Err(Error::decoding("a string has a negative length")),
        }
    }

    /// A `String`, whose null and empty values are the same here.
    pub(crate) fn text(&mut self) -> Result<&'a str, Error> {
        std::str::from_utf8(self.byte_string()?.unwrap_or_default())
            .map_err(|_| Error::decoding("a string is not UTF-8"))
    }

    /// Skips a `NodeId` (Part 6, 5.2.2.9).
    pub(crate) fn skip_node_id(&mut self) -> Result<(), Error> {
        match self.u8()? {
            0 => self.take(1).map(drop),
            1 => self.take(3).map(drop),
            2 => self.take(6).map(drop),
            3 | 5 => {
                self.take(2)?;
                self.byte_string().map(drop)
            }
            4 => self.take(18).map(drop),
            other => Err(Error::decoding(format!("{other} is no encoding of a node id"))),
        }
    }

    /// Skips an `ExtensionObject` (Part 6, 5.2.2.15).
    pub(crate) fn skip_extension_object(&mut self) -> Result<(), Error> {
        self.skip_node_id()?;
        match self.u8()? {
            0 => Ok(()),
            1 | 2 => self.byte_string().map(drop),
            other => Err(Error::decoding(format!("{other} is no encoding of an extension object"))),
        }
    }
}

fn truncated() -> Error {
    Error::decoding("the message ends in the middle of a field")
}
