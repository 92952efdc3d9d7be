//! Decisions that follow one another as attributes emit.

use crate::{errs, fails, passes};

const POLICY: &str = "policy \"d\" permit <a.level> > 4;";
const LEVEL: &str = "- attribute \"level\" <a.level> emits 1";

#[test]
fn each_emission_brings_a_decision_changed_or_not() {
    let parts = "when 1 attempts 2 on 3 expect not-applicable
        then - attribute \"level\" emits 2 expect not-applicable
        then - attribute \"level\" emits 5 expect permit
        then - attribute \"level\" emits error expect indeterminate
        then - attribute \"level\" emits 6 expect - permit once
        verify - attribute <a.level> is called once";
    passes(POLICY, LEVEL, parts);
}

#[test]
fn functions_are_called_for_every_decision() {
    let policy = "policy \"d\" permit time.secondOf(<time.now>) > 4;";
    let given = "- attribute \"now\" <time.now> emits \"a\"\n- function time.secondOf(any) maps to 5";
    let parts = "when 1 attempts 2 on 3 expect permit then - attribute \"now\" emits \"b\" expect permit
        verify - function time.secondOf(any) is called 2 times - function time.secondOf(\"b\") is called once";
    passes(policy, given, parts);
}

#[test]
fn no_decision_comes_before_every_attribute_has_a_value() {
    let silent = "- attribute \"level\" <a.level>";
    let said = fails(POLICY, silent, "when 1 attempts 2 on 3 expect permit");
    assert_eq!(said, "expected: permit\ncame: no further decision; no value was emitted for `level`");
    let policy = "policy \"d\" permit <a.level> > 4; <a.open>;";
    let both = "- attribute \"level\" <a.level>\n- attribute \"open\" <a.open>";
    let parts = "then - attribute \"level\" emits 5 - attribute \"open\" emits true expect permit";
    let said = fails(policy, both, &format!("when 1 attempts 2 on 3 expect decision any {parts}"));
    assert!(said.contains("no value was emitted for `level`"), "{said}");
}

#[test]
fn several_emissions_are_one_step_or_many() {
    let policy = "policy \"d\" permit <a.level> > 4; <a.open>;";
    let both = format!("{LEVEL}\n- attribute \"open\" <a.open> emits true");
    let happens = "when 1 attempts 2 on 3 expect not-applicable
        then - attribute \"level\" emits 5 - attribute \"open\" emits false";
    passes(policy, &both, &format!("{happens} expect not-applicable"));
    passes(policy, &both, &format!("{happens} expect - permit once - not-applicable once"));
    fails(policy, &both, &format!("{happens} expect - not-applicable 2 times"));
    fails(policy, &both, &format!("{happens} expect - permit once - not-applicable 2 times"));
}

#[test]
fn what_the_policies_do_not_ask_for_brings_nothing() {
    let given = format!("{LEVEL}\n- attribute \"other\" <a.other> emits 1");
    let parts = "when 1 attempts 2 on 3 expect not-applicable then - attribute \"other\" emits 2 expect not-applicable";
    let said = fails(POLICY, &given, parts);
    assert!(
        said.ends_with("came: no further decision; nothing happened that the policies asked for"),
        "{said}"
    );
}

#[test]
fn a_head_keeps_its_first_value() {
    let policy = "policy \"d\" permit |<a.level> == 1; <a.level> > 0;";
    passes(
        policy,
        LEVEL,
        "when 1 attempts 2 on 3 expect permit then - attribute \"level\" emits 9 expect permit",
    );
}

#[test]
fn unknown_attributes_cannot_emit() {
    let parts =
        "when 1 attempts 2 on 3 expect not-applicable then - attribute \"levle\" emits 2 expect permit";
    assert_eq!(errs(POLICY, LEVEL, parts), "no attribute is called `levle`; there are `level`");
    assert_eq!(errs(POLICY, "", &parts.replace("levle", "x")), "no attribute is called `x`; none is given");
}

#[test]
fn more_decisions_than_come_are_not_waited_for() {
    let said = fails(POLICY, LEVEL, "when 1 attempts 2 on 3 expect - not-applicable 4000000000 times");
    assert!(said.contains("came: no further decision"), "{said}");
}

/// SAPL's engine gathers the attributes of a policy together (`low-latency-mode`), so one that the decision does not need
/// holds it up, and brings another one. A condition that asks for no attribute and is false spares them all.
#[test]
fn all_attributes_of_a_policy_are_asked_for_together_unless_told_otherwise() {
    let policy = "policy \"d\" permit <a.level> > 4; <a.open>; subject == 1;";
    let silent = format!("{LEVEL}\n- attribute \"open\" <a.open>");
    let parts = "when 1 attempts 2 on 3 expect not-applicable
        verify - attribute <a.level> is called once - attribute <a.open> is never called";
    let said = fails(policy, &silent, parts);
    assert!(said.ends_with("came: no further decision; no value was emitted for `open`"), "{said}");
    passes(policy, &format!("{silent}\n- low-latency-mode false"), parts);
    let nothing = "when 0 attempts 2 on 3 expect not-applicable
        verify - attribute <a.level> is never called - attribute <a.open> is never called";
    passes(policy, &silent, nothing);
    let both = format!("{LEVEL}\n- attribute \"open\" <a.open> emits true");
    let again = "when 1 attempts 2 on 3 expect not-applicable
        then - attribute \"open\" emits false expect - not-applicable once
        verify - attribute <a.open> is called once";
    passes(policy, &both, again);
    fails(policy, &format!("{both}\n- low-latency-mode false"), again);
}

/// The conditions behind a false one are evaluated as well, and their functions are called: once for each decision.
#[test]
fn functions_of_attributes_that_were_gathered_are_called() {
    let policy = "policy \"d\" permit f.a(<a.level>) > 4; f.a(<a.open>) == 1;";
    let given = "- attribute \"level\" <a.level> emits 1\n- attribute \"open\" <a.open> emits 2
        - function f.a(any) maps to 1";
    let parts = "when 1 attempts 2 on 3 expect not-applicable
        verify - function f.a(1) is called once - function f.a(2) is called once";
    passes(policy, given, parts);
}
