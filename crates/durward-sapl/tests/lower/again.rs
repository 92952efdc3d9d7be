//! The same text in several documents: lowered once where it means the same, and only there.

use durward_ir::value::Value;

use super::{lowered, lowered_with, problems, rules};

const ASKED: &str = "limit == subject.level;";

fn with(name: &str, before: &str) -> String {
    format!("policy \"{name}\" permit {before} {ASKED}")
}

#[test]
fn the_same_condition_is_the_same_expression_in_every_document() {
    let program = lowered(&[&with("a", "var limit = \"low\";"), &with("b", "var limit = \"low\";")]).unwrap();
    let [a, b] = rules(&program)[..] else { panic!("two policies") };
    assert_eq!(a.target, b.target);
}

/// A variable of the same name may be another one, or one of the configuration.
#[test]
fn the_same_text_means_what_its_variables_mean() {
    let texts = [with("a", "var limit = \"low\";"), with("b", "var limit = \"high\";"), with("c", "")];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let program = lowered_with(&[("limit", Value::text("high"))], &texts).unwrap();
    let [a, b, c] = rules(&program)[..] else { panic!("three policies") };
    assert_ne!(a.target, b.target);
    assert_eq!(b.target, c.target);
}

/// A policy of a set sees the variables of the set, and none of its siblings'.
#[test]
fn the_same_text_in_a_set_means_what_the_set_says() {
    let set = format!(
        "set \"s\" first or abstain var x = \"low\"; policy \"a\" permit var limit = x; {ASKED} policy \"b\" permit {ASKED}"
    );
    let program = lowered_with(&[("limit", Value::text("high"))], &[&set, &with("c", "")]).unwrap();
    let targets: Vec<_> = program.nodes().filter_map(|(_, node)| node.target()).collect();
    let [a, b, c] = targets[..] else { panic!("three policies") };
    assert_ne!(a, b);
    assert_eq!(b, c);
}

#[test]
fn the_same_text_means_what_its_imports_mean() {
    let policy = "permit short(subject.name) == 3;";
    let length = format!("import string.length as short policy \"a\" {policy}");
    let lower = format!("import string.toLowerCase as short policy \"b\" {policy}");
    let program = lowered(&[&length, &lower]).unwrap();
    let [a, b] = rules(&program)[..] else { panic!("two policies") };
    assert_ne!(a.condition, b.condition);
}

/// What is wrong with an expression is said wherever it stands.
#[test]
fn the_same_problem_is_told_in_every_document() {
    let policy = |name: &str| format!("policy \"{name}\" permit subject.name =~ \"(\";");
    let told = problems(&[&policy("a"), &policy("b")]);
    assert!(told.contains("0.sapl:1:") && told.contains("1.sapl:1:"), "{told}");
}
