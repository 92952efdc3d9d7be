//! Operators with operands that make them fail, comparisons that say nothing, and hints.

use super::{expect, expect_codes, found_with, settings};

#[test]
fn operands_of_the_wrong_type_are_told() {
    expect(
        "subject.age > \"18\";",
        &["2:15 wrong-type: what `>` compares must be a number, not a text: this is an error"],
    );
    expect(
        "\"admin\";",
        &["2:1 wrong-type: a condition must be true or false, not a text: this is an error"],
    );
    for wrong in [
        "!\"a\";",
        "subject.a && 1;",
        "null || subject.a;",
        "subject.a ^ \"x\";",
        "subject.a - \"1\" == 2;",
        "1 + \"a\" == 2;",
        "action in 5;",
        "action in limit;",
        "5 in \"567\";",
        "\"a\" any in [\"a\"];",
        "subject has 5;",
        "subject has any \"a\";",
        "action =~ 5;",
        "subject[?(\"x\")] == 1;",
        "subject[(true)] == 1;",
        "[1, 2] |- string.length == 3;",
        "(1 == 1) > 2;",
    ] {
        expect_codes(wrong, &["wrong-type"]);
    }
    for right in [
        "subject.a && subject.b;",
        "\"a\" + 1 == subject.a;",
        "subject.a + \"x\" == \"ax\";",
        "action in \"read write\";",
        "action in admins;",
        "subject[(subject.i)] == 1;",
        "subject has \"a\";",
        "[1, 2] |- each string.length == 3;",
    ] {
        expect_codes(right, &[]);
    }
}

#[test]
fn comparisons_that_cannot_hold_are_told() {
    expect(
        "limit == \"7\";",
        &["2:1 unlike-types: `==` of a number and a text never holds; compare values of one type"],
    );
    expect_codes("limit != \"7\";", &["unlike-types"]);
    expect_codes("(subject.a == 1) == \"true\";", &["unlike-types"]);
    expect_codes("limit == 8;", &[]);
    expect_codes("limit has \"x\";", &["never-true"]);
    expect_codes("limit =~ \"x.*\";", &["never-true"]);
    expect(
        "subject.id == subject.id;",
        &["2:1 self-comparison: `subject.id` is compared with itself; compare it with something else"],
    );
    expect_codes("subject.id == subject.ID;", &[]);
}

#[test]
fn conditions_that_do_not_depend_on_the_question_are_hints() {
    expect_codes("true;", &["constant-condition"]);
    expect_codes("1 == 1; action == \"read\";", &["constant-condition"]);
    // A switch in the configuration is meant.
    expect_codes("shift.night;", &[]);
}

#[test]
fn what_permits_everything_or_what_is_missing_is_a_hint() {
    expect(
        "",
        &[
            "1:8 ?permits-everything: policy `p` permits whatever is asked; give it a condition, unless that is wanted",
        ],
    );
    expect(
        "subject.status != \"blocked\";",
        &[
            "2:1 ?permits-missing: this also holds where `subject.status` is missing; ask for it with `!= undefined`, or say which values are permitted",
        ],
    );
    expect_codes("!(subject.status == \"blocked\") && action == \"read\";", &["permits-missing"]);
    expect_codes("!(subject.status in [\"blocked\", \"gone\"]);", &["permits-missing"]);
    expect_codes("subject.status != \"blocked\"; subject.status != undefined;", &[]);
    expect_codes("subject.status != \"blocked\"; reflect.isDefined(subject.status);", &[]);
    expect_codes("subject.status != \"blocked\"; subject has \"status\";", &[]);
    expect_codes("action != \"write\";", &[]);
    assert!(found_with("policy \"p\" deny subject.status != \"active\";", &settings()).is_empty());
    let set = "set \"s\" first or deny for action == \"read\" policy \"p\" permit";
    assert!(found_with(set, &settings()).is_empty());
}

#[test]
fn null_is_told_from_undefined() {
    expect(
        "subject.ward == null;",
        &[
            "2:1 ?null-comparison: where `subject.ward` is missing it is `undefined`, which does not equal `null`; compare with `undefined`, unless `null` itself is meant",
        ],
    );
    expect_codes("subject.ward != undefined;", &[]);
}

#[test]
fn patterns_that_are_no_regular_expressions_are_hints() {
    expect_codes("resource.path =~ \"admin\";", &["plain-pattern"]);
    expect_codes("resource.path =~ \"/api/*\";", &["glob-pattern"]);
    expect_codes("resource.path =~ \"*.txt\";", &["glob-pattern"]);
    expect_codes("resource.path =~ \"/api/.*\";", &[]);
    expect_codes("resource.path =~ \"a|b\";", &[]);
    expect_codes("resource.path =~ \"[0-9]*\";", &[]);
}

#[test]
fn signs_of_a_loop_outside_of_one_are_told() {
    expect(
        "@.role == \"x\";",
        &[
            "2:1 relative-outside: `@` is undefined here: it stands for an element within `::`, `[?(...)]` and filters",
        ],
    );
    expect_codes("subject.roles[?(@.active)] != [];", &[]);
    expect_codes("subject.roles :: { \"n\": @.name, \"i\": # } != [];", &[]);
    expect_codes("subject.roles |- each string.concat(@, \"x\") != [];", &[]);
}

#[test]
fn keys_that_stand_twice_are_told() {
    expect(
        "resource == { \"a\": 1, b: 2, a: 3 };",
        &["2:29 duplicate-key: the key `a` is there already; the last one counts"],
    );
    let many: String = (0..40).map(|number| format!("k{}: 1, ", number % 39)).collect();
    expect_codes(&format!("resource == {{ {many} z: 1 }};"), &["duplicate-key"]);
}
