//! Texts with `${...}` in them.
//!
//! | | stands for |
//! |---|---|
//! | `${NAME}` | a capture of the same user |
//! | `${data.TABLE.COLUMN}`, `${data.COLUMN}` | a column of a table; without the table's name where only one has such a column |
//! | `${vary.NAME}` | what is varied |
//! | `${env.NAME}`, `${file:PATH}` | an environment variable, a file's text without its last line break: for secrets |
//! | `${user}`, `${request}` | the number of the user, and one that no other request has |
//!
//! Behind a `|` stands how the value is written: `${token|url}` (percent encoding), `|json` (inside a JSON text), `|base64`.
//! `$${` means `${` itself.

use std::fmt;

use durward_wire::percent::segment_encoded;

/// One part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplatePart {
    /// Written as it is.
    Text(String),
    /// Replaced by a value.
    Value(TemplateReference, TemplateFilter),
}

/// What a value is taken from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TemplateReference {
    /// What an earlier answer said.
    Capture(String),
    /// A column, perhaps with the name of its table.
    Data(Option<String>, String),
    /// What is varied from curve to curve.
    Vary(String),
    /// An environment variable.
    Environment(String),
    /// A file's text.
    File(String),
    /// The user's number.
    User,
    /// A number that no other request of the run has.
    Request,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateFilter {
    /// As it is.
    Plain,
    /// With percent encoding: for paths and queries.
    Url,
    /// Inside a JSON text.
    Json,
    /// In Base64.
    Base64,
}

/// Why a text with `${...}` cannot be read, in the words of a scenario's author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError(String);

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TemplateError {}

/// Reads a text with `${...}`.
///
/// # Errors
/// A brace that is not closed, an empty name, a filter that does not exist: in words.
pub fn parse(text: &str) -> Result<Vec<TemplatePart>, TemplateError> {
    let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(escaped) = before.strip_suffix('$') {
            plain.push_str(escaped);
            plain.push_str("${");
            rest = from.get(2..).unwrap_or_default();
            continue;
        }
        plain.push_str(before);
        let inner = from.get(2..).unwrap_or_default();
        let Some((name, after)) = inner.split_once('}') else {
            return Err(TemplateError(format!("`{from}` lacks its closing brace")));
        };
        if !plain.is_empty() {
            parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
        }
        parts.push(value(name)?);
        rest = after;
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        parts.push(TemplatePart::Text(plain));
    }
    Ok(parts)
}

fn value(text: &str) -> Result<TemplatePart, TemplateError> {
    let (name, filter) = match text.split_once('|') {
        None => (text.trim(), TemplateFilter::Plain),
        Some((name, filter)) => {
            let filter = match filter.trim() {
                "url" => TemplateFilter::Url,
                "json" => TemplateFilter::Json,
                "base64" => TemplateFilter::Base64,
                other => {
                    return Err(TemplateError(format!(
                        "`{other}` in `${{{text}}}` is none of url, json, base64"
                    )));
                }
            };
            (name.trim(), filter)
        }
    };
    let reference = if let Some(path) = name.strip_prefix("file:") {
        TemplateReference::File(path.to_owned())
    } else if let Some(name) = name.strip_prefix("env.") {
        TemplateReference::Environment(name.to_owned())
    } else if let Some(name) = name.strip_prefix("vary.") {
        TemplateReference::Vary(name.to_owned())
    } else if let Some(name) = name.strip_prefix("data.") {
        match name.split_once('.') {
            Some((table, column)) => TemplateReference::Data(Some(table.to_owned()), column.to_owned()),
            None => TemplateReference::Data(None, name.to_owned()),
        }
    } else {
        match name {
            "user" => TemplateReference::User,
            "request" => TemplateReference::Request,
            "" => {
                return Err(TemplateError(format!("`${{{text}}}` names nothing; `$${{` means `${{` itself")));
            }
            name if name.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '-') => {
                TemplateReference::Capture(name.to_owned())
            }
            name => {
                return Err(TemplateError(format!(
                    "`${{{name}}}` is no name of a capture; see `data.`, `vary.`, `env.`, `file:`"
                )));
            }
        }
    };
    Ok(TemplatePart::Value(reference, filter))
}

