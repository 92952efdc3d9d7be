//! What stands in for functions and attributes, and how often they were asked.

use crate::{errs, fails, passes};

const DAY: &str = "policy \"d\" permit time.dayOfWeek(subject) == \"MONDAY\";";
const WHEN: &str = "when \"2025-01-07T00:00:00Z\" attempts 2 on 3";

#[test]
fn functions_are_replaced_where_their_arguments_fit() {
    passes(DAY, "", &format!("{WHEN} expect not-applicable"));
    for fits in ["any", "\"2025-01-07T00:00:00Z\"", "matching text", "matching text starting with \"2025\""] {
        let given = format!("- function time.dayOfWeek({fits}) maps to \"MONDAY\"");
        passes(DAY, &given, &format!("{WHEN} expect permit"));
    }
    for fits_not in ["\"2025\"", "matching number", "any, any", ""] {
        let given = format!("- function time.dayOfWeek({fits_not}) maps to \"MONDAY\"");
        passes(DAY, &given, &format!("{WHEN} expect not-applicable"));
    }
}

#[test]
fn of_several_the_most_specific_counts_and_then_the_first() {
    let given = "- function time.dayOfWeek(any) maps to \"FRIDAY\"
        - function time.dayOfWeek(matching text) maps to \"MONDAY\"
        - function time.dayOfWeek(matching text) maps to \"SUNDAY\"";
    passes(DAY, given, &format!("{WHEN} expect permit"));
    let given = given.to_owned() + "\n- function time.dayOfWeek(\"2025-01-07T00:00:00Z\") maps to \"SUNDAY\"";
    passes(DAY, &given, &format!("{WHEN} expect not-applicable"));
}

#[test]
fn functions_that_there_are_not_can_be_given() {
    let policy =
        "import my.own policy \"d\" permit own() |- my.twice == 4; [1, 2] |- each my.twice == [2, 4];";
    let given = "- function my.own() maps to 2
        - function my.twice(2) maps to 4
        - function my.twice(1) maps to 2";
    passes(policy, given, "when 1 attempts 2 on 3 expect permit");
    let policy = "policy \"d\" permit my.own() == 2;";
    passes(policy, "- function my.own maps to 2", "when 1 attempts 2 on 3 expect permit");
    let said = fails(policy, "", "when 1 attempts 2 on 3 expect permit");
    assert!(said.contains("because: there is no function `my.own`"), "{said}");
}

#[test]
fn functions_fail_if_they_are_told_to() {
    let given = "- function time.dayOfWeek(any) maps to error(\"no calendar\")";
    passes(DAY, given, &format!("{WHEN} expect indeterminate"));
    let said = fails(DAY, given, &format!("{WHEN} expect permit"));
    assert!(said.ends_with("because: no calendar"), "{said}");
    passes(DAY, "- function time.dayOfWeek(any) maps to error", &format!("{WHEN} expect indeterminate"));
    passes(DAY, "- function time.dayOfWeek(any) maps to undefined", &format!("{WHEN} expect not-applicable"));
}

#[test]
fn attributes_are_replaced_where_entity_and_arguments_fit() {
    let policy = "policy \"d\" permit subject.<hr.role(\"now\")> == \"doctor\"; <env.open>;";
    let open = "- attribute \"open\" <env.open> emits true";
    for fits in ["any.<hr.role(any)>", "\"ada\".<hr.role(\"now\")>", "matching text.<hr.role(matching text)>"]
    {
        let given = format!("{open}\n- attribute \"role\" {fits} emits \"doctor\"");
        passes(policy, &given, "when \"ada\" attempts 2 on 3 expect permit");
    }
    for fits_not in ["<hr.role(any)>", "any.<hr.role>", "\"bob\".<hr.role(any)>", "any.<hr.rule(any)>"] {
        let given = format!("{open}\n- attribute \"role\" {fits_not} emits \"doctor\"");
        passes(policy, &given, "when \"ada\" attempts 2 on 3 expect not-applicable");
    }
    let two = format!(
        "{open}\n- attribute \"1\" any.<hr.role(any)> emits 1\n- attribute \"2\" \"ada\".<hr.role(any)> emits \"doctor\""
    );
    passes(policy, &two, "when \"ada\" attempts 2 on 3 expect permit");
}

