//! A hospital: per department 32 policies that permit by role and membership and one that denies by sensitivity, and five
//! for emergencies.

use serde_json::{Map, Value as Json, json};

use super::random::JavaRandom;
use super::rules::{RuleAttribute, RuleCategory, RuleDocument, RuleEffect, RuleTest, ScenarioRule};
use super::{
    GRAPH_SEED, NoAnswerDecision, SUBSCRIPTION_SEED, SUBSCRIPTIONS, ScenarioParts, ScenarioPolicies,
    subscription,
};

/// People in a department.
const STAFF: usize = 5;

/// What somebody may be, and do.
struct HospitalRole {
    name: &'static str,
    clearance: u32,
    /// A type of resource, and actions on it.
    permissions: &'static [(&'static str, &'static [&'static str])],
}

const READ: &[&str] = &["read"];
const READ_WRITE: &[&str] = &["read", "write"];
const READ_WRITE_CREATE: &[&str] = &["read", "write", "create"];
const READ_ORDER: &[&str] = &["read", "order"];

const ROLES: [HospitalRole; 9] = [
    HospitalRole {
        name: "attending",
        clearance: 4,
        permissions: &[
            ("PatientRecord", READ_WRITE_CREATE),
            ("LabResult", READ_ORDER),
            ("Prescription", &["read", "write", "prescribe"]),
            ("Imaging", READ_ORDER),
            ("CareNote", READ_WRITE_CREATE),
            ("Referral", READ_WRITE_CREATE),
        ],
    },
    HospitalRole {
        name: "resident",
        clearance: 3,
        permissions: &[
            ("PatientRecord", READ_WRITE),
            ("LabResult", READ),
            ("Prescription", READ),
            ("Imaging", READ_ORDER),
            ("CareNote", READ_WRITE_CREATE),
            ("Referral", &["read", "create"]),
        ],
    },
    HospitalRole {
        name: "nurse",
        clearance: 3,
        permissions: &[
            ("PatientRecord", READ_WRITE),
            ("LabResult", READ),
            ("Prescription", READ),
            ("CareNote", READ_WRITE_CREATE),
            ("Schedule", READ_WRITE),
        ],
    },
    HospitalRole {
        name: "labTech",
        clearance: 2,
        permissions: &[("LabResult", READ_WRITE_CREATE), ("Imaging", READ_WRITE_CREATE)],
    },
    HospitalRole {
        name: "pharmacist",
        clearance: 3,
        permissions: &[("Prescription", &["read", "write", "approve"]), ("PatientRecord", READ)],
    },
    HospitalRole {
        name: "admin",
        clearance: 2,
        permissions: &[
            ("Schedule", &["read", "write", "create", "delete"]),
            ("BillingRecord", READ_WRITE),
            ("AuditLog", READ),
        ],
    },
    HospitalRole {
        name: "billing",
        clearance: 2,
        permissions: &[("BillingRecord", &["read", "write", "create", "bill"]), ("PatientRecord", READ)],
    },
    HospitalRole {
        name: "auditor",
        clearance: 4,
        permissions: &[
            ("AuditLog", &["read", "write", "create", "audit"]),
            ("PatientRecord", READ),
            ("BillingRecord", READ),
        ],
    },
    HospitalRole {
        name: "researcher",
        clearance: 1,
        permissions: &[("PatientRecord", READ), ("LabResult", READ), ("Imaging", READ)],
    },
];

/// What may be done in an emergency, and with what.
const EMERGENCY_TYPES: [&str; 5] = ["PatientRecord", "LabResult", "Prescription", "Imaging", "CareNote"];
const EMERGENCY_ACTIONS: &[&str] = &["read", "write", "prescribe", "override"];

/// What is asked for: what is there more than once is asked for more often.
const ACTIONS: [&str; 18] = [
    "read",
    "read",
    "read",
    "read",
    "read",
    "read",
    "read",
    "write",
    "write",
    "write",
    "create",
    "create",
    "order",
    "prescribe",
    "approve",
    "bill",
    "audit",
    "delete",
];
const TYPES: [&str; 13] = [
    "PatientRecord",
    "PatientRecord",
    "PatientRecord",
    "LabResult",
    "LabResult",
    "CareNote",
    "CareNote",
    "Prescription",
    "Imaging",
    "Schedule",
    "BillingRecord",
    "AuditLog",
    "Referral",
];

/// Up to so many departments everybody belongs to one in twenty of the others, as SAPL's benchmark draws it. The graph
/// would grow with the square of the size: past this, everybody belongs to [`FOREIGN_TEAMS_MAX`] teams anywhere, or to as
/// many as makes [`FOREIGN_TEAMS`] for each of a department's people: `graph.transitiveClosureSet`, which the policies
/// ask, gives no more than a million things in all.
const CONNECTED_DEPARTMENTS_MAX: usize = 1_000;
const FOREIGN_TEAMS: usize = 45_000;
const FOREIGN_TEAMS_MAX: usize = 15;

