//! Policies that look at few of many attributes, each at others: no order of the attributes suits all of them, so a
//! single decision diagram over all policies would have about as many nodes as there are combinations.

use serde_json::{Map, Value as Json};

use super::random::JavaRandom;
use super::rules::{RuleAttribute, RuleCategory, RuleDocument, RuleEffect, RuleTest, ScenarioRule};
use super::{GRAPH_SEED, NoAnswerDecision, SUBSCRIPTION_SEED, ScenarioParts, ScenarioPolicies};

/// The attributes, four of each part of a subscription.
const ATTRIBUTES: [(RuleCategory, &str, &str); 12] = [
    (RuleCategory::Subject, "subject", "a"),
    (RuleCategory::Subject, "subject", "b"),
    (RuleCategory::Subject, "subject", "c"),
    (RuleCategory::Subject, "subject", "d"),
    (RuleCategory::Resource, "resource", "e"),
    (RuleCategory::Resource, "resource", "f"),
    (RuleCategory::Resource, "resource", "g"),
    (RuleCategory::Resource, "resource", "h"),
    (RuleCategory::Action, "action", "i"),
    (RuleCategory::Action, "action", "j"),
    (RuleCategory::Action, "action", "k"),
    (RuleCategory::Action, "action", "l"),
];
/// How many values each of them may have.
const VALUES: usize = 10;
/// A policy tests at least and at most so many.
const TESTS_MIN: usize = 2;
const TESTS_MAX: usize = 5;
/// One policy in so many denies: a question that thirty policies out of ten thousand apply to is denied one time in
/// four.
const DENIES: usize = 100;
const QUESTIONS: usize = 2_000;

/// So many policies.
pub(super) fn generate(policies: usize) -> ScenarioParts {
    let mut random = JavaRandom::new(GRAPH_SEED);
    let documents = (0..policies).map(move |number| RuleDocument::Policy(policy(&draw(&mut random), number)));
    let subscriptions = subscriptions(policies);
    ScenarioParts {
        policies: ScenarioPolicies::Both(Box::new(documents)),
        variables: Map::new(),
        subscriptions,
        default: NoAnswerDecision::Abstain,
    }
}

/// What a policy tests: attributes and values, and whether it denies.
struct DrawnScatterTest {
    tests: Vec<(usize, usize)>,
    is_deny: bool,
}

fn draw(random: &mut JavaRandom) -> DrawnScatterTest {
    let count = TESTS_MIN + random.below(TESTS_MAX - TESTS_MIN + 1);
    let mut attributes = random.some_below(count, ATTRIBUTES.len());
    attributes.sort_unstable();
    let tests = attributes.into_iter().map(|attribute| (attribute, random.below(VALUES))).collect();
    DrawnScatterTest { tests, is_deny: random.below(DENIES) == 0 }
}

fn policy(drawn: &DrawnScatterTest, number: usize) -> ScenarioRule {
    let test = |(attribute, value): &(usize, usize)| {
        let (category, _, key) = ATTRIBUTES.get(*attribute)?;
        Some(RuleTest::IsOneOf(RuleAttribute::of(*category, key), vec![value_of(*value)]))
    };
    let effect = if drawn.is_deny { RuleEffect::Deny } else { RuleEffect::Permit };
    ScenarioRule {
        name: format!("scatter-{number}"),
        effect,
        tests: drawn.tests.iter().filter_map(test).collect(),
        log: None,
    }
}

/// Every other question is made so that some policy applies to it; apart from that all values are random.
fn subscriptions(policies: usize) -> Vec<Json> {
    let mut again = JavaRandom::new(GRAPH_SEED);
    let mut random = JavaRandom::new(SUBSCRIPTION_SEED);
    let mut wanted: Vec<usize> = (0..QUESTIONS.div_ceil(2)).map(|_| random.below(policies)).collect();
    let order = wanted.clone();
    wanted.sort_unstable();
    wanted.dedup();
    // Policies are drawn once more, in their order, and only those are kept that are wanted.
    let mut kept = std::collections::BTreeMap::new();
    for number in 0..wanted.last().map_or(0, |last| last + 1) {
        let drawn = draw(&mut again);
        if wanted.binary_search(&number).is_ok() {
            kept.insert(number, drawn.tests);
        }
    }
    let ask = |number: usize| {
        let mut values = [0; ATTRIBUTES.len()];
        values.iter_mut().for_each(|value| *value = random.below(VALUES));
        if number.is_multiple_of(2)
            && let Some(tests) = order.get(number / 2).and_then(|policy| kept.get(policy))
        {
            for (attribute, value) in tests {
                values.get_mut(*attribute).into_iter().for_each(|it| *it = *value);
            }
        }
        subscription(&values)
    };
    (0..QUESTIONS).map(ask).collect()
}

fn subscription(values: &[usize; ATTRIBUTES.len()]) -> Json {
    let mut parts = Map::new();
    for ((_, part, key), value) in ATTRIBUTES.iter().zip(values) {
        let part = parts.entry(*part).or_insert_with(|| Json::Object(Map::new()));
        if let Json::Object(members) = part {
            members.insert((*key).to_owned(), value_of(*value).into());
        }
    }
    Json::Object(parts)
}

fn value_of(number: usize) -> String {
    format!("v{number}")
}
