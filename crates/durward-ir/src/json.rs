//! JSON text into values.
//!
//! Numbers keep their digits and objects the order of their keys; of several equal keys the last value counts, in the
//! place of the first, unless they are refused ([`read_unique`]). Writing is [`Value::write_json`].

mod raw;

use std::borrow::Cow;
use std::fmt;

use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, Peek};
use smol_str::SmolStr;

use crate::datatype::Decimal;
use crate::value::{Object, ObjectBuilder, Value};

pub use raw::{RawMembers, read_members, read_subscription};

/// How deep arrays and objects may nest: what reads, compares and drops them calls itself as often.
pub const JSON_DEPTH_MAX: usize = 500;

/// How many values a text may hold. A value takes up to a hundred bytes where its text may take two.
pub const JSON_VALUES_MAX: usize = 4_000_000;

/// A text that is not JSON, or that is beyond a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong, in a few words.
    pub reason: Cow<'static, str>,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.reason)
    }
}

impl std::error::Error for JsonError {}

/// Reads one value, around which there may only be white space.
///
/// # Errors
/// The text is not UTF-8 or not JSON, nests deeper than [`JSON_DEPTH_MAX`], holds more than [`JSON_VALUES_MAX`] values,
/// a number that [`Decimal::parse`] refuses, or half a surrogate pair (`"\ud800"`), which no text can hold.
pub fn read(text: impl AsRef<[u8]>) -> Result<Value, JsonError> {
    read_with(text.as_ref(), Fractions::Exact, RepeatedKeys::LastCounts)
}

/// The same of a text in which no object has a key twice. Which of them counts would depend on who reads, so whoever decides about
/// access reads this way.
///
/// # Errors
/// As [`read`]; and an object that has a key twice.
///
/// ```
/// use durward_ir::json;
///
/// let error = json::read_unique(r#"{"a": {"b": 1, "b": 2}}"#).unwrap_err();
/// assert_eq!(error.to_string(), "line 1, column 20: the key `b` is there twice");
/// ```
pub fn read_unique(text: impl AsRef<[u8]>) -> Result<Value, JsonError> {
    read_with(text.as_ref(), Fractions::Exact, RepeatedKeys::Refused)
}

/// Reads one value as SAPL reads its configuration: there may be comments, `// ..` and `# ..` to the end of the line and
/// `/* .. */`, and numbers with a fraction or an exponent are those that a double can hold, written as Java writes them
/// (`2.00` is `2.0`, `1e7` is `1.0E+7`).
///
/// # Errors
/// As [`read`]; and a number beyond doubles.
pub fn read_configuration(text: &str) -> Result<Value, JsonError> {
    read_with(blank_comments(text).as_bytes(), Fractions::Doubles, RepeatedKeys::LastCounts)
}

fn read_with(text: &[u8], fractions: Fractions, repeated: RepeatedKeys) -> Result<Value, JsonError> {
    let mut reader = Reader { jiter: Jiter::new(text), left: JSON_VALUES_MAX, fractions, repeated };
    reader.document().map_err(|failure| failure.at_place(text))
}

/// What goes wrong, and at which byte.
struct Failure {
    index: usize,
    reason: Cow<'static, str>,
}

impl Failure {
    fn at_place(self, text: &[u8]) -> JsonError {
        let before = text.get(..self.index.min(text.len())).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        // Bytes of the form 10xxxxxx go on with a character.
        let is_character = |byte: &&u8| **byte & 0xc0 != 0x80;
        let column = before.get(start..).unwrap_or_default().iter().filter(is_character).count() + 1;
        JsonError { line, column, reason: self.reason }
    }
}

impl From<JiterError> for Failure {
    fn from(error: JiterError) -> Failure {
        let reason = match &error.error_type {
            JiterErrorType::JsonError(error) => words(error),
            // Never asked for: every value is looked at before it is read.
            JiterErrorType::WrongType { .. } => "a value of another kind was expected",
        };
        Failure { index: error.index, reason: reason.into() }
    }
}

fn words(error: &JsonErrorType) -> &'static str {
    match error {
        JsonErrorType::EofWhileParsingList => "the text ends inside an array",
        JsonErrorType::EofWhileParsingObject => "the text ends inside an object",
        JsonErrorType::EofWhileParsingString => "the text ends inside a string",
        JsonErrorType::EofWhileParsingValue => "the text ends where a value is expected",
        JsonErrorType::ExpectedColon => "a `:` is expected behind the key",
        JsonErrorType::ExpectedListCommaOrEnd => "a `,` or `]` is expected",
        JsonErrorType::ExpectedObjectCommaOrEnd => "a `,` or `}` is expected",
        JsonErrorType::ExpectedSomeIdent => "`true`, `false` or `null` is expected",
        JsonErrorType::ExpectedSomeValue => "a value is expected",
        JsonErrorType::InvalidEscape => "there is no such escape",
        JsonErrorType::InvalidNumber => "this is not a number of JSON",
        JsonErrorType::NumberOutOfRange => "the number is out of range",
        JsonErrorType::InvalidUnicodeCodePoint => "this is not a character of UTF-8",
        JsonErrorType::ControlCharacterWhileParsingString => "control characters in strings must be escaped",
        JsonErrorType::KeyMustBeAString => "a key in quotation marks is expected",
        JsonErrorType::LoneLeadingSurrogateInHexEscape => "half a surrogate pair is no character",
        JsonErrorType::TrailingComma => "a value is expected behind the `,`",
        JsonErrorType::TrailingCharacters => "there is more behind the value",
        JsonErrorType::UnexpectedEndOfHexEscape => "`\\u` is followed by four hexadecimal digits",
        // Of parts of jiter that are not used here.
        JsonErrorType::FloatExpectingInt
        | JsonErrorType::DuplicateKey(_)
        | JsonErrorType::InternalError(_)
        | JsonErrorType::RecursionLimitExceeded => "the text cannot be read",
    }
}

