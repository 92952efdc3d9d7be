//! Scenarios that can be had in both languages are decided alike in both.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail so")]

use std::collections::BTreeMap;

use durward_bench::scenario::{Scenario, ScenarioName, XacmlScenario};
use durward_pdp::sapl::Subscription;
use durward_pdp::{Decision, IndexKind, Pdp, Request};

fn name(text: &str) -> ScenarioName {
    text.parse().unwrap()
}

fn of_sapl(scenario: &Scenario, index: IndexKind) -> Pdp {
    let builder = Pdp::builder().policy("pdp.json", scenario.configuration()).index(index);
    let policies = scenario.policies.iter().enumerate();
    let builder = policies.fold(builder, |builder, (number, policy)| {
        builder.policy(&format!("{number:05}.sapl"), policy.as_str())
    });
    builder.build().map_err(|errors| errors[0].to_string()).unwrap()
}

fn of_xacml(scenario: &XacmlScenario, index: IndexKind) -> Pdp {
    let documents = scenario.documents.iter().enumerate();
    let builder = documents.fold(Pdp::builder().index(index), |builder, (number, document)| {
        builder.policy(&format!("{number:05}.xml"), document.as_str())
    });
    builder.build().map_err(|errors| errors[0].to_string()).unwrap()
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Permit => "PERMIT",
        Decision::Deny => "DENY",
        Decision::NotApplicable => "NOT_APPLICABLE",
        Decision::Indeterminate => "INDETERMINATE",
    }
}

/// Compares all decisions, and how many duties go with them, and counts the decisions.
fn compare(text: &str, index: IndexKind) -> BTreeMap<&'static str, usize> {
    let (sapl, xacml) = (Scenario::of(&name(text)), XacmlScenario::of(&name(text)).unwrap());
    let (by_sapl, by_xacml) = (of_sapl(&sapl, index), of_xacml(&xacml, index));
    assert_eq!(sapl.subscriptions.len(), xacml.requests.len());
    let mut counts = BTreeMap::new();
    for (subscription, request) in sapl.subscriptions.iter().zip(&xacml.requests) {
        let asked = Subscription::from_json(subscription.to_string().as_bytes()).unwrap();
        let decision = by_sapl.decide_once(&asked);
        let from_xml = Request::from_xml(request.xml.as_bytes()).unwrap();
        let from_json = Request::from_json(request.json.to_string().as_bytes()).unwrap();
        for request in [from_xml, from_json] {
            let response = by_xacml.decide(&request);
            let result = response.results.iter().next().unwrap();
            assert_eq!(word(result.decision), decision.outcome.as_str(), "{text}: {subscription}");
            assert_eq!(result.obligations.len(), decision.obligations().len(), "{text}: {subscription}");
        }
        *counts.entry(decision.outcome.as_str()).or_insert(0) += 1;
    }
    counts
}

#[test]
fn both_languages_decide_alike() {
    for text in ["baseline", "hospital-1", "hospital-5", "synth-100", "synth-25", "scatter-100", "levels-100"]
    {
        compare(text, IndexKind::Auto);
    }
}

#[test]
fn hospitals_permit_in_xacml_as_in_sapl() {
    let counts = compare("hospital-1", IndexKind::Scan);
    assert_eq!((counts["PERMIT"], counts["DENY"]), (138, 362));
}

/// What is asked is worth measuring: it is not all answered alike.
#[test]
fn questions_have_several_answers() {
    let counts = compare("scatter-1000", IndexKind::Auto);
    assert!(counts["PERMIT"] > 1_000 && counts["DENY"] > 10 && counts["NOT_APPLICABLE"] > 10, "{counts:?}");
    let counts = compare("levels-1000", IndexKind::Auto);
    assert!(counts["PERMIT"] > 500 && counts["DENY"] > 50 && counts["NOT_APPLICABLE"] > 200, "{counts:?}");
    let counts = compare("synth-100", IndexKind::Scan);
    assert!(counts["PERMIT"] > 100 && counts["DENY"] > 1_000 && counts["NOT_APPLICABLE"] > 50, "{counts:?}");
}

/// Policies of one document and of several that the root refers to; a deny still counts more than a permit of another.
#[test]
fn many_policies_are_spread_over_documents() {
    let scenario = XacmlScenario::of(&name("scatter-20001")).unwrap();
    assert_eq!((scenario.documents.len(), scenario.policies), (4, 20_001));
    assert_eq!(scenario.documents[0].matches("<PolicySetIdReference>").count(), 3);
    assert_eq!(XacmlScenario::of(&name("scatter-100")).unwrap().documents.len(), 1);
}

#[test]
fn what_only_sapl_can_say_has_no_other_form() {
    for text in ["rbac", "github-10", "gdrive-10", "tinytodo-10"] {
        assert!(XacmlScenario::of(&name(text)).is_none(), "{text}");
    }
}
