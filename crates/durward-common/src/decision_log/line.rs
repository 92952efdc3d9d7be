//! One line of the decision log, with what must not be written left out.

use durward_pdp::ir::direction::bears_on_direction;
use durward_pdp::record::{Failure, Record};
use durward_pdp::xacml::response::{PolicyIdentifier, PolicyKind};
use durward_pdp::{Decision as Xacml, ResultOf};
use durward_settings::DecisionLogSettings;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;

use super::attributes::{Rule, Written, text};
use super::{Entry, LoggedAnswer, LoggedPlan, LoggedSubscription, PlanKind, mask};
use durward_pdp::sapl::{Decision, Outcome, Subscription};

/// Characters that are written of a caller's id of a subscription.
const ID_LENGTH_MAX: usize = 256;

/// How lines are written.
#[derive(Debug)]
pub(super) struct Style {
    rule: Rule,
}

#[derive(Serialize)]
struct Line<'e> {
    time: String,
    surface: &'static str,
    route: &'static str,
    request_id: &'e str,
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<&'e str>,
    tenant: &'e str,
    /// Of several results: which it is, and how many there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subscription: Option<&'e str>,
    decision: &'static str,
    snapshot: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_us: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<ReasonLine<'e>>,
    #[serde(skip_serializing_if = "is_zero")]
    reasons_more: usize,
    results: [ResultLine<'e>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<PlanLine<'e>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<&'e RawValue>,
    #[serde(skip_serializing_if = "is_false")]
    attributes_cut: bool,
}

/// What a plan was made for.
#[derive(Serialize)]
struct PlanLine<'e> {
    columns: &'e str,
    dialect: &'static str,
    #[serde(skip_serializing_if = "is_false")]
    exact: bool,
}

/// Why a decision is Indeterminate.
#[derive(Serialize)]
struct ReasonLine<'e> {
    #[serde(skip_serializing_if = "String::is_empty")]
    policy: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    place: &'e str,
    message: String,
}

#[derive(Serialize)]
struct ResultLine<'e> {
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'e str>,
    /// XACML: the identifiers. SAPL: JSON, where values may be written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    obligations: Vec<String>,
    #[serde(skip_serializing_if = "is_zero")]
    obligation_count: usize,
    #[serde(skip_serializing_if = "is_zero")]
    advice_count: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies: Vec<PolicyLine<'e>>,
}

#[derive(Serialize)]
struct PolicyLine<'e> {
    kind: &'static str,
    id: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'e str>,
}

impl Style {
    pub(super) fn new(settings: &DecisionLogSettings) -> Style {
        Style { rule: Rule::new(settings) }
    }

    /// What may be written of a subscription.
    pub(super) fn subscription(&self, subscription: &Subscription) -> Written {
        self.rule.subscription(subscription)
    }

    /// The entry as JSON, without line end.
    pub(super) fn line(&self, entry: &Entry) -> String {
        let record = &*entry.record;
        let made;
        let attributes = match entry.answer.subscription() {
            Some(LoggedSubscription::Always(written)) => &**written,
            Some(LoggedSubscription::Once(subscription)) => {
                made = self.rule.subscription(subscription);
                &made
            }
            Some(LoggedSubscription::Nothing) => &Written::NOTHING,
            None => match &entry.answer {
                LoggedAnswer::Result { request: Some(request), .. } => {
                    made = self.rule.request(request);
                    &made
                }
                LoggedAnswer::Result { .. } | LoggedAnswer::Decision { .. } | LoggedAnswer::Plan(_) => {
                    &Written::NOTHING
                }
            },
        };
        let (result, (part, parts), id) = match &entry.answer {
            LoggedAnswer::Result { result, part, .. } => (self.result(result, record), *part, None),
            LoggedAnswer::Decision { id, decision, .. } => {
                (self.decision(decision, record), (1, 1), id.as_deref())
            }
            LoggedAnswer::Plan(plan) => (planned(plan), (1, 1), None),
        };
        let line = Line {
            time: Timestamp::try_from(entry.time).map_or_else(|_| String::new(), |time| time.to_string()),
            surface: entry.surface.as_str(),
            route: entry.route,
            request_id: &entry.request_id,
            trace_id: entry.trace.own.trace.to_string(),
            span_id: entry.trace.own.span.to_string(),
            client: entry.client.map(|client| match client.port() {
                0 => client.ip().to_string(),
                _ => client.to_string(),
            }),
            caller: entry.caller.as_deref(),
            tenant: &entry.tenant,
            part: (parts > 1).then_some(part),
            parts: (parts > 1).then_some(parts),
            subscription: id.filter(|_| self.rule.shows_names()).map(shortened),
            decision: result.decision,
            snapshot: record.snapshot,
            duration_us: entry.duration.map(|time| (time.as_secs_f64() * 1e7).round() / 10.0),
            reasons: record.failures.iter().map(|failure| self.reason(failure)).collect(),
            reasons_more: record.failures_more,
            results: [result],
            plan: match &entry.answer {
                LoggedAnswer::Plan(plan) => {
                    let LoggedPlan { columns, dialect, is_exact, .. } = &**plan;
                    Some(PlanLine { columns, dialect, exact: *is_exact })
                }
                LoggedAnswer::Result { .. } | LoggedAnswer::Decision { .. } => None,
            },
            attributes: attributes.json.as_deref(),
            attributes_cut: attributes.is_cut,
        };
        quiet(serde_json::to_string(&line).unwrap_or_default())
    }

