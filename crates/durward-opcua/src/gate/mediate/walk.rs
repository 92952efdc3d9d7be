//! A checked walk over the binary encoding (Part 6, 5.2), without a tree: what is not asked for is skipped, not decoded.
//!
//! Every length is checked against the bytes that are there, and nesting against [`DEPTH_MAX`]: hostile bytes cost at most one
//! pass over them and no memory. A value that the walker does not know (an extension object of a vendor) is skipped by its length, and
//! so passes unharmed.
//!
//! # Lengths that lie
//!
//! An extension object tells its length, and many servers do not look at it: they read a type that they know from the rest of the message.
//! What lies between the told end and the real one is read as two different things, here and there. So the walk over a client's request
//! ([`Walker::of_request`]) counts the extension objects that were skipped by their length ([`Walker::structures`]), and whoever forwards
//! the request sees to it that nothing which was ruled on stands behind one of them.

use opcua_types::{ByteString, Guid, NodeId, StatusCode, UAString};

/// How deep variants, data values and diagnostic infos may nest. Deeper ones occur in no address space; Part 6, 5.2.2.16 lets
/// decoders stop at 100 levels at the latest.
pub const DEPTH_MAX: u32 = 32;

/// The bytes violate the binary encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError;

/// A request that cannot be decoded is refused as such.
impl From<DecodeError> for StatusCode {
    fn from(_: DecodeError) -> Self {
        StatusCode::BadDecodingError
    }
}

/// The result of one step of the walk.
pub type WalkResult<T> = Result<T, DecodeError>;

/// An expanded node id (Part 6, 5.2.2.10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpandedNodeIdView {
    /// The node. Its namespace index means nothing where a namespace URI was given.
    pub node: NodeId,
    /// Whether `node` is a node of this server, named by namespace index.
    pub is_local: bool,
}

/// An extension object (Part 6, 5.2.2.15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionObjectView<'a> {
    /// The node id of the encoding.
    pub type_id: NodeId,
    /// The body, where it is in the binary encoding.
    pub binary: Option<&'a [u8]>,
    /// How the body is encoded.
    pub encoding: ExtensionEncoding,
}

/// How the body of an extension object is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtensionEncoding {
    /// There is no body.
    None,
    /// Binary (Part 6, 5.2).
    Binary,
    /// XML (Part 6, 5.3).
    Xml,
}

impl<'a> ExtensionObjectView<'a> {
    /// Whether this is that encoding of namespace 0.
    pub fn is(&self, encoding: opcua_types::ObjectId) -> bool {
        self.type_id == NodeId::new(0, encoding as u32)
    }

    /// Walks over the binary body of a request's extension object by its type, to the exact end: then its length does not lie. Gives the walker,
    /// for the structures that it counted.
    ///
    /// # Errors
    /// [`DecodeError`] where there is no binary body, or it has another length than its type.
    pub fn by_type(&self, walk: impl FnOnce(&mut Walker<'a>) -> WalkResult<()>) -> WalkResult<Walker<'a>> {
        let mut walker = Walker::of_request(self.binary.ok_or(DecodeError)?);
        walk(&mut walker)?;
        walker.end()?;
        Ok(walker)
    }
}

/// A place in bytes, that moves forward.
#[derive(Clone, Debug)]
pub struct Walker<'a> {
    whole: &'a [u8],
    rest: &'a [u8],
    depth: u32,
    is_request: bool,
    structures: usize,
}

impl<'a> Walker<'a> {
    /// Begins at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Walker { whole: bytes, rest: bytes, depth: DEPTH_MAX, is_request: false, structures: 0 }
    }

    /// Begins at the first byte of what a client sent and a server will read. What servers are known to read in different ways is garbled:
    /// extension objects with a body but without its length (-1), and variants of the kinds that are reserved (26 to 31).
    pub fn of_request(bytes: &'a [u8]) -> Self {
        Walker { is_request: true, ..Walker::new(bytes) }
    }

