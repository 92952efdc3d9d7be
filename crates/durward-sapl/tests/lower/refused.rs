//! What is refused before anything is asked, with its place and a way out.

use super::problems;

#[track_caller]
fn check(text: &str, problem: &str) {
    let found = problems(&[text]);
    assert!(found.starts_with(problem), "{text}\nexpected {problem}\nfound    {found}");
}

#[test]
fn outcomes_that_always_fail_are_refused() {
    check("policy \"p\" permit obligation 1/0", "0.sapl:1:30: the obligation always fails: division by zero");
    check("policy \"p\" permit advice [1, 2/0]", "0.sapl:1:26: the advice always fails");
    check("policy \"p\" permit\ntransform string.length(1)", "0.sapl:2:11: the transform always fails");
    check(
        "policy \"p\" permit transform nope.nope()",
        "0.sapl:1:29: the transform always fails: there is no",
    );
}

#[test]
fn outcomes_without_an_element_to_stand_for_are_refused() {
    check(
        "policy \"p\" permit obligation @",
        "0.sapl:1:30: `@` and `#` mean nothing in the obligation itself",
    );
    check(
        "policy \"p\" permit transform [#]",
        "0.sapl:1:29: `@` and `#` mean nothing in the transform itself",
    );
    assert_eq!(problems(&["policy \"p\" permit transform subject :: @"]), "");
    // Undefined, where something beside it depends on the subscription.
    assert_eq!(problems(&["policy \"p\" permit transform subject |- filter.replace(@)"]), "");
    assert_eq!(problems(&["policy \"p\" permit obligation @ obligation subject"]), "");
}

#[test]
fn variables_are_defined_once() {
    let again = "0.sapl:1:34: there is a variable `x` already";
    check("policy \"p\" permit var x = 1; var x = 2; x == 2;", again);
    let of_set = "set \"s\" first or deny var x = 1; policy \"p\" permit var x = 2; x == 2;";
    check(of_set, "0.sapl:1:56: there is a variable `x` already");
    let in_two =
        "set \"s\" first or deny policy \"p\" permit var x = 1; x == 1; policy \"q\" deny var x = 2; x == 2;";
    assert_eq!(problems(&[in_two]), "");
}

#[test]
fn targets_of_sets_are_about_the_subscription_alone() {
    let set = |target: &str| format!("set \"s\" first or deny for {target} policy \"p\" permit");
    check(&set("1/0 > 1"), "0.sapl:1:27: the target always fails: division by zero");
    check(&set("1"), "0.sapl:1:27: the target always fails");
    check(&set("<time.now> == 1"), "0.sapl:1:27: a target cannot ask for attributes");
    check(&set("@ == 1"), "0.sapl:1:27: `@` and `#` mean nothing here");
}

#[test]
fn names_are_given_once() {
    let found = problems(&["policy \"p\" permit", "policy \"p\" deny"]);
    assert!(found.starts_with("1.sapl:1:8: another document has the name `p` already: 0.sapl"), "{found}");
    check(
        "set \"s\" first or deny policy \"p\" permit policy \"p\" deny",
        "0.sapl:1:48: the set has a policy `p` already",
    );
    assert_eq!(problems(&["policy \"p\" permit", "set \"s\" first or deny policy \"p\" permit"]), "");
}

#[test]
fn schemas_are_constant_objects() {
    let schema = |schema: &str| format!("subject enforced schema {schema} policy \"p\" permit");
    check(&schema("\"x\""), "0.sapl:1:25: a schema must be an object, not a text");
    check(&schema("1/0"), "0.sapl:1:25: the schema always fails: division by zero");
    check(&schema("{\"type\": action}"), "0.sapl:1:25: a schema cannot depend on the subscription");
}

#[test]
fn regular_expressions_that_are_none_are_refused() {
    check("policy \"p\" permit subject =~ \"[\";", "0.sapl:1:30: `[` is no regular expression");
}

#[test]
fn options_of_attributes_are_constants_of_the_right_kind() {
    let asked = |options: &str| format!("policy \"p\" permit <a.b[{options}]> == 1;");
    check(&asked("{\"retries\": subject}"), "0.sapl:1:24: options of an attribute cannot depend");
    check(&asked("1"), "0.sapl:1:24: options of an attribute must be an object, not a number");
    check(
        &asked("{\"backoffMs\": 49}"),
        "0.sapl:1:24: the option `backoffMs` must be a whole number from 50",
    );
    check(&asked("{\"fresh\": 1}"), "0.sapl:1:24: the option `fresh` must be true or false");
    assert_eq!(problems(&[asked("{\"backoffMs\": 50, \"colour\": 1}").as_str()]), "");
}

#[test]
fn names_of_functions_have_letters_and_digits() {
    check(
        "policy \"p\" permit graph.reachable_paths(1, 2);",
        "0.sapl:1:19: `graph.reachable_paths` is no name",
    );
}
