//! A question in SAPL's words: a subscription for each resource and action.
//!
//! | OpenAM | subscription |
//! |---|---|
//! | `subject.ssoToken` | subject `{"session": "TOKEN"}`: policies see the user |
//! | `subject.jwt` | subject `{"jwt": "TOKEN"}` |
//! | `subject.claims` | subject, if the agent may assert who it is |
//! | an action of the application | action, a text |
//! | a resource | resource, a text |
//! | `application`, the realm, `environment` | environment `{"application", "realm", "values": {"IP": ["..."]}}` |

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use durward_common::access::subject::Shown;
use durward_common::decider::{
    Decision, Full, MultiDecisions, MultiSubscription, Named, Outcome, Subscription,
};
use durward_common::decision_log::Account;
use durward_pdp::ir::{Value, json};
use durward_pdp::record::Record;
use hyper::StatusCode;
use smol_str::{SmolStr, format_smolstr};
use tokio::time::timeout;

use super::super::answers::Refusal;
use super::question::PolicySubject;
use super::verdict::Verdict;
use super::{Asking, Verdicts};

/// How long policies may wait for attributes. Nothing is permitted then.
const DECISION_TIME_MAX: Duration = Duration::from_secs(10);

/// What is recorded of decisions that took longer.
const LATE: &str = "attributes did not come in time";

pub(super) async fn verdicts<'a>(asking: &'a Asking<'a>) -> Result<Vec<(&'a str, Verdicts<'a>)>, Refusal> {
    let unavailable = || Refusal::unavailable("Nobody decides at the moment");
    let decider = asking.point.decider.get().ok_or_else(unavailable)?;
    let subscriptions = subscriptions(asking)?;
    let account = asking.point.recorder.account(|| asking.caller()).map(|one| one.asks_all(&subscriptions));
    let (begun, count) = (Instant::now(), subscriptions.subscriptions.len());
    let tenant = &asking.caller.tenant;
    let all = match catch_unwind(AssertUnwindSafe(|| decider.subscribe_all(tenant, subscriptions))) {
        Ok(Ok(all)) => Some(all),
        Ok(Err(Full)) => {
            asking.point.metrics.limit_hit("sapl.subscriptions");
            return Err(unavailable());
        }
        Err(_) => {
            asking.point.metrics.panics.inc();
            tracing::error!(request_id = asking.request_id, "a request ended in a panic; please report it");
            None
        }
    };
    let decisions = match all {
        Some(mut all) => {
            let decisions = timeout(DECISION_TIME_MAX, std::future::poll_fn(|task| all.poll_all(task))).await;
            match decisions {
                Ok(decisions) => {
                    told(asking, account.as_ref(), &*all, &decisions, begun.elapsed());
                    decisions
                }
                Err(_) => undecided(asking, account.as_ref(), count, begun.elapsed(), LATE),
            }
        }
        None => undecided(asking, account.as_ref(), count, begun.elapsed(), "a mistake in durward"),
    };
    // In the order in which they were asked; what was not decided is no permit.
    let mut number = 0;
    let mut of = |_: &str| {
        let id = format_smolstr!("{number}");
        number += 1;
        let decision = decisions.iter().find(|(known, _)| *known == id);
        decision.map_or_else(Verdict::default, |(_, decision)| verdict(decision))
    };
    Ok(asking.resources.iter().map(|resource| (*resource, asking.each_action(&mut of))).collect())
}

/// Nothing was decided, and nothing is permitted: for the log, of each that was asked.
fn undecided(
    asking: &Asking<'_>,
    account: Option<&Account>,
    count: usize,
    took: Duration,
    reason: &str,
) -> Named {
    let decision = Arc::new(Decision::plain(Outcome::Indeterminate));
    for number in 0..count {
        asking.point.metrics.told(&decision, Some(took));
        if let Some(account) = account {
            let record = Arc::new(Record::failed(0, reason));
            account.told(Some(&format_smolstr!("{number}")), &decision, Some(record), Some(took));
        }
    }
    Named::new()
}

fn told(
    asking: &Asking<'_>,
    account: Option<&Account>,
    all: &dyn MultiDecisions,
    decisions: &Named,
    took: Duration,
) {
    for (id, decision) in decisions {
        asking.point.metrics.told(decision, Some(took));
        if let Some(account) = account {
            let decision: &Arc<Decision> = decision;
            account.told(Some(id), decision, all.record(id), Some(took));
        }
    }
}

fn subscriptions(asking: &Asking<'_>) -> Result<MultiSubscription, Refusal> {
    let (question, subject) = (asking.question, subject(asking)?);
    let texts = |values: &Vec<String>| Value::array(values.iter().map(Value::text));
    let values = question.environment.iter().map(|(name, values)| (SmolStr::from(name), texts(values)));
    let environment = Value::object([
        ("application", Value::text(&question.application.name)),
        ("realm", Value::text(&question.application.realm)),
        ("values", Value::object(values)),
    ]);
    let mut subscriptions = Vec::new();
    for resource in &asking.resources {
        for action in &question.application.actions {
            let (subject, environment) = (subject.clone(), environment.clone());
            let one = Subscription::new(subject, Value::text(action), Value::text(resource), environment);
            subscriptions.push((format_smolstr!("{}", subscriptions.len()), one));
        }
    }
    Ok(MultiSubscription { subscriptions })
}

fn subject(asking: &Asking<'_>) -> Result<Value, Refusal> {
    let bad = |message: String| Refusal::new(StatusCode::BAD_REQUEST, message);
    let subject = match &asking.question.subject {
        PolicySubject::Shown(shown) => {
            if !asking.subjects()?.has(shown) {
                return Err(bad("Invalid value subject: there are no tokens of this kind".to_owned()));
            }
            match shown {
                Shown::Session(token) => Value::object([("session", Value::text(token))]),
                Shown::Jwt(token) => Value::object([("jwt", Value::text(token))]),
            }
        }
        PolicySubject::Claims(claims) => {
            let text = serde_json::to_vec(claims).unwrap_or_default();
            json::read(text).map_err(|error| bad(error.to_string()))?
        }
        PolicySubject::Nobody => Value::Null,
    };
    // What is no token is the agent's word, and not every caller is believed.
    asking.point.fence.check(&subject, &asking.caller).map_err(|error| bad(error.to_string()))?;
    Ok(subject)
}

fn verdict(decision: &Decision) -> Verdict {
    let mut verdict = Verdict::default();
    // What stands for the resource, an agent cannot hand out.
    let mut is_understood = decision.resource().is_none();
    for obligation in decision.obligations() {
        is_understood &= verdict.take(&obligation);
    }
    for advice in decision.advice() {
        verdict.take(&advice);
    }
    match decision.outcome {
        Outcome::Permit => verdict.of(is_understood),
        Outcome::Deny | Outcome::NotApplicable | Outcome::Indeterminate | Outcome::Suspend => {
            verdict.of(false)
        }
    }
}
