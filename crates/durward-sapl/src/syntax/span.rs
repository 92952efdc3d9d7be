//! Places in a text.

use std::ops::Range;

/// A range of bytes of a text, on character boundaries. Texts are at most 2 MiB, so 32 bits hold any place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

impl Span {
    /// The range from `start` to `end`.
    pub fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// The smallest range that holds both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The empty place before the first byte.
    pub fn before(self) -> Span {
        Span { start: self.start, end: self.start }
    }

    /// The empty place after the last byte.
    pub fn after(self) -> Span {
        Span { start: self.end, end: self.end }
    }

    /// As a range of indices into the text.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The piece of `source` that stands there; empty if the range is not one of that text.
    pub fn text(self, source: &str) -> &str {
        source.get(self.range()).unwrap_or_default()
    }
}
