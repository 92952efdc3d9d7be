//! A question in XACML's words: one request for all resources and actions (Multiple Decision Profile, 2.3).
//!
//! | OpenAM | request |
//! |---|---|
//! | `subject.ssoToken`, `subject.jwt` | `urn:durward:subject:session-token`, `urn:durward:subject:jwt`: policies see the user |
//! | `subject.claims` | `subject-id` of `sub`, and `urn:durward:openam:claim:NAME`, if the agent may assert who it is |
//! | an action of the application | `action-id` |
//! | a resource | `resource-id` |
//! | `application`, the realm | `urn:durward:openam:application`, `urn:durward:openam:realm` of the environment |
//! | `environment` | `urn:durward:openam:environment:NAME` |

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use durward_common::access::subject::Shown;
use durward_common::access::subject::attributes::{JWT, SESSION_TOKEN, looked_at};
use durward_common::decision_log::DecidedRequest;
use durward_pdp::ir::datatype::Integer;
use durward_pdp::record::Record;
use durward_pdp::xacml::request::{Categories, identifiers};
use durward_pdp::xacml::response::{Duty, Status};
use durward_pdp::{AttributeSource, Decision, Pdp, Request, RequestLanguage, Response, ResultOf, Value};
use durward_sources::Rounds;
use hyper::StatusCode;
use serde_json::Value as Json;
use smol_str::{SmolStr, format_smolstr};

use super::super::answers::Refusal;
use super::question::PolicySubject;
use super::verdict::{Told, Verdict};
use super::{Asking, Verdicts};

/// What begins with this, OpenAM's agents say.
const OWN: &str = "urn:durward:openam:";

/// A question in the form of a request, and what was decided.
struct Decided {
    request: Request,
    response: Response,
    /// For each result, where decisions are recorded.
    records: Vec<Record>,
    took: Duration,
}

pub(super) async fn verdicts<'a>(asking: &'a Asking<'a>) -> Result<Vec<(&'a str, Verdicts<'a>)>, Refusal> {
    let unavailable = || Refusal::unavailable("There are no policies in force");
    let pdp = asking.point.policies.pdp().clone().ok_or_else(unavailable)?;
    if let Some(note) = pdp.first_mismatch(RequestLanguage::Xacml) {
        tracing::warn!(request_id = asking.request_id, "{note}");
    }
    let bad = |message: String| Refusal::new(StatusCode::BAD_REQUEST, message);
    let request = request(asking)?;
    let lets_assert = asking.point.fence.lets_assert(Some(&asking.caller));
    let decided = match looked_at(&request, lets_assert).map_err(bad)? {
        None => decide(asking, &pdp, request).await?,
        Some(tokens) => {
            let mut named = tokens.named(request, asking.subjects()?).await.map_err(bad)?;
            let request = std::mem::replace(&mut named.request, Request::builder().build());
            let mut decided = decide(asking, &pdp, request).await?;
            named.settle(&mut decided.request, &mut decided.response);
            decided
        }
    };
    let results = decided.response.results.iter();
    asking.point.metrics.decided(results.map(|result| result.decision), decided.took);
    let of = |resource: &str, action: &str| {
        let mut found = decided.response.results.iter().filter(|result| is_about(result, resource, action));
        // Two results about one thing would be nobody's answer.
        match (found.next(), found.next()) {
            (Some(only), None) => verdict(only),
            _ => Verdict::default(),
        }
    };
    let all = asking.resources.iter();
    let verdicts =
        all.map(|resource| (*resource, asking.each_action(|action| of(resource, action)))).collect();
    if asking.point.recorder.is_on() {
        record(asking, &pdp, decided);
    }
    Ok(verdicts)
}

fn request(asking: &Asking<'_>) -> Result<Request, Refusal> {
    let question = asking.question;
    let mut categories = Categories::default();
    categories.begin_category(SmolStr::new_static(identifiers::ACCESS_SUBJECT), None);
    match &question.subject {
        PolicySubject::Shown(Shown::Session(token)) => {
            say(&mut categories, SmolStr::new_static(SESSION_TOKEN), [Value::Text(token.clone())]);
        }
        PolicySubject::Shown(Shown::Jwt(token)) => {
            say(&mut categories, SmolStr::new_static(JWT), [Value::Text(token.clone())]);
        }
        PolicySubject::Claims(claims) => {
            for (name, value) in claims {
                let id = match name.as_str() {
                    "sub" => SmolStr::new_static(identifiers::SUBJECT_ID),
                    name => format_smolstr!("{OWN}claim:{name}"),
                };
                say(&mut categories, id, claimed(value)?);
            }
        }
        PolicySubject::Nobody => {}
    }
    for resource in &asking.resources {
        categories.begin_category(SmolStr::new_static(identifiers::RESOURCE), None);
        echoed(&mut categories, identifiers::RESOURCE_ID, resource);
    }
    for action in &question.application.actions {
        categories.begin_category(SmolStr::new_static(identifiers::ACTION), None);
        echoed(&mut categories, identifiers::ACTION_ID, action);
    }
    categories.begin_category(SmolStr::new_static(identifiers::ENVIRONMENT), None);
    let application = question.application;
    say(&mut categories, format_smolstr!("{OWN}application"), [Value::text(&application.name)]);
    say(&mut categories, format_smolstr!("{OWN}realm"), [Value::text(&application.realm)]);
    for (name, values) in &question.environment {
        say(&mut categories, format_smolstr!("{OWN}environment:{name}"), values.iter().map(Value::text));
    }
    Ok(Request { categories, ..Request::builder().build() })
}

