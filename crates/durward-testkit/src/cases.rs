//! Cases of SAPL with the whole decisions of the real engine (`sapl/random` of the recorded data), and where ours differ.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use durward_pdp::sapl::Subscription;
use durward_pdp::{IndexKind, Pdp, PdpBuilder};
use serde::Deserialize;
use serde_json::value::RawValue;

/// One configuration, what it is asked, and what the engine answered.
#[derive(Debug)]
pub struct EngineCase {
    /// Names it.
    pub id: String,
    /// Of which cause it is a repro; empty for generated cases.
    pub about: String,
    /// The text of `pdp.json`.
    pub configuration: String,
    /// The documents' texts, in order.
    pub documents: Vec<String>,
    /// The subscriptions' texts, with numbers as they were written.
    pub subscriptions: Vec<String>,
    /// What the engine answered.
    pub expected: ExpectedAnswer,
}

/// What the engine makes of a configuration.
#[derive(Debug)]
pub enum ExpectedAnswer {
    /// It does not start with these documents.
    Refused,
    /// A decision object for each subscription, in the [normal form](normal) of its text.
    Decisions(Vec<String>),
}

/// An answer that differs from the recorded one.
#[derive(Debug)]
pub struct CaseDifference {
    /// The case's [identifier](Case::id).
    pub id: String,
    /// The number of the subscription, or none where the documents were accepted or refused against the record.
    pub subscription: Option<usize>,
    /// What was recorded, and what was found.
    pub expected: String,
    /// What was found instead.
    pub found: String,
}

impl fmt::Display for CaseDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CaseDifference { id, subscription, expected, found } = self;
        match subscription {
            Some(number) => write!(f, "{id}#{number}: expected {expected}, found {found}"),
            None => write!(f, "{id}: expected {expected}, found {found}"),
        }
    }
}

/// A line of a file of cases.
#[derive(Deserialize)]
struct CaseLine<'t> {
    id: String,
    #[serde(default)]
    about: String,
    #[serde(borrow)]
    pdp: &'t RawValue,
    documents: Vec<String>,
    #[serde(borrow)]
    subscriptions: Vec<&'t RawValue>,
    load: String,
    decisions: Vec<String>,
}

/// The cases of a file of JSON lines.
///
/// # Errors
/// The file cannot be read, or a line is no case.
pub fn read(path: &Path) -> std::io::Result<Vec<EngineCase>> {
    fs::read_to_string(path)?.lines().map(case).collect()
}

fn case(line: &str) -> std::io::Result<EngineCase> {
    let line = without_halves(line);
    let line: CaseLine<'_> = serde_json::from_str(&line)?;
    // Where the configuration is deliberately odd, its text stands as a string.
    let configuration = serde_json::from_str::<String>(line.pdp.get());
    let decisions: Result<Vec<String>, _> = line.decisions.iter().map(|text| normal(text)).collect();
    let expected =
        if line.load == "refused" { ExpectedAnswer::Refused } else { ExpectedAnswer::Decisions(decisions?) };
    Ok(EngineCase {
        id: line.id,
        about: line.about,
        configuration: configuration.unwrap_or_else(|_| line.pdp.get().to_owned()),
        documents: line.documents,
        subscriptions: line.subscriptions.iter().map(|text| text.get().to_owned()).collect(),
        expected,
    })
}

impl EngineCase {
    /// A decision point of the case's documents, still to be built.
    pub fn builder(&self) -> PdpBuilder {
        let builder = Pdp::builder().policy("pdp.json", self.configuration.as_str());
        self.documents.iter().enumerate().fold(builder, |builder, (number, document)| {
            builder.policy(&format!("p{number:05}.sapl"), document.as_str())
        })
    }

    /// What a decision point with this index answers otherwise than the engine.
    pub fn differences(&self, index: IndexKind) -> Vec<CaseDifference> {
        match (self.builder().index(index).build(), &self.expected) {
            (Err(_), ExpectedAnswer::Refused) => Vec::new(),
            (Ok(_), ExpectedAnswer::Refused) => vec![self.load("refused", "accepted".to_owned())],
            (Err(errors), ExpectedAnswer::Decisions(_)) => {
                let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                vec![self.load("accepted", errors.join("; "))]
            }
            (Ok(pdp), ExpectedAnswer::Decisions(_)) => {
                self.compare(|subscription| match Subscription::from_json(subscription.as_bytes()) {
                    Ok(subscription) => pdp.decide_once(&subscription).to_json(),
                    Err(error) => error.to_string(),
                })
            }
        }
    }

