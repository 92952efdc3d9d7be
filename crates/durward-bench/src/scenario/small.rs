//! Two scenarios without randomness: a policy that denies, and roles with permissions.

use serde_json::{Map, json};

use super::rules::{RuleDocument, RuleEffect, ScenarioRule};
use super::{NoAnswerDecision, ScenarioParts, ScenarioPolicies, subscription};

/// One policy that always denies: what a call costs.
pub(super) fn baseline() -> ScenarioParts {
    let deny =
        ScenarioRule { name: "baseline".to_owned(), effect: RuleEffect::Deny, tests: Vec::new(), log: None };
    ScenarioParts {
        policies: ScenarioPolicies::Both(Box::new(std::iter::once(RuleDocument::Policy(deny)))),
        variables: Map::new(),
        subscriptions: vec![subscription("alice", "read", "document")],
        default: NoAnswerDecision::Deny,
    }
}

/// Two roles, each with a list of what it may do with what.
pub(super) fn rbac() -> ScenarioParts {
    let policy = "policy \"RBAC\"\npermit\n    \
                  { \"type\" : resource.type, \"action\": action } in permissions[(subject.role)];\n";
    let may = |action: &str| json!({ "type": "foo123", "action": action });
    let permissions = json!({ "dev": [may("write"), may("read")], "test": [may("read")] });
    let mut subscriptions = Vec::new();
    for user in ["alice", "bob"] {
        for role in ["dev", "test"] {
            for action in ["read", "write"] {
                for kind in ["foo123", "bar456"] {
                    let subject = json!({ "username": user, "role": role });
                    subscriptions.push(subscription(subject, action, json!({ "type": kind })));
                }
            }
        }
    }
    let variables = Map::from_iter([("permissions".to_owned(), permissions)]);
    ScenarioParts::of_sapl(vec![policy.to_owned()], variables, subscriptions)
}