/// An attribute without values is none.
fn say(categories: &mut Categories, id: SmolStr, values: impl IntoIterator<Item = Value>) {
    let mut values = values.into_iter().peekable();
    if values.peek().is_some() {
        categories.begin_attribute(id, None, false);
        values.for_each(|value| categories.push_value(value));
    }
}

/// What the result is found by.
fn echoed(categories: &mut Categories, id: &'static str, value: &str) {
    categories.begin_attribute(SmolStr::new_static(id), None, true);
    categories.push_value(Value::text(value));
}

/// The values of a claim: a text, a number, a truth, or a list of these.
fn claimed(value: &Json) -> Result<Vec<Value>, Refusal> {
    let wrong = || {
        Refusal::new(StatusCode::BAD_REQUEST, "Invalid value subject: a claim is no text, number or truth")
    };
    let one = |value: &Json| match value {
        Json::String(text) => Ok(Value::text(text)),
        Json::Bool(truth) => Ok(Value::Boolean(*truth)),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Ok(Value::Integer(Integer::Small(number))),
            (None, Some(number)) => Ok(Value::Double(number)),
            (None, None) => Err(wrong()),
        },
        Json::Null | Json::Array(_) | Json::Object(_) => Err(wrong()),
    };
    value.as_array().map_or_else(|| Ok(vec![one(value)?]), |values| values.iter().map(one).collect())
}

/// Decides, with what attribute sources know.
async fn decide(asking: &Asking<'_>, pdp: &Pdp, request: Request) -> Result<Decided, Refusal> {
    let (recorder, begun) = (&asking.point.recorder, Instant::now());
    let mut records = Vec::new();
    let mut decide = |source: Option<&dyn AttributeSource>| {
        guarded(asking, || match (source, recorder.is_on()) {
            (None, false) => pdp.decide(&request),
            (Some(source), false) => pdp.decide_with(&request, source),
            (None, true) => {
                let (response, recorded) = pdp.decide_recorded(&request, recorder.recording());
                records = recorded;
                response
            }
            (Some(source), true) => {
                let (response, recorded) = pdp.decide_recorded_with(&request, source, recorder.recording());
                records = recorded;
                response
            }
        })
    };
    let response = match &asking.point.sources {
        None => decide(None)?,
        Some(sources) => match sources.decide(|source| decide(Some(source))).await? {
            Rounds::Enough(response) => response,
            // What the last round lacked is not why it ended.
            Rounds::TooMany(message) => {
                records = vec![Record::failed(pdp.snapshot().id, &message)];
                Response::indeterminate(Status::processing_error(message))
            }
        },
    };
    Ok(Decided { request, response, records, took: begun.elapsed() })
}

/// A panic is a mistake of ours; it must cost one request, not the process and not the connection.
fn guarded<T>(asking: &Asking<'_>, work: impl FnOnce() -> T) -> Result<T, Refusal> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        asking.point.metrics.panics.inc();
        tracing::error!(request_id = asking.request_id, "a request ended in a panic; please report it");
        Refusal::bare(StatusCode::INTERNAL_SERVER_ERROR)
    })
}

fn is_about(result: &ResultOf, resource: &str, action: &str) -> bool {
    let has = |category: &str, id: &str, text: &str| {
        let mut found = result.attributes.attributes();
        found.any(|one| {
            let is_named = one.category() == category && one.id == id;
            is_named && matches!(one.values(), [Value::Text(value)] if value == text)
        })
    };
    has(identifiers::RESOURCE, identifiers::RESOURCE_ID, resource)
        && has(identifiers::ACTION, identifiers::ACTION_ID, action)
}

fn verdict(result: &ResultOf) -> Verdict {
    let mut verdict = Verdict::default();
    let mut is_understood = true;
    for obligation in &result.obligations {
        is_understood &= take(&mut verdict, obligation);
    }
    for advice in &result.advice {
        take(&mut verdict, advice);
    }
    match result.decision {
        Decision::Permit => verdict.of(is_understood),
        Decision::Deny | Decision::NotApplicable | Decision::Indeterminate => verdict.of(false),
    }
}

/// `false` where an agent cannot know what it is.
fn take(verdict: &mut Verdict, duty: &Duty) -> bool {
    let Some(told) = duty.id.strip_prefix(OWN).and_then(Told::named) else { return false };
    for assignment in &duty.assignments {
        verdict.say(told, &assignment.id, &assignment.value.lexical());
    }
    true
}

/// Hands the decision log an entry for each result.
fn record(asking: &Asking<'_>, pdp: &Pdp, decided: Decided) {
    let Decided { request, response, records, took } = decided;
    let length = asking.question.resources.iter().map(String::len).sum();
    let (snapshot, duration) = (pdp.snapshot().id, took);
    let decided = DecidedRequest { request, response, records, snapshot, duration, length };
    asking.point.recorder.results(&asking.caller(), decided);
}
