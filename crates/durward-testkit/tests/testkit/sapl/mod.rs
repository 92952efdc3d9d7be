//! SAPL against what the real engine was recorded to say.

mod combining;
mod documents;
mod expressions;
mod model;
mod random;
mod scenarios;
mod surfaces;
mod tests_of_policies;

use std::fs;
use std::path::Path;

use durward_pdp::ir::json;
use durward_pdp::ir::value::Value;
use durward_pdp::sapl::{Decision, Subscription};
use durward_pdp::{IndexKind, Pdp};

/// The lines of a file of JSON lines.
fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| json::read(line).unwrap()).collect()
}

fn get<'v>(value: &'v Value, key: &str) -> &'v Value {
    value.as_object().unwrap().get(key).unwrap_or(&Value::Undefined)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    get(value, key).as_text().unwrap_or_default()
}

fn subscription(value: &Value) -> Subscription {
    Subscription::from_value(value).unwrap()
}

/// A configuration: voting mode, default decision, error handling, variables as JSON.
fn configuration(algorithm: [&str; 3], variables: &str) -> String {
    let [mode, default, errors] = algorithm;
    format!(
        r#"{{"algorithm":{{"votingMode":"{mode}","defaultDecision":"{default}","errorHandling":"{errors}"}},
            "variables":{variables}}}"#
    )
}

/// What a decision point with these documents says, as JSON; the problems if it cannot be built.
fn decide(
    configuration: &str,
    documents: &[&str],
    index: IndexKind,
    subscription: &Subscription,
) -> Result<String, String> {
    let mut builder = Pdp::builder().index(index).policy("pdp.json", configuration);
    if index == IndexKind::Scan {
        builder = builder.explaining();
    }
    for (number, document) in documents.iter().enumerate() {
        builder = builder.policy(&format!("{number}.sapl"), *document);
    }
    match builder.build() {
        Ok(pdp) => {
            let decision = pdp.decide_once(subscription);
            if index == IndexKind::Scan {
                check_explanation(&pdp, subscription, &decision);
            }
            Ok(decision.to_json())
        }
        Err(errors) => {
            Err(errors.iter().map(std::string::ToString::to_string).collect::<Vec<_>>().join("\n"))
        }
    }
}

/// An explanation comes to the same as the decision, and its algorithm says so.
fn check_explanation(pdp: &Pdp, subscription: &Subscription, decision: &Decision) {
    let explanation = pdp.explain_subscription(subscription);
    let top = explanation.results.first().unwrap();
    assert_eq!(top.outcome, decision.outcome.as_str(), "{explanation}");
    assert!(top.reason.contains("errors "), "{explanation}");
}
