//! Addresses and bodies with placeholders for the entity and the arguments of an attribute.

use durward_pdp::Value;
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::{Fault, json};
use durward_pdp::stream::Invocation;

use durward_wire::percent::segment_encoded;

use super::http::scalar;
use super::settings::{SettingError, SettingName};

/// A text with placeholders: `{entity}`, `{0}`, `{1}`, ..., or others. Other braces are what they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template<P = Placeholder>(Vec<Part<P>>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part<P> {
    Text(String),
    Placeholder(P),
}

/// A placeholder in what an attribute of SAPL asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Placeholder {
    Entity,
    Argument(usize),
}

/// The most arguments that an attribute takes.
const ARGUMENTS_MAX: usize = 16;

impl<P> Template<P> {
    /// Reads a text whose placeholders `placeholder` knows.
    pub(super) fn of(text: &str, placeholder: impl Fn(&str) -> Option<P>) -> Template<P> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            plain.push_str(before);
            match after.split_once('}').and_then(|(name, after)| Some((placeholder(name)?, after))) {
                Some((placeholder, after)) => {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                    parts.push(Part::Placeholder(placeholder));
                    rest = after;
                }
                None => {
                    plain.push('{');
                    rest = after;
                }
            }
        }
        plain.push_str(rest);
        parts.push(Part::Text(plain));
        Template(parts)
    }

    /// The same with each placeholder, in order, as `change` has it.
    pub(super) fn map<Q>(self, mut change: impl FnMut(P) -> Q) -> Template<Q> {
        let part = |part| match part {
            Part::Text(text) => Part::Text(text),
            Part::Placeholder(placeholder) => Part::Placeholder(change(placeholder)),
        };
        Template(self.0.into_iter().map(part).collect())
    }

    /// The placeholders, in order.
    pub(super) fn placeholders(&self) -> impl Iterator<Item = &P> {
        self.0.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Placeholder(placeholder) => Some(placeholder),
        })
    }

    /// What stands around the placeholders.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Placeholder(_) => None,
        })
    }

    /// What stands before the first placeholder.
    pub(super) fn beginning(&self) -> &str {
        self.texts().next().unwrap_or_default()
    }

    /// The text with something in each placeholder.
    ///
    /// # Errors
    /// What `write` says of a placeholder.
    pub(super) fn filled<E>(&self, write: impl Fn(&P, &mut String) -> Result<(), E>) -> Result<String, E> {
        let mut out = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Placeholder(placeholder) => write(placeholder, &mut out)?,
            }
        }
        Ok(out)
    }
}

impl<P> Template<P> {
    /// Looks whether this is JSON with a whole value in each placeholder, be it a text or a number.
    ///
    /// # Errors
    /// It is none; says where, with `"x"` or `7` in the placeholders.
    pub(super) fn check_json(&self, setting: &SettingName) -> Result<(), SettingError> {
        for example in ["\"x\"", "7"] {
            let text = self.texts().collect::<Vec<_>>().join(example);
            let wrong = |error| {
                setting.wrong(format!(
                    "has a `body` that is no JSON with a value such as {example} in each placeholder: {error}; each placeholder is a whole value, without quotation marks"
                ))
            };
            json::read(&text).map_err(wrong)?;
        }
        Ok(())
    }
}

/// Appends a value as one segment of an address, or part of one.
///
/// # Errors
/// It leads elsewhere.
pub(super) fn write_segment(text: &str, out: &mut String) -> Evaluated<()> {
    if matches!(text, "" | "." | "..") {
        return Err(Fault::processing(format!("`{text}` cannot be part of an address")));
    }
    segment_encoded(text, out);
    Ok(())
}

impl Template {
    pub(super) fn read(text: &str) -> Template {
        Template::of(text, placeholder)
    }

    pub(super) fn has_entity(&self) -> bool {
        self.placeholders().any(|placeholder| *placeholder == Placeholder::Entity)
    }

    /// How many arguments it has placeholders for.
    pub(super) fn argument_count(&self) -> usize {
        let count = |placeholder: &Placeholder| match placeholder {
            Placeholder::Argument(number) => number + 1,
            Placeholder::Entity => 0,
        };
        self.placeholders().map(count).max().unwrap_or(0)
    }

