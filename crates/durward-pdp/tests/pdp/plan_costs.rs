//! What a plan may cost: whoever may ask for plans sends a long subject, and policies do much with it. Steps are counted, so these plans end
//! in the same place on every machine.

use std::fmt::Write;

use durward_pdp::plan::{Column, ColumnType, Columns, Filter, Kind, Nulls, Plan, Unlisted};
use durward_pdp::sapl::Subscription;
use durward_pdp::{Pdp, Value};

const COLUMNS: usize = 300;

fn columns() -> Columns {
    let owners = (0..COLUMNS)
        .map(|number| Column::new(&format!("owner{number}"), ColumnType::Text).nulls(Nulls::Absent));
    let others = [
        Column::new("ward", ColumnType::Text),
        Column::new("level", ColumnType::Integer),
        Column::new("open", ColumnType::Boolean),
    ];
    Columns::new(owners.chain(others).collect(), Unlisted::Absent).unwrap()
}

/// A set of policies, each with its number where the text has `{n}`.
fn set(algorithm: &str, count: usize, policy: &str) -> Pdp {
    let mut text = format!("set \"s\" {algorithm}\n");
    for number in 0..count {
        let policy = policy.replace("{n}", &number.to_string());
        writeln!(text, "policy \"p{number}\" {policy}").unwrap();
    }
    Pdp::builder().policy("s.sapl", text).build().unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// The plan for a subject with an array of so many texts: 64 KiB for 8,000.
fn plan(pdp: &Pdp, roles: usize) -> Plan {
    let roles = Value::array((0..roles).map(|number| Value::text(format!("r{number}"))));
    let subject = Value::object([("id", Value::text("ada")), ("level", Value::number(2)), ("roles", roles)]);
    let asked = Subscription::new(subject, Value::text("read"), Value::Undefined, Value::Undefined);
    pdp.plan(&asked, &columns()).unwrap()
}

#[track_caller]
fn assert_too_costly(plan: &Plan) {
    assert_eq!(plan.reasons, ["the plan takes more than 5000000 steps"]);
    assert_eq!((plan.kind, plan.exact, plan.groups.len()), (Kind::None, false, 0));
    // No row is permitted, and none is known not to be.
    assert_eq!((&plan.filter, &plan.superset), (&Filter::Constant(false), &Some(Filter::Constant(true))));
}

#[test]
fn ten_thousand_policies_about_one_type_are_one_plan() {
    let policy = "permit action == \"read\"; \"r{n}\" in subject.roles; resource.ward == \"w{n}\"; resource.level <= subject.level;";
    for algorithm in [
        "priority deny or deny errors propagate",
        "priority permit or deny",
        "unanimous or deny errors propagate",
    ] {
        let found = plan(&set(algorithm, 10_000, policy), 100);
        assert_eq!((found.kind, found.exact), (Kind::Filter, true), "{algorithm}: {:?}", found.reasons);
        assert_eq!(found.filter.weight(), 100 + 1, "{algorithm}");
    }
}

#[test]
fn a_long_array_of_the_subject_is_not_compared_with_hundreds_of_columns() {
    let policy = "permit resource.owner{n} in subject.roles;";
    assert_too_costly(&plan(&set("priority permit or deny", COLUMNS, policy), 8_000));
    let found = plan(&set("priority permit or deny", COLUMNS, policy), 20);
    assert!(found.exact, "{:?}", found.reasons);
}

#[test]
fn thousands_of_values_that_are_looked_for_are_counted() {
    let policy = "permit subject.roles any in [\"x{n}\", \"y\", \"z\"]; resource.open;";
    assert_too_costly(&plan(&set("priority permit or deny", 2_000, policy), 8_000));
    assert!(plan(&set("priority permit or deny", 2_000, policy), 8).exact);
}

#[test]
fn functions_over_a_long_array_are_counted() {
    let policy = "permit array.reverse(subject.roles)[0] == \"x{n}\"; resource.open;";
    assert_too_costly(&plan(&set("priority permit or deny", 5_000, policy), 8_000));
    assert!(plan(&set("priority permit or deny", 5_000, policy), 3).exact);
}

#[test]
fn long_obligations_are_counted() {
    let policy = "permit resource.ward == \"w{n}\"; obligation {\"who\": subject, \"n\": {n}}";
    assert_too_costly(&plan(&set("priority permit or deny", 1_000, policy), 8_000));
}

/// The formulas of a count grow with every policy that may fail.
#[test]
fn formulas_that_grow_with_every_policy_are_counted() {
    let policy = "permit resource.owner{n} <= subject.level; resource.ward == \"w\";".replace("{n}", "1");
    let policy = policy.replace("\"w\"", "\"w{n}\"");
    let found = plan(&set("first or deny", 20_000, &policy), 3);
    assert!(!found.exact, "{}", found.filter.weight());
}
