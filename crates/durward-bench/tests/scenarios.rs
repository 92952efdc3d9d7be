//! Scenarios are held to what SAPL's own benchmark exported, and their decisions to how many it gave of each.

#![expect(clippy::unwrap_used, reason = "a test may fail so")]

use std::collections::BTreeMap;

use durward_bench::scenario::Scenario;
use durward_pdp::Pdp;
use durward_pdp::sapl::Subscription;
use serde_json::Value as Json;

fn pdp(scenario: &Scenario) -> Pdp {
    let builder = Pdp::builder().policy("pdp.json", scenario.configuration());
    let policies = scenario.policies.iter().enumerate();
    let builder = policies.fold(builder, |builder, (number, policy)| {
        builder.policy(&format!("{number:05}.sapl"), policy.as_str())
    });
    builder.build().unwrap()
}

/// How many permits and denies the decision point gives.
fn counts(scenario: &Scenario) -> (usize, usize) {
    let pdp = pdp(scenario);
    let mut counts = BTreeMap::new();
    for subscription in &scenario.subscriptions {
        let subscription = Subscription::from_json(subscription.to_string().as_bytes()).unwrap();
        *counts.entry(pdp.decide_once(&subscription).outcome.as_str()).or_insert(0) += 1;
    }
    let count = |outcome| counts.get(outcome).copied().unwrap_or_default();
    let (permits, denies) = (count("PERMIT"), count("DENY"));
    assert_eq!(permits + denies, scenario.subscriptions.len(), "{}: {counts:?}", scenario.name);
    (permits, denies)
}

/// SAPL 4.2's counts.
#[test]
fn as_many_are_permitted_as_by_sapl() {
    for (name, permits, denies) in [
        ("baseline", 0, 1),
        ("rbac", 6, 10),
        ("hospital-1", 138, 362),
        ("hospital-5", 76, 424),
        ("hospital-50", 82, 418),
        ("hospital-300", 83, 417),
        ("github-10", 48, 452),
        ("gdrive-10", 30, 470),
        ("tinytodo-10", 173, 327),
    ] {
        assert_eq!(counts(&Scenario::named(name).unwrap()), (permits, denies), "{name}");
    }
}

#[test]
fn hospitals_have_33_policies_a_department_and_5_more() {
    for departments in [1, 300] {
        let hospital = Scenario::named(&format!("hospital-{departments}")).unwrap();
        assert_eq!(hospital.policies.len(), 33 * departments + 5);
    }
}

#[test]
fn variables_and_subscriptions_are_those_that_sapl_exported() {
    let Some(root) = durward_testdata::recorded("sapl") else { return };
    for name in ["baseline", "rbac", "hospital-5", "hospital-100", "github-10", "tinytodo-10"] {
        let scenario = Scenario::named(name).unwrap();
        let folder = root.join(name);
        let variables = std::fs::read_to_string(folder.join("variables.json")).unwrap();
        // The order of keys is SAPL's hash map's.
        assert_eq!(scenario.variables, serde_json::from_str::<Json>(&variables).unwrap(), "{name}");
        let lines = std::fs::read_to_string(folder.join("decisions.jsonl")).unwrap();
        let recorded: Vec<Json> = lines
            .lines()
            .map(|line| serde_json::from_str::<Json>(line).unwrap().get_mut("subscription").unwrap().take())
            .collect();
        assert_eq!(scenario.subscriptions, recorded, "{name}");
        let documents = |policies: &[String]| -> Vec<String> {
            policies.iter().map(|text| without_comments(text)).collect()
        };
        let exported: Vec<String> = (1..=scenario.policies.len())
            .map(|number| std::fs::read_to_string(folder.join(format!("policy-{number:04}.sapl"))).unwrap())
            .collect();
        assert_eq!(documents(&scenario.policies), documents(&exported), "{name}");
    }
}

/// Without comments, blank lines and names.
fn without_comments(text: &str) -> String {
    let is_kept = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("//") && !line.starts_with("policy ")
    };
    text.lines().filter(is_kept).collect::<Vec<_>>().join("\n")
}

#[test]
fn names_that_mean_nothing_are_refused() {
    for name in ["", "hospital", "hospital_5", "clinic-5", "-5", "rbac-1", "baseline-", "scatter"] {
        let error = Scenario::named(name).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("`{name}` is no scenario: one of baseline, rbac, hospital-N")),
            "{error}"
        );
    }
    for name in ["hospital-0", "hospital-x", "hospital-", "hospital-05", "hospital-+5", "hospital-30001"] {
        let error = Scenario::named(name).unwrap_err().to_string();
        assert_eq!(error, format!("`{name}` is no scenario: its size is a number from 1 to 30000"));
    }
}
