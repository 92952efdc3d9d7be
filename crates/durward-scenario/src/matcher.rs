//! Matchers: whether a value is as a test says it must be.

use durward_pdp::Value;
use durward_pdp::ir::structure::regex::Regex;
use durward_pdp::sapl::syntax::sapltest::tree::{DutyMatcher, Matcher, NodeMatcher, TextMatcher};
use smol_str::SmolStr;

use crate::literal;

/// What an argument or an entity must be.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    Any,
    Exact(Value),
    Matching(Node),
}

impl Argument {
    /// # Errors
    /// A number or a regular expression that is none.
    pub(crate) fn new(matcher: &Matcher) -> Result<Argument, String> {
        Ok(match matcher {
            Matcher::Any => Argument::Any,
            Matcher::Value(value) => Argument::Exact(literal::value(value)?),
            Matcher::Matching(node) => Argument::Matching(Node::new(node)?),
        })
    }

    /// All of them.
    ///
    /// # Errors
    /// See [`Argument::new`].
    pub(crate) fn all(matchers: Option<&Vec<Matcher>>) -> Result<Vec<Argument>, String> {
        matchers.into_iter().flatten().map(Argument::new).collect()
    }

    pub(crate) fn matches(&self, value: &Value) -> bool {
        match self {
            Argument::Any => true,
            Argument::Exact(expected) => expected.equals(value),
            Argument::Matching(node) => node.matches(value),
        }
    }

    /// Of several that match, the one with the highest number counts.
    pub(crate) fn specificity(&self) -> u64 {
        match self {
            Argument::Any => 0,
            Argument::Matching(_) => 1,
            Argument::Exact(_) => 2,
        }
    }
}

/// What an obligation, advice or resource must be.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Equal(Value),
    Matching(Node),
    Containing { key: SmolStr, value: Option<Node> },
}

impl Part {
    /// # Errors
    /// See [`Argument::new`].
    pub(crate) fn new(matcher: &DutyMatcher) -> Result<Part, String> {
        Ok(match matcher {
            DutyMatcher::Equals(value) => Part::Equal(literal::value(value)?),
            DutyMatcher::Matching(node) => Part::Matching(Node::new(node)?),
            DutyMatcher::Containing { key, value } => {
                Part::Containing { key: key.text.clone(), value: value.as_ref().map(Node::new).transpose()? }
            }
        })
    }

    pub(crate) fn matches(&self, value: &Value) -> bool {
        match self {
            Part::Equal(expected) => expected.equals(value),
            Part::Matching(node) => node.matches(value),
            Part::Containing { key, value: expected } => {
                let found = value.as_object().and_then(|object| object.get(key));
                found.is_some_and(|found| expected.as_ref().is_none_or(|node| node.matches(found)))
            }
        }
    }
}

/// What stands after `matching`.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Null,
    Text(Option<Text>),
    Number(Option<Value>),
    Boolean(Option<bool>),
    Array(Option<Vec<Node>>),
    Object(Option<Vec<(SmolStr, Node)>>),
}

impl Node {
    /// # Errors
    /// See [`Argument::new`].
    pub(crate) fn new(matcher: &NodeMatcher) -> Result<Node, String> {
        Ok(match matcher {
            NodeMatcher::Null => Node::Null,
            NodeMatcher::Text(text) => Node::Text(text.as_ref().map(Text::new).transpose()?),
            NodeMatcher::Number(number) => {
                Node::Number(number.as_ref().map(|digits| literal::number(digits)).transpose()?)
            }
            NodeMatcher::Boolean(boolean) => Node::Boolean(*boolean),
            NodeMatcher::Array(elements) => {
                let nodes =
                    |elements: &Vec<NodeMatcher>| elements.iter().map(Node::new).collect::<Result<_, _>>();
                Node::Array(elements.as_ref().map(nodes).transpose()?)
            }
            NodeMatcher::Object(None) => Node::Object(None),
            NodeMatcher::Object(Some(members)) => {
                let member = |member: &_| -> Result<(SmolStr, Node), String> {
                    let durward_pdp::sapl::syntax::sapltest::tree::MemberMatcher { key, value } = member;
                    Ok((key.text.clone(), Node::new(value)?))
                };
                Node::Object(Some(members.iter().map(member).collect::<Result<_, _>>()?))
            }
        })
    }

