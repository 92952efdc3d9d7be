//! What a token is bound to (`cnf`; RFC 7800, RFC 9449, 6).

use durward_jwt::{Base64Url, Jws};
use serde_json::{Map, Value, json};

use super::token::Claims;

const CONFIRMATION: &str = "cnf";

const THUMBPRINT: &str = "jkt";

/// What whoever shows a token must have beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Nothing: the token is enough (RFC 6750).
    Bearer,
    /// The private key to the public one of this thumbprint (RFC 9449, 6.1).
    Key(String),
    /// Something that cannot be looked at here, such as a certificate. The token is worth nothing then: without the other half of the
    /// sentence it is not known what the token says.
    Unknown,
}

impl Binding {
    /// What these claims say. A key is one by itself: a token that is bound to something else as well is [`Binding::Unknown`].
    pub fn of(claims: &Map<String, Value>) -> Binding {
        let Some(confirmation) = claims.get(CONFIRMATION) else { return Binding::Bearer };
        let members = confirmation.as_object().filter(|members| members.len() == 1);
        match members.and_then(|members| members.get(THUMBPRINT)?.as_str()) {
            Some(thumbprint) => Binding::Key(thumbprint.to_owned()),
            None => Binding::Unknown,
        }
    }

    /// The claim that binds a token to the key of this thumbprint.
    pub fn claim(thumbprint: &str) -> (String, Value) {
        (CONFIRMATION.to_owned(), json!({ THUMBPRINT: thumbprint }))
    }
}

impl Claims {
    /// What the token is bound to.
    pub fn binding(&self) -> Binding {
        Binding::of(&self.more)
    }
}

/// Whether a token says that it is bound. Nobody verified it: that is a reason to refuse it, and none to believe it. `false` for what is
/// no token, which nobody believes either.
#[inline]
pub fn says_bound(token: &str) -> bool {
    let Ok(token) = Jws::read(token, Base64Url::Exact) else { return false };
    let claims: Result<Map<String, Value>, _> = serde_json::from_slice(token.untrusted_payload());
    claims.is_ok_and(|claims| claims.contains_key(CONFIRMATION))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Binding {
        Binding::of(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn a_binding_that_is_not_understood_is_no_lack_of_one() {
        assert_eq!(of(r#"{"sub":"anna"}"#), Binding::Bearer);
        assert_eq!(of(r#"{"cnf":{"jkt":"abc"}}"#), Binding::Key("abc".to_owned()));
        for other in [
            r#"{"cnf":{"x5t#S256":"abc"}}"#,
            r#"{"cnf":{"jkt":"abc","x5t#S256":"abc"}}"#,
            r#"{"cnf":{"jkt":7}}"#,
            r#"{"cnf":{}}"#,
            r#"{"cnf":null}"#,
            r#"{"cnf":"abc"}"#,
        ] {
            assert_eq!(of(other), Binding::Unknown, "{other}");
        }
    }
}
