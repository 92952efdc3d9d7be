//! Addresses and bodies with places for the entity and the arguments of an attribute.

use durward_pdp::Value;
use durward_pdp::stream::Invocation;

use super::http::{scalar, segment_encoded};

/// A text with places: `{entity}`, `{0}`, `{1}`, ... Other braces are what they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Entity,
    Argument(usize),
}

/// The most arguments that an attribute takes.
const ARGUMENTS_MAX: usize = 16;

impl Template {
    pub(super) fn read(text: &str) -> Template {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            plain.push_str(before);
            match after.split_once('}').and_then(|(name, after)| Some((place(name)?, after))) {
                Some((place, after)) => {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                    parts.push(place);
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

    pub(super) fn has_entity(&self) -> bool {
        self.0.contains(&Part::Entity)
    }

    /// How many arguments it has places for.
    pub(super) fn argument_count(&self) -> usize {
        let count = |part: &Part| match part {
            Part::Argument(number) => number + 1,
            Part::Text(_) | Part::Entity => 0,
        };
        self.0.iter().map(count).max().unwrap_or(0)
    }

    /// What stands before the first place.
    pub(super) fn beginning(&self) -> &str {
        match self.0.first() {
            Some(Part::Text(text)) => text,
            Some(Part::Entity | Part::Argument(_)) | None => "",
        }
    }

    /// An address: every value is one segment of a path, or part of one.
    ///
    /// # Errors
    /// A value that cannot be one.
    pub(super) fn address(&self, invocation: &Invocation) -> Result<String, String> {
        self.fill(invocation, |value, out| {
            let text = scalar(value).ok_or("what is to be part of an address is neither text nor number")?;
            if matches!(text.as_str(), "" | "." | "..") {
                return Err(format!("`{text}` cannot be part of an address"));
            }
            segment_encoded(&text, out);
            Ok(())
        })
    }

    /// A text of JSON.
    ///
    /// # Errors
    /// A value that JSON does not have.
    pub(super) fn json(&self, invocation: &Invocation) -> Result<String, String> {
        self.fill(invocation, |value, out| {
            if value.is_undefined() || value.holds_undefined() {
                return Err("an argument is undefined".into());
            }
            value.write_json(out);
            Ok(())
        })
    }

    fn fill(
        &self,
        invocation: &Invocation,
        write: impl Fn(&Value, &mut String) -> Result<(), String>,
    ) -> Result<String, String> {
        let mut out = String::new();
        for part in &self.0 {
            let value = match part {
                Part::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Part::Entity => invocation.entity.as_ref(),
                Part::Argument(number) => invocation.arguments.get(*number),
            };
            write(value.ok_or("there is nothing to put in a place")?, &mut out)?;
        }
        Ok(out)
    }
}

fn place(name: &str) -> Option<Part> {
    if name == "entity" {
        return Some(Part::Entity);
    }
    let number = name.parse::<usize>().ok().filter(|number| *number < ARGUMENTS_MAX)?;
    (number.to_string() == name).then_some(Part::Argument(number))
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
    fn other_braces_are_what_they_are() {
        let body = Template::read(r#"{"a": {entity}, "b": [{0}, {1}], "c": {}, "d": "{99}"}"#);
        let filled = body.json(&invocation()).unwrap();
        assert_eq!(filled, r#"{"a": "a/b ü", "b": [7, "\""], "c": {}, "d": "{99}"}"#);
    }
}
