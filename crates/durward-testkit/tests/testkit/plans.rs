//! Plans against decisions, row by row. `cargo xtask differential` compares many more.

use durward_pdp::plan::{Column, ColumnType, Columns, Kind, Unlisted};
use durward_pdp::sapl::Subscription;
use durward_pdp::{Pdp, Value};
use durward_testkit::differential::{compare_plans, plan_cases};

#[test]
fn a_row_is_in_the_filter_as_it_is_decided() {
    let compared = compare_plans(7, 20_000, |_, _, _| {}).unwrap_or_else(|difference| panic!("{difference}"));
    // What is compared is something: filters, rows that are permitted and rows that are not, exact plans and others.
    assert!(compared.filters > 50 && compared.exact > 100 && compared.exact < compared.plans, "{compared:?}");
    assert!(compared.permitted > 1000 && compared.permitted < compared.rows, "{compared:?}");
}

/// What is written of each case is what is decided, and what the plan selects.
#[test]
fn what_adapters_of_others_get_wrong() {
    let wrong: Vec<String> = plan_cases().iter().filter_map(|case| case.check().err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(plan_cases().len() > 35);
}

/// A hundred sets of policies leave one alternative for each policy that somebody's roles make count, and those that are alike are one list.
#[test]
fn the_plan_of_many_sets_is_as_short_as_what_is_left() {
    let mut builder = Pdp::builder()
        .policy("sealed.sapl", "policy \"sealed\" deny resource.sealed;")
        .policy("pdp.json", r#"{"algorithm":{"votingMode":"PRIORITY_DENY","defaultDecision":"DENY","errorHandling":"PROPAGATE"}}"#);
    for set in 0..100 {
        let policy = |number: i32| {
            format!(
                "policy \"p{number}\" permit \"role-{}\" in subject.roles; resource.ward == \"w{set}-{number}\"; resource.level <= {};",
                number % 3,
                number % 2
            )
        };
        let policies: String = (0..12).map(policy).collect();
        let text = format!("set \"s{set}\" priority deny or abstain errors propagate\n{policies}");
        builder = builder.policy(&format!("s{set}.sapl"), text);
    }
    let pdp = builder.build().unwrap_or_else(|errors| panic!("{errors:?}"));
    let columns =
        [("ward", ColumnType::Text), ("level", ColumnType::Integer), ("sealed", ColumnType::Boolean)];
    let columns = columns.map(|(name, kind)| Column::new(name, kind)).to_vec();
    let columns = Columns::new(columns, Unlisted::Absent).unwrap();
    let subject = Value::object([("roles", Value::array([Value::text("role-1")]))]);
    let asked = Subscription::new(subject, Value::text("read"), Value::Undefined, Value::Undefined);
    let plan = pdp.plan(&asked, &columns).unwrap();
    assert_eq!((plan.kind, plan.exact), (Kind::Filter, true), "{:?}", plan.reasons);
    // Four policies of each set, two lists of wards by level, and the seal.
    assert_eq!(plan.filter.weight(), 400 + 2 + 1);
}
