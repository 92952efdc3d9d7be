//! Every index against the plain evaluator, and that a difference would be seen. `cargo xtask differential` asks a hundred
//! times as much.

use durward_pdp::{IndexSettings, Pdp, PdpBuilder};
use durward_testkit::differential::{
    ContestQuestion, DifferentialCase, DifferentialPlan, EvaluatorContest, ShrinkableText, run,
};

#[test]
fn every_index_answers_as_the_plain_evaluator() {
    let plan = DifferentialPlan { questions: 10_000, seed: 0x5eed, data: durward_testdata::recorded("") };
    let total = run(&plan, |source, count| println!("{source}: {count:?}"));
    let total = total.unwrap_or_else(|difference| panic!("{difference}"));
    assert!(total.questions >= plan.questions && total.answers > 7 * total.questions, "{total:?}");
}

const POLICIES: [&str; 3] = [
    r#"policy "a" permit subject.role == "a";"#,
    r#"policy "b" permit subject.role == "b"; obligation "log""#,
    r#"policy "c" permit subject.role == "c"; resource == "r";"#,
];

fn builder(policies: &[&str]) -> PdpBuilder {
    let policies = policies.iter().enumerate();
    policies
        .fold(Pdp::builder(), |builder, (number, policy)| builder.policy(&format!("{number}.sapl"), *policy))
}

fn asked(role: &str) -> ContestQuestion {
    ContestQuestion::read(&format!(r#"{{"subject": {{"role": "{role}"}}, "action": "a", "resource": "r"}}"#))
        .unwrap()
}

/// What leaves out a policy that applies is as a broken index.
#[test]
fn an_answer_without_a_policy_that_applies_is_a_difference() {
    let mut contest = EvaluatorContest::build(&|| builder(&POLICIES), None).unwrap().unwrap();
    contest.add("broken", builder(&POLICIES[..2]).build().unwrap());
    assert!(contest.ask(&asked("a")).is_ok());
    let disagreement = contest.ask(&asked("c")).unwrap_err();
    assert_eq!(
        [disagreement.who, disagreement.plain, disagreement.found],
        ["broken", r#"{"decision":"PERMIT"}"#, r#"{"decision":"DENY"}"#]
    );
}

#[test]
fn other_obligations_are_a_difference() {
    let mut contest = EvaluatorContest::build(&|| builder(&POLICIES), None).unwrap().unwrap();
    let other = POLICIES[1].replace("log", "tell");
    contest.add("broken", builder(&[POLICIES[0], &other, POLICIES[2]]).build().unwrap());
    assert!(contest.ask(&asked("a")).is_ok());
    assert!(contest.ask(&asked("b")).unwrap_err().found.contains("tell"));
}

/// Built with an index that is told otherwise, only some policies are refused.
#[test]
fn policies_that_only_some_refuse_are_a_difference() {
    let calls = std::cell::Cell::new(0);
    let make = || {
        calls.set(calls.get() + 1);
        builder(if calls.get() < 3 { &POLICIES } else { &["policy"] })
    };
    assert!(EvaluatorContest::build(&make, None).unwrap_err().found.starts_with("refuses"));
}

#[test]
fn a_difference_is_made_small() {
    let policies = POLICIES
        .map(|policy| ShrinkableText::of("").maybe(ShrinkableText::of("// a comment\n")).then(policy));
    let documents =
        policies.into_iter().enumerate().map(|(number, text)| (format!("{number}.sapl"), text)).collect();
    let question = ShrinkableText::of(r#"{"subject": {"role": "c""#)
        .maybe(ShrinkableText::of(r#", "name": "n""#))
        .then(r#"}, "action": "a", "resource": "r""#)
        .maybe(ShrinkableText::of(r#", "environment": 1"#))
        .then("}");
    let case = DifferentialCase { documents, question };
    // All decision points but the plain one forget their policies.
    let calls = std::cell::Cell::new(0);
    let forgetful = |builder: PdpBuilder| {
        calls.set(calls.get() + 1);
        let is_plain = calls.get() % PDPS == 1;
        if is_plain { builder } else { Pdp::builder() }
    };
    let smaller = case.smaller(&forgetful, &IndexSettings::default());
    assert_eq!(
        smaller.to_string(),
        format!(
            "--- 2.sapl\n{}\n--- question\n{}",
            POLICIES[2], r#"{"subject": {"role": "c"}, "action": "a", "resource": "r"}"#
        )
    );
}

/// The plain one, and two for every index.
const PDPS: usize = 1 + 2 * durward_pdp::IndexKind::ALL.len();
