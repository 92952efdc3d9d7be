//! What expressions evaluate to, and how one type becomes another (XPath 1.0, sections 3.2, 4.2, 4.3 and 4.4).

use std::borrow::Cow;

use super::tree::NodeId;

/// A value while evaluating. Texts are borrowed from the content or the expression where they can be.
#[derive(Clone, Debug)]
pub(super) enum Outcome<'a> {
    /// In document order, none twice.
    Nodes(Vec<NodeId>),
    Text(Cow<'a, str>),
    Number(f64),
    Boolean(bool),
}

impl Outcome<'_> {
    pub(super) fn to_boolean(&self) -> bool {
        match self {
            Outcome::Nodes(nodes) => !nodes.is_empty(),
            Outcome::Text(text) => !text.is_empty(),
            Outcome::Number(number) => *number != 0.0 && !number.is_nan(),
            Outcome::Boolean(boolean) => *boolean,
        }
    }
}

impl<'a> From<&'a str> for Outcome<'a> {
    fn from(text: &'a str) -> Outcome<'a> {
        Outcome::Text(Cow::Borrowed(text))
    }
}

/// The number a text stands for: digits with at most a minus before and a point among them; all else is not a number.
pub(super) fn number_of(text: &str) -> f64 {
    let trimmed = text.trim_matches([' ', '\t', '\r', '\n']);
    let digits = trimmed.strip_prefix('-').unwrap_or(trimmed);
    if !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return f64::NAN; // Rust would also read `1e3`, `+1` and `inf`
    }
    trimmed.parse().unwrap_or(f64::NAN)
}

pub(super) fn number_from(boolean: bool) -> f64 {
    f64::from(u8::from(boolean))
}

/// How a number is written (section 4.2): never with an exponent, whole numbers without a point, no negative zero.
pub(super) fn text_of(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else if number == 0.0 {
        "0".to_owned()
    } else {
        number.to_string()
    }
}

/// The nearest whole number, halves up (section 4.4).
pub(super) fn round(number: f64) -> f64 {
    let below = number.floor();
    if number - below >= 0.5 { (below + 1.0).copysign(number) } else { below }
}
