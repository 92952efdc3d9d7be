//! Tokens of GraphQL (specification of October 2021, section 2.1).

use super::parser::{GraphqlLimits, SyntaxError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GraphqlTokenKind {
    /// One of `! $ & ( ) : = @ [ ] { | }` or `...`.
    Mark,
    Name,
    Int,
    Float,
    /// With its quotation marks, of either kind.
    Text,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct GraphqlToken<'t> {
    pub(super) kind: GraphqlTokenKind,
    pub(super) text: &'t str,
    /// Where it begins, in bytes.
    pub(super) at: usize,
}

pub(super) struct GraphqlLexer<'t> {
    source: &'t str,
    at: usize,
    limits: GraphqlLimits,
    tokens: usize,
    blanks: usize,
}

impl<'t> GraphqlLexer<'t> {
    pub(super) const fn new(source: &'t str, limits: GraphqlLimits) -> GraphqlLexer<'t> {
        GraphqlLexer { source, at: 0, limits, tokens: 0, blanks: 0 }
    }

    fn rest(&self) -> &'t str {
        self.source.get(self.at..).unwrap_or_default()
    }

    pub(super) fn next(&mut self) -> Result<GraphqlToken<'t>, SyntaxError> {
        self.skip()?;
        self.tokens += 1;
        if self.tokens > self.limits.tokens {
            return Err(SyntaxError::too_many(self.limits.tokens, "grammar"));
        }
        let rest = self.rest();
        let (kind, length) = match rest.as_bytes() {
            [] => (GraphqlTokenKind::End, 0),
            [b'.', b'.', b'.', ..] => (GraphqlTokenKind::Mark, 3),
            [
                b'!' | b'$' | b'&' | b'(' | b')' | b':' | b'=' | b'@' | b'[' | b']' | b'{' | b'|' | b'}',
                ..,
            ] => (GraphqlTokenKind::Mark, 1),
            [b'_' | b'a'..=b'z' | b'A'..=b'Z', ..] => (GraphqlTokenKind::Name, name_length(rest)),
            [b'-' | b'0'..=b'9', ..] => number(rest).ok_or_else(|| self.unknown())?,
            [b'"', b'"', b'"', ..] => {
                (GraphqlTokenKind::Text, block_length(rest).ok_or_else(|| self.unknown())?)
            }
            [b'"', ..] => (GraphqlTokenKind::Text, text_length(rest).ok_or_else(|| self.unknown())?),
            _ => return Err(self.unknown()),
        };
        let token = GraphqlToken { kind, text: rest.get(..length).unwrap_or_default(), at: self.at };
        self.at += length;
        Ok(token)
    }

    /// Passes over white space, commas and comments.
    fn skip(&mut self) -> Result<(), SyntaxError> {
        loop {
            let rest = self.rest();
            let Some(first) = rest.chars().next() else { return Ok(()) };
            match first {
                ' ' | '\t' | '\n' | '\r' | ',' | '\u{feff}' | '\u{2028}' | '\u{2029}' => {
                    self.at += first.len_utf8();
                    self.blanks += 1;
                    if self.blanks > self.limits.blanks {
                        return Err(SyntaxError::too_many(self.limits.blanks, "whitespace"));
                    }
                }
                '#' => self.at += rest.find(['\n', '\r', '\u{2028}', '\u{2029}']).unwrap_or(rest.len()),
                _ => return Ok(()),
            }
        }
    }

    fn unknown(&self) -> SyntaxError {
        let shown = failed(self.rest()).replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r");
        let (line, column) = place(self.source, self.at);
        let message = format!(
            "Invalid syntax with ANTLR error 'token recognition error at: '{shown}'' at line {line} column {column}"
        );
        SyntaxError::new(message, (line, column))
    }
}

/// What ANTLR shows of a text that begins no token: all that a token could begin with, and the next character.
fn failed(text: &str) -> &str {
    let begun = match text.as_bytes() {
        [b'-' | b'0'..=b'9', ..] => number_begun(text),
        [b'.', b'.', ..] => 2,
        [b'.', ..] => 1,
        [b'"', b'"', b'"', ..] => text.len(),
        [b'"', ..] => text_begun(text),
        _ => 0,
    };
    let next = text.get(begun..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    text.get(..begun + next).unwrap_or(text)
}

/// How much of a text without an end could still become a number.
fn number_begun(text: &str) -> usize {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let whole = if unsigned.starts_with('0') { 1 } else { digits(unsigned) };
    let mut rest = unsigned.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix('.').filter(|_| whole > 0) {
        rest = fraction.get(digits(fraction)..).unwrap_or_default();
        if digits(fraction) == 0 {
            return text.len() - rest.len();
        }
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']).filter(|_| whole > 0) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        rest = exponent.get(digits(exponent)..).unwrap_or_default();
    }
    text.len() - rest.len()
}

/// How much of a text that has a wrong escape or no end is right.
fn text_begun(text: &str) -> usize {
    let mut at = 1;
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'\n' | b'\r' => return at,
            b'\\' => match escape_length(text.get(at + 1..).unwrap_or_default()) {
                Ok(length) => at += 1 + length,
                Err(length) => return at + 1 + length,
            },
            _ => at += 1,
        }
    }
    text.len()
}

