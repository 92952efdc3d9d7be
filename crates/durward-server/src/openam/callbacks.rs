//! Callbacks: what a login asks for, and what was filled in.

use serde::Serialize;
use serde_json::Value;

/// Who and with which password, as OpenAM's data store module asks; or the code of a second step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Credentials,
    Code,
}

/// What a client is to fill in.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Asked<'a> {
    auth_id: &'a str,
    template: &'static str,
    stage: &'static str,
    header: &'static str,
    info_text: &'static [&'static str],
    callbacks: &'static [Callback],
}

#[derive(Serialize)]
struct Callback {
    #[serde(rename = "type")]
    kind: &'static str,
    output: [Field; 1],
    input: [Field; 1],
}

#[derive(Serialize)]
struct Field {
    name: &'static str,
    value: &'static str,
}

const NAME: &str = "NameCallback";
const PASSWORD: &str = "PasswordCallback";

const CREDENTIALS: &[Callback] =
    &[callback(NAME, "User Name:", "IDToken1"), callback(PASSWORD, "Password:", "IDToken2")];

const CODE: &[Callback] = &[callback(PASSWORD, "Enter your verification code:", "IDToken1")];

const fn callback(kind: &'static str, prompt: &'static str, input: &'static str) -> Callback {
    let output = [Field { name: "prompt", value: prompt }];
    Callback { kind, output, input: [Field { name: input, value: "" }] }
}

impl<'a> Asked<'a> {
    pub(super) fn of(step: Step, auth_id: &'a str) -> Asked<'a> {
        let (stage, header, info_text, callbacks): (_, _, &[&str], _) = match step {
            Step::Credentials => ("DataStore1", "Sign in to OpenAM", &["", ""], CREDENTIALS),
            Step::Code => ("OATH1", "Verification code", &[""], CODE),
        };
        Asked { auth_id, template: "", stage, header, info_text, callbacks }
    }
}

/// What was filled in: one value for each callback of the step, of its type and in its order.
pub(super) fn filled(step: Step, callbacks: &Value) -> Option<Vec<&str>> {
    let asked = match step {
        Step::Credentials => CREDENTIALS,
        Step::Code => CODE,
    };
    let given = callbacks.as_array().filter(|given| given.len() == asked.len())?;
    let values = asked.iter().zip(given).map(|(asked, given)| {
        let is_of_type = given.get("type").and_then(Value::as_str) == Some(asked.kind);
        let value = given.get("input")?.get(0)?.get("value")?.as_str();
        value.filter(|_| is_of_type)
    });
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_can_be_filled_in_and_nothing_else_is_taken() {
        let text = serde_json::to_string(&Asked::of(Step::Credentials, "x")).unwrap();
        assert!(text.starts_with(r#"{"authId":"x","template":"","stage":"DataStore1","header":"#), "{text}");
        let asked: Value = serde_json::from_str(&text.replace(r#""value":"""#, r#""value":"v""#)).unwrap();
        assert_eq!(filled(Step::Credentials, &asked["callbacks"]), Some(vec!["v", "v"]));
        assert_eq!(filled(Step::Code, &asked["callbacks"]), None);
        for other in ["[]", "{}", "null", r#"[1,2]"#, r#"[{"type":"NameCallback"},{}]"#] {
            assert_eq!(filled(Step::Credentials, &serde_json::from_str(other).unwrap()), None, "{other}");
        }
    }
}
