//! Which documents are in force, and how they are combined.

use durward_scenario::ScenarioOutcome;

use crate::{Shelf, errs, only, passes, run, run_with};

const DENIES: (&str, &str) = ("it/denies", "policy \"no\" deny resource == \"foo\";");
const PERMITS: (&str, &str) = ("permits", "policy \"yes\" permit subject == limit;");

#[track_caller]
fn check(given: &str, when: &str, expected: &str) {
    let test = format!("requirement \"r\" {{ {given} scenario \"s\" when {when} expect {expected}; }}");
    assert_eq!(only(&run(&[DENIES, PERMITS], &test)), &ScenarioOutcome::Passed, "{given}");
}

#[test]
fn one_document_alone_is_not_combined() {
    check("given - document \"it/denies\"", "1 attempts 2 on \"bar\"", "not-applicable");
    check("given - document \"denies\"", "1 attempts 2 on \"foo\"", "deny");
    check("given - document \"no\"", "1 attempts 2 on \"foo\"", "deny");
    let said = errs("policy \"p\" permit", "- priority deny or deny", "when 1 attempts 2 on 3 expect permit");
    assert!(said.starts_with("one document alone is not combined"), "{said}");
}

#[test]
fn several_documents_are_combined() {
    let variables = "- variables { \"limit\": 1 }";
    let both = format!("given - documents \"it/denies\", \"permits\" {variables}");
    check(&both, "1 attempts 2 on \"foo\"", "deny");
    check(&both, "1 attempts 2 on \"bar\"", "permit");
    check(&both, "2 attempts 2 on \"bar\"", "deny");
    check(&format!("{both} - priority permit or abstain"), "1 attempts 2 on \"foo\"", "permit");
    check(&format!("{both} - unique or deny errors propagate"), "1 attempts 2 on \"foo\"", "indeterminate");
    check(&format!("{both} - unique or deny"), "1 attempts 2 on \"foo\"", "indeterminate");
    check(&format!("{both} - unique or deny errors abstain"), "1 attempts 2 on \"foo\"", "not-applicable");
    check(&format!("{both} - first or deny"), "1 attempts 2 on \"foo\"", "deny");
    check(&format!("given {variables}"), "1 attempts 2 on \"foo\"", "deny");
    check("given - documents \"permits\", \"permits\"", "1 attempts 2 on 3", "deny");
}

#[test]
fn the_scenario_wins_over_its_requirement() {
    let test = "requirement \"r\" { given - document \"permits\" - variables { \"limit\": 1 }
        scenario \"s\" given - documents \"permits\" - variables { \"limit\": 2 } - priority deny or suspend
        when 1 attempts 2 on 3 expect suspend; }";
    assert_eq!(only(&run(&[DENIES, PERMITS], test)), &ScenarioOutcome::Passed);
}

#[test]
fn folders_bring_documents_algorithm_and_variables() {
    let algorithm = |mode: &str| {
        format!(
            r#"{{ "algorithm": {{ "votingMode": "{mode}", "defaultDecision": "DENY", "errorHandling": "PROPAGATE" }},
                "variables": {{ "limit": 1 }} }}"#
        )
    };
    let json: &'static str = algorithm("PRIORITY_PERMIT").leak();
    let shelf =
        Shelf([("it/denies.sapl", DENIES.1), ("it/permits.sapl", PERMITS.1), ("it/pdp.json", json)].into());
    let play = |given: &str, expected: &str| {
        let test = format!(
            "requirement \"r\" {{ scenario \"s\" given {given} when 1 attempts 2 on \"foo\" expect {expected}; }}"
        );
        only(&run_with(&[DENIES, PERMITS], &shelf, &test)).clone()
    };
    assert_eq!(play("- configuration \"it\"", "permit"), ScenarioOutcome::Passed);
    assert_eq!(play("- configuration \"it\" - priority deny or deny", "deny"), ScenarioOutcome::Passed);
    assert_eq!(play("- configuration \"it\" - variables { \"limit\": 2 }", "deny"), ScenarioOutcome::Passed);
    assert_eq!(play("- pdp-configuration \"it/pdp.json\"", "permit"), ScenarioOutcome::Passed);
    assert_eq!(
        play("- pdp-configuration \"it/pdp.json\" - document \"no\"", "deny"),
        ScenarioOutcome::Passed
    );
    for refused in [
        "- configuration \"it\" - document \"no\"",
        "- configuration \"it\" - documents \"no\"",
        "- configuration \"it\" - pdp-configuration \"it/pdp.json\"",
        "- configuration \"elsewhere\"",
        "- pdp-configuration \"elsewhere\"",
        "- pdp-configuration \"it/denies.sapl\"",
    ] {
        assert!(matches!(play(refused, "deny"), ScenarioOutcome::Error(_)), "{refused}");
    }
}

#[test]
fn unknown_and_broken_documents_are_errors_of_those_who_use_them() {
    let texts = [("good", "policy \"good\" permit"), ("bad", "policy \"bad\" permit subject.policy;")];
    let test = "requirement \"r\" {
        scenario \"1\" given - document \"good\" when 1 attempts 2 on 3 expect permit;
        scenario \"2\" given - document \"bad\" when 1 attempts 2 on 3 expect permit;
        scenario \"3\" given - document \"goood\" when 1 attempts 2 on 3 expect permit;
    }";
    let report = run(&texts, test);
    let outcomes: Vec<&ScenarioOutcome> =
        report.files[0].requirements[0].scenarios.iter().map(|it| &it.outcome).collect();
    assert_eq!(outcomes[0], &ScenarioOutcome::Passed);
    let ScenarioOutcome::Error(bad) = outcomes[1] else { panic!("{outcomes:?}") };
    assert!(bad.message.starts_with("bad.sapl:1:29: `policy` is a keyword"), "{}", bad.message);
    let ScenarioOutcome::Error(unknown) = outcomes[2] else { panic!("{outcomes:?}") };
    assert_eq!(unknown.message, "there is no document `goood`; there are `good`, `bad`");
}

#[test]
fn documents_that_do_not_compile_are_errors() {
    let said = errs("policy \"p\" permit obligation 1/0", "", "when 1 attempts 2 on 3 expect permit");
    assert!(said.starts_with("d.sapl:1:30: the obligation always fails"), "{said}");
    passes("policy \"p\" permit", "- low-latency-mode false", "when 1 attempts 2 on 3 expect permit");
}
