//! Random documents, and how they change.

use std::collections::BTreeMap;
use std::fmt::Write;

use durward_pdp::sapl::{Decision, Outcome, Subscription};
use durward_pdp::{Pdp, PolicyChange, PolicyText, Request};
use durward_testdata::TestRandom;

use crate::write::{STRING, SUBJECT, condition, failing, is, must_be, policy, rule, target};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Language {
    Sapl,
    Xacml,
    /// XACML, with little but rules that decide whenever their target matches.
    Deciders,
    Both,
}

/// The documents there should be.
pub(super) struct Documents {
    language: Language,
    by_name: BTreeMap<String, String>,
    /// Makes identifiers that nobody has.
    number: usize,
}

impl Documents {
    pub(super) fn new(language: Language, chance: &mut TestRandom) -> Documents {
        let mut documents = Documents { language, by_name: BTreeMap::new(), number: 0 };
        if language == Language::Sapl {
            let mode =
                chance.of(&["PRIORITY_DENY", "PRIORITY_PERMIT", "UNANIMOUS", "UNIQUE", "UNANIMOUS_STRICT"]);
            let default = chance.of(&["DENY", "ABSTAIN"]);
            let errors = chance.of(&["ABSTAIN", "PROPAGATE"]);
            let text = format!(
                r#"{{"algorithm":{{"votingMode":"{mode}","defaultDecision":"{default}","errorHandling":"{errors}"}},
                    "variables":{{"known":["v0","v1","late0"],"levels":{{"v0":1,"v1":2,"v2":3}}}}}}"#
            );
            documents.by_name.insert("pdp.json".into(), text);
        }
        for _ in 0..20 + chance.below(40) {
            let name = documents.name(chance);
            let text = documents.text(&name, chance);
            documents.by_name.insert(name, text);
        }
        documents
    }

    pub(super) fn texts(&self) -> Vec<PolicyText> {
        let text =
            |(name, text): (&String, &String)| PolicyText { name: name.clone(), text: text.clone().into() };
        self.by_name.iter().map(text).collect()
    }

    fn name(&self, chance: &mut TestRandom) -> String {
        let number = chance.below(500);
        match self.language {
            Language::Sapl => format!("{number:03}.sapl"),
            Language::Xacml | Language::Deciders => format!("{number:03}.xml"),
            Language::Both if chance.percent(50) => format!("{number:03}.sapl"),
            Language::Both => format!("{number:03}.xml"),
        }
    }

    fn text(&mut self, name: &str, chance: &mut TestRandom) -> String {
        self.number += 1;
        if name.ends_with(".sapl") { sapl(self.number, chance) } else { self.xacml(chance) }
    }

    /// Some changes, made here already.
    pub(super) fn change(&mut self, chance: &mut TestRandom) -> Vec<PolicyChange> {
        let mut changes = Vec::new();
        let count = if chance.percent(80) { 1 } else { chance.below(6) };
        for _ in 0..count {
            let names: Vec<String> =
                self.by_name.keys().filter(|name| *name != "pdp.json").cloned().collect();
            let known = names.get(chance.below(names.len())).cloned();
            match known {
                Some(name) if names.len() > 5 && chance.percent(45) => {
                    self.by_name.remove(&name);
                    changes.push(PolicyChange::Remove(name));
                }
                known => {
                    let name = known.filter(|_| chance.percent(40)).unwrap_or_else(|| self.name(chance));
                    let text = self.text(&name, chance);
                    self.by_name.insert(name.clone(), text.clone());
                    changes.push(PolicyChange::Put(PolicyText { name, text: text.into() }));
                }
            }
        }
        changes
    }

    fn xacml(&self, chance: &mut TestRandom) -> String {
        let is_decider = self.language == Language::Deciders;
        let algorithm = match is_decider {
            true => "1.0 first-applicable",
            false => chance.of(&[
                "3.0 deny-overrides",
                "3.0 permit-overrides",
                "1.0 first-applicable",
                "3.0 deny-unless-permit",
            ]),
        };
        let mut rules = String::new();
        for _ in 0..1 + chance.below(3) {
            let effect = chance.of(&["Permit", "Deny"]);
            let mut inner = String::new();
            if chance.percent(if is_decider { 40 } else { 60 }) {
                inner += &target(&comparison(chance));
            }
            if chance.percent(if is_decider { 5 } else { 15 }) {
                inner += &condition(&failing());
            }
            if !is_decider && chance.percent(30) {
                inner += &obligation(self.number, effect);
            }
            rules += &rule(effect, &inner);
        }
        let matches = (0..chance.below(3)).map(|_| comparison(chance)).collect::<String>();
        let id = format!("p{}", self.number);
        let duty =
            if is_decider || chance.percent(70) { String::new() } else { obligation(self.number, "Deny") };
        policy(&id, algorithm, &matches, &(rules + &duty))
    }

    /// Some random questions at once, asked of both.
    pub(super) fn compare_batch(&self, live: &Pdp, fresh: &Pdp, chance: &mut TestRandom, what: &str) {
        if self.language == Language::Xacml || self.language == Language::Deciders {
            return;
        }
        let asked = (0..40).map(|_| {
            let mut asked = Subscription::from_json(question(chance).as_bytes()).unwrap();
            live.encode_subscription(&mut asked);
            asked
        });
        let asked: Vec<Subscription> = asked.collect();
        let mut decisions = vec![Decision::plain(Outcome::Indeterminate); asked.len()];
        assert_eq!(live.decide_batch(&asked, &mut decisions), asked.len());
        for (asked, decision) in asked.iter().zip(decisions) {
            assert_eq!(decision.to_json(), fresh.decide_once(asked).to_json(), "{what}: {asked:?}");
        }
    }

    /// One random question, asked of both.
    pub(super) fn compare(&self, live: &Pdp, fresh: &Pdp, chance: &mut TestRandom, what: &str) {
        if self.language != Language::Xacml && self.language != Language::Deciders {
            let json = question(chance);
            let mut asked = Subscription::from_json(json.as_bytes()).unwrap();
            let expected = fresh.decide_once(&asked).to_json();
            assert_eq!(live.decide_once(&asked).to_json(), expected, "{what}: {json}");
            live.encode_subscription(&mut asked);
            assert_eq!(live.decide_once(&asked).to_json(), expected, "{what}: encoded {json}");
        }
        let mut request = request(chance);
        request.return_policy_ids = chance.percent(20);
        let expected = format!("{:?}", fresh.decide(&request));
        assert_eq!(format!("{:?}", live.decide(&request)), expected, "{what}: {request:?}");
        live.encode(&mut request);
        assert_eq!(format!("{:?}", live.decide(&request)), expected, "{what}: encoded {request:?}");
    }
}