    pub(crate) fn matches(&self, value: &Value) -> bool {
        let is_null = matches!(value, Value::Null);
        match self {
            Node::Null => is_null,
            Node::Text(None) => value.as_text().is_some(),
            Node::Text(Some(text)) => text.matches(value.as_text(), is_null),
            Node::Number(None) => value.as_number().is_some(),
            Node::Number(Some(number)) => number.equals(value),
            Node::Boolean(None) => value.as_boolean().is_some(),
            Node::Boolean(Some(boolean)) => value.as_boolean() == Some(*boolean),
            Node::Array(None) => value.as_array().is_some(),
            Node::Array(Some(nodes)) => value.as_array().is_some_and(|values| each_has_one(nodes, values)),
            Node::Object(None) => value.as_object().is_some(),
            Node::Object(Some(members)) => value.as_object().is_some_and(|object| {
                members.iter().all(|(key, node)| object.get(key).is_some_and(|value| node.matches(value)))
            }),
        }
    }
}

/// Whether every matcher finds an element of its own, wherever it stands: each takes the first that is left.
fn each_has_one(nodes: &[Node], values: &[Value]) -> bool {
    let mut left: Vec<&Value> = values.iter().collect();
    nodes.iter().all(|node| {
        let found = left.iter().position(|value| node.matches(value));
        found.map(|at| left.remove(at)).is_some()
    })
}

/// What a text must be.
#[derive(Clone, Debug)]
pub(crate) enum Text {
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
    Starting(Affix),
    Ending(Affix),
    Containing(Affix),
    InOrder(Vec<SmolStr>),
    /// In UTF-16 units, as the length of texts is counted in policies.
    Length(u32),
}

/// A part of a text, perhaps whatever its case.
#[derive(Clone, Debug)]
pub(crate) struct Affix {
    text: String,
    ignoring_case: bool,
}

impl Affix {
    fn new(text: &str, ignoring_case: bool) -> Affix {
        Affix { text: if ignoring_case { text.to_lowercase() } else { text.to_owned() }, ignoring_case }
    }

    fn is(&self, whole: &str, test: fn(&str, &str) -> bool) -> bool {
        if self.ignoring_case { test(&whole.to_lowercase(), &self.text) } else { test(whole, &self.text) }
    }
}

impl Text {
    fn new(matcher: &TextMatcher) -> Result<Text, String> {
        Ok(match matcher {
            TextMatcher::Is(text) => Text::Is(text.text.clone()),
            TextMatcher::Null => Text::Null,
            TextMatcher::Blank => Text::Blank,
            TextMatcher::Empty => Text::Empty,
            TextMatcher::NullOrEmpty => Text::NullOrEmpty,
            TextMatcher::NullOrBlank => Text::NullOrBlank,
            TextMatcher::EqualCompressed(text) => Text::Compressed(compressed(&text.text)),
            TextMatcher::EqualIgnoringCase(text) => Text::IgnoringCase(text.text.to_lowercase()),
            TextMatcher::Regex(text) => {
                Text::Regex(Regex::compile(&text.text).map_err(|error| error.to_string())?)
            }
            TextMatcher::Starting { text, ignoring_case } => {
                Text::Starting(Affix::new(&text.text, *ignoring_case))
            }
            TextMatcher::Ending { text, ignoring_case } => {
                Text::Ending(Affix::new(&text.text, *ignoring_case))
            }
            TextMatcher::Containing { text, ignoring_case } => {
                Text::Containing(Affix::new(&text.text, *ignoring_case))
            }
            TextMatcher::InOrder(texts) => {
                Text::InOrder(texts.iter().map(|text| text.text.clone()).collect())
            }
            TextMatcher::Length(length) => Text::Length(*length),
        })
    }

    /// `None` is anything but a text.
    fn matches(&self, text: Option<&str>, is_null: bool) -> bool {
        let Some(text) = text else {
            return is_null && matches!(self, Text::Null | Text::NullOrEmpty | Text::NullOrBlank);
        };
        match self {
            Text::Is(expected) => text == expected,
            Text::Null => false,
            Text::Blank | Text::NullOrBlank => text.chars().all(char::is_whitespace),
            Text::Empty | Text::NullOrEmpty => text.is_empty(),
            Text::Compressed(expected) => compressed(text) == *expected,
            Text::IgnoringCase(expected) => text.to_lowercase() == *expected,
            // One that takes too long to match does not.
            Text::Regex(regex) => regex.matches(text).unwrap_or(false),
            Text::Starting(affix) => affix.is(text, |whole, part| whole.starts_with(part)),
            Text::Ending(affix) => affix.is(text, |whole, part| whole.ends_with(part)),
            Text::Containing(affix) => affix.is(text, |whole, part| whole.contains(part)),
            Text::InOrder(parts) => contains_in_order(text, parts),
            Text::Length(length) => text.encode_utf16().count() == *length as usize,
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
