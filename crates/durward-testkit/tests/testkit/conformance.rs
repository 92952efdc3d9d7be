//! Every conformance case passes, or stands in `conformance/skips.tsv` with its reason. The list may only shrink:
//! a case in it that passes fails the run.

use std::collections::BTreeMap;

use durward_pdp::IndexKind;
use durward_testkit::conformance::{cases, run};

const SKIPS: &str = include_str!("../../../../conformance/skips.tsv");

fn skips() -> BTreeMap<&'static str, &'static str> {
    let lines = SKIPS.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.split_once('\t').expect("a case, a tab, and why it is skipped")).collect()
}

fn check(suite: &str) {
    let Some(folder) = durward_testdata::recorded(&format!("xacml/conformance/{suite}")) else { return };
    let cases = cases(&folder).unwrap();
    assert!(!cases.is_empty());
    let skips = skips();
    let mut wrong = Vec::new();
    for index in IndexKind::ALL {
        for case in &cases {
            match (run(case, index), skips.get(case.name.as_str())) {
                (Ok(()), None) | (Err(_), Some(_)) => {}
                (Err(difference), None) => wrong.push(format!("{} with {index}: {difference}", case.name)),
                (Ok(()), Some(_)) => {
                    wrong.push(format!("{} passes now: take it off the skip list", case.name))
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn mandatory_cases_pass() {
    check("authzforce-ct-mandatory");
}

#[test]
fn optional_cases_pass() {
    check("authzforce-ct-optional");
}

#[test]
fn deprecated_cases_pass() {
    check("att-ct-0.4-deprecated");
}

#[test]
fn xacml_2_cases_pass() {
    check("balana-ct-xacml2");
}
