//! Expectations of one decision.

use crate::{fails, passes, scenario};
use durward_scenario::ScenarioOutcome;

const POLICY: &str = r#"
policy "p" permit
    subject == "ada"; action != "fail" || 1/resource > 0;
obligation { "type": "log", "level": 2 }
obligation "second"
advice { "hint": "look" }
transform [1, "two", null]
"#;

const WHEN: &str = r#"when "ada" attempts "read" on 0 expect "#;

#[test]
fn a_decision_may_have_more_than_is_expected() {
    passes(POLICY, "", &format!("{WHEN} permit"));
    passes(POLICY, "", &format!("{WHEN} permit with obligations \"second\""));
    let all = "permit with obligations {\"level\": 2.0, \"type\": \"log\"}, \"second\" with resource [1, \"two\", null] \
               with advice {\"hint\": \"look\"}";
    passes(POLICY, "", &format!("{WHEN} {all}"));
    let said = fails(POLICY, "", &format!("{WHEN} permit with obligations \"third\""));
    assert!(said.contains("it has no obligation that is \"third\""), "{said}");
    let said = fails(POLICY, "", &format!("{WHEN} permit with resource 1"));
    assert!(said.contains("its resource [1,\"two\",null] is not 1"), "{said}");
}

#[test]
fn every_decision_can_be_expected() {
    passes(POLICY, "", "when \"bob\" attempts \"read\" on 0 expect not-applicable");
    passes(POLICY, "", "when \"ada\" attempts \"fail\" on 0 expect indeterminate");
    passes("policy \"p\" deny", "", "when 1 attempts 2 on 3 expect deny");
    passes("policy \"p\" suspend", "", "when 1 attempts 2 on 3 expect suspend");
    passes("policy \"p\" suspend", "", "when 1 attempts 2 on 3 expect decision any");
}

#[test]
fn what_came_is_told_with_its_place_and_reason() {
    let outcome = scenario(POLICY, "", "when \"ada\" attempts \"fail\" on 0\n  expect permit");
    let ScenarioOutcome::Failed(finding) = outcome else { panic!("{outcome:?}") };
    assert_eq!((finding.line, finding.column), (2, 10));
    let lines: Vec<&str> = finding.message.lines().collect();
    assert_eq!(lines[0], "expected: permit");
    assert_eq!(lines[1], "came: {\"decision\":\"INDETERMINATE\"}; it is INDETERMINATE, not PERMIT");
    assert!(lines[2].starts_with("because: ") && lines[2].contains("zero"), "{}", finding.message);
}

#[test]
fn parts_of_a_decision_are_expected() {
    for holds in [
        "is permit",
        "with obligation",
        "with obligation equals \"second\"",
        "with obligation matching text \"second\"",
        "with obligation matching object where { \"type\" is text \"log\" and \"level\" is number 2 }",
        "with obligation containing key \"type\"",
        "with obligation containing key \"type\" with value matching text starting with \"l\"",
        "with advice, with resource",
        "with resource matching array",
        "with resource equals [1, \"two\", null]",
        "is permit, with obligation, with advice containing key \"hint\"",
    ] {
        passes(POLICY, "", &format!("{WHEN} decision {holds}"));
    }
    for fails_to_hold in [
        "is deny",
        "with obligation equals \"third\"",
        "with obligation containing key \"none\"",
        "with obligation containing key \"type\" with value matching number",
        "with advice matching text",
        "with resource matching object",
        "is permit, with obligation, with advice equals 1",
    ] {
        fails(POLICY, "", &format!("{WHEN} decision {fails_to_hold}"));
    }
}

#[test]
fn what_is_not_there_fails_whatever_it_should_be() {
    for part in ["with obligation", "with advice", "with resource"] {
        let said = fails("policy \"p\" permit", "", &format!("{WHEN} decision {part}"));
        assert!(said.contains("it has no"), "{said}");
    }
}

#[test]
fn environment_and_signed_numbers_are_asked_with() {
    let policy = "policy \"p\" permit environment.limit == -1.5; resource == [null, {\"a\": []}];";
    let when = "when 1 attempts 2 on [null, {\"a\": []}]";
    passes(policy, "", &format!("{when} in environment {{ \"limit\": -1.50 }} expect permit"));
    passes(policy, "", &format!("{when} expect not-applicable"));
    passes(
        policy,
        "- secrets {\"key\": 1}",
        &format!("{when} in {{\"limit\": 1}} with secrets {{}} expect not-applicable"),
    );
}