    /// A reason as it is written, in one text.
    pub(super) fn reason_text(&self, failure: &Failure) -> String {
        let ReasonLine { policy, place, message } = self.reason(failure);
        match policy.is_empty() {
            true => message,
            false => format!("{policy} ({place}): {message}"),
        }
    }

    fn reason<'e>(&self, failure: &'e Failure) -> ReasonLine<'e> {
        let message = &failure.message;
        let is_shown = self.rule.shows_all();
        ReasonLine {
            policy: failure.path.join("/"),
            place: &failure.place,
            message: mask::cut(&if is_shown { message.clone() } else { mask::masked(message) }),
        }
    }

    fn result<'e>(&self, result: &'e ResultOf, record: &'e Record) -> ResultLine<'e> {
        ResultLine {
            decision: result.decision.as_str(),
            status: Some(&result.status.code.value),
            message: result.status.message.as_deref().filter(|_| self.rule.shows_all()),
            obligations: result.obligations.iter().map(|duty| duty.id.to_string()).collect(),
            obligation_count: 0,
            advice_count: 0,
            policies: record.policies.iter().map(policy).collect(),
        }
    }

    /// In the words of the metrics.
    fn decision<'e>(&self, decision: &Decision, record: &'e Record) -> ResultLine<'e> {
        let obligations = decision.obligations().filter(|_| self.rule.shows_all());
        ResultLine {
            decision: outcome_word(decision.outcome),
            status: None,
            message: None,
            obligations: obligations.map(|duty| text(&duty)).collect(),
            obligation_count: decision.obligations().len(),
            advice_count: decision.advice().len(),
            policies: record.policies.iter().map(policy).collect(),
        }
    }
}

/// What was decided, as lines have it.
pub(super) fn word(answer: &LoggedAnswer) -> &'static str {
    match answer {
        LoggedAnswer::Result { result, .. } => result.decision.as_str(),
        LoggedAnswer::Decision { decision, .. } => outcome_word(decision.outcome),
        LoggedAnswer::Plan(plan) => plan_word(plan.kind),
    }
}

fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Permit => Xacml::Permit.as_str(),
        Outcome::Deny => Xacml::Deny.as_str(),
        Outcome::NotApplicable => Xacml::NotApplicable.as_str(),
        Outcome::Indeterminate => Xacml::Indeterminate.as_str(),
        Outcome::Suspend => "Suspend",
    }
}

fn plan_word(kind: PlanKind) -> &'static str {
    match kind {
        PlanKind::All => "All",
        PlanKind::Filter => "Filter",
        PlanKind::None => "None",
        PlanKind::Failed => Xacml::Indeterminate.as_str(),
    }
}

/// All policies in force have a part in a plan: none is named.
fn planned(plan: &LoggedPlan) -> ResultLine<'_> {
    ResultLine {
        decision: plan_word(plan.kind),
        status: None,
        message: None,
        obligations: Vec::new(),
        obligation_count: 0,
        advice_count: 0,
        policies: Vec::new(),
    }
}

fn policy(policy: &PolicyIdentifier) -> PolicyLine<'_> {
    let kind = match policy.kind {
        PolicyKind::Policy => "policy",
        PolicyKind::PolicySet => "policy set",
    };
    PolicyLine { kind, id: &policy.id, version: policy.version.as_deref() }
}

fn shortened(id: &str) -> &str {
    match id.char_indices().nth(ID_LENGTH_MAX) {
        Some((at, _)) => id.get(..at).unwrap_or_default(),
        None => id,
    }
}

/// JSON leaves as they are some characters that terminals obey, or that end lines for some readers; they can stand only
/// within texts.
fn quiet(line: String) -> String {
    let is_loud = |letter: char| {
        bears_on_direction(letter)
            || matches!(letter, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
    };
    if !line.contains(is_loud) {
        return line;
    }
    let mut quiet = String::with_capacity(line.len() + 16);
    for letter in line.chars() {
        match is_loud(letter) {
            true => quiet.push_str(&format!("\\u{:04x}", u32::from(letter))),
            false => quiet.push(letter),
        }
    }
    quiet
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}
