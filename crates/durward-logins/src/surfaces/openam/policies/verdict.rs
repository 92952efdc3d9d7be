//! What an agent of OpenAM can make of a decision: whether an action is permitted, attributes of the user for the application, and advices
//! that say what a user lacks.
//!
//! Policies say attributes and advices as obligations or as advice, in SAPL `{"type": "openam:attributes", "values": {"uid": ["demo"]}}`, in
//! XACML `urn:durward:openam:attributes` with an assignment for each value; `advices` likewise. An agent is told nothing else: a permit with
//! another obligation is no permit, because nobody would discharge it.

use std::collections::BTreeMap;

use durward_pdp::Value;

/// Names with lists of texts.
pub(super) type Texts = BTreeMap<String, Vec<String>>;

/// What is decided about one action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) is_permitted: bool,
    pub(super) attributes: Texts,
    pub(super) advices: Texts,
}

/// Which of the two an obligation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Attributes,
    Advices,
}

impl Told {
    /// By what stands behind `openam:`.
    pub(super) fn named(name: &str) -> Option<Told> {
        match name {
            "attributes" => Some(Told::Attributes),
            "advices" => Some(Told::Advices),
            _ => None,
        }
    }
}

impl Verdict {
    pub(super) fn say(&mut self, told: Told, name: &str, value: &str) {
        let texts = match told {
            Told::Attributes => &mut self.attributes,
            Told::Advices => &mut self.advices,
        };
        let values = texts.entry(name.to_owned()).or_default();
        if !values.iter().any(|known| known == value) {
            values.push(value.to_owned());
        }
    }

    /// Takes an obligation, or advice, of SAPL. `false` where an agent cannot know what it is.
    pub(super) fn take(&mut self, said: &Value) -> bool {
        let Some((told, values)) = read(said) else { return false };
        for (name, value) in values {
            self.say(told, &name, &value);
        }
        true
    }

    /// What is so of all actions together.
    pub(super) fn add(&mut self, other: &Verdict) {
        let both = [(Told::Attributes, &other.attributes), (Told::Advices, &other.advices)];
        for (told, texts) in both {
            for (name, values) in texts {
                values.iter().for_each(|value| self.say(told, name, value));
            }
        }
    }

    /// The verdict, once it is known whether the decision is a permit: attributes go with permits alone.
    pub(super) fn of(self, is_permitted: bool) -> Verdict {
        let attributes = if is_permitted { self.attributes } else { Texts::new() };
        Verdict { is_permitted, attributes, ..self }
    }
}

/// `{"type": "openam:attributes", "values": {"name": "value", "other": ["value"]}}`, and nothing beside it.
fn read(said: &Value) -> Option<(Told, Vec<(String, String)>)> {
    let object = said.as_object().filter(|object| object.len() == 2)?;
    let told = Told::named(object.get("type")?.as_text()?.strip_prefix("openam:")?)?;
    let mut pairs = Vec::new();
    for (name, value) in object.get("values")?.as_object()?.iter() {
        let mut push = |value: &Value| {
            pairs.push((name.as_str().to_owned(), value.as_text()?.to_owned()));
            Some(())
        };
        if let Value::Array(values) = value {
            values.iter().try_for_each(push)?;
        } else {
            push(value)?;
        }
    }
    Some((told, pairs))
}

#[cfg(test)]
mod tests {
    use durward_pdp::ir::json;

    use super::*;

    #[test]
    fn only_what_an_agent_can_be_told_is_understood() {
        let take = |text: &str| {
            let mut verdict = Verdict::default();
            verdict.take(&json::read(text).unwrap()).then_some(verdict)
        };
        let verdict = take(r#"{"type":"openam:attributes","values":{"uid":["demo"],"cn":"Demo"}}"#).unwrap();
        assert_eq!(verdict.attributes["uid"], ["demo"]);
        assert_eq!(verdict.attributes["cn"], ["Demo"]);
        let verdict =
            take(r#"{"values":{"AuthLevelConditionAdvice":["2"]},"type":"openam:advices"}"#).unwrap();
        assert_eq!(verdict.advices["AuthLevelConditionAdvice"], ["2"]);
        assert!(verdict.attributes.is_empty());
        for other in [
            r#"{"type":"openam:attributes","values":{"uid":["demo"]},"also":"log"}"#,
            r#"{"type":"openam:attributes","values":{"uid":[1]}}"#,
            r#"{"type":"openam:attributes","values":{"uid":{"a":"b"}}}"#,
            r#"{"type":"openam:attributes","values":["uid"]}"#,
            r#"{"type":"openam:attributes"}"#,
            r#"{"type":"openam:log","values":{}}"#,
            r#"{"type":"attributes","values":{}}"#,
            r#""openam:attributes""#,
            "null",
        ] {
            assert_eq!(take(other), None, "{other}");
        }
    }
}
