//! The parameters of a request to this surface.

use durward_common::base::parameters::Parameters;

use super::refusal::Refusal;

/// Names and values, decoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Form(Parameters);

impl Form {
    /// # Errors
    /// As of [`Parameters::read`].
    pub(super) fn read(body: &[u8]) -> Result<Form, Refusal> {
        Parameters::read(body).map(Form).map_err(|error| Refusal::request(error.to_string()))
    }

    /// All of them.
    pub(super) fn parameters(&self) -> &Parameters {
        &self.0
    }

    /// The value of a parameter; one without a value is as if it were not there (RFC 6749, 3.1).
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)
    }

    /// All values of one that may be there more than once.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.all(name)
    }

    /// The value of a parameter that must be there.
    pub(super) fn need(&self, name: &'static str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| Refusal::request(format!("the parameter `{name}` is missing")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_common::base::parameters::PARAMETERS_MAX;

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
