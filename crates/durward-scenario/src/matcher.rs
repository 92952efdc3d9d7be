//! Matchers: whether a value is as a test says it must be.

use durward_pdp::Value;
use durward_pdp::ir::structure::regex::Regex;
use durward_pdp::sapl::syntax::sapltest::tree::{DutyMatcher, Matcher, NodeMatcher, TextMatcher};
use smol_str::SmolStr;

use crate::error::PlayError;
use crate::literal;

/// What an argument or an entity must be.
#[derive(Clone, Debug)]
pub(crate) enum ArgumentMatcher {
    Any,
    Exact(Value),
    Matching(ValueMatcher),
}

impl ArgumentMatcher {
    /// # Errors
    /// A number or a regular expression that is none.
    pub(crate) fn new(matcher: &Matcher) -> Result<ArgumentMatcher, PlayError> {
        Ok(match matcher {
            Matcher::Any => ArgumentMatcher::Any,
            Matcher::Value(value) => ArgumentMatcher::Exact(literal::value(value)?),
            Matcher::Matching(node) => ArgumentMatcher::Matching(ValueMatcher::new(node)?),
        })
    }

    /// All of them.
    ///
    /// # Errors
    /// See [`ArgumentMatcher::new`].
    pub(crate) fn all(matchers: Option<&Vec<Matcher>>) -> Result<Vec<ArgumentMatcher>, PlayError> {
        matchers.into_iter().flatten().map(ArgumentMatcher::new).collect()
    }

    pub(crate) fn matches(&self, value: &Value) -> bool {
        match self {
            ArgumentMatcher::Any => true,
            ArgumentMatcher::Exact(expected) => expected.equals(value),
            ArgumentMatcher::Matching(node) => node.matches(value),
        }
    }

    /// Of several that match, the one with the highest number counts.
    pub(crate) fn specificity(&self) -> u64 {
        match self {
            ArgumentMatcher::Any => 0,
            ArgumentMatcher::Matching(_) => 1,
            ArgumentMatcher::Exact(_) => 2,
        }
    }
}

/// What an obligation, advice or resource must be.
#[derive(Clone, Debug)]
pub(crate) enum PartMatcher {
    Equal(Value),
    Matching(ValueMatcher),
    Containing { key: SmolStr, value: Option<ValueMatcher> },
}

impl PartMatcher {
    /// # Errors
    /// See [`ArgumentMatcher::new`].
    pub(crate) fn new(matcher: &DutyMatcher) -> Result<PartMatcher, PlayError> {
        Ok(match matcher {
            DutyMatcher::Equals(value) => PartMatcher::Equal(literal::value(value)?),
            DutyMatcher::Matching(node) => PartMatcher::Matching(ValueMatcher::new(node)?),
            DutyMatcher::Containing { key, value } => PartMatcher::Containing {
                key: key.text.clone(),
                value: value.as_ref().map(ValueMatcher::new).transpose()?,
            },
        })
    }

    pub(crate) fn matches(&self, value: &Value) -> bool {
        match self {
            PartMatcher::Equal(expected) => expected.equals(value),
            PartMatcher::Matching(node) => node.matches(value),
            PartMatcher::Containing { key, value: expected } => {
                let found = value.as_object().and_then(|object| object.get(key));
                found.is_some_and(|found| expected.as_ref().is_none_or(|node| node.matches(found)))
            }
        }
    }
}

/// What stands after `matching`.
#[derive(Clone, Debug)]
pub(crate) enum ValueMatcher {
    Null,
    Text(Option<TextPattern>),
    Number(Option<Value>),
    Boolean(Option<bool>),
    Array(Option<Vec<ValueMatcher>>),
    Object(Option<Vec<(SmolStr, ValueMatcher)>>),
}

impl ValueMatcher {
    /// # Errors
    /// See [`ArgumentMatcher::new`].
    pub(crate) fn new(matcher: &NodeMatcher) -> Result<ValueMatcher, PlayError> {
        Ok(match matcher {
            NodeMatcher::Null => ValueMatcher::Null,
            NodeMatcher::Text(text) => ValueMatcher::Text(text.as_ref().map(TextPattern::new).transpose()?),
            NodeMatcher::Number(number) => {
                ValueMatcher::Number(number.as_ref().map(|digits| literal::number(digits)).transpose()?)
            }
            NodeMatcher::Boolean(boolean) => ValueMatcher::Boolean(*boolean),
            NodeMatcher::Array(elements) => {
                let nodes = |elements: &Vec<NodeMatcher>| {
                    elements.iter().map(ValueMatcher::new).collect::<Result<_, _>>()
                };
                ValueMatcher::Array(elements.as_ref().map(nodes).transpose()?)
            }
            NodeMatcher::Object(None) => ValueMatcher::Object(None),
            NodeMatcher::Object(Some(members)) => {
                let member = |member: &_| -> Result<(SmolStr, ValueMatcher), PlayError> {
                    let durward_pdp::sapl::syntax::sapltest::tree::MemberMatcher { key, value } = member;
                    Ok((key.text.clone(), ValueMatcher::new(value)?))
                };
                ValueMatcher::Object(Some(members.iter().map(member).collect::<Result<_, _>>()?))
            }
        })
    }

