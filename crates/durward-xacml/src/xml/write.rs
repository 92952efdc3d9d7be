//! Writes text into XML.

/// Appends `text` as the content of an element.
pub(crate) fn text(out: &mut String, text: &str) {
    escape(out, text, |byte| (byte == b'<') | (byte == b'>') | (byte == b'&') | (byte == b'\r'));
}

/// Appends `text` as the value of an attribute in double quotes.
pub(crate) fn value(out: &mut String, text: &str) {
    // White space characters other than spaces would come back as spaces (XML 1.0, section 3.3.3).
    escape(out, text, |byte| {
        (byte == b'<') | (byte == b'>') | (byte == b'&') | (byte == b'"') | (byte < b' ')
    });
}

fn escape(out: &mut String, text: &str, is_special: impl Fn(u8) -> bool) {
    let needs_work = |byte: u8| is_special(byte) | (byte < b' ') | (byte == 0xef);
    // Without branches the compiler looks at many bytes at once; almost all texts end here.
    if !text.bytes().fold(false, |found, byte| found | needs_work(byte)) {
        return out.push_str(text);
    }
    let mut rest = text;
    while let Some(at) = rest.bytes().position(needs_work) {
        let (plain, after) = rest.split_at(at);
        out.push_str(plain);
        let mut characters = after.chars();
        match characters.next() {
            Some('<') => out.push_str("&lt;"),
            Some('>') => out.push_str("&gt;"),
            Some('&') => out.push_str("&amp;"),
            Some('"') => out.push_str("&quot;"),
            Some('\r') => out.push_str("&#13;"),
            Some('\t') if is_special(b'\t') => out.push_str("&#9;"),
            Some('\n') if is_special(b'\n') => out.push_str("&#10;"),
            Some(white @ ('\t' | '\n')) => out.push(white),
            // XML has no way at all to write these; they can come from JSON and from code.
            Some('\0'..='\u{1f}' | '\u{FFFE}' | '\u{FFFF}') => out.push('\u{FFFD}'),
            Some(other) => out.push(other),
            None => {}
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
}
