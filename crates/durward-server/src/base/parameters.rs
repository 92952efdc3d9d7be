//! The parameters of a form or a query. A text that two readers could understand in two ways is refused.

use std::fmt;

use durward_wire::percent::{form_decoded as decoded, form_encoded};

/// How many parameters there may be: many times what any request here needs.
pub(crate) const PARAMETERS_MAX: usize = 64;

/// The only ones that may be there more than once (RFC 8693, 2.1; RFC 8707, 2).
const REPEATED: [&str; 2] = ["audience", "resource"];

/// Names and values, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters(Vec<(String, String)>);

/// Why a text has no parameters that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParametersError {
    /// A wrong escape, or what is not UTF-8.
    Escape,
    /// More than [`PARAMETERS_MAX`].
    TooMany,
    /// One is there twice (RFC 6749, 3.1 and 3.2).
    Twice,
}

impl fmt::Display for ParametersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParametersError::Escape => f.write_str("a parameter has a wrong escape, or is not UTF-8"),
            ParametersError::TooMany => write!(f, "there are more than {PARAMETERS_MAX} parameters"),
            ParametersError::Twice => f.write_str("a parameter is there twice"),
        }
    }
}

impl Parameters {
    /// # Errors
    /// See [`ParametersError`].
    pub(crate) fn read(text: &[u8]) -> Result<Parameters, ParametersError> {
        let mut parameters: Vec<(String, String)> = Vec::new();
        for pair in text.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            let mut parts = pair.splitn(2, |byte| *byte == b'=');
            let mut next = || decoded(parts.next().unwrap_or_default());
            let (Some(name), Some(value)) = (next(), next()) else { return Err(ParametersError::Escape) };
            if parameters.len() == PARAMETERS_MAX {
                return Err(ParametersError::TooMany);
            }
            let is_there = parameters.iter().any(|(other, _)| *other == name);
            if is_there && !REPEATED.contains(&name.as_str()) {
                return Err(ParametersError::Twice);
            }
            parameters.push((name, value));
        }
        Ok(Parameters(parameters))
    }

    /// The value of a parameter; one without a value is as if it were not there (RFC 6749, 3.1).
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// The same as text again.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.0 {
            if !text.is_empty() {
                text.push('&');
            }
            form_encoded(name, &mut text);
            text.push('=');
            form_encoded(value, &mut text);
        }
        text
    }

    /// All values of one that may be there more than once.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(other, _)| other == name);
        named.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}
