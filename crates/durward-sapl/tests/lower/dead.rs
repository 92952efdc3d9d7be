//! Policies that never have a say: found, told of, and left out.

use durward_ir::program::{Dead, Node, Program};

use super::lowered_with;

fn lowered(document: &str) -> Program {
    lowered_with(&[], &[document]).unwrap()
}

/// Line, column and message of what is dead.
fn dead(document: &str) -> Vec<String> {
    let shown = |dead: &Dead| format!("{}:{}: {}", dead.place.line, dead.place.column, dead.message);
    lowered(document).dead().map(shown).collect()
}

fn rules(document: &str) -> usize {
    lowered(document).nodes().filter(|(_, node)| matches!(node, Node::Rule(_))).count()
}

#[test]
fn a_condition_that_is_false_whatever_is_asked_is_told_of() {
    let document = "policy \"p\" permit\n  subject.a == 1;\n  1 > 2;";
    assert_eq!(dead(document), ["3:3: policy `p` never applies: this is false whatever is asked"]);
    assert_eq!(rules(document), 0);
}

#[test]
fn conditions_that_contradict_one_another_are_told_of() {
    for body in ["subject.a == 1; subject.a == 2;", "subject.a in [1, 2]; subject.a == 3;", "subject in [];"]
    {
        let document = format!("policy \"p\" permit {body}");
        assert_eq!(dead(&document).len(), 1, "{body}");
        assert_eq!(rules(&document), 0, "{body}");
    }
}

#[test]
fn a_set_whose_target_is_false_is_told_of() {
    let document = "set \"s\" unique or abstain\nfor \"a\" == \"b\"\npolicy \"p\" permit";
    assert_eq!(dead(document), ["2:5: set `s` never applies: this is false whatever is asked"]);
}

#[test]
fn nothing_is_asked_after_the_first_vote_that_is_certain() {
    let document = "set \"s\" first or abstain\npolicy \"a\" deny subject == 1;\npolicy \"b\" permit\npolicy \"c\" deny\n\
        policy \"d\" permit subject == 2;";
    let never = "before it always has a vote, and the first counts";
    assert_eq!(
        dead(document),
        [
            format!("4:8: policy `c` is never asked: `b` (line 3) {never}"),
            format!("5:8: policy `d` is never asked: `b` (line 3) {never}")
        ]
    );
    assert_eq!(rules(document), 2);
}

#[test]
fn documents_have_no_first_vote() {
    let program = lowered_with(&[], &["policy \"a\" permit", "policy \"b\" deny"]).unwrap();
    assert_eq!(program.dead().len(), 0);
    assert_eq!(program.nodes().filter(|(_, node)| matches!(node, Node::Rule(_))).count(), 2);
}

#[test]
fn what_may_have_a_say_is_not_dead() {
    for document in [
        "policy \"p\" permit 1 / 0 > 1;",
        "policy \"p\" permit subject.a == 1; subject.b == 2;",
        "policy \"p\" permit subject.a == 1 || subject.a == 2;",
        "policy \"p\" permit \"text\";",
        "set \"s\" priority deny or abstain policy \"a\" deny policy \"b\" permit",
        "set \"s\" first or abstain policy \"a\" deny subject == 1; policy \"b\" permit policy \"c\" deny false;",
    ] {
        let is_last = document.ends_with("false;");
        assert_eq!(dead(document).len(), usize::from(is_last), "{document}");
    }
}
