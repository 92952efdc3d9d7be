//! Parameters of a query, decoded, each there once: which of two counts must not depend on who looks.

use durward_wire::percent::form_decoded;

/// How names are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryNames {
    Exact,
    /// Without case: they are in small letters then.
    AnyCase,
}

/// Names and values.
#[derive(Debug)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// # Errors
    /// What is wrong: a parameter is there twice, or cannot be decoded.
    pub(crate) fn read(text: &str, names: QueryNames) -> Result<Query, QueryError> {
        let mut read: Vec<(String, String)> = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = form_decoded(name.as_bytes()).zip(form_decoded(value.as_bytes()));
            let Some((mut name, value)) = decoded else { return Err(QueryError::Encoding) };
            if names == QueryNames::AnyCase {
                name.make_ascii_lowercase();
            }
            if read.iter().any(|(other, _)| *other == name) {
                return Err(QueryError::Twice(name));
            }
            read.push((name, value));
        }
        Ok(Query(read))
    }

    /// The value of a parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The first parameter that is not among these.
    pub(crate) fn unknown(&self, known: &[&str]) -> Option<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).find(|name| !known.contains(name))
    }
}

/// Why a query cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum QueryError {
    Encoding,
    Twice(String),
}

impl std::fmt::Display for QueryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            QueryError::Encoding => f.write_str("the query is not encoded as queries are"),
            QueryError::Twice(name) => write!(f, "the parameter `{name}` is there twice"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_there_once() {
        let query = Query::read("realm=%2Fs%20ales+x&&Limit=", QueryNames::Exact).unwrap();
        assert_eq!(
            (query.get("realm"), query.get("Limit"), query.get("limit")),
            (Some("/s ales x"), Some(""), None)
        );
        assert_eq!((query.unknown(&["realm", "Limit"]), query.unknown(&["realm"])), (None, Some("Limit")));
        let folded = Query::read("StartIndex=1", QueryNames::AnyCase).unwrap();
        assert_eq!(folded.get("startindex"), Some("1"));
        for (text, names, error) in [
            ("a=1&a=1", QueryNames::Exact, QueryError::Twice("a".to_owned())),
            ("a=1&A=1", QueryNames::AnyCase, QueryError::Twice("a".to_owned())),
            ("a=%zz", QueryNames::Exact, QueryError::Encoding),
            ("a=%ff", QueryNames::Exact, QueryError::Encoding),
        ] {
            assert_eq!(Query::read(text, names).unwrap_err(), error, "{text}");
        }
    }
}
