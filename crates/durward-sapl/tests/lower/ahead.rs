//! What is computed ahead says what the plain evaluator says: of thousands of random policies over a few parts of the
//! subscription, asked with values that policies name, values they do not, and values of other kinds.

use durward_ir::combine::Vote;
use durward_ir::evaluate::{Evaluator, Everything, ListPolicies, Memory, Unwatched};
use durward_ir::json;
use durward_ir::program::Program;
use durward_ir::question::{Encoding, NoContent, Question};
use durward_ir::value::Value;
use durward_sapl::Subscription;
use durward_testdata::TestShift;

use super::lowered_with;

/// Chance, and the parts that policies look at.
struct Chance(TestShift, Vec<&'static str>);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0.index(end)
    }

    fn of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }
}

const GRAPH: &str = r#"{"ann":{"staff":1,"all":2},"bob":{"all":[]},"cid":{},"7":{"staff":null}}"#;
const LISTS: &str = r#"{"l1":{"owner":"ann","readers":"staff","kind":[{"a":"x"},{"a":"ann","b":"l2"}]},
    "l2":{"owner":"zoe","readers":"all","kind":{"k":{"a":"bob"}}},"l3":{"readers":null},"l4":"ann","l5":["l1","ann"]}"#;

const PARTS: [&str; 5] = ["subject", "resource", "action", "subject.id", "resource.list"];
const VALUES: [&str; 12] = [
    r#""ann""#,
    r#""bob""#,
    r#""l1""#,
    r#""l2""#,
    r#""nobody""#,
    r#""""#,
    "7",
    "true",
    "null",
    "undefined",
    r#"["ann"]"#,
    r#"{"a":"x"}"#,
];

/// Something that has a value.
fn value(chance: &mut Chance, depth: usize) -> String {
    let at = chance.below(chance.1.len());
    let part = chance.1[at];
    match chance.below(if depth == 0 { 3 } else { 9 }) {
        0 | 1 => part.to_owned(),
        2 => chance.of(&VALUES).to_owned(),
        3 => format!("graph[({part})]"),
        4 => format!("lists[({part})]"),
        5 => format!("lists[({part})].{}", chance.of(&["owner", "readers", "kind"])),
        6 => format!("graph[({})]", value(chance, depth - 1)),
        7 => format!(r#"{{"a":{},"b":{}}}"#, value(chance, 0), value(chance, depth - 1)),
        _ => format!("({} + \"\")", value(chance, depth - 1)),
    }
}

/// Something that is true or false.
fn condition(chance: &mut Chance, depth: usize) -> String {
    let operator = chance.of(&["==", "!=", "in", "has", "==", "in", "has", "=~", "<"]);
    match chance.below(if depth == 0 { 3 } else { 6 }) {
        0..3 if operator == "=~" => format!(r#"{} =~ "a.*""#, value(chance, 1)),
        0..3 => format!("{} {operator} {}", value(chance, 2), value(chance, 2)),
        3 => format!("!({})", condition(chance, depth - 1)),
        4 => format!("({} || {})", condition(chance, depth - 1), condition(chance, depth - 1)),
        _ => format!("({} && {})", condition(chance, depth - 1), condition(chance, depth - 1)),
    }
}

fn policies(chance: &mut Chance) -> Vec<String> {
    let parts = 1 + chance.below(3);
    chance.1 = (0..parts).map(|_| chance.of(&PARTS)).collect();
    let count = 1 + chance.below(2);
    let one = |number: usize, chance: &mut Chance| {
        let effect = chance.of(&["permit", "deny", "suspend"]);
        let conditions: Vec<String> = (0..=chance.below(2)).map(|_| condition(chance, 1)).collect();
        format!("policy \"{number}\" {effect} {};", conditions.join("; "))
    };
    (0..count).map(|number| one(number, chance)).collect()
}

fn subscription(chance: &mut Chance) -> String {
    let mut element = |name: &str| {
        let value = match chance.of(&VALUES) {
            "undefined" => "3.5",
            value => value,
        };
        match (chance.below(4), name) {
            (0, "subject") => format!(r#"{{"id":{value}}}"#),
            (0, "resource") => format!(r#"{{"list":{value}}}"#),
            _ => value.to_owned(),
        }
    };
    let (subject, action, resource) = (element("subject"), element("action"), element("resource"));
    format!(r#"{{"subject":{subject},"action":{action},"resource":{resource}}}"#)
}

fn said(vote: &Vote) -> String {
    format!("{:?} {:?}", vote.verdict, vote.fault)
}

fn plain(program: &Program, asked: &Subscription, encoding: &Encoding) -> Vote {
    let question = Question::new(&program.slots, asked, &NoContent, &[], encoding);
    Evaluator::new(program, &question, &Everything, &Unwatched, ListPolicies::No).decide()
}

fn with_tables(program: &Program, asked: &Subscription, encoding: &Encoding) -> Vote {
    let question = Question::new(&program.slots, asked, &NoContent, &[], encoding);
    let memory = Memory::new();
    Evaluator::new(program, &question, &Everything, &Unwatched, ListPolicies::No)
        .remembering(&memory)
        .decide()
}

#[test]
fn what_is_computed_ahead_is_what_the_plain_evaluator_says() {
    let read = |text: &str| json::read(text.as_bytes()).unwrap();
    let variables: [(&str, Value); 2] = [("graph", read(GRAPH)), ("lists", read(LISTS))];
    let mut chance = Chance(TestShift::at(0x5eed), Vec::new());
    let (mut asked, mut foregone) = (0, 0);
    for _ in 0..1_500 {
        let texts = policies(&mut chance);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        // What can never be evaluated is refused.
        let Ok(program) = lowered_with(&variables, &texts) else { continue };
        for _ in 0..20 {
            let text = subscription(&mut chance);
            let mut subscription = Subscription::from_json(text.as_bytes()).unwrap();
            let expected = plain(&program, &subscription, subscription.encoding());
            for is_encoded in [false, true] {
                if is_encoded {
                    subscription.encode(&program.slots);
                }
                let (encoding, context) = (subscription.encoding(), || format!("{texts:#?}\n{text}"));
                let found = plain(&program, &subscription, encoding);
                assert_eq!(said(&found), said(&expected), "plain {}", context());
                let found = with_tables(&program, &subscription, encoding);
                assert_eq!(said(&found), said(&expected), "with tables {}", context());
                if let Some(verdict) = program.foregone(&subscription, encoding) {
                    assert_eq!(verdict, expected.verdict, "foregone {}", context());
                    foregone += 1;
                }
                asked += 1;
            }
        }
    }
    assert!(asked > 20_000 && foregone > 3_000, "{foregone} of {asked} foregone");
}

#[test]
fn conditions_that_would_take_long_to_compute_ahead_are_not() {
    let names = (0..8_000).map(|number| (format!("n{number}"), Value::Text(format!("v{number}").into())));
    let variables: [(&str, Value); 1] = [("names", Value::object(names))];
    let is_foregone = |parts: usize| {
        let parts: Vec<String> = (0..parts).map(|part| format!("names[(subject)] == \"v{part}\"")).collect();
        let policy = format!("policy \"p\" permit {};", parts.join(" || "));
        let program = lowered_with(&variables, &[&policy]).unwrap();
        let asked = Subscription::from_json(br#"{"subject":"n1","action":"a","resource":"r"}"#).unwrap();
        let said = plain(&program, &asked, asked.encoding());
        assert_eq!(said.verdict, durward_ir::combine::Verdict::Permit);
        program.foregone(&asked, asked.encoding()).is_some()
    };
    assert!(is_foregone(2));
    assert!(!is_foregone(2_000));
}
