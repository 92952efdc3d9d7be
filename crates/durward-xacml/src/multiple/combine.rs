//! Several results made one, where the request asks for it.

use super::hierarchy::{Scope, scope_of};
use crate::request::{Categories, Request};
use crate::response::{Decision, Echoes, PolicyIdentifier, Response, ResultOf, Results, Status};

/// Makes one result of several where the request they came from asks for that, by `CombinedDecision` (Multiple
/// Decision Profile, section 4) or by the scope `EntireHierarchy` (XACML 2.0); otherwise gives them back.
pub fn combine_if_asked(request: &Request, response: Response) -> Response {
    if request.combined_decision {
        return Response::of(combined(response.results));
    }
    if matches!(scope_of(request), Ok(Some(Scope::EntireHierarchy))) {
        return Response::of(entire(response.results));
    }
    response
}

/// Section 4 of the profile: the decision all results share. Results that differ, or that carry obligations or
/// advice, have no common meaning: Indeterminate. Attributes are never echoed.
fn combined(results: Results) -> ResultOf {
    let policy_ids = policies(&results);
    let mut result = match common(&results) {
        Ok(first) if first.decision == Decision::Indeterminate => {
            let why = first.status.message.as_deref().unwrap_or("no individual decision could be made");
            ResultOf::with_status(Decision::Indeterminate, Status::processing_error(why))
        }
        Ok(first) => ResultOf::with_status(first.decision, first.status.clone()),
        Err(why) => ResultOf::with_status(Decision::Indeterminate, Status::processing_error(why)),
    };
    result.policy_ids = policy_ids;
    result
}

/// The first result, where it stands for all.
fn common(results: &[ResultOf]) -> Result<&ResultOf, &'static str> {
    let Some(first) = results.first() else { return Err("there is no decision to combine") };
    if results.iter().any(|result| result.decision != first.decision) {
        return Err("the individual decisions differ, and a combined decision was asked for");
    }
    if results.iter().any(|result| !result.obligations.is_empty() || !result.advice.is_empty()) {
        return Err("a combined decision cannot carry the obligations or advice of the individual ones");
    }
    Ok(first)
}

/// Permit where everything is permitted; Indeterminate where something could not be decided; else Deny.
fn entire(results: Results) -> ResultOf {
    let (policy_ids, attributes) = (policies(&results), echoes(&results));
    let unknown = results.iter().find(|result| result.decision == Decision::Indeterminate);
    let decision = match unknown {
        Some(_) => Decision::Indeterminate,
        None if results.iter().all(|result| result.decision == Decision::Permit) && !results.is_empty() => {
            Decision::Permit
        }
        None => Decision::Deny,
    };
    let status = unknown.map_or_else(Status::ok, |result| result.status.clone());
    let mut combined = ResultOf::with_status(decision, status);
    combined.resource_id = results.first().and_then(|result| result.resource_id.clone());
    for result in results {
        if result.decision == decision {
            combined.obligations.extend(result.obligations);
            combined.advice.extend(result.advice);
        }
    }
    (combined.policy_ids, combined.attributes) = (policy_ids, Echoes::of(attributes));
    combined
}

/// The policies of all results, each once.
fn policies(results: &[ResultOf]) -> Option<Vec<PolicyIdentifier>> {
    let mut all: Option<Vec<PolicyIdentifier>> = None;
    let mut seen = std::collections::HashSet::new();
    for policy in results.iter().flat_map(|result| result.policy_ids.iter()) {
        let all = all.get_or_insert_default();
        all.extend(policy.iter().filter(|policy| seen.insert((*policy).clone())).cloned());
    }
    all
}

/// The echoed attributes of all results, one category after the other; what repeats stands once.
fn echoes(results: &[ResultOf]) -> Categories {
    let mut all = Categories::default();
    let mut seen = std::collections::HashSet::new();
    for category in results.iter().flat_map(|result| result.attributes.iter()) {
        let attributes = category.attributes();
        let text: Vec<String> = attributes
            .map(|attribute| format!("{} {:?} {:?}", attribute.id, attribute.issuer, attribute.values()))
            .collect();
        if seen.insert((category.category.clone(), text)) {
            all.copy_category(category);
        }
    }
    all
}
