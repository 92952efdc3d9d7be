//! What every lexical form needs: XML white space, a reader of fixed fields, and the error.

use std::borrow::Cow;
use std::fmt;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::value::DataType;

/// Why a text is refused, in a few words; the empty text when the data type's name says it all.
pub(crate) type Reason = &'static str;

/// How much of an offending text an error repeats, in characters: enough to find it, too little to flood a log.
const QUOTED_CHARS_MAX: usize = 80;

/// A text that is not a value of the data type it is given as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LexicalError {
    data_type: DataType,
    quoted: Box<str>,
    reason: Reason,
}

impl LexicalError {
    pub(crate) fn new(data_type: DataType, text: &str, reason: Reason) -> LexicalError {
        let mut quoted: String = text.chars().take(QUOTED_CHARS_MAX).collect();
        if quoted.len() < text.len() {
            quoted.push('…');
        }
        LexicalError { data_type, quoted: quoted.into_boxed_str(), reason }
    }

    /// The data type the text was given as.
    pub fn data_type(&self) -> DataType {
        self.data_type
    }
}

impl fmt::Display for LexicalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (article, name) = (self.data_type.article(), self.data_type.short_name());
        write!(f, "`{}` is not {article}{name}", self.quoted)?;
        if self.reason.is_empty() { Ok(()) } else { write!(f, ": {}", self.reason) }
    }
}

impl std::error::Error for LexicalError {}

/// The white space of XML (production 3, `S`); not Unicode's.
pub(crate) const fn is_xml_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Without XML white space at either end. Values of every type but `string` collapse white space
/// (XML Schema part 2, section 4.3.6); inside most of them none is allowed anyway.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_xml_space)
}

/// The text in Unicode normalization form C, in which equal-looking sequences of characters are equal.
pub(crate) fn normalize(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc(text) { Cow::Borrowed(text) } else { Cow::Owned(text.nfc().collect()) }
}

/// Reads a text of ASCII fields from the left.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Reader<'a> {
        Reader { rest: text.as_bytes() }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Takes this byte if it is next.
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let Some((first, rest)) = self.rest.split_first() else { return false };
        if *first == byte {
            self.rest = rest;
        }
        *first == byte
    }

    /// Takes the longest run of digits, possibly empty.
    pub(crate) fn digits(&mut self) -> &'a [u8] {
        let count = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        digits
    }

    /// Takes exactly two digits.
    pub(crate) fn two(&mut self) -> Option<u32> {
        let (pair, rest) = self.rest.split_first_chunk::<2>()?;
        let [tens, ones] = *pair;
        if !tens.is_ascii_digit() || !ones.is_ascii_digit() {
            return None;
        }
        self.rest = rest;
        Some(u32::from(tens - b'0') * 10 + u32::from(ones - b'0'))
    }

    /// Takes the digits after a decimal point as nanoseconds. Digits past the ninth must be zero: cutting them
    /// off would make two different instants equal.
    pub(crate) fn nanoseconds(&mut self) -> Result<u32, Reason> {
        let digits = self.digits();
        if digits.is_empty() {
            return Err("digits must follow the decimal point");
        }
        let mut nanoseconds = 0;
        for place in 0..9 {
            let digit = digits.get(place).map_or(0, |b| u32::from(b - b'0'));
            nanoseconds = nanoseconds * 10 + digit;
        }
        match digits.iter().skip(9).all(|b| *b == b'0') {
            true => Ok(nanoseconds),
            false => Err("seconds have at most nine decimal places"),
        }
    }
}

/// The number these digits write, unless it is beyond 63 bits.
pub(crate) fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0_i64, |sum, digit| sum.checked_mul(10)?.checked_add(i64::from(digit - b'0')))
}

/// Writes the fraction of a second without trailing zeros, and nothing when there is none.
pub(crate) fn write_fraction(f: &mut fmt::Formatter<'_>, nanoseconds: u32) -> fmt::Result {
    if nanoseconds == 0 {
        return Ok(());
    }
    let digits = format!("{nanoseconds:09}");
    write!(f, ".{}", digits.trim_end_matches('0'))
}
