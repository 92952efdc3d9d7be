//! Names that mean nothing: functions, attributes, variables, imports, options.

use super::{attributes, expect, expect_codes, lines_with, settings};
use durward_sapl::check::{Others, Settings};

#[test]
fn unknown_functions_are_told_with_the_one_that_was_meant() {
    expect(
        "string.lenght(subject.id) > 3;",
        &[
            "2:1 unknown-function: there is no function `string.lenght`: calling it is an error; did you mean `string.length`?",
        ],
    );
    expect(
        "text.startsWith(action, \"r\");",
        &[
            "2:1 unknown-function: there is no function `text.startsWith`: calling it is an error; did you mean `string.startsWith`?",
        ],
    );
    expect(
        "subject.id |- filter.blackn == \"X\";",
        &[
            "2:15 unknown-function: there is no function `filter.blackn`: calling it is an error; did you mean `filter.blacken`?",
        ],
    );
    expect(
        "time.now() == \"x\";",
        &[
            "2:1 unknown-function: there is no function `time.now`: calling it is an error; it is an attribute: write `<time.now>` with 0 to 1 argument",
        ],
    );
}

#[test]
fn calls_with_too_many_or_too_few_arguments_are_told() {
    expect(
        "string.length(\"a\", \"b\") > 0;",
        &["2:1 wrong-arity: `string.length` does not take 2 arguments; write `string.length(text)`"],
    );
    expect(
        "graph.transitiveClosureSet() == 1;",
        &["2:1 wrong-arity: `graph.transitiveClosureSet` does not take 0 arguments; \
           write `graph.transitiveClosureSet(object)` or `graph.transitiveClosureSet(object, text)`"],
    );
    expect_codes("subject.id |- filter.replace == \"x\";", &["wrong-arity"]);
    expect_codes("subject.id |- filter.replace(\"x\") == \"x\";", &[]);
    expect_codes("subject.ids |- each filter.remove == [];", &[]);
    expect_codes(
        "subject |- { @.name : filter.blacken(1, 2, 3), @.x : filter.remove(1) } == 1;",
        &["wrong-arity"],
    );
}

#[test]
fn arguments_of_another_type_are_told() {
    expect(
        "string.length(5) > 0;",
        &[
            "2:15 wrong-type: `string.length` takes a text here, not a number: this is an error; write `string.length(text)`",
        ],
    );
    expect_codes("math.max(1, \"2\") > 0;", &["wrong-type"]);
    expect_codes("math.max(1, limit) > 0;", &[]);
    expect_codes("string.length(limit) > 0;", &["wrong-type"]);
    expect_codes("array.head(subject.roles) == \"a\";", &[]);
    expect_codes("var n = -1; string.length(n) > 0;", &["wrong-type"]);
}

#[test]
fn attributes_that_nothing_has_values_for_are_told() {
    expect(
        "<time.noww> != undefined;",
        &[
            "2:1 unknown-attribute: nothing has values for the attribute `time.noww`, so it is undefined; did you mean `<time.now>`?",
        ],
    );
    expect(
        "subject.<hr.department> == \"cardiology\";",
        &["2:9 unknown-attribute: nothing has values for the attribute `hr.department`, so it is undefined"],
    );
    expect(
        "<x509.isExpired>;",
        &[
            "2:1 unknown-attribute: `x509.isExpired` is an attribute of a value; asked of the environment it is undefined; write `value.<x509.isExpired>`",
        ],
    );
    expect(
        "subject.<time.now> == 1;",
        &[
            "2:9 unknown-attribute: `time.now` is an attribute of the environment; asked of a value it is undefined; write `<time.now>` with 0 to 1 argument",
        ],
    );
    expect_codes("<time.nowIsAfter>;", &["wrong-arity"]);
    expect_codes("<time.nowIsAfter(\"2020-01-01T00:00:00Z\")>;", &[]);
    expect_codes("|<time.now(500)> == subject.since;", &[]);
    expect(
        "<string.length> == 1;",
        &[
            "2:1 unknown-attribute: nothing has values for the attribute `string.length`, so it is undefined; it is a function: write `string.length(text)`",
        ],
    );
}

