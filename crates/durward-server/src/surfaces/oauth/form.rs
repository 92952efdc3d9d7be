//! The parameters of a request. A text that two readers could understand in two ways is refused.

use durward_wire::percent::form_decoded as decoded;

use super::refusal::Refusal;

/// How many parameters there may be: many times what any request here needs.
const PARAMETERS_MAX: usize = 64;

/// The only ones that may be there more than once (RFC 8693, 2.1; RFC 8707, 2).
const REPEATED: [&str; 2] = ["audience", "resource"];

/// Names and values, decoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    /// # Errors
    /// More than [`PARAMETERS_MAX`], a wrong escape, one that is there twice (RFC 6749, 3.2).
    pub(super) fn read(body: &[u8]) -> Result<Form, Refusal> {
        let mut parameters: Vec<(String, String)> = Vec::new();
        for pair in body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            let mut parts = pair.splitn(2, |byte| *byte == b'=');
            let mut next = || decoded(parts.next().unwrap_or_default());
            let (Some(name), Some(value)) = (next(), next()) else {
                return Err(Refusal::request("a parameter has a wrong escape, or is not UTF-8"));
            };
            if parameters.len() == PARAMETERS_MAX {
                return Err(Refusal::request(format!("there are more than {PARAMETERS_MAX} parameters")));
            }
            let is_there = parameters.iter().any(|(other, _)| *other == name);
            if is_there && !REPEATED.contains(&name.as_str()) {
                return Err(Refusal::request("a parameter is there twice"));
            }
            parameters.push((name, value));
        }
        Ok(Form(parameters))
    }

    /// The value of a parameter; one without a value is as if it were not there (RFC 6749, 3.1).
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of one that may be there more than once.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(other, _)| other == name);
        named.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// The value of a parameter that must be there.
    pub(super) fn need(&self, name: &'static str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| Refusal::request(format!("the parameter `{name}` is missing")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let form = Form::read(b"a=1&b=x+y%20z%26&audience=p&audience=q&empty=&c").unwrap();
        assert_eq!((form.get("a"), form.get("b")), (Some("1"), Some("x y z&")));
        assert_eq!(form.all("audience").collect::<Vec<_>>(), ["p", "q"]);
        assert_eq!((form.get("empty"), form.get("c"), form.get("d")), (None, None, None));
        assert!(form.need("empty").is_err());
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for body in ["a=1&a=2", "a=&a=2", "a=%", "a=%4", "a=%zz", "a=%+1", "a=%ff", "%=1"] {
            assert!(Form::read(body.as_bytes()).is_err(), "{body}");
        }
        assert!(Form::read(b"a=\xff").is_err());
    }

    #[test]
    fn parameters_have_a_bound() {
        let many = |count: usize| (0..count).map(|number| format!("p{number}=&")).collect::<String>();
        assert!(Form::read(many(PARAMETERS_MAX).as_bytes()).is_ok());
        assert!(Form::read(many(PARAMETERS_MAX + 1).as_bytes()).is_err());
        assert!(Form::read("audience=a&".repeat(PARAMETERS_MAX + 1).as_bytes()).is_err());
    }
}
