//! Numbers and texts as bytes: big endian, lengths before what they count. Reading stops at the first thing that is
//! not there and never takes more memory than was given to read.

/// Writes bytes one after the other.
#[derive(Debug, Default)]
pub(crate) struct RecordWriter(pub(crate) Vec<u8>);

impl RecordWriter {
    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(crate) fn u32(&mut self, number: u32) {
        self.0.extend(number.to_be_bytes());
    }

    pub(crate) fn u64(&mut self, number: u64) {
        self.0.extend(number.to_be_bytes());
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// Bytes with their length. What is longer than 32 bits can say is cut; every text here has a far lower limit.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.u32(length);
        self.raw(bytes.get(..length as usize).unwrap_or(bytes));
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
}

/// Reads what [`RecordWriter`] wrote.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordReader<'b>(&'b [u8]);

impl<'b> RecordReader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> RecordReader<'b> {
        RecordReader(bytes)
    }

    pub(crate) fn raw(&mut self, length: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = self.u32()?;
        self.raw(usize::try_from(length).ok()?)
    }

    pub(crate) fn text(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// What is left.
    pub(crate) fn rest(self) -> &'b [u8] {
        self.0
    }

    /// Nothing may be left.
    pub(crate) fn end(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}
