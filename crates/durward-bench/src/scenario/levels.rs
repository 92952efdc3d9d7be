//! Policies that compare by order and by prefix: clearances from one level to another, hours of the day, and paths below a
//! directory. Nothing but the action is compared for equality, so without an order nearly all of them would have to be
//! looked at.

use serde_json::{Map, Value as Json, json};

use super::random::JavaRandom;
use super::rules::{RuleAttribute, RuleCategory, RuleDocument, RuleEffect, RuleTest, ScenarioRule};
use super::{GRAPH_SEED, NoAnswerDecision, SUBSCRIPTION_SEED, ScenarioParts, ScenarioPolicies};

/// One team for so many policies.
const POLICIES_A_TEAM: usize = 10;
const AREAS: [&str; 5] = ["plans", "designs", "reports", "contracts", "minutes"];
const YEARS: usize = 10;
const ACTIONS: [&str; 6] = ["read", "write", "create", "delete", "approve", "export"];
/// Clearances are below this.
const LEVELS: usize = 12;
/// How many levels a policy is for at most.
const LEVELS_MAX: usize = 6;
/// A day in minutes, and the quarters of an hour at which windows begin and end.
const DAY: usize = 1440;
const QUARTER: usize = 15;
/// The longest window in quarters: eight hours.
const WINDOW_MAX: usize = 32;
/// In percent: how many policies are for an action, for a clearance, for a time of the day.
const FOR_ACTION: usize = 70;
const FOR_CLEARANCE: usize = 80;
const FOR_TIME: usize = 60;
/// One policy in so many denies.
const DENIES: usize = 20;
const QUESTIONS: usize = 2_000;

const PATH: RuleAttribute = RuleAttribute::of(RuleCategory::Resource, "path");
const CLEARANCE: RuleAttribute = RuleAttribute::of(RuleCategory::Subject, "clearance");
const MINUTE: RuleAttribute = RuleAttribute::of(RuleCategory::Environment, "minute");

/// So many policies.
pub(super) fn generate(policies: usize) -> ScenarioParts {
    let mut random = JavaRandom::new(GRAPH_SEED);
    let documents =
        (0..policies).map(move |number| RuleDocument::Policy(draw(&mut random, policies).rule(number)));
    ScenarioParts {
        policies: ScenarioPolicies::Both(Box::new(documents)),
        variables: Map::new(),
        subscriptions: subscriptions(policies),
        default: NoAnswerDecision::Abstain,
    }
}

/// What a policy tests.
struct DrawnLevelTest {
    prefix: String,
    action: Option<&'static str>,
    clearance: Option<(usize, usize)>,
    minute: Option<(usize, usize)>,
    is_deny: bool,
}

fn draw(random: &mut JavaRandom, policies: usize) -> DrawnLevelTest {
    let mut prefix = team(random.below(policies.div_ceil(POLICIES_A_TEAM)));
    let depth = random.below(3);
    for part in [random.one_of(&AREAS), &year(random.below(YEARS))].into_iter().take(depth) {
        prefix.push_str(part);
        prefix.push('/');
    }
    let action = random.one_of(&ACTIONS);
    let (level, levels) = (random.below(LEVELS), random.below(LEVELS_MAX) + 1);
    let (start, quarters) = (random.below(DAY / QUARTER), random.below(WINDOW_MAX) + 1);
    let minute = (start * QUARTER, ((start + quarters) * QUARTER).min(DAY));
    DrawnLevelTest {
        prefix,
        action: (random.below(100) < FOR_ACTION).then_some(action),
        clearance: (random.below(100) < FOR_CLEARANCE).then_some((level, level + levels)),
        minute: (random.below(100) < FOR_TIME).then_some(minute),
        is_deny: random.below(DENIES) == 0,
    }
}

impl DrawnLevelTest {
    fn rule(self, number: usize) -> ScenarioRule {
        let mut tests = vec![RuleTest::StartsWith(PATH, self.prefix)];
        let action = self.action.map(|action| vec![action.to_owned()]);
        tests.extend(
            action.map(|action| RuleTest::IsOneOf(RuleAttribute::of(RuleCategory::Action, ""), action)),
        );
        tests.extend(self.clearance.map(|(from, to)| RuleTest::IsWithin(CLEARANCE, from, to)));
        tests.extend(self.minute.map(|(from, to)| RuleTest::IsWithin(MINUTE, from, to)));
        let effect = if self.is_deny { RuleEffect::Deny } else { RuleEffect::Permit };
        ScenarioRule { name: format!("levels-{number}"), effect, tests, log: None }
    }
}

/// Every other question is made so that a policy applies to it; apart from that all values are random.
fn subscriptions(policies: usize) -> Vec<Json> {
    let mut again = JavaRandom::new(GRAPH_SEED);
    let all: Vec<DrawnLevelTest> = (0..policies).map(|_| draw(&mut again, policies)).collect();
    let mut random = JavaRandom::new(SUBSCRIPTION_SEED);
    let ask = |number: usize| {
        let policy = all.get(random.below(policies)).filter(|_| number.is_multiple_of(2));
        let own = draw(&mut random, policies);
        let file = random.below(1_000);
        let drawn = policy.unwrap_or(&own);
        let within = |random: &mut JavaRandom, range: Option<(usize, usize)>, end: usize| match range {
            Some((from, to)) if policy.is_some() => from + random.below(to - from),
            Some(_) | None => random.below(end),
        };
        let clearance = within(&mut random, drawn.clearance, LEVELS);
        let minute = within(&mut random, drawn.minute, DAY);
        json!({
            "subject": { "id": format!("user{}", random.below(1_000)), "clearance": clearance },
            "action": drawn.action.unwrap_or_else(|| random.one_of(&ACTIONS)),
            "resource": { "path": format!("{}file-{file:03}.txt", drawn.prefix) },
            "environment": { "minute": minute },
        })
    };
    (0..QUESTIONS).map(ask).collect()
}

fn team(number: usize) -> String {
    format!("/teams/team-{number:05}/")
}

fn year(number: usize) -> String {
    (2016 + number).to_string()
}
