//! Rules as companies write them for a catalogue of resources: per resource nine permits by role and action, the first
//! that applies counts, and a deny for everything else.
//!
//! The shape is that of the synthetic policies that other engines of XACML were measured with; the random numbers are our
//! own, so the same size gives other roles and actions than theirs.

use serde_json::{Map, Value as Json, json};

use super::random::JavaRandom;
use super::rules::{RuleAttribute, RuleCategory, RuleDocument, RuleEffect, RuleTest, ScenarioRule};
use super::{GRAPH_SEED, NoAnswerDecision, SUBSCRIPTION_SEED, ScenarioParts, ScenarioPolicies};

/// Rules in a policy, the last of which denies.
const RULES: usize = 10;
const ROLES: usize = 50;
const ACTIONS: [&str; 6] = ["read", "write", "create", "delete", "approve", "export"];
/// How many roles a rule names: what is there more than once is drawn more often.
const ROLES_NAMED: [usize; 4] = [1, 1, 2, 3];
/// Every so many policies one is to be logged when it permits.
const LOGGED: usize = 5;
/// Of so many rules the last also asks for a clearance, from 1 to 9.
const CLEARED: usize = 4;
const CLEARANCES: usize = 10;
const USERS: usize = 1_000;
/// One question in so many is about a resource that no policy knows.
const UNKNOWN: usize = 20;
const QUESTIONS: usize = 2_000;

/// So many rules, ten to a policy; the last policy has what is left.
pub(super) fn generate(rules: usize) -> ScenarioParts {
    let policies = rules.div_ceil(RULES);
    let mut random = JavaRandom::new(GRAPH_SEED);
    let documents =
        (0..policies).map(move |number| policy(&mut random, number, RULES.min(rules - number * RULES)));
    let mut random = JavaRandom::new(SUBSCRIPTION_SEED);
    ScenarioParts {
        policies: ScenarioPolicies::Both(Box::new(documents)),
        variables: Map::new(),
        subscriptions: (0..QUESTIONS).map(|_| ask(&mut random, policies)).collect(),
        default: NoAnswerDecision::Abstain,
    }
}

fn policy(random: &mut JavaRandom, number: usize, rules: usize) -> RuleDocument {
    let name = format!("p{number}");
    let mut all: Vec<ScenarioRule> =
        (0..rules.saturating_sub(1)).map(|at| permit(random, number, at)).collect();
    all.push(ScenarioRule {
        name: format!("{name}.deny"),
        effect: RuleEffect::Deny,
        tests: Vec::new(),
        log: None,
    });
    let resource = RuleAttribute::of(RuleCategory::Resource, "id");
    RuleDocument::Set { name, target: RuleTest::IsOneOf(resource, vec![resource_id(number)]), rules: all }
}

fn permit(random: &mut JavaRandom, policy: usize, at: usize) -> ScenarioRule {
    let roles = ROLES_NAMED.get(random.below(ROLES_NAMED.len())).copied().unwrap_or(1);
    let roles = random.some_below(roles, ROLES).into_iter().map(role).collect();
    let actions = random.below(2) + 1;
    let actions = random.some_below(actions, ACTIONS.len());
    let actions = actions.into_iter().filter_map(|at| ACTIONS.get(at)).map(|it| (*it).to_owned()).collect();
    let mut tests = vec![
        RuleTest::HasOneOf(RuleAttribute::of(RuleCategory::Subject, "roles"), roles),
        RuleTest::IsOneOf(RuleAttribute::of(RuleCategory::Action, ""), actions),
    ];
    if at % CLEARED == CLEARED - 1 {
        let least = random.below(CLEARANCES - 1) + 1;
        tests.push(RuleTest::AtLeast(RuleAttribute::of(RuleCategory::Subject, "clearance"), least));
    }
    let log = policy.is_multiple_of(LOGGED).then(|| format!("p{policy}"));
    ScenarioRule { name: format!("p{policy}.r{at}"), effect: RuleEffect::Permit, tests, log }
}

fn ask(random: &mut JavaRandom, policies: usize) -> Json {
    let user = random.below(USERS);
    let count = random.below(3) + 1;
    let roles: Vec<String> = random.some_below(count, ROLES).into_iter().map(role).collect();
    let clearance = random.below(CLEARANCES + 1);
    let is_unknown = random.below(UNKNOWN) == 0;
    let resource = if is_unknown { policies } else { random.below(policies) };
    json!({
        "subject": { "id": format!("user{user}"), "roles": roles, "clearance": clearance },
        "action": random.one_of(&ACTIONS),
        "resource": { "id": resource_id(resource) },
    })
}

fn role(number: usize) -> String {
    format!("role-{number:02}")
}

fn resource_id(number: usize) -> String {
    format!("resource-{number:05}")
}
