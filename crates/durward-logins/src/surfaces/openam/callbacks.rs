//! Callbacks: what a login asks for, and what was filled in.

use serde::Serialize;
use serde_json::Value;

/// Who and with which password, as OpenAM's data store module asks; the code of a second step; or another password, as its LDAP module asks
/// for one that must be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Credentials,
    Code,
    NewPassword,
}

/// The callbacks that a client is to fill in.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuthenticationCallbacks<'a> {
    auth_id: &'a str,
    template: &'static str,
    stage: &'static str,
    header: &'static str,
    info_text: &'static [&'static str],
    callbacks: Vec<Callback<'a>>,
}

#[derive(Clone, Copy, Serialize)]
struct Callback<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    output: [Field<'a>; 1],
    input: [Field<'a>; 1],
}

#[derive(Clone, Copy, Serialize)]
struct Field<'a> {
    name: &'static str,
    value: &'a str,
}

const NAME: &str = "NameCallback";
const PASSWORD: &str = "PasswordCallback";

const CREDENTIALS: &[Callback<'static>] =
    &[callback(NAME, "User Name:", "IDToken1"), callback(PASSWORD, "Password:", "IDToken2")];

const CODE: &[Callback<'static>] = &[callback(PASSWORD, "Enter your verification code:", "IDToken1")];

const NEW_PASSWORD: &[Callback<'static>] =
    &[callback(PASSWORD, "New Password", "IDToken1"), callback(PASSWORD, "Confirm Password", "IDToken2")];

const fn callback(kind: &'static str, prompt: &'static str, input: &'static str) -> Callback<'static> {
    let output = [Field { name: "prompt", value: prompt }];
    Callback { kind, output, input: [Field { name: input, value: "" }] }
}

impl<'a> AuthenticationCallbacks<'a> {
    /// With the name of the user in its place, if it is known already.
    pub(super) fn of(step: Step, auth_id: &'a str, user: Option<&'a str>) -> AuthenticationCallbacks<'a> {
        let (stage, header, info_text, asked): (_, _, &[&str], _) = match step {
            Step::Credentials => ("DataStore1", "Sign in to OpenAM", &["", ""], CREDENTIALS),
            Step::Code => ("OATH1", "Verification code", &[""], CODE),
            Step::NewPassword => ("LDAP2", "Change Password", &["", ""], NEW_PASSWORD),
        };
        let mut callbacks = asked.to_vec();
        for callback in callbacks.iter_mut().filter(|callback| callback.kind == NAME) {
            let [input] = &mut callback.input;
            input.value = user.unwrap_or(input.value);
        }
        AuthenticationCallbacks { auth_id, template: "", stage, header, info_text, callbacks }
    }
}

/// What was filled in: one value for each callback of the step, of its type and in its order.
///
/// # Errors
/// It is not that; in OpenAM's words.
pub(super) fn filled(step: Step, callbacks: &Value) -> Result<Vec<&str>, &'static str> {
    let asked = match step {
        Step::Credentials => CREDENTIALS,
        Step::Code => CODE,
        Step::NewPassword => NEW_PASSWORD,
    };
    let given = callbacks.as_array().filter(|given| given.len() == asked.len());
    let given = given.ok_or("Incorrect number of callbacks found in JSON response")?;
    let is_of_type =
        |(asked, given): (&Callback, &Value)| given.get("type").and_then(Value::as_str) == Some(asked.kind);
    if !asked.iter().zip(given).all(is_of_type) {
        return Err("Required callback not found in JSON response");
    }
    let values = given.iter().map(|given| match given.get("input")?.as_array()?.as_slice() {
        [input] => input.get("value")?.as_str(),
        _ => None,
    });
    values.collect::<Option<_>>().ok_or("JSON Callback does not include a input field")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_can_be_filled_in_and_nothing_else_is_taken() {
        let text = serde_json::to_string(&AuthenticationCallbacks::of(Step::Credentials, "x", None)).unwrap();
        assert!(text.starts_with(r#"{"authId":"x","template":"","stage":"DataStore1","header":"#), "{text}");
        let asked: Value = serde_json::from_str(&text.replace(r#""value":"""#, r#""value":"v""#)).unwrap();
        assert_eq!(filled(Step::Credentials, &asked["callbacks"]), Ok(vec!["v", "v"]));
        assert!(filled(Step::Code, &asked["callbacks"]).is_err());
        for other in ["[]", "{}", "null", r#"[1,2]"#, r#"[{"type":"NameCallback"},{}]"#] {
            assert!(filled(Step::Credentials, &serde_json::from_str(other).unwrap()).is_err(), "{other}");
        }
    }
}
