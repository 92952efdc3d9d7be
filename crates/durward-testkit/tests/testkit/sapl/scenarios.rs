//! The scenarios that SAPL is measured with: their own subscriptions, and others with what they lack or have too much.

use durward_pdp::{IndexKind, Pdp, read_policies};

use super::{get, lines, subscription};

fn check(scenario: &str) {
    let Some(folder) = durward_testdata::recorded(&format!("sapl/{scenario}")) else { return };
    for index in IndexKind::ALL {
        let texts = read_policies(&folder).unwrap();
        let pdp = Pdp::builder().policies(texts).index(index).build().unwrap();
        for file in ["decisions.jsonl", "decisions-extra.jsonl"] {
            let cases = lines(&folder.join(file));
            assert!(!cases.is_empty());
            for case in cases {
                let found = pdp.decide_once(&subscription(get(&case, "subscription"))).to_json();
                let expected = get(&case, "decision").to_json();
                assert_eq!(found, expected, "{scenario} with {index}: {}", case.to_json());
            }
        }
    }
}

#[test]
fn a_constant_policy_agrees() {
    check("baseline");
}

#[test]
fn roles_agree() {
    check("rbac");
}

#[test]
fn the_small_hospital_agrees() {
    check("hospital-5");
}

#[test]
fn the_hospital_agrees() {
    check("hospital-100");
}

#[test]
fn repositories_agree() {
    check("github-10");
}

#[test]
fn lists_to_do_agree() {
    check("tinytodo-10");
}