struct Reader<'t> {
    jiter: Jiter<'t>,
    /// How many values may still come.
    left: usize,
    fractions: Fractions,
    repeated: RepeatedKeys,
}

/// What becomes of an object that has a key twice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RepeatedKeys {
    /// It has the last value.
    LastCounts,
    /// The text is refused.
    Refused,
}

/// What becomes of numbers with a fraction or an exponent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fractions {
    /// They keep their digits.
    Exact,
    /// They are rounded to doubles.
    Doubles,
}

impl Reader<'_> {
    fn document(&mut self) -> Result<Value, Failure> {
        let first = self.jiter.peek()?;
        let value = self.value(first, 0)?;
        self.jiter.finish()?;
        Ok(value)
    }

    fn value(&mut self, first: Peek, depth: usize) -> Result<Value, Failure> {
        self.left = self.left.checked_sub(1).ok_or_else(|| self.fail("there are too many values"))?;
        match first {
            Peek::String => Ok(Value::Text(SmolStr::new(self.jiter.known_str()?))),
            Peek::Object | Peek::Array if depth >= JSON_DEPTH_MAX => {
                Err(self.fail("the value is nested too deep"))
            }
            Peek::Object => self.object(depth + 1),
            Peek::Array => self.array(depth + 1),
            Peek::True | Peek::False => Ok(Value::Boolean(self.jiter.known_bool(first)?)),
            Peek::Null => {
                self.jiter.known_null()?;
                Ok(Value::Null)
            }
            _ => self.number(first),
        }
    }

    fn number(&mut self, first: Peek) -> Result<Value, Failure> {
        let index = self.jiter.current_index();
        let digits = self.jiter.known_number_bytes(first).map_err(|error| {
            let failure = Failure::from(error);
            if first.is_num() { failure } else { Failure { reason: "a value is expected".into(), ..failure } }
        })?;
        let digits = str::from_utf8(digits).unwrap_or_default();
        let mut number = Decimal::parse(digits).map_err(|reason| Failure { index, reason: reason.into() })?;
        if self.fractions == Fractions::Doubles && digits.contains(['.', 'e', 'E']) {
            let beyond = || Failure { index, reason: "the number is beyond doubles".into() };
            number = digits.parse().ok().and_then(Decimal::from_f64).ok_or_else(beyond)?;
        }
        Ok(Value::number(number))
    }

    fn array(&mut self, depth: usize) -> Result<Value, Failure> {
        let mut values = Vec::new();
        let mut next = self.jiter.known_array()?;
        while let Some(first) = next {
            values.push(self.value(first, depth)?);
            next = self.jiter.array_step()?;
        }
        Ok(Value::Array(values.into()))
    }

    fn object(&mut self, depth: usize) -> Result<Value, Failure> {
        let mut object = ObjectBuilder::new();
        let mut next = self.jiter.known_object()?.map(SmolStr::new);
        while let Some(key) = next {
            let index = self.jiter.current_index();
            let first = self.jiter.peek()?;
            let value = self.value(first, depth)?;
            let (count, name) = (object.len(), key.clone());
            object.insert(key, value);
            if object.len() == count && self.repeated == RepeatedKeys::Refused {
                return Err(Failure { index, reason: format!("the key `{name}` is there twice").into() });
            }
            next = self.jiter.next_key()?.map(SmolStr::new);
        }
        let object: Object = object.finish();
        Ok(Value::Object(object.into()))
    }

    #[cold]
    fn fail(&self, reason: &'static str) -> Failure {
        Failure { index: self.jiter.current_index(), reason: reason.into() }
    }
}

/// The text with spaces for every byte of its comments, so that all else keeps its place.
fn blank_comments(text: &str) -> Cow<'_, str> {
    if !text.contains(['/', '#']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, is_comment) = piece(rest, first);
        let (piece, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        if is_comment {
            out.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        } else {
            out.push_str(piece);
        }
        rest = behind;
    }
    Cow::Owned(out)
}

/// The length of the string, the comment or the single character that the text begins with, and whether it is a comment.
fn piece(text: &str, first: char) -> (usize, bool) {
    let until = |end: Option<usize>| end.unwrap_or(text.len());
    if first == '"' {
        let mut escaped = false;
        let end = text.bytes().enumerate().skip(1).find(|(_, byte)| {
            let closes = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            closes
        });
        (until(end.map(|(at, _)| at + 1)), false)
    } else if first == '#' || text.starts_with("//") {
        (until(text.find('\n')), true)
    } else if text.starts_with("/*") {
        (until(text.get(2..).and_then(|inside| inside.find("*/")).map(|at| at + 4)), true)
    } else {
        (first.len_utf8(), false)
    }
}

#[cfg(test)]
mod tests;
