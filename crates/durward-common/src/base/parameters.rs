//! The parameters of a form or a query. A text that two readers could understand in two ways is refused.

use std::fmt;

use durward_wire::percent::{form_decoded as decoded, form_encoded};

/// How many parameters there may be: many times what any request here needs.
pub const PARAMETERS_MAX: usize = 64;

/// The only ones of OAuth that may be there more than once (RFC 8693, 2.1; RFC 8707, 2).
const REPEATED: &[&str] = &["audience", "resource"];

/// How names are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterNames {
    /// As they are written.
    Exact,
    /// Without case: they are in small letters then.
    AnyCase,
}

/// Names and values, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(Vec<(String, String)>);

/// Why a text has no parameters that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParametersError {
    /// A wrong escape, or what is not UTF-8.
    Escape,
    /// More than [`PARAMETERS_MAX`].
    TooMany,
    /// One is there twice (RFC 6749, 3.1 and 3.2).
    Twice(String),
}

impl fmt::Display for ParametersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParametersError::Escape => f.write_str("a parameter has a wrong escape, or is not UTF-8"),
            ParametersError::TooMany => write!(f, "there are more than {PARAMETERS_MAX} parameters"),
            ParametersError::Twice(name) => write!(f, "the parameter `{name}` is there twice"),
        }
    }
}

impl Parameters {
    /// Those of OAuth.
    ///
    /// # Errors
    /// See [`ParametersError`].
    pub fn read(text: &[u8]) -> Result<Parameters, ParametersError> {
        Parameters::parse(text, ParameterNames::Exact, REPEATED)
    }

    /// Those of a query, each there once.
    ///
    /// # Errors
    /// See [`ParametersError`].
    pub fn of_query(text: &str, names: ParameterNames) -> Result<Parameters, ParametersError> {
        Parameters::parse(text.as_bytes(), names, &[])
    }

    fn parse(text: &[u8], names: ParameterNames, repeated: &[&str]) -> Result<Parameters, ParametersError> {
        let mut parameters: Vec<(String, String)> = Vec::new();
        for pair in text.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            let mut parts = pair.splitn(2, |byte| *byte == b'=');
            let mut next = || decoded(parts.next().unwrap_or_default());
            let (Some(mut name), Some(value)) = (next(), next()) else { return Err(ParametersError::Escape) };
            if names == ParameterNames::AnyCase {
                name.make_ascii_lowercase();
            }
            if parameters.len() == PARAMETERS_MAX {
                return Err(ParametersError::TooMany);
            }
            let is_there = parameters.iter().any(|(other, _)| *other == name);
            if is_there && !repeated.contains(&name.as_str()) {
                return Err(ParametersError::Twice(name));
            }
            parameters.push((name, value));
        }
        Ok(Parameters(parameters))
    }

    /// The value of a parameter; one without a value is as if it were not there (RFC 6749, 3.1).
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// The same as text again.
    pub fn to_text(&self) -> String {
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

    /// Of these names alone.
    pub fn only(&self, names: &[&str]) -> Parameters {
        Parameters(self.0.iter().filter(|(name, _)| names.contains(&name.as_str())).cloned().collect())
    }

    /// All values of one that may be there more than once.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(other, _)| other == name);
        named.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// The value of a parameter, also where it is empty.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// All of them, with their names.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The first parameter that is not among these.
    pub fn unknown(&self, known: &[&str]) -> Option<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).find(|name| !known.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_query_are_decoded_and_there_once() {
        let query = Parameters::of_query("realm=%2Fs%20ales+x&&Limit=", ParameterNames::Exact).unwrap();
        assert_eq!(
            (query.given("realm"), query.given("Limit"), query.get("Limit"), query.given("limit")),
            (Some("/s ales x"), Some(""), None, None)
        );
        assert_eq!((query.unknown(&["realm", "Limit"]), query.unknown(&["realm"])), (None, Some("Limit")));
        let folded = Parameters::of_query("StartIndex=1", ParameterNames::AnyCase).unwrap();
        assert_eq!(folded.given("startindex"), Some("1"));
        let twice = || ParametersError::Twice("a".to_owned());
        let many = (0..=PARAMETERS_MAX).map(|number| format!("{number}=&")).collect::<String>();
        for (text, names, error) in [
            ("a=1&a=1", ParameterNames::Exact, twice()),
            ("a=1&A=1", ParameterNames::AnyCase, twice()),
            ("a=%zz", ParameterNames::Exact, ParametersError::Escape),
            ("a=%ff", ParameterNames::Exact, ParametersError::Escape),
            (many.as_str(), ParameterNames::Exact, ParametersError::TooMany),
        ] {
            assert_eq!(Parameters::of_query(text, names), Err(error), "{text}");
        }
    }

    #[test]
    fn parameters_of_oauth_may_name_several_services_and_nothing_else_twice() {
        let form = Parameters::read(b"resource=a&resource=b&audience=&scope=").unwrap();
        assert_eq!(form.all("resource").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((form.get("audience"), form.get("scope")), (None, None));
        assert_eq!(Parameters::read(b"scope=a&scope=b"), Err(ParametersError::Twice("scope".to_owned())));
    }
}
