//! Documents in UTF-16, which every reader of XML must take (XML 1.0, section 4.3.3), made UTF-8 before they are read.
//!
//! The standard library decodes UTF-16, so this needs no crate of its own. Other encodings are optional and refused.

use std::fmt;

use crate::wording::quote;

/// In which order the two bytes of a unit stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Utf16 {
    /// UTF-16LE: the lower byte first.
    Little,
    /// UTF-16BE: the higher byte first.
    Big,
}

/// Bytes that are no document in UTF-16. Line and column count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Utf16Error {
    /// What is wrong.
    pub message: String,
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

/// What an XML declaration in UTF-16 may say of its encoding.
const NAMES: [(&str, Option<Utf16>); 4] = [
    ("utf-16", None),
    ("utf-16le", Some(Utf16::Little)),
    ("utf-16be", Some(Utf16::Big)),
    ("iso-10646-ucs-2", None),
];

const BYTE_ORDER_MARK: u16 = 0xFEFF;

impl Utf16 {
    /// The encoding of a document that begins with a byte order mark, or, as XML's appendix F has it, with a `<` of two
    /// bytes, or white space before one. No document in UTF-8 begins with either.
    pub fn of_document(bytes: &[u8]) -> Option<Utf16> {
        match bytes {
            [0xFF, 0xFE, ..] | [b'<' | b' ' | b'\t' | b'\r' | b'\n', 0, ..] => Some(Utf16::Little),
            [0xFE, 0xFF, ..] | [0, b'<' | b' ' | b'\t' | b'\r' | b'\n', ..] => Some(Utf16::Big),
            _ => None,
        }
    }

    /// The document as text, without its byte order mark. What its XML declaration says of the encoding becomes `UTF-8`,
    /// and everything keeps its line and column.
    ///
    /// ```
    /// use durward_xacml::encoding::Utf16;
    ///
    /// let bytes = b"\xFF\xFE<\0a\0/\0>\0";
    /// let encoding = Utf16::of_document(bytes).ok_or("not UTF-16")?;
    /// assert_eq!(encoding.decode(bytes)?, "<a/>");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Half a unit, half a character, and a declaration of another encoding.
    pub fn decode(self, bytes: &[u8]) -> Result<String, Utf16Error> {
        let unit = |pair: &[u8; 2]| match self {
            Utf16::Little => u16::from_le_bytes(*pair),
            Utf16::Big => u16::from_be_bytes(*pair),
        };
        let (pairs, rest) = bytes.as_chunks::<2>();
        let mut units = pairs.iter().map(unit).peekable();
        units.next_if_eq(&BYTE_ORDER_MARK);
        let mut text = String::with_capacity(bytes.len() / 2);
        for character in char::decode_utf16(units) {
            match character {
                Ok(character) => text.push(character),
                Err(_) => return Err(Utf16Error::after(&text, "invalid UTF-16: half a surrogate pair")),
            }
        }
        if !rest.is_empty() {
            return Err(Utf16Error::after(&text, "invalid UTF-16: an odd number of bytes"));
        }
        self.redeclare(&mut text)?;
        Ok(text)
    }

    /// Makes the declaration say `UTF-8`, in as many characters as before.
    fn redeclare(self, text: &mut String) -> Result<(), Utf16Error> {
        let Some((start, end)) = declared(text) else { return Ok(()) };
        let name = text.get(start..end).unwrap_or_default().to_owned();
        match NAMES.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known)) {
            Some((_, order)) if order.is_none_or(|order| order == self) => {
                let quote = text.get(end..=end).unwrap_or("\"").to_owned();
                let blanks = " ".repeat((end - start).saturating_sub("UTF-8".len()));
                text.replace_range(start..=end, &format!("UTF-8{quote}{blanks}"));
                Ok(())
            }
            _ => {
                let before = text.get(..start).unwrap_or_default();
                let name = quote(&name);
                let message = format!("the document says that it is written in {name}, and is in {self}");
                Err(Utf16Error::after(before, &message))
            }
        }
    }
}

impl fmt::Display for Utf16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Utf16::Little => "UTF-16LE",
            Utf16::Big => "UTF-16BE",
        })
    }
}

impl Utf16Error {
    fn after(text: &str, message: &str) -> Utf16Error {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let line = text.matches('\n').count() + 1;
        let column = text.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Utf16Error { message: message.to_owned(), line: count(line), column: count(column) }
    }
}

impl fmt::Display for Utf16Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {}, column {})", self.message, self.line, self.column)
    }
}

impl std::error::Error for Utf16Error {}

/// Where the encoding stands in an XML declaration, without its quotes.
fn declared(text: &str) -> Option<(usize, usize)> {
    let (declaration, _) = text.strip_prefix("<?xml")?.split_once("?>")?;
    let (before, after) = declaration.split_once("encoding")?;
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|first| ['"', '\''].contains(first))?;
    let name = value.get(1..)?.split_once(quote)?.0;
    let start = "<?xml".len() + before.len() + "encoding".len() + (after.len() - value.len()) + 1;
    Some((start, start + name.len()))
}
