//! Policies that test random subsets of many attributes go through a sieve: what it leaves is answered without
//! evaluation, and as the plain evaluator answers it; also while policies come and go.

use durward_pdp::sapl::{Decision, Outcome, Subscription};
use durward_pdp::{IndexKind, Pdp, PolicyChange, PolicyText};
use durward_testdata::TestShift;

use crate::changes::ALWAYS;

const ATTRIBUTES: usize = 12;
const POLICIES: usize = 300;

fn part(attribute: usize) -> String {
    format!("{}.a{attribute}", ["subject", "resource", "environment"][attribute % 3])
}

fn value(chance: &mut TestShift) -> &'static str {
    chance.of(&[r#""x""#, r#""y""#, r#""z""#, "1", r#""a value that takes more than a word""#])
}

/// Mostly equalities; seldom what takes more than a look.
fn policy(number: usize, chance: &mut TestShift) -> PolicyText {
    let effect = if chance.index(5) == 0 { "deny" } else { "permit" };
    let mut attributes: Vec<usize> = (0..ATTRIBUTES).collect();
    let mut conditions = String::new();
    for _ in 0..2 + chance.index(3) {
        let part = part(attributes.swap_remove(chance.index(attributes.len())));
        conditions += &match chance.index(20) {
            0 => format!("{part} < 3;"),
            1 => format!("!({part} == {});", value(chance)),
            2 => format!("({part} == {} || {part} == {});", value(chance), value(chance)),
            _ => format!("{part} == {};", value(chance)),
        };
    }
    let duty = if chance.index(100) == 0 { r#"obligation "told""# } else { "" };
    let text = format!("policy \"{number}\" {effect} {conditions} {duty}");
    PolicyText { name: format!("{number:04}.sapl"), text: text.into_bytes() }
}

fn configuration(voting: &str) -> PolicyText {
    let algorithm = format!(
        r#"{{"algorithm":{{"votingMode":"{voting}","defaultDecision":"ABSTAIN","errorHandling":"PROPAGATE"}}}}"#
    );
    PolicyText { name: "pdp.json".into(), text: algorithm.into_bytes() }
}

/// Some attributes are missing, and some hold what no policy names.
fn subscription(chance: &mut TestShift) -> Subscription {
    let mut elements = [Vec::new(), Vec::new(), Vec::new()];
    for attribute in 0..ATTRIBUTES {
        let value = match chance.index(40) {
            0 => continue,
            1 => r#"["x"]"#,
            2 => r#""something else""#,
            _ => value(chance),
        };
        elements[attribute % 3].push(format!("\"a{attribute}\":{value}"));
    }
    let [subject, resource, environment] = elements.map(|entries| format!("{{{}}}", entries.join(",")));
    let text =
        format!(r#"{{"subject":{subject},"action":1,"resource":{resource},"environment":{environment}}}"#);
    Subscription::from_json(text.as_bytes()).unwrap()
}

/// Holds all ways of asking to what a plain evaluator says; the outcomes.
fn agree(pdp: &Pdp, texts: &[PolicyText], asked: &[Subscription]) -> Vec<Outcome> {
    let plain = Pdp::builder().policies(texts.to_vec()).index(IndexKind::Scan).build().unwrap();
    let mut encoded = asked.to_vec();
    encoded.iter_mut().for_each(|asked| pdp.encode_subscription(asked));
    let said = |decision: &Decision| format!("{decision:?}");
    let mut outcomes = Vec::new();
    for asked in [asked, &encoded] {
        let mut together = vec![Decision::plain(Outcome::Suspend); asked.len()];
        pdp.decide_batch(asked, &mut together);
        for (asked, together) in asked.iter().zip(&together) {
            let expected = plain.decide_known(asked).decision;
            assert_eq!(said(&pdp.decide_once(asked)), said(&expected), "{asked:?}");
            assert_eq!(said(together), said(&expected), "together: {asked:?}");
            outcomes.push(expected.outcome);
        }
    }
    outcomes
}

#[test]
fn what_a_sieve_leaves_is_what_the_plain_evaluator_finds() {
    let mut chance = TestShift::at(0x51ee);
    let mut outcomes = std::collections::BTreeMap::<&str, usize>::new();
    for voting in ["PRIORITY_DENY", "PRIORITY_PERMIT", "UNANIMOUS"] {
        let mut texts = vec![configuration(voting)];
        texts.extend((0..POLICIES).map(|number| policy(number, &mut chance)));
        let build = || Pdp::builder().changing_within(ALWAYS).policies(texts.clone());
        let asked: Vec<Subscription> = (0..400).map(|_| subscription(&mut chance)).collect();
        let pdp = build().index(IndexKind::Diagram).build().unwrap();
        assert!(pdp.snapshot().index.contains("sieve"), "{}", pdp.snapshot().index);
        for outcome in agree(&pdp, &texts, &asked) {
            *outcomes.entry(outcome.as_str()).or_default() += 1;
        }
        // Some go, and others come.
        for number in (0..POLICIES).step_by(7) {
            let (at, new) = (number + 1, policy(number, &mut chance));
            let change = if number % 2 == 0 {
                texts[at] = new.clone();
                PolicyChange::Put(new)
            } else {
                texts[at].text = format!("policy \"{number}\" permit 1 == 2;").into_bytes();
                PolicyChange::Remove(new.name)
            };
            pdp.change(&[change]).unwrap();
        }
        agree(&pdp, &texts, &asked[..100]);
    }
    let often = |outcome: &str| outcomes.get(outcome).is_some_and(|count| *count > 50);
    assert!(often("PERMIT") && often("DENY") && often("INDETERMINATE"), "{outcomes:?}");
}