fn obligation(number: usize, on: &str) -> String {
    format!(
        r#"<ObligationExpressions><ObligationExpression ObligationId="o{number}" FulfillOn="{on}">
             <AttributeAssignmentExpression AttributeId="a"><AttributeValue DataType="{STRING}">{number}</AttributeValue>
             </AttributeAssignmentExpression></ObligationExpression></ObligationExpressions>"#
    )
}

/// Names and values of which some come up late.
fn attribute(chance: &mut TestRandom) -> String {
    if chance.percent(5) { format!("late{}", chance.below(4)) } else { format!("a{}", chance.below(3)) }
}

fn value(chance: &mut TestRandom) -> String {
    if chance.percent(10) { format!("late{}", chance.below(6)) } else { format!("v{}", chance.below(4)) }
}

fn comparison(chance: &mut TestRandom) -> String {
    let (attribute, value) = (attribute(chance), value(chance));
    if chance.percent(10) { must_be(&attribute, &value) } else { is(&attribute, &value) }
}

fn request(chance: &mut TestRandom) -> Request {
    let mut builder = Request::builder();
    for _ in 0..chance.below(5) {
        let name = attribute(chance);
        builder = builder.attribute(SUBJECT, &name, value(chance).as_str());
    }
    builder.build()
}

/// A policy or a set.
fn sapl(number: usize, chance: &mut TestRandom) -> String {
    if chance.percent(20) {
        let algorithm = chance.of(&[
            "first or abstain",
            "priority deny or abstain",
            "unanimous or abstain",
            "first or deny",
        ]);
        let mut text = format!("set \"s{number}\" {algorithm}");
        if chance.percent(50) {
            // A target that always fails is refused.
            write!(text, " for {}", sapl_condition(chance).replace("1/0 == 1", "subject.a0 + 1 == 1"))
                .unwrap();
        }
        text.push('\n');
        for inner in 0..1 + chance.below(3) {
            text += &sapl_policy(&format!("i{inner}"), chance);
            text.push('\n');
        }
        return text;
    }
    sapl_policy(&format!("p{number}"), chance)
}

fn sapl_policy(name: &str, chance: &mut TestRandom) -> String {
    let effect = chance.of(&["permit", "deny", "permit", "deny", "suspend"]);
    let mut text = format!("policy \"{name}\" {effect}");
    for _ in 0..chance.below(4) {
        write!(text, " {};", sapl_condition(chance)).unwrap();
    }
    if chance.percent(40) {
        write!(text, " obligation \"{name}-{}\"", chance.below(100)).unwrap();
    }
    if chance.percent(10) {
        write!(text, " advice subject.{}", attribute(chance)).unwrap();
    }
    text
}

fn sapl_condition(chance: &mut TestRandom) -> String {
    let (attribute, value) = (attribute(chance), value(chance));
    match chance.below(12) {
        0 => format!("subject.{attribute} in [\"{value}\", \"v0\"]"),
        1 => format!("!(subject.{attribute} == \"{value}\")"),
        2 => format!("(subject.{attribute} == \"{value}\" || resource.x == \"v1\")"),
        3 => format!("(subject.{attribute} + 1) > 2"),
        4 => "true".into(),
        5 => "false".into(),
        6 => format!("known[0] == \"v0\" && subject.{attribute} in known"),
        7 => format!("levels[(subject.{attribute})] >= 2"),
        8 => "1/0 == 1".into(),
        _ => format!("subject.{attribute} == \"{value}\""),
    }
}

fn question(chance: &mut TestRandom) -> String {
    let mut subject = Vec::new();
    for name in ["a0", "a1", "a2", "late0", "late1", "late2", "late3"] {
        if chance.percent(60) {
            let value = if chance.percent(10) { "7".into() } else { format!("\"{}\"", value(chance)) };
            subject.push(format!("\"{name}\":{value}"));
        }
    }
    format!(
        r#"{{"subject":{{{}}},"action":"read","resource":{{"x":"{}"}}}}"#,
        subject.join(","),
        value(chance)
    )
}
