//! Bytes to characters: UTF-8, what was UTF-16 before, and only the characters XML allows.

use std::borrow::Cow;

use durward_xacml::encoding::Utf16;

use crate::tree::XmlLocation;

/// Where a document declares its encoding: in its first line, far before this.
const DECLARATION_LENGTH_MAX: usize = 256;

/// Why bytes are not the text of an XML document.
pub(super) struct Undecodable {
    pub(super) place: XmlLocation,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// The bytes of a document in UTF-8, whatever it was written in.
pub(super) fn in_utf8(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Undecodable> {
    let Some(encoding) = Utf16::of_document(bytes) else { return Ok(Cow::Borrowed(bytes)) };
    match encoding.decode(bytes) {
        Ok(text) => Ok(Cow::Owned(text.into_bytes())),
        Err(error) => Err(Undecodable {
            place: XmlLocation { offset: 0, line: error.line, column: error.column },
            message: error.message,
            help: Some("save the document as UTF-8".to_owned()),
        }),
    }
}

/// The text of a document, and the number of bytes before it (a byte order mark).
pub(super) fn decode(bytes: &[u8]) -> Result<(&str, u32), Undecodable> {
    let (bytes, skipped) = match bytes.strip_prefix(b"\xEF\xBB\xBF") {
        Some(rest) => (rest, 3),
        None => (bytes, 0),
    };
    if let Some(encoding) = declared_encoding(bytes)
        && !["utf-8", "utf8", "us-ascii", "ascii"].contains(&encoding.to_ascii_lowercase().as_str())
    {
        return Err(unreadable_encoding(&encoding));
    }
    let text = str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        Undecodable {
            place: place_in(bytes, offset, skipped),
            message: format!("invalid UTF-8 at byte {}", offset + skipped as usize),
            help: Some("save the document as UTF-8".to_owned()),
        }
    })?;
    match first_forbidden(text) {
        Some((offset, character)) => Err(Undecodable {
            place: place_in(bytes, offset, skipped),
            message: format!("character U+{:04X} is not allowed in XML", character as u32),
            help: None,
        }),
        // The reader would pass over it in silence.
        None if text.starts_with('\u{FEFF}') => Err(Undecodable {
            place: place_in(bytes, 0, skipped),
            message: "there is text before the root element: a second byte order mark".to_owned(),
            help: None,
        }),
        None => Ok((text, skipped)),
    }
}

/// Whether XML 1.0 allows this character.
pub(super) fn is_xml_character(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' => true,
        '\u{FFFE}' | '\u{FFFF}' => false,
        other => other >= ' ',
    }
}

/// The place a number of bytes after another place.
pub(super) fn advance(place: XmlLocation, passed: &[u8]) -> XmlLocation {
    // Every byte but the continuation bytes of UTF-8 begins a character.
    let characters = |bytes: &[u8]| count(bytes, |byte| byte & 0xC0 != 0x80);
    let offset = place.offset.saturating_add(u32::try_from(passed.len()).unwrap_or(u32::MAX));
    match passed.iter().rposition(|byte| *byte == b'\n') {
        None => {
            XmlLocation { offset, line: place.line, column: place.column.saturating_add(characters(passed)) }
        }
        Some(last) => {
            let line = place.line.saturating_add(count(passed, |byte| byte == b'\n'));
            // The line break is counted as the first character of its line: columns begin with 1.
            XmlLocation { offset, line, column: characters(passed.get(last..).unwrap_or(&[])) }
        }
    }
}

fn count(bytes: &[u8], counted: impl Fn(u8) -> bool) -> u32 {
    u32::try_from(bytes.iter().filter(|byte| counted(**byte)).count()).unwrap_or(u32::MAX)
}

fn place_in(bytes: &[u8], offset: usize, skipped: u32) -> XmlLocation {
    advance(XmlLocation { offset: skipped, line: 1, column: 1 }, bytes.get(..offset).unwrap_or(bytes))
}

fn unreadable_encoding(encoding: &str) -> Undecodable {
    Undecodable {
        place: XmlLocation { offset: 0, line: 1, column: 1 },
        message: format!("the document is written in {encoding}, only UTF-8 and UTF-16 are read"),
        help: Some("save it as UTF-8".to_owned()),
    }
}

/// The encoding an XML declaration names. Read before the bytes are decoded, since it says how.
fn declared_encoding(bytes: &[u8]) -> Option<String> {
    let start = bytes.get(..bytes.len().min(DECLARATION_LENGTH_MAX))?;
    let start = String::from_utf8_lossy(start);
    let (declaration, _) = start.strip_prefix("<?xml")?.split_once("?>")?;
    let (_, after) = declaration.split_once("encoding")?;
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|first| ['"', '\''].contains(first))?;
    value.split(quote).nth(1).map(str::to_owned)
}

fn first_forbidden(text: &str) -> Option<(usize, char)> {
    // Two steps, because nearly every document has no such character and chunks are scanned many bytes at once.
    let suspicious = |chunk: &[u8]| {
        chunk
            .iter()
            .fold(false, |found, byte| found | (*byte < b' ' && !b"\t\n\r".contains(byte)) | (*byte == 0xEF))
    };
    if !text.as_bytes().chunks(4096).any(suspicious) {
        return None;
    }
    text.char_indices().find(|(_, character)| !is_xml_character(*character))
}
