//! Plans against decisions, row by row. `cargo xtask differential` compares many more.

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