    pub(crate) fn matches(&self, value: &Value) -> bool {
        let is_null = matches!(value, Value::Null);
        match self {
            ValueMatcher::Null => is_null,
            ValueMatcher::Text(None) => value.as_text().is_some(),
            ValueMatcher::Text(Some(text)) => text.matches(value.as_text(), is_null),
            ValueMatcher::Number(None) => value.as_number().is_some(),
            ValueMatcher::Number(Some(number)) => number.equals(value),
            ValueMatcher::Boolean(None) => value.as_boolean().is_some(),
            ValueMatcher::Boolean(Some(boolean)) => value.as_boolean() == Some(*boolean),
            ValueMatcher::Array(None) => value.as_array().is_some(),
            ValueMatcher::Array(Some(nodes)) => {
                value.as_array().is_some_and(|values| each_has_one(nodes, values))
            }
            ValueMatcher::Object(None) => value.as_object().is_some(),
            ValueMatcher::Object(Some(members)) => value.as_object().is_some_and(|object| {
                members.iter().all(|(key, node)| object.get(key).is_some_and(|value| node.matches(value)))
            }),
        }
    }
}

/// Whether every matcher finds an element of its own, wherever it stands: each takes the first that is left.
fn each_has_one(nodes: &[ValueMatcher], values: &[Value]) -> bool {
    let mut left: Vec<&Value> = values.iter().collect();
    nodes.iter().all(|node| {
        let found = left.iter().position(|value| node.matches(value));
        found.map(|at| left.remove(at)).is_some()
    })
}

/// What a text must be.
#[derive(Clone, Debug)]
pub(crate) enum TextPattern {
    Is(SmolStr),
    Null,
    Blank,
    Empty,
    NullOrEmpty,
    NullOrBlank,
    Compressed(String),
    /// In lower case.
    IgnoringCase(String),
    Regex(Regex),
    Starting(TextAffix),
    Ending(TextAffix),
    Containing(TextAffix),
    InOrder(Vec<SmolStr>),
    /// In UTF-16 units, as the length of texts is counted in policies.
    Length(u32),
}

/// A part of a text, perhaps whatever its case.
#[derive(Clone, Debug)]
pub(crate) struct TextAffix {
    text: String,
    ignoring_case: bool,
}

impl TextAffix {
    fn new(text: &str, ignoring_case: bool) -> TextAffix {
        TextAffix { text: if ignoring_case { text.to_lowercase() } else { text.to_owned() }, ignoring_case }
    }

    fn is(&self, whole: &str, test: fn(&str, &str) -> bool) -> bool {
        if self.ignoring_case { test(&whole.to_lowercase(), &self.text) } else { test(whole, &self.text) }
    }
}

impl TextPattern {
    fn new(matcher: &TextMatcher) -> Result<TextPattern, PlayError> {
        Ok(match matcher {
            TextMatcher::Is(text) => TextPattern::Is(text.text.clone()),
            TextMatcher::Null => TextPattern::Null,
            TextMatcher::Blank => TextPattern::Blank,
            TextMatcher::Empty => TextPattern::Empty,
            TextMatcher::NullOrEmpty => TextPattern::NullOrEmpty,
            TextMatcher::NullOrBlank => TextPattern::NullOrBlank,
            TextMatcher::EqualCompressed(text) => TextPattern::Compressed(compressed(&text.text)),
            TextMatcher::EqualIgnoringCase(text) => TextPattern::IgnoringCase(text.text.to_lowercase()),
            TextMatcher::Regex(text) => {
                let regex = Regex::compile(&text.text);
                TextPattern::Regex(regex.map_err(|error| PlayError::new(error.to_string()))?)
            }
            TextMatcher::Starting { text, ignoring_case } => {
                TextPattern::Starting(TextAffix::new(&text.text, *ignoring_case))
            }
            TextMatcher::Ending { text, ignoring_case } => {
                TextPattern::Ending(TextAffix::new(&text.text, *ignoring_case))
            }
            TextMatcher::Containing { text, ignoring_case } => {
                TextPattern::Containing(TextAffix::new(&text.text, *ignoring_case))
            }
            TextMatcher::InOrder(texts) => {
                TextPattern::InOrder(texts.iter().map(|text| text.text.clone()).collect())
            }
            TextMatcher::Length(length) => TextPattern::Length(*length),
        })
    }

    /// `None` is anything but a text.
    fn matches(&self, text: Option<&str>, is_null: bool) -> bool {
        let Some(text) = text else {
            return is_null
                && matches!(self, TextPattern::Null | TextPattern::NullOrEmpty | TextPattern::NullOrBlank);
        };
        match self {
            TextPattern::Is(expected) => text == expected,
            TextPattern::Null => false,
            TextPattern::Blank | TextPattern::NullOrBlank => text.chars().all(char::is_whitespace),
            TextPattern::Empty | TextPattern::NullOrEmpty => text.is_empty(),
            TextPattern::Compressed(expected) => compressed(text) == *expected,
            TextPattern::IgnoringCase(expected) => text.to_lowercase() == *expected,
            // One that takes too long to match does not.
            TextPattern::Regex(regex) => regex.matches(text).unwrap_or(false),
            TextPattern::Starting(affix) => affix.is(text, |whole, part| whole.starts_with(part)),
            TextPattern::Ending(affix) => affix.is(text, |whole, part| whole.ends_with(part)),
            TextPattern::Containing(affix) => affix.is(text, |whole, part| whole.contains(part)),
            TextPattern::InOrder(parts) => contains_in_order(text, parts),
            TextPattern::Length(length) => text.encode_utf16().count() == *length as usize,
        }
    }
}

/// Every run of white space as one blank, none at the ends.
fn compressed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn contains_in_order(text: &str, parts: &[SmolStr]) -> bool {
    let mut rest = text;
    parts.iter().all(|part| match rest.split_once(part.as_str()) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => false,
    })
}
