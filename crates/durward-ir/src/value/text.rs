//! Values as JSON text, and as SAPL writes them into texts.

use std::fmt::{self, Write};

use super::{DataType, Object, Value};

impl Value {
    /// Appends the value as JSON, without spaces: numbers with the digits they have (`1.50`, `1E+3`), texts with only
    /// those escapes that JSON demands. `undefined`, which JSON cannot say, is written as that word; values of XACML's
    /// types as texts, but for `integer` and finite `double`s, which are numbers.
    pub fn write_json(&self, out: &mut String) {
        match self {
            Value::Null | Value::Undefined | Value::Boolean(_) | Value::Integer(_) => self.write_lexical(out),
            // Writing to a string cannot fail.
            Value::Number(number) => drop(write!(out, "{number}")),
            Value::Double(double) if double.is_finite() => self.write_lexical(out),
            Value::Array(values) => {
                out.push('[');
                separated(out, ",", values.iter(), |out, value| value.write_json(out));
                out.push(']');
            }
            Value::Object(object) => {
                out.push('{');
                separated(out, ",", object.iter(), |out, (key, value)| {
                    write_json_text(key, out);
                    out.push(':');
                    value.write_json(out);
                });
                out.push('}');
            }
            Value::Text(text) => write_json_text(text, out),
            Value::Double(_)
            | Value::Time(_)
            | Value::Date(_)
            | Value::DateTime(_)
            | Value::DayTimeDuration(_)
            | Value::YearMonthDuration(_)
            | Value::AnyUri(_)
            | Value::HexBinary(_)
            | Value::Base64Binary(_)
            | Value::Rfc822Name(_)
            | Value::X500Name(_)
            | Value::IpAddress(_)
            | Value::DnsName(_)
            | Value::XPathExpression(_)
            | Value::Opaque(_) => write_json_text(&self.lexical(), out),
        }
    }

    /// The value as JSON, as [`Value::write_json`] writes it.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    /// Whether the value is `undefined` or has it anywhere inside, so that JSON cannot say it.
    pub fn holds_undefined(&self) -> bool {
        if let Value::Array(values) = self {
            values.iter().any(Value::holds_undefined)
        } else if let Value::Object(object) = self {
            object.values().any(Value::holds_undefined)
        } else {
            self.data_type() == DataType::Undefined
        }
    }

    /// The value as SAPL writes it behind a text in `text + value` and in `standard.toString`: a text as it is, anything
    /// else as [`Debugged`] shows it.
    pub fn write_concatenated(&self, out: &mut String) {
        if let Value::Text(text) = self {
            out.push_str(text);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "{}", Debugged(self));
        }
    }
}

/// Appends a text in quotation marks, with the escapes that Jackson writes: those that JSON demands, short where there
/// is a short one, upper-case digits where not.
pub fn write_json_text(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|b| b < 0x20 || b == b'"' || b == b'\\') {
        let (plain, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut characters = from.chars();
        if let Some(character) = characters.next() {
            push_escaped(out, character);
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

fn push_escaped(out: &mut String, character: char) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{c}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        // Writing to a string cannot fail.
        other => drop(write!(out, "\\u{:04X}", u32::from(other))),
    }
}

fn separated<T>(
    out: &mut String,
    separator: &str,
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    for (count, item) in items.enumerate() {
        if count > 0 {
            out.push_str(separator);
        }
        write(out, item);
    }
}

/// A value as SAPL shows it: `"a"`, `1.50`, `[1, "x"]`, `{"k"="v"}`, `undefined`. Texts are not escaped.
#[derive(Clone, Copy, Debug)]
pub struct Debugged<'a>(pub &'a Value);

impl fmt::Display for Debugged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Value::Text(text) = self.0 {
            write!(f, "\"{text}\"")
        } else if let Value::Array(values) = self.0 {
            write_array(values, f)
        } else if let Value::Object(object) = self.0 {
            write_object(object, f)
        } else {
            f.write_str(&self.0.lexical())
        }
    }
}

fn write_array(values: &[Value], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('[')?;
    for (at, value) in values.iter().enumerate() {
        f.write_str(if at > 0 { ", " } else { "" })?;
        write!(f, "{}", Debugged(value))?;
    }
    f.write_char(']')
}

fn write_object(object: &Object, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('{')?;
    for (at, (key, value)) in object.iter().enumerate() {
        f.write_str(if at > 0 { ", " } else { "" })?;
        write!(f, "\"{key}\"={}", Debugged(value))?;
    }
    f.write_char('}')
}