#[test]
fn what_nobody_said_of_attributes_is_no_warning() {
    let told = |others, text: &str| {
        let settings = Settings { attributes: attributes(others), ..settings() };
        lines_with(&format!("policy \"p\" deny {text}"), &settings)
            .into_iter()
            .map(|line| {
                line.split(':')
                    .nth(1)
                    .unwrap_or_default()
                    .trim_start_matches(|c: char| c.is_ascii_digit())
                    .trim()
                    .to_owned()
            })
            .collect::<Vec<_>>()
    };
    for (text, none, unknown, any) in [
        ("subject.<hr.department> == 1;", Some("unknown-attribute"), Some("?unknown-attribute"), None),
        ("<time.nwo> == 1;", Some("unknown-attribute"), Some("unknown-attribute"), None),
        ("<time.sunset> == 1;", Some("unknown-attribute"), Some("unknown-attribute"), None),
        (
            "<x509.isExpired> == 1;",
            Some("unknown-attribute"),
            Some("unknown-attribute"),
            Some("unknown-attribute"),
        ),
    ] {
        for (others, code) in [(Others::None, none), (Others::Unknown, unknown), (Others::Any, any)] {
            assert_eq!(told(others, text), code.into_iter().collect::<Vec<_>>(), "{text} {others:?}");
        }
    }
}

#[test]
fn options_that_mean_nothing_are_told() {
    expect(
        "<time.now[{\"pollInterval\": 5, \"retries\": 1}]> == 1;",
        &[
            "2:12 unknown-option: `pollInterval` is no option of attributes, and means nothing; did you mean `pollIntervalMs`?",
        ],
    );
}

#[test]
fn unknown_variables_are_told_with_what_was_meant() {
    expect(
        "subject.status == blocked;",
        &[
            "2:19 unknown-variable: there is no variable `blocked`, so it is undefined; for the text, write \"blocked\"",
        ],
    );
    expect(
        "resource.size < limt;",
        &["2:17 unknown-variable: there is no variable `limt`, so it is undefined; did you mean `limit`?"],
    );
    expect(
        "ressource.size < limit;",
        &[
            "2:1 unknown-variable: there is no variable `ressource`, so it is undefined; did you mean `resource`?",
        ],
    );
    expect(
        "user.role == \"a\";",
        &["2:1 unknown-variable: there is no variable `user`, so it is undefined; did you mean `subject`?"],
    );
    expect(
        "subject.active == True;",
        &["2:19 unknown-variable: there is no variable `True`, so it is undefined; did you mean `true`?"],
    );
    expect(
        "subject.level > most;\nvar most = 3;\nmost > 2;",
        &[
            "2:17 unknown-variable: there is no variable `most`, so it is undefined; it is defined in line 3: move that before this",
        ],
    );
    expect(
        "whatever.at.last == 1;",
        &["2:1 unknown-variable: there is no variable `whatever`, so it is undefined"],
    );
}

#[test]
fn variables_are_known_where_they_are_in_scope() {
    let set = |rest: &str| {
        format!("set \"s\" first or deny errors propagate for action == \"read\" var base = 5;\n{rest}")
    };
    let codes = |text: &str| {
        lines_with(text, &settings())
            .iter()
            .map(|line| line.split(':').nth(1).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let two = "policy \"a\" permit var own = base + 1; subject.x > own;\npolicy \"b\" deny subject.x > own;";
    assert_eq!(codes(&set(two)), ["29 unknown-variable"]);
    assert!(codes(&set("policy \"a\" permit subject.x > base;")).is_empty());
    assert_eq!(
        codes("set \"s\" first or deny for action == base var base = 5; policy \"a\" deny subject.x > base;")
            .len(),
        1
    );
}

#[test]
fn unused_variables_are_told_and_those_only_they_use() {
    expect(
        "var a = 1;\nvar b = a + 1;\nvar c = subject.x;\nc == 1;",
        &[
            "2:5 unused-variable: the variable `a` is not used but by unused variables; remove it, or use it",
            "3:5 unused-variable: the variable `b` is not used; remove it, or use it",
        ],
    );
    for place in [
        "obligation x",
        "advice {\"x\": x}",
        "transform resource |- filter.replace(x)",
        "<time.now(x)> == action;",
    ] {
        expect_codes(
            &format!("var x = subject.y; {place}"),
            if place.contains('<') { &[] } else { &["permits-everything"] },
        );
    }
}

#[test]
fn a_variable_that_hides_one_of_the_configuration_is_a_hint() {
    expect(
        "var limit = 3;\nsubject.x > limit;",
        &[
            "2:5 ?shadowed-variable: the variable `limit` hides the one of `pdp.json`; give it another name, unless that is wanted",
        ],
    );
}

#[test]
fn imports_that_are_unused_or_lead_nowhere_are_told() {
    let text = "import string.length\nimport string.lenght as size\nimport time.now as moment\n\
                policy \"p\" deny size(action) == 1; <moment> == action;";
    assert_eq!(
        lines_with(text, &settings()),
        [
            "1:1 unused-import: `length` is imported and not used; remove it",
            "2:1 unknown-import: there is no function or attribute `string.lenght`; did you mean `string.length`?",
        ]
    );
}
