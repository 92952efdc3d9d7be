//! What a record says of a decision: by which policies it was made, and where it failed.

use durward_pdp::record::{FAILURES_MAX, Record, Recording};
use durward_pdp::sapl::{Outcome, Subscription};
use durward_pdp::{Decision, IndexKind, Pdp, PolicyText, Request};

const ALGORITHM: &str = r#"{"algorithm": {"votingMode": "PRIORITY_PERMIT", "defaultDecision": "DENY",
    "errorHandling": "PROPAGATE"}}"#;

const INDEXES: [IndexKind; 5] =
    [IndexKind::Auto, IndexKind::Scan, IndexKind::Bloom, IndexKind::Canonical, IndexKind::Diagram];

fn pdp(index: IndexKind, files: &[(&str, &str)]) -> Pdp {
    let text =
        |(name, text): &(&str, &str)| PolicyText { name: (*name).into(), text: text.as_bytes().to_vec() };
    Pdp::builder().policies(files.iter().map(text).collect::<Vec<_>>()).index(index).build().unwrap()
}

fn ask(pdp: &Pdp, json: &str, policies: bool) -> (Outcome, Record) {
    let subscription = Subscription::from_json(json.as_bytes()).unwrap();
    let (attempt, record) = pdp.attempt_once_recorded(&subscription, Recording { policies });
    assert_eq!(attempt.decision.outcome, pdp.decide_once(&subscription).outcome);
    (attempt.decision.outcome, record)
}

/// Of each failure: the path, the place, the message.
fn told(record: &Record) -> Vec<String> {
    record
        .failures
        .iter()
        .map(|one| format!("{} ({}): {}", one.path.join("/"), one.place, one.message))
        .collect()
}

const FAILING: &str = "set \"clinic\"\npriority permit or deny errors propagate\n\n\
    policy \"age\" permit\n  subject.age > 18;\n\npolicy \"share\" permit\n  1 / subject.n == 2;\n";

#[test]
fn a_record_names_policy_place_and_error_with_every_index() {
    for index in INDEXES {
        let pdp = pdp(index, &[("pdp.json", ALGORITHM), ("clinic.sapl", FAILING)]);
        let (outcome, record) = ask(&pdp, r#"{"subject":{"age":"old","n":0},"action":1,"resource":1}"#, true);
        assert_eq!((outcome, record.snapshot), (Outcome::Indeterminate, 1), "{index:?}");
        let expected = [
            "clinic/age (clinic.sapl:4:1): a number is needed, but `\"old\"` is a text",
            "clinic/share (clinic.sapl:7:1): division by zero",
        ];
        assert_eq!(told(&record), expected, "{index:?}");
        assert!(record.policies.is_empty(), "{index:?}: {:?}", record.policies);
    }
}

#[test]
fn a_decision_that_did_not_fail_has_no_failures_though_policies_have() {
    for index in INDEXES {
        let abstaining = FAILING.replace("propagate", "abstain");
        let pdp = pdp(index, &[("pdp.json", ALGORITHM), ("clinic.sapl", &abstaining)]);
        let (outcome, record) = ask(&pdp, r#"{"subject":{"age":20,"n":0},"action":1,"resource":1}"#, true);
        assert_eq!((outcome, told(&record)), (Outcome::Deny, vec![]), "{index:?}");
        let adult = r#"{"subject":{"age":20,"n":2},"action":1,"resource":1}"#;
        let (outcome, record) = ask(&pdp, adult, true);
        let names: Vec<&str> = record.policies.iter().map(|policy| policy.id.as_str()).collect();
        assert_eq!((outcome, names), (Outcome::Permit, vec!["age", "clinic"]), "{index:?}");
        let (_, record) = ask(&pdp, adult, false);
        assert_eq!(record, Record { snapshot: 1, ..Record::default() }, "{index:?}");
    }
}

#[test]
fn policies_that_do_not_agree_are_a_failure_of_the_set_that_combines_them() {
    let unique = ALGORITHM.replace("PRIORITY_PERMIT", "UNIQUE");
    let policies = "policy \"one\" permit";
    let pdp = pdp(
        IndexKind::Auto,
        &[("pdp.json", &unique), ("a.sapl", policies), ("b.sapl", "policy \"two\" deny")],
    );
    let (outcome, record) = ask(&pdp, r#"{"subject":1,"action":1,"resource":1}"#, true);
    assert_eq!(outcome, Outcome::Indeterminate);
    assert_eq!(told(&record), [" (): more than one policy applies"]);
}

#[test]
fn many_failures_are_counted() {
    let policies: Vec<(String, String)> = (0..20)
        .map(|number| {
            (format!("p{number:02}.sapl"), format!("policy \"p{number}\" permit 1 / subject.n == {number};"))
        })
        .collect();
    let mut files: Vec<(&str, &str)> =
        policies.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    files.push(("pdp.json", ALGORITHM));
    let (_, record) =
        ask(&pdp(IndexKind::Auto, &files), r#"{"subject":{"n":0},"action":1,"resource":1}"#, false);
    assert_eq!((record.failures.len(), record.failures_more), (FAILURES_MAX, 20 - FAILURES_MAX));
}

#[test]
fn results_of_xacml_have_a_record_each() {
    let policy = r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="doctors" Version="1.0"
    RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-overrides"><Target/>
  <Rule RuleId="read" Effect="Permit"><Target><AnyOf><AllOf>
      <Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
        <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">doctor</AttributeValue>
        <AttributeDesignator Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"
          AttributeId="role" DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="true"/>
      </Match></AllOf></AnyOf></Target></Rule></Policy>"#;
    for index in INDEXES {
        let pdp = pdp(index, &[("doctors.xml", policy)]);
        let request = Request::builder().subject("name", "ann").build();
        let (response, records) = pdp.decide_recorded(&request, Recording::default());
        assert_eq!(response.results[0].decision, Decision::Indeterminate);
        assert_eq!(format!("{response:?}"), format!("{:?}", pdp.decide(&request)));
        assert_eq!(records.len(), 1);
        assert_eq!(
            told(&records[0]),
            ["doctors/read (doctors.xml:3:3): attribute `role` is missing"],
            "{index:?}"
        );
        let request = Request::builder().subject("role", "doctor").build();
        let (response, records) = pdp.decide_recorded(&request, Recording { policies: true });
        assert_eq!(format!("{response:?}"), format!("{:?}", pdp.decide(&request)));
        assert_eq!(
            (records[0].failures.len(), records[0].policies[0].id.as_str()),
            (0, "doctors"),
            "{index:?}"
        );
    }
}
