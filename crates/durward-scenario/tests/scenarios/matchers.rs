//! What values must be.

use crate::passes;

/// Whether an argument matches.
#[track_caller]
fn check(matcher: &str, value: &str, matches: bool) {
    let policy = "policy \"d\" permit my.test(subject) == true;";
    let given = format!("- function my.test(any) maps to false\n- function my.test({matcher}) maps to true");
    let expected = if matches { "permit" } else { "not-applicable" };
    passes(policy, &given, &format!("when {value} attempts 2 on 3 expect {expected}"));
}

#[test]
fn values_and_kinds() {
    for (matcher, value, matches) in [
        ("1", "1.0", true),
        ("-1", "-1", true),
        ("{\"a\": [1, null]}", "{\"a\": [1, null]}", true),
        ("[1]", "[1, 2]", false),
        ("matching null", "null", true),
        ("matching null", "false", false),
        ("matching text", "\"\"", true),
        ("matching text", "1", false),
        ("matching number", "-0.5", true),
        ("matching number 2", "2.0", true),
        ("matching number -2", "2", false),
        ("matching boolean", "false", true),
        ("matching boolean true", "false", false),
        ("matching array", "[]", true),
        ("matching array", "{}", false),
        ("matching object", "{}", true),
        ("matching object", "[]", false),
    ] {
        check(matcher, value, matches);
    }
}

#[test]
fn texts() {
    for (matcher, value, matches) in [
        ("\"a\"", "\"a\"", true),
        ("null", "null", true),
        ("null", "\"null\"", false),
        ("blank", "\" \\t\"", true),
        ("blank", "\"\"", true),
        ("blank", "null", false),
        ("empty", "\"\"", true),
        ("empty", "\" \"", false),
        ("null-or-empty", "null", true),
        ("null-or-blank", "\" \"", true),
        ("null-or-blank", "1", false),
        ("equal to \"a b\" with compressed whitespace", "\"  a \\n b\"", true),
        ("equal to \"Ab\" case-insensitive", "\"aB\"", true),
        ("with regex \"[a-c]+\"", "\"abc\"", true),
        ("with regex \"[a-c]+\"", "\"abcd\"", false),
        ("starting with \"ab\"", "\"abc\"", true),
        ("starting with \"AB\" case-insensitive", "\"abc\"", true),
        ("starting with \"AB\"", "\"abc\"", false),
        ("ending with \"bc\"", "\"abc\"", true),
        ("ending with \"BC\" case-insensitive", "\"abc\"", true),
        ("containing \"b\"", "\"abc\"", true),
        ("containing \"B\" case-insensitive", "\"abc\"", true),
        ("containing stream \"a\", \"b\" in order", "\"xaxbx\"", true),
        ("containing stream \"a\", \"b\" in order", "\"ba\"", false),
        ("containing stream \"aa\", \"a\" in order", "\"aa\"", false),
        ("with length 2", "\"ab\"", true),
        ("with length 2", "\"\u{1F600}\"", true),
        ("with length 2", "\"a\"", false),
    ] {
        check(&format!("matching text {matcher}"), value, matches);
    }
}

#[test]
fn elements_and_members() {
    check("matching array where [text \"b\", text \"a\"]", "[\"a\", \"b\", 1]", true);
    check("matching array where [text, text]", "[\"a\", 1]", false);
    check("matching array where []", "[1]", true);
    check(
        "matching object where {\"a\" is number 1 and \"b\" is object where {\"c\" is null}}",
        "{\"b\": {\"c\": null}, \"a\": 1, \"z\": 0}",
        true,
    );
    check("matching object where {\"a\" is number}", "{\"b\": 1}", false);
}

#[test]
fn what_is_no_regular_expression_is_an_error() {
    let said = crate::errs(
        "policy \"d\" permit",
        "- function a.b(matching text with regex \"(\") maps to 1",
        "when 1 attempts 2 on 3 expect permit",
    );
    assert!(said.contains('('), "{said}");
}
