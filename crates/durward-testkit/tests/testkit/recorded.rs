//! Decisions on which Balana, AT&T, AuthzForce and xacml4j agree.

use std::path::Path;

use durward_pdp::{IndexKind, Pdp, PolicyText, read_policies};
use durward_testkit::recorded::{decisions, differences, requests};

fn check(policy: &Path, request_files: &[&str], decision_file: &str) {
    let folder = policy.parent().unwrap();
    let decisions = decisions(&folder.join(decision_file)).unwrap();
    for index in IndexKind::ALL {
        let texts: Vec<PolicyText> = read_policies(policy).unwrap();
        let pdp = Pdp::builder().policies(texts).index(index).build().unwrap();
        for file in request_files {
            let requests = requests(&folder.join(file)).unwrap();
            assert!(!requests.is_empty());
            let differences = differences(&pdp, &requests, &decisions);
            assert!(differences.is_empty(), "{file} with {index}: {differences:#?}");
        }
    }
}

#[test]
fn the_conference_policy_agrees() {
    let Some(folder) = durward_testdata::recorded("xacml/continue") else { return };
    check(
        &folder.join("continue-a-3.0.xml"),
        &["requests-core.jsonl", "requests-single.jsonl"],
        "decisions.jsonl",
    );
}

#[test]
fn its_xacml_2_original_agrees_too() {
    let Some(folder) = durward_testdata::recorded("xacml/continue") else { return };
    check(&folder.join("continue-a-2.0-original.xml"), &["requests-core.jsonl"], "decisions.jsonl");
}

#[test]
fn synthetic_policies_agree() {
    let Some(folder) = durward_testdata::recorded("xacml/policies") else { return };
    for size in ["100", "1000", "10000"] {
        check(
            &folder.join(format!("synth-{size}-do.xml")),
            &[&format!("synth-{size}-do.requests.jsonl")],
            &format!("synth-{size}-do.decisions.jsonl"),
        );
    }
}
