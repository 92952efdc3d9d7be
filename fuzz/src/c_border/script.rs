//! An input as a script of calls, and the texts that they are made with.

use std::ffi::c_char;
use std::ptr;

use super::header::durward_text;

const SEPARATOR: &[u8] = b"\n---\n";

/// What has to be null, or wrong, in a call: one character of the script, `0` for nothing.
#[derive(Clone, Copy)]
pub(super) struct Flags(u8);

impl Flags {
    pub(super) const fn none() -> Flags {
        Flags(0)
    }

    pub(super) fn no_handle(self) -> bool {
        self.0 & 1 != 0
    }

    pub(super) fn no_text(self) -> bool {
        self.0 & 2 != 0
    }

    pub(super) fn no_error(self) -> bool {
        self.0 & 4 != 0
    }

    pub(super) fn no_answer(self) -> bool {
        self.0 & 8 != 0
    }

    pub(super) fn no_result(self) -> bool {
        self.0 & 16 != 0
    }

    pub(super) fn odd_length(self) -> bool {
        self.0 & 32 != 0
    }
}

/// What is left of a script, and all texts.
pub(super) struct Script<'i> {
    calls: &'i [u8],
    texts: Vec<&'i [u8]>,
}

impl<'i> Script<'i> {
    pub(super) fn of(input: &'i [u8]) -> Script<'i> {
        let mut pieces = Vec::new();
        let mut rest = input;
        while let Some(at) = rest.windows(SEPARATOR.len()).position(|window| window == SEPARATOR) {
            pieces.push(&rest[..at]);
            rest = &rest[at + SEPARATOR.len()..];
        }
        pieces.push(rest);
        let calls = pieces.remove(0);
        if pieces.is_empty() {
            pieces.push(b"");
        }
        Script { calls, texts: pieces }
    }

    /// The next character; spaces and line breaks are for whoever reads the script.
    pub(super) fn next(&mut self) -> Option<u8> {
        let [first, rest @ ..] = self.calls else { return None };
        self.calls = rest;
        if first.is_ascii_whitespace() { self.next() } else { Some(*first) }
    }

    /// The next character as a number: `0` is 0.
    pub(super) fn number(&mut self) -> usize {
        usize::from(self.next().unwrap_or(b'0').wrapping_sub(b'0'))
    }

    pub(super) fn flags(&mut self) -> Flags {
        Flags(self.next().unwrap_or(b'0').wrapping_sub(b'0'))
    }

    /// One of the texts; there is one at least.
    pub(super) fn text(&mut self) -> &'i [u8] {
        let number = self.number();
        self.texts[number % self.texts.len()]
    }

    /// One of the texts as C gives it.
    pub(super) fn given(&mut self, flags: Flags) -> Given {
        let bytes = self.text();
        let factor = if flags.odd_length() { Some(self.number()) } else { None };
        Given::new(bytes, factor, flags.no_text())
    }
}

/// A text as C gives it: in memory of its exact length, such that a byte more that is read shows.
pub(super) struct Given {
    bytes: Box<[u8]>,
    len: usize,
    is_null: bool,
}

impl Given {
    /// With a factor, it is given with another length: with a part of its own, or with one that no text has.
    pub(super) fn new(bytes: &[u8], factor: Option<usize>, is_null: bool) -> Given {
        let len = match factor {
            None => bytes.len(),
            Some(factor) if factor % 2 == 1 => bytes.len() * (factor % 256) / 256,
            Some(factor) => usize::MAX - factor,
        };
        Given { bytes: bytes.into(), len, is_null }
    }

    pub(super) fn data(&self) -> *const c_char {
        if self.is_null { ptr::null() } else { self.bytes.as_ptr().cast() }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn as_text(&self) -> durward_text {
        durward_text { data: self.data(), len: self.len }
    }

    /// What the library may read of it; nothing where it must refuse it.
    pub(super) fn seen(&self) -> Option<&[u8]> {
        if self.is_null { None } else { self.bytes.get(..self.len) }
    }
}