/// The text with all that does not change from request to request filled in, which `known` knows.
///
/// # Errors
/// What `known` says of what it does not know.
pub fn fill<E>(
    parts: Vec<TemplatePart>,
    known: &mut impl FnMut(&TemplateReference) -> Result<Option<String>, E>,
) -> Result<Vec<TemplatePart>, E> {
    let mut filled: Vec<TemplatePart> = Vec::with_capacity(parts.len());
    for part in parts {
        let part = match part {
            TemplatePart::Text(text) => TemplatePart::Text(text),
            TemplatePart::Value(reference, filter) => match known(&reference)? {
                Some(text) => TemplatePart::Text(written(&text, filter)),
                None => TemplatePart::Value(reference, filter),
            },
        };
        match (filled.last_mut(), part) {
            (Some(TemplatePart::Text(before)), TemplatePart::Text(text)) => before.push_str(&text),
            (_, part) => filled.push(part),
        }
    }
    Ok(filled)
}

/// The captures that a text refers to.
pub(super) fn captures(parts: &[TemplatePart]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match part {
        TemplatePart::Value(TemplateReference::Capture(name), _) => Some(name.as_str()),
        TemplatePart::Value(_, _) | TemplatePart::Text(_) => None,
    })
}

/// A value as its filter writes it.
pub fn written(value: &str, filter: TemplateFilter) -> String {
    let mut out = Vec::with_capacity(value.len());
    write(&mut out, value, filter);
    String::from_utf8(out).unwrap_or_default()
}

/// Appends a value as its filter writes it.
pub fn write(out: &mut Vec<u8>, value: &str, filter: TemplateFilter) {
    use base64::Engine;
    match filter {
        TemplateFilter::Plain => out.extend_from_slice(value.as_bytes()),
        TemplateFilter::Url => {
            let mut segment = String::with_capacity(value.len());
            segment_encoded(value, &mut segment);
            out.extend_from_slice(segment.as_bytes());
        }
        TemplateFilter::Json => {
            let quoted = serde_json::Value::from(value).to_string();
            out.extend_from_slice(quoted.as_bytes().get(1..quoted.len() - 1).unwrap_or_default());
        }
        TemplateFilter::Base64 => {
            let text = base64::engine::general_purpose::STANDARD.encode(value);
            out.extend_from_slice(text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_at_values() {
        let parts = parse("/a/${token|url}?u=${data.users.name}&$${x}&${request}").unwrap();
        let data = TemplateReference::Data(Some("users".into()), "name".into());
        assert_eq!(
            parts,
            [
                TemplatePart::Text("/a/".into()),
                TemplatePart::Value(TemplateReference::Capture("token".into()), TemplateFilter::Url),
                TemplatePart::Text("?u=".into()),
                TemplatePart::Value(data, TemplateFilter::Plain),
                TemplatePart::Text("&${x}&".into()),
                TemplatePart::Value(TemplateReference::Request, TemplateFilter::Plain),
            ]
        );
    }

    #[test]
    fn broken_texts_are_refused() {
        for (text, said) in [
            ("${a", "closing brace"),
            ("${}", "names nothing"),
            ("${a|upper}", "`upper`"),
            ("${a b}", "no name of a capture"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn values_are_written_by_their_filter() {
        let table = [
            (TemplateFilter::Plain, "a\"b é/"),
            (TemplateFilter::Url, "a%22b%20%C3%A9%2F"),
            (TemplateFilter::Json, "a\\\"b é/"),
            (TemplateFilter::Base64, "YSJiIMOpLw=="),
        ];
        for (filter, expected) in table {
            assert_eq!(written("a\"b é/", filter), expected);
        }
        // Quotes at both ends must not vanish.
        assert_eq!(written("\"", TemplateFilter::Json), "\\\"");
        assert_eq!(written("", TemplateFilter::Json), "");
    }

    #[test]
    fn what_is_known_is_filled_in() {
        let mut known = |reference: &TemplateReference| {
            let TemplateReference::Environment(name) = reference else { return Ok(None) };
            if name == "SECRET" { Ok(Some("a b".to_owned())) } else { Err(format!("`{name}` is not set")) }
        };
        let filled = fill(parse("x${env.SECRET|url}y${user}").unwrap(), &mut known).unwrap();
        assert_eq!(
            filled,
            [
                TemplatePart::Text("xa%20by".into()),
                TemplatePart::Value(TemplateReference::User, TemplateFilter::Plain)
            ]
        );
        assert!(fill(parse("${env.OTHER}").unwrap(), &mut known).is_err());
    }
}
