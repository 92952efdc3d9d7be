//! Two scenarios without chance: a policy that says no, and roles with permissions.

use serde_json::{Map, json};

use super::rules::{Document, Effect, Rule};
use super::{DefaultDecision, Parts, Policies, subscription};

/// One policy that always denies: what a call costs.
pub(super) fn baseline() -> Parts {
    let deny = Rule { name: "baseline".to_owned(), effect: Effect::Deny, tests: Vec::new(), log: None };
    Parts {
        policies: Policies::Both(Box::new(std::iter::once(Document::Policy(deny)))),
        variables: Map::new(),
        subscriptions: vec![subscription("alice", "read", "document")],
        default: DefaultDecision::Deny,
    }
}

/// Two roles, each with a list of what it may do with what.
pub(super) fn rbac() -> Parts {
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
    Parts::of_sapl(vec![policy.to_owned()], variables, subscriptions)
}