    /// How many extension objects with a body were skipped by their length, which may lie.
    pub fn structures(&self) -> usize {
        self.structures
    }

    /// Counts extension objects that another walker skipped, inside of bytes that this one has passed.
    pub fn add_structures(&mut self, inner: &Walker<'_>) {
        self.structures += inner.structures;
    }

    /// How many bytes lie behind.
    pub fn at(&self) -> usize {
        self.whole.len() - self.rest.len()
    }

    /// The bytes from `start` (what [`Walker::at`] said) to here.
    pub fn since(&self, start: usize) -> &'a [u8] {
        self.whole.get(start..self.at()).unwrap_or_default()
    }

    /// The bytes that lie ahead.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Nothing may follow.
    ///
    /// # Errors
    /// [`DecodeError`] where bytes are left.
    pub fn end(&self) -> WalkResult<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeError) }
    }

    /// Takes that many bytes.
    ///
    /// # Errors
    /// [`DecodeError`] where there are fewer; so all steps below.
    pub fn take(&mut self, count: usize) -> WalkResult<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(DecodeError)?;
        self.rest = rest;
        Ok(taken)
    }

    fn chunk<const N: usize>(&mut self) -> WalkResult<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(DecodeError)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// A byte.
    pub fn u8(&mut self) -> WalkResult<u8> {
        let [byte] = self.chunk()?;
        Ok(byte)
    }

    /// A `UInt16`.
    pub fn u16(&mut self) -> WalkResult<u16> {
        Ok(u16::from_le_bytes(self.chunk()?))
    }

    /// A `UInt32`.
    pub fn u32(&mut self) -> WalkResult<u32> {
        Ok(u32::from_le_bytes(self.chunk()?))
    }

    /// An `Int32`; enumerations too.
    pub fn i32(&mut self) -> WalkResult<i32> {
        Ok(i32::from_le_bytes(self.chunk()?))
    }

    /// A Boolean: every byte but 0 is true (Part 6, 5.2.2.1).
    pub fn boolean(&mut self) -> WalkResult<bool> {
        Ok(self.u8()? != 0)
    }

    /// A status code.
    pub fn status(&mut self) -> WalkResult<StatusCode> {
        Ok(StatusCode::from(self.u32()?))
    }

    /// A length: -1 is null.
    fn length(&mut self) -> WalkResult<Option<usize>> {
        match self.i32()? {
            -1 => Ok(None),
            length => usize::try_from(length).map(Some).map_err(|_| DecodeError),
        }
    }

    /// The number of elements of an array; null is empty. Every element has a byte at least, so that the number is bounded by what
    /// lies ahead.
    pub fn count(&mut self) -> WalkResult<usize> {
        let count = self.length()?.unwrap_or(0);
        if count > self.rest.len() {
            return Err(DecodeError);
        }
        Ok(count)
    }

    /// A string, byte string or XML element: its bytes.
    pub fn text(&mut self) -> WalkResult<Option<&'a [u8]>> {
        match self.length()? {
            Some(length) => self.take(length).map(Some),
            None => Ok(None),
        }
    }

    /// A node id.
    pub fn node_id(&mut self) -> WalkResult<NodeId> {
        let head = self.u8()?;
        self.identifier(head)
    }

    fn identifier(&mut self, head: u8) -> WalkResult<NodeId> {
        Ok(match head {
            0 => NodeId::new(0, u32::from(self.u8()?)),
            1 => {
                let namespace = u16::from(self.u8()?);
                NodeId::new(namespace, u32::from(self.u16()?))
            }
            2 => {
                let namespace = self.u16()?;
                NodeId::new(namespace, self.u32()?)
            }
            3 => {
                let namespace = self.u16()?;
                NodeId::new(namespace, self.string()?)
            }
            4 => {
                let namespace = self.u16()?;
                NodeId::new(namespace, Guid::from_bytes(self.chunk()?))
            }
            5 => {
                let namespace = self.u16()?;
                NodeId::new(namespace, ByteString::from(self.text()?.unwrap_or_default().to_vec()))
            }
            _ => return Err(DecodeError),
        })
    }

    fn string(&mut self) -> WalkResult<UAString> {
        match self.text()? {
            Some(bytes) => core::str::from_utf8(bytes).map(UAString::from).map_err(|_| DecodeError),
            None => Ok(UAString::null()),
        }
    }

    /// An expanded node id.
    pub fn expanded_node_id(&mut self) -> WalkResult<ExpandedNodeIdView> {
        const NAMESPACE_URI: u8 = 0x80;
        const SERVER_INDEX: u8 = 0x40;
        let head = self.u8()?;
        let node = self.identifier(head & !(NAMESPACE_URI | SERVER_INDEX))?;
        let mut is_local = true;
        if head & NAMESPACE_URI != 0 {
            is_local &= self.text()?.is_none_or(<[u8]>::is_empty);
        }
        if head & SERVER_INDEX != 0 {
            is_local &= self.u32()? == 0;
        }
        Ok(ExpandedNodeIdView { node, is_local })
    }

    /// Passes a node id.
    pub fn skip_node_id(&mut self) -> WalkResult<()> {
        let head = self.u8()?;
        self.skip_identifier(head)
    }

    fn skip_identifier(&mut self, head: u8) -> WalkResult<()> {
        match head {
            0 => self.take(1).map(drop),
            1 => self.take(3).map(drop),
            2 => self.take(6).map(drop),
            3 | 5 => {
                self.take(2)?;
                self.text().map(drop)
            }
            4 => self.take(18).map(drop),
            _ => Err(DecodeError),
        }
    }

    /// Passes an expanded node id.
    pub fn skip_expanded_node_id(&mut self) -> WalkResult<()> {
        let head = self.u8()?;
        self.skip_identifier(head & 0x3f)?;
        if head & 0x80 != 0 {
            self.text()?;
        }
        if head & 0x40 != 0 {
            self.take(4)?;
        }
        Ok(())
    }

    /// Passes a qualified name.
    pub fn skip_qualified_name(&mut self) -> WalkResult<()> {
        self.take(2)?;
        self.text().map(drop)
    }

    /// Passes a localized text.
    pub fn skip_localized_text(&mut self) -> WalkResult<()> {
        let mask = self.u8()?;
        for bit in [1, 2] {
            if mask & bit != 0 {
                self.text()?;
            }
        }
        Ok(())
    }

    /// An extension object. A body without a length is no body, or garbled in a request. In a request, the caller has to walk over the binary
    /// body by its type, or to refuse it: it is not counted among [`Walker::structures`].
    pub fn extension(&mut self) -> WalkResult<ExtensionObjectView<'a>> {
        let type_id = self.node_id()?;
        let (encoding, body) = self.body()?;
        let binary = body.filter(|_| encoding == ExtensionEncoding::Binary);
        Ok(ExtensionObjectView { type_id, binary, encoding })
    }

    /// Passes an extension object.
    pub fn skip_extension(&mut self) -> WalkResult<()> {
        self.skip_node_id()?;
        let (encoding, _) = self.body()?;
        self.structures += usize::from(encoding != ExtensionEncoding::None);
        Ok(())
    }

    fn body(&mut self) -> WalkResult<(ExtensionEncoding, Option<&'a [u8]>)> {
        match self.u8()? {
            0 => Ok((ExtensionEncoding::None, None)),
            1 => match self.text()? {
                None if self.is_request => Err(DecodeError),
                body => Ok((ExtensionEncoding::Binary, body)),
            },
            2 => Ok((ExtensionEncoding::Xml, self.text()?)),
            _ => Err(DecodeError),
        }
    }

    /// Passes an array.
    pub fn skip_array(&mut self, mut skip: impl FnMut(&mut Self) -> WalkResult<()>) -> WalkResult<usize> {
        let count = self.count()?;
        for _ in 0..count {
            skip(self)?;
        }
        Ok(count)
    }

    fn nested<T>(&mut self, step: impl FnOnce(&mut Self) -> WalkResult<T>) -> WalkResult<T> {
        self.depth = self.depth.checked_sub(1).ok_or(DecodeError)?;
        let walked = step(self);
        self.depth += 1;
        walked
    }

    /// Passes a diagnostic info.
    pub fn skip_diagnostic_info(&mut self) -> WalkResult<()> {
        self.nested(|walker| {
            let mask = walker.u8()?;
            // Symbolic id, namespace, locale, text: four bytes each, and so their order does not matter here.
            walker.take(4 * (mask & 0x0f).count_ones() as usize)?;
            if mask & 0x10 != 0 {
                walker.text()?;
            }
            if mask & 0x20 != 0 {
                walker.take(4)?;
            }
            if mask & 0x40 != 0 {
                walker.skip_diagnostic_info()?;
            }
            Ok(())
        })
    }

    /// Passes a data value.
    pub fn skip_data_value(&mut self) -> WalkResult<()> {
        self.nested(|walker| {
            let mask = walker.u8()?;
            if mask & 1 != 0 {
                walker.skip_variant()?;
            }
            // Status; source time and its picoseconds; server time and its picoseconds.
            for (bit, width) in [(0x02, 4), (0x04, 8), (0x10, 2), (0x08, 8), (0x20, 2)] {
                if mask & bit != 0 {
                    walker.take(width)?;
                }
            }
            Ok(())
        })
    }

    /// Passes a variant.
    pub fn skip_variant(&mut self) -> WalkResult<()> {
        const ARRAY: u8 = 0x80;
        const DIMENSIONS: u8 = 0x40;
        self.nested(|walker| {
            let mask = walker.u8()?;
            let kind = mask & 0x3f;
            if mask & ARRAY == 0 {
                return if mask & DIMENSIONS != 0 {
                    Err(DecodeError)
                } else if kind == 0 {
                    Ok(())
                } else {
                    walker.skip_built_in(kind)
                };
            }
            let count = walker.count()?;
            match width(kind) {
                Some(width) => walker.take(count.checked_mul(width).ok_or(DecodeError)?).map(drop)?,
                None => (0..count).try_for_each(|_| walker.skip_built_in(kind))?,
            }
            if mask & DIMENSIONS != 0 {
                let dimensions = walker.count()?;
                walker.take(dimensions.checked_mul(4).ok_or(DecodeError)?)?;
            }
            Ok(())
        })
    }

    /// Passes a value of a built-in type, by its number (Part 6, 5.1.2).
    fn skip_built_in(&mut self, kind: u8) -> WalkResult<()> {
        if let Some(width) = width(kind) {
            return self.take(width).map(drop);
        }
        match kind {
            12 | 15 | 16 => self.text().map(drop),
            // Kept for types to come: decoders take them as byte strings (Part 6, 5.2.2.16). Some take them as variants.
            26..=31 if !self.is_request => self.text().map(drop),
            17 => self.skip_node_id(),
            18 => self.skip_expanded_node_id(),
            20 => self.skip_qualified_name(),
            21 => self.skip_localized_text(),
            22 => self.skip_extension(),
            23 => self.skip_data_value(),
            24 => self.skip_variant(),
            25 => self.skip_diagnostic_info(),
            _ => Err(DecodeError),
        }
    }
}

/// How many bytes a built-in type has, where they are always as many.
fn width(kind: u8) -> Option<usize> {
    match kind {
        1..=3 => Some(1),
        4 | 5 => Some(2),
        6 | 7 | 10 | 19 => Some(4),
        8 | 9 | 11 | 13 => Some(8),
        14 => Some(16),
        _ => None,
    }
}
