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

/// A line and a column, as people count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineColumn {
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters, from 1.
    pub column: u32,
}

/// Where the lines of a text start. A line ends with a line feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineIndex {
    /// INVARIANT: sorted, and the first is 0.
    starts: Vec<u32>,
    end: u32,
}

impl LineIndex {
    /// The lines of a text. Of one longer than 4 GiB, only those before that.
    pub fn new(text: &str) -> LineIndex {
        let feeds = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let after = feeds.map_while(|(index, _)| u32::try_from(index + 1).ok());
        let starts = std::iter::once(0).chain(after).collect();
        LineIndex { starts, end: u32::try_from(text.len()).unwrap_or(u32::MAX) }
    }

    /// Line and column of a byte of the text this was made of.
    pub fn place(&self, text: &str, offset: u32) -> LineColumn {
        let line = self.number_of(offset);
        let start = self.start_of(line);
        let before = text.get(start as usize..offset as usize).unwrap_or_default();
        let column = u32::try_from(before.chars().count()).unwrap_or(u32::MAX);
        LineColumn {
            line: u32::try_from(line).unwrap_or(u32::MAX).saturating_add(1),
            column: column.saturating_add(1),
        }
    }

    /// The whole line a byte stands on, with its line feed.
    pub fn line_of(&self, offset: u32) -> Span {
        let line = self.number_of(offset);
        let end = self.starts.get(line + 1).copied().unwrap_or(self.end);
        Span::new(self.start_of(line), end)
    }

    /// The line a byte stands on, from 0.
    fn number_of(&self, offset: u32) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    fn start_of(&self, line: usize) -> u32 {
        self.starts.get(line).copied().unwrap_or_default()
    }
}