/// The length of an escape behind its `\`, or how much of it is right.
fn escape_length(escape: &str) -> Result<usize, usize> {
    let is_hex = |at: usize| escape.as_bytes().get(at).is_some_and(u8::is_ascii_hexdigit);
    match escape.as_bytes() {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Ok(1),
        [b'u', b'{', ..] => {
            let end = (2..).find(|at| !is_hex(*at)).unwrap_or(2);
            if end > 2 && escape.as_bytes().get(end) == Some(&b'}') { Ok(end + 1) } else { Err(end) }
        }
        [b'u', ..] => (1..5).find(|at| !is_hex(*at)).map_or(Ok(5), Err),
        _ => Err(0),
    }
}

/// Line and column, in characters, both from 1.
pub(super) fn place(source: &str, at: usize) -> (usize, usize) {
    let before = source.get(..at).unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before.get(start..).unwrap_or_default().chars().count() + 1)
}

fn name_length(text: &str) -> usize {
    text.bytes().position(|b| !b.is_ascii_alphanumeric() && b != b'_').unwrap_or(text.len())
}

fn digits(text: &str) -> usize {
    text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len())
}

/// The kind and length of a number; it may not go over into a name, a digit or a point.
fn number(text: &str) -> Option<(GraphqlTokenKind, usize)> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let whole = digits(unsigned);
    if whole == 0 || (whole > 1 && unsigned.starts_with('0')) {
        return None;
    }
    let mut rest = unsigned.get(whole..)?;
    let mut kind = GraphqlTokenKind::Int;
    if let Some(fraction) = rest.strip_prefix('.') {
        kind = GraphqlTokenKind::Float;
        rest = fraction.get(digits(fraction)..).filter(|_| digits(fraction) > 0)?;
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        kind = GraphqlTokenKind::Float;
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        rest = exponent.get(digits(exponent)..).filter(|_| digits(exponent) > 0)?;
    }
    let goes_on = rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    (!goes_on).then_some((kind, text.len() - rest.len()))
}

/// The length of a text with both quotation marks, on one line and with right escapes.
fn text_length(text: &str) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.as_bytes().get(at)? {
            b'\n' | b'\r' => return None,
            b'"' => return Some(at + 1),
            b'\\' => at += 1 + escape_length(text.get(at + 1..)?).ok()?,
            _ => at += 1,
        }
    }
}

/// The length of a block with its three quotation marks on both sides.
fn block_length(text: &str) -> Option<usize> {
    let mut at = 3;
    loop {
        let found = at + text.get(at..)?.find("\"\"\"")?;
        if !text.get(..found)?.ends_with('\\') {
            return Some(found + 3);
        }
        at = found + 3;
    }
}

/// What a text token says; `None` when it has a wrong escape.
pub(super) fn content(token: &str) -> Option<String> {
    if let Some(block) = token.strip_prefix("\"\"\"").and_then(|block| block.strip_suffix("\"\"\"")) {
        return Some(block_content(&block.replace("\\\"\"\"", "\"\"\"")));
    }
    let text = token.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let (character, length) = escaped(escape)?;
        out.push(character);
        rest = escape.get(length..)?;
    }
    out.push_str(rest);
    Some(out)
}

/// The character that an escape means, and how many bytes behind the `\` it takes.
fn escaped(escape: &str) -> Option<(char, usize)> {
    let simple = match escape.as_bytes().first()? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return code_point(escape.get(1..)?).map(|(character, length)| (character, length + 1)),
        _ => return None,
    };
    Some((simple, 1))
}

/// Four digits, two times four that are one character, or any number of digits in braces.
fn code_point(text: &str) -> Option<(char, usize)> {
    let hex = |digits: &str| {
        let is_hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
        if is_hex { u32::from_str_radix(digits, 16).ok() } else { None }
    };
    if let Some(braced) = text.strip_prefix('{') {
        let (digits, _) = braced.split_once('}')?;
        return Some((char::from_u32(hex(digits)?)?, digits.len() + 2));
    }
    let first = hex(text.get(..4)?)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 4));
    }
    let second = hex(text.get(4..)?.strip_prefix("\\u")?.get(..4)?)?;
    let is_pair = (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(&second);
    let joined = 0x1_0000 + ((first & 0x3ff) << 10 | second & 0x3ff);
    char::from_u32(joined).filter(|_| is_pair).map(|character| (character, 10))
}

/// A block without the indentation its lines share and without blank lines around (section 2.9.4).
fn block_content(raw: &str) -> String {
    let raw = raw.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = raw.split('\n').collect();
    let indent = |line: &str| line.bytes().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let shared = lines.iter().skip(1).filter(|line| indent(line) < line.len()).map(|line| indent(line)).min();
    let mut cut: Vec<&str> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| if at == 0 { line } else { line.get(shared.unwrap_or(0)..).unwrap_or_default() })
        .collect();
    let is_blank = |line: &&str| line.bytes().all(|b| matches!(b, b' ' | b'\t'));
    while cut.last().is_some_and(is_blank) {
        cut.pop();
    }
    let first = cut.iter().position(|line| !is_blank(line)).unwrap_or(cut.len());
    cut.get(first..).unwrap_or_default().join("\n")
}
