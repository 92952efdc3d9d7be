//! Plans against decisions, row by row. `cargo xtask differential` compares many more.

use durward_testkit::differential::compare_plans;

#[test]
fn a_row_is_in_the_filter_as_it_is_decided() {
    let compared = compare_plans(7, 20_000, |_, _, _| {}).unwrap_or_else(|difference| panic!("{difference}"));
    // What is compared is something: filters, rows that are permitted and rows that are not, exact plans and others.
    assert!(compared.filters > 50 && compared.exact > 100 && compared.exact < compared.plans, "{compared:?}");
    assert!(compared.permitted > 1000 && compared.permitted < compared.rows, "{compared:?}");
}
