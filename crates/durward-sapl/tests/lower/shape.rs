//! What documents become.

use durward_ir::program::{Expr, Node};
use durward_ir::value::Value;

use super::{lowered, lowered_with, rules};

#[test]
fn comparisons_with_constants_become_the_target() {
    let program =
        lowered(&["policy \"p\" permit subject.role == \"a\"; action in [\"r\", \"w\"]; subject.age > 7;"]);
    let program = program.unwrap();
    let rules = rules(&program);
    let Some(Expr::All(parts)) = rules[0].target.map(|target| program.expr(target)) else {
        panic!("{:?}", rules[0])
    };
    assert!(parts.iter().all(|part| matches!(program.expr(*part), Expr::IsOneOf(..))));
    assert!(matches!(rules[0].condition.map(|it| program.expr(it)), Some(Expr::Structured(_))));
}

#[test]
fn alternatives_of_one_part_are_one_comparison() {
    let program = lowered(&["policy \"p\" permit subject.role == \"a\" || \"b\" == subject.role;"]).unwrap();
    let target = rules(&program)[0].target.map(|target| program.expr(target));
    assert!(matches!(target, Some(Expr::IsOneOf(_, atoms)) if atoms.len() == 2), "{target:?}");
}

/// False wins over an error, so the comparisons within may go first.
#[test]
fn what_must_hold_for_a_condition_that_may_fail_is_in_the_target_too() {
    let text =
        "policy \"p\" permit (action == \"r\" && subject.x > 1) || (action == \"w\" && subject.y > 1);";
    let program = lowered(&[text]).unwrap();
    let rule = rules(&program)[0];
    let target = rule.target.map(|target| program.expr(target));
    assert!(matches!(target, Some(Expr::IsOneOf(_, atoms)) if atoms.len() == 2), "{target:?}");
    assert!(matches!(rule.condition.map(|it| program.expr(it)), Some(Expr::Any(_))));
}

#[test]
fn equal_conditions_are_one_expression_in_all_documents() {
    let variables = [("limit", Value::number(3))];
    let texts = [
        "policy \"p\" permit var most = limit + 1; subject.age > most;",
        "policy \"q\" deny subject.age > 4;",
    ];
    let program = lowered_with(&variables, &texts).unwrap();
    let rules = rules(&program);
    assert_eq!(rules[0].condition, rules[1].condition);
}

#[test]
fn what_is_the_same_for_every_question_votes_first() {
    let texts = ["policy \"a\" permit subject == 1;", "policy \"b\" permit", "policy \"c\" deny 1/0 == 1;"];
    let program = lowered(&texts).unwrap();
    let names: Vec<_> = rules(&program).iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(names, ["b", "c", "a"]);
}

#[test]
fn in_a_set_that_takes_the_first_the_order_stays() {
    let text = "set \"s\" first or deny policy \"a\" permit subject == 1; policy \"b\" deny";
    let program = lowered(&[text]).unwrap();
    let names: Vec<_> = program.nodes().map(|(_, node)| node.id().as_str()).collect();
    assert_eq!(names, ["a", "b", "s", "root"]);
    let sets = program.nodes().filter(|(_, node)| matches!(node, Node::Set(_)));
    assert_eq!(sets.count(), 2);
}

#[test]
fn policies_that_never_apply_are_left_out() {
    let program = lowered(&["policy \"p\" permit subject.x > 1; 1 > 2;"]).unwrap();
    assert!(rules(&program).is_empty());
}

#[test]
fn contradictions_are_seen() {
    let program = lowered(&["policy \"p\" permit subject.x == 1; subject.x == 2;"]).unwrap();
    assert!(rules(&program).is_empty());
}