    /// An address: every value is one segment of a path, or part of one.
    ///
    /// # Errors
    /// A value that cannot be one.
    pub(super) fn address(&self, invocation: &Invocation) -> Evaluated<String> {
        let wrong = || Fault::processing("what is to be part of an address is neither text nor number");
        self.fill(invocation, |value, out| {
            let text = scalar(value).ok_or_else(wrong)?;
            write_segment(&text, out)
        })
    }

    /// A text of JSON.
    ///
    /// # Errors
    /// A value that JSON does not have.
    pub(super) fn json(&self, invocation: &Invocation) -> Evaluated<String> {
        self.fill(invocation, |value, out| {
            if value.is_undefined() || value.holds_undefined() {
                return Err(Fault::processing("an argument is undefined"));
            }
            value.write_json(out);
            Ok(())
        })
    }

    fn fill(
        &self,
        invocation: &Invocation,
        write: impl Fn(&Value, &mut String) -> Evaluated<()>,
    ) -> Evaluated<String> {
        let missing = || Fault::processing("there is no value for a placeholder");
        self.filled(|placeholder, out| {
            let value = match placeholder {
                Placeholder::Entity => invocation.entity.as_ref(),
                Placeholder::Argument(number) => invocation.arguments.get(*number),
            };
            write(value.ok_or_else(missing)?, out)
        })
    }
}

fn placeholder(name: &str) -> Option<Placeholder> {
    if name == "entity" {
        return Some(Placeholder::Entity);
    }
    let number = name.parse::<usize>().ok().filter(|number| *number < ARGUMENTS_MAX)?;
    (number.to_string() == name).then_some(Placeholder::Argument(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invocation() -> Invocation {
        Invocation::entity(Value::Text("a/b ü".into()), "x.y", [Value::number(7), Value::Text("\"".into())])
    }

    #[test]
    fn values_become_one_segment_each() {
        let template = Template::read("https://hr/{entity}/{0}?q={1}");
        assert_eq!(template.address(&invocation()).unwrap(), "https://hr/a%2Fb%20%C3%BC/7?q=%22");
        assert!(template.has_entity());
        assert_eq!(template.argument_count(), 2);
        assert_eq!(template.beginning(), "https://hr/");
    }

    #[test]
    fn values_that_lead_elsewhere_are_refused() {
        for text in ["", ".", ".."] {
            let invocation = Invocation::entity(Value::Text(text.into()), "x.y", []);
            assert!(Template::read("https://hr/{entity}").address(&invocation).is_err());
        }
        let invocation = Invocation::entity(Value::Null, "x.y", []);
        assert!(Template::read("https://hr/{entity}").address(&invocation).is_err());
    }

    #[test]
    fn a_body_that_is_no_json_is_told_from_one_that_is() {
        let setting = SettingName("attributes.x".into());
        for good in [r#"{"a": {entity}, "b": [{0}, {1}], "c": {}}"#, "{entity}", r#"["{99}"]"#, "[]"] {
            assert_eq!(Template::read(good).check_json(&setting), Ok(()), "{good}");
        }
        for (bad, place) in [
            (r#"{"a": "{entity}"}"#, "line 1"),
            (r#"{"a": {entity}"#, "line 1"),
            ("{\"a\":\n {entity} {0}}", "line 2"),
            (r#"{"a": {entitiy}}"#, "line 1"),
            // Beside digits, a number is another number.
            (r#"{"a": 1{entity}}"#, "line 1"),
            ("{ {entity}: 1}", "line 1"),
            ("", "line 1"),
        ] {
            let message = Template::read(bad).check_json(&setting).unwrap_err().to_string();
            assert!(message.contains("`body`") && message.contains(place), "{bad}: {message}");
        }
    }

    #[test]
    fn other_braces_are_what_they_are() {
        let body = Template::read(r#"{"a": {entity}, "b": [{0}, {1}], "c": {}, "d": "{99}"}"#);
        let filled = body.json(&invocation()).unwrap();
        assert_eq!(filled, r#"{"a": "a/b ü", "b": [7, "\""], "c": {}, "d": "{99}"}"#);
    }
}