#[test]
fn attributes_that_nobody_gives_are_undefined_and_named() {
    passes("policy \"d\" permit <a.b> == undefined;", "", "when 1 attempts 2 on 3 expect permit");
    let said = fails("policy \"d\" permit <a.b> == 1;", "", "when 1 attempts 2 on 3 expect permit");
    assert!(said.ends_with("note: the test says nothing about attribute `a.b`: undefined"), "{said}");
}

#[test]
fn attributes_fail_if_they_are_told_to() {
    let policy = "policy \"d\" permit <a.b> == 1;";
    passes(
        policy,
        "- attribute \"m\" <a.b> emits error(\"down\")",
        "when 1 attempts 2 on 3 expect indeterminate",
    );
    passes(policy, "- attribute \"m\" <a.b> emits undefined", "when 1 attempts 2 on 3 expect not-applicable");
}

#[test]
fn names_of_attributes_are_unique_and_not_blank() {
    let twice = "- attribute \"m\" <a.b> emits 1\n- attribute \"m\" <a.c> emits 1";
    let said = errs("policy \"d\" permit", twice, "when 1 attempts 2 on 3 expect permit");
    assert_eq!(said, "another attribute is called `m` already");
    errs("policy \"d\" permit", "- attribute \" \" <a.b> emits 1", "when 1 attempts 2 on 3 expect permit");
}

#[test]
fn calls_are_counted_of_real_functions_too() {
    let policy = "policy \"d\" permit string.length(subject) == 3; string.length(action) == 2;";
    let when = "when \"abc\" attempts \"ab\" on 3 expect permit verify";
    passes(policy, "", &format!("{when} - function string.length(any) is called 2 times"));
    passes(policy, "", &format!("{when} - function string.length(\"ab\") is called once"));
    passes(policy, "", &format!("{when} - function string.length(\"x\") is never called"));
    passes(policy, "", &format!("{when} - function string.length is called 0 times"));
    let said = fails(policy, "", &format!("{when} - function string.length(any) is called once"));
    let expected = "expected: function string.length(any) is called once\ncame: it was called 2 times\n\
                    call: string.length(\"abc\")\ncall: string.length(\"ab\")";
    assert_eq!(said, expected);
}

#[test]
fn what_does_not_matter_is_not_called() {
    let policy = "policy \"d\" permit subject == 1; string.length(action) == 2; <a.b>;";
    let verify = "verify - function string.length(any) is never called - attribute <a.b> is never called";
    passes(
        policy,
        "- attribute \"m\" <a.b> emits true",
        &format!("when 2 attempts \"ab\" on 3 expect not-applicable {verify}"),
    );
}

#[test]
fn equal_attributes_are_asked_for_once() {
    let policy = "policy \"d\" permit <a.b> > 0; <a.b> < 9; subject.<a.b(1)> == 1; subject.<a.b(2)> == 1;";
    let given = "- attribute \"m\" <a.b> emits 1\n- attribute \"n\" any.<a.b(any)> emits 1";
    let verify = "verify - attribute <a.b> is called once - attribute any.<a.b(any)> is called 2 times \
                  - attribute 1.<a.b(2)> is called once";
    passes(policy, given, &format!("when 1 attempts 2 on 3 expect permit {verify}"));
    let said =
        fails(policy, given, "when 1 attempts 2 on 3 expect permit verify - attribute <a.b> is never called");
    assert!(
        said.ends_with("came: it was called once\ncall: <a.b()>\ncall: 1.<a.b(1)>\ncall: 1.<a.b(2)>"),
        "{said}"
    );
}