/// A hospital of so many departments.
pub(super) fn generate(departments: usize) -> ScenarioParts {
    let policies = (0..departments).flat_map(department_policies);
    let policies = policies.chain(EMERGENCY_TYPES.map(emergency_policy)).map(RuleDocument::Policy);
    let (graph, roles) = staff(departments);
    let variables = Map::from_iter([("staffGraph".to_owned(), Json::Object(graph))]);
    let mut random = JavaRandom::new(SUBSCRIPTION_SEED);
    let subscriptions = (0..SUBSCRIPTIONS).map(|_| ask(&mut random, departments, &roles)).collect();
    ScenarioParts {
        policies: ScenarioPolicies::Both(Box::new(policies)),
        variables,
        subscriptions,
        default: NoAnswerDecision::Deny,
    }
}

fn department_policies(department: usize) -> Vec<ScenarioRule> {
    let mut policies = Vec::new();
    for role in &ROLES {
        for (kind, actions) in role.permissions {
            policies.push(permission(department, role.name, kind, actions));
        }
    }
    let sensitivity = RuleAttribute::of(RuleCategory::Resource, "sensitivity");
    let clearance = RuleAttribute::of(RuleCategory::Subject, "clearance");
    policies.push(ScenarioRule {
        name: format!("sensitivity-deny-dept-{department}"),
        effect: RuleEffect::Deny,
        tests: vec![in_department(department), RuleTest::IsAbove(sensitivity, clearance)],
        log: None,
    });
    policies
}

fn permission(department: usize, role: &str, kind: &str, actions: &[&str]) -> ScenarioRule {
    let mut tests = role_type_action(role, kind, actions);
    tests.extend([in_department(department), RuleTest::IsMemberOf(format!("dept_{department}"))]);
    ScenarioRule {
        name: format!("dept-{department}-{role}-{kind}"),
        effect: RuleEffect::Permit,
        tests,
        log: None,
    }
}

fn emergency_policy(kind: &str) -> ScenarioRule {
    let tests = role_type_action("emergency", kind, EMERGENCY_ACTIONS);
    ScenarioRule { name: format!("emergency-{kind}"), effect: RuleEffect::Permit, tests, log: None }
}

fn role_type_action(role: &str, kind: &str, actions: &[&str]) -> Vec<RuleTest> {
    let is = |category, key, values: &[&str]| {
        RuleTest::IsOneOf(
            RuleAttribute::of(category, key),
            values.iter().map(|it| (*it).to_owned()).collect(),
        )
    };
    vec![
        is(RuleCategory::Subject, "role", &[role]),
        is(RuleCategory::Resource, "type", &[kind]),
        is(RuleCategory::Action, "", actions),
    ]
}

fn in_department(department: usize) -> RuleTest {
    RuleTest::IsOneOf(
        RuleAttribute::of(RuleCategory::Resource, "department"),
        vec![format!("dept_{department}")],
    )
}

/// Who belongs to what, and everybody's role.
fn staff(departments: usize) -> (Map<String, Json>, Vec<&'static HospitalRole>) {
    let mut random = JavaRandom::new(GRAPH_SEED);
    let mut graph = Map::new();
    for department in 0..departments {
        graph.insert(format!("dept_{department}"), json!([]));
    }
    for department in 0..departments {
        for team in [2 * department, 2 * department + 1] {
            graph.insert(format!("team_{team}"), json!([format!("dept_{department}")]));
        }
    }
    let mut roles = Vec::new();
    for person in 0..departments * STAFF {
        let own = person / STAFF;
        roles.extend(ROLES.get(random.below(ROLES.len())));
        let mut teams = vec![format!("team_{}", 2 * own + random.below(2))];
        teams.append(&mut foreign_teams(&mut random, own, departments));
        graph.insert(format!("staff_{person}"), json!(teams));
    }
    (graph, roles)
}

/// Teams beside their own that somebody belongs to.
fn foreign_teams(random: &mut JavaRandom, own: usize, departments: usize) -> Vec<String> {
    if departments > CONNECTED_DEPARTMENTS_MAX {
        let count = (FOREIGN_TEAMS / departments).min(FOREIGN_TEAMS_MAX);
        return (0..count).map(|_| format!("team_{}", random.below(2 * departments))).collect();
    }
    let mut teams = Vec::new();
    for other in (0..departments).filter(|other| *other != own) {
        if random.is_edge() {
            teams.push(format!("team_{}", 2 * other + random.below(2)));
        }
    }
    teams
}

fn ask(random: &mut JavaRandom, departments: usize, roles: &[&'static HospitalRole]) -> Json {
    let person = random.below(departments * STAFF);
    let (action, kind) = (random.one_of(&ACTIONS), random.one_of(&TYPES));
    let department = if random.real() < 0.8 { person / STAFF } else { random.below(departments) };
    let sensitivity = if random.real() < 0.7 { 1 } else { random.below(4) + 1 };
    let (role, clearance) = roles.get(person).map_or(("", 0), |role| (role.name, role.clearance));
    subscription(
        json!({ "id": format!("staff_{person}"), "role": role, "clearance": clearance }),
        action,
        json!({ "type": kind, "department": format!("dept_{department}"), "sensitivity": sensitivity }),
    )
}