    /// What differs of the recorded decisions, asked by `ask`: a subscription's text in, a decision's text out.
    pub fn compare(&self, mut ask: impl FnMut(&str) -> String) -> Vec<CaseDifference> {
        let ExpectedAnswer::Decisions(decisions) = &self.expected else { return Vec::new() };
        let mut differences = Vec::new();
        for (number, (subscription, expected)) in self.subscriptions.iter().zip(decisions).enumerate() {
            let answer = ask(subscription);
            let found = normal(&answer).unwrap_or(answer);
            if found != *expected {
                differences.push(CaseDifference {
                    id: self.id.clone(),
                    subscription: Some(number),
                    expected: expected.clone(),
                    found,
                });
            }
        }
        differences
    }

    fn load(&self, expected: &str, found: String) -> CaseDifference {
        CaseDifference { id: self.id.clone(), subscription: None, expected: expected.to_owned(), found }
    }
}

/// JSON without spaces, with the members of objects in the order of their names, and every number as it was written:
/// two texts are alike where values and number texts are.
///
/// # Errors
/// The text is no JSON.
pub fn normal(text: &str) -> serde_json::Result<String> {
    let mut out = String::new();
    write_normal(serde_json::from_str(text)?, &mut out)?;
    Ok(out)
}

fn write_normal(value: &RawValue, out: &mut String) -> serde_json::Result<()> {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(text)?;
            out.push('{');
            for (number, (name, member)) in members.into_iter().enumerate() {
                out.push_str(if number == 0 { "" } else { "," });
                out.push_str(&serde_json::to_string(&name)?);
                out.push(':');
                write_normal(member, out)?;
            }
            out.push('}');
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text)?;
            out.push('[');
            for (number, item) in items.into_iter().enumerate() {
                out.push_str(if number == 0 { "" } else { "," });
                write_normal(item, out)?;
            }
            out.push(']');
        }
        // Escapes may be written in several ways.
        Some(b'"') => out.push_str(&serde_json::to_string(&serde_json::from_str::<String>(text)?)?),
        _ => out.push_str(text),
    }
    Ok(())
}

/// The text with U+FFFD for every escape of half a surrogate pair: the engine's texts can hold one, ours have the
/// replacement character where a pair is cut, and so has every surface that speaks UTF-8.
fn without_halves(text: &str) -> Cow<'_, str> {
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        out.push_str(before);
        let unit = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
        let second = escape.get(6..).and_then(unit);
        let (length, replacement) = match (unit(escape), second) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (12, None),
            (Some(0xD800..=0xDFFF), _) => (6, Some("\\ufffd")),
            (Some(_), _) => (6, None),
            // A short escape; after the backslash stands one character.
            (None, _) => (1 + escape.chars().nth(1).map_or(0, char::len_utf8), None),
        };
        let (escaped, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        out.push_str(replacement.unwrap_or(escaped));
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::{normal, without_halves};

    #[test]
    fn half_a_surrogate_pair_is_the_replacement_character() {
        for (text, expected) in [
            (r#""a\ud83d\ude00b""#, r#""a\ud83d\ude00b""#),
            (r#""a\uD83d*\n\ude00""#, r#""a\ufffd*\n\ufffd""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\ud83d\u0041""#, r#""\ufffd\u0041""#),
        ] {
            assert_eq!(without_halves(text), expected);
        }
    }

    #[test]
    fn only_the_order_of_members_and_the_way_of_escaping_are_no_difference() {
        let text = normal(r#" {"b": [1.0, 1e400], "a": "\u0041\/"} "#).unwrap();
        assert_eq!(text, r#"{"a":"A/","b":[1.0,1e400]}"#);
        assert_ne!(normal("1.0").unwrap(), normal("1").unwrap());
    }
}
