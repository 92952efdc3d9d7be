//! An entry for each result of an XACML request, whichever surface was asked.

use std::sync::Arc;
use std::time::Duration;

use durward_pdp::record::{Failure, Record};
use durward_pdp::{Decision, Request, Response, ResultOf};
use smol_str::SmolStr;

use super::{Caller, Entry, LoggedAnswer, Recorder};
use crate::access::subject::attributes::token_reason;
use durward_pdp::sapl::Outcome;

/// What was decided about a request.
pub struct DecidedRequest {
    /// What was asked.
    pub request: Request,
    /// What was answered.
    pub response: Response,
    /// For each result, where they were made.
    pub records: Vec<Record>,
    /// The policies that decided, where there are no records.
    pub snapshot: u64,
    /// How long deciding took.
    pub duration: Duration,
    /// Bytes of the request as it was sent.
    pub length: usize,
}

impl Recorder {
    /// Hands the log an entry for each result, the first with the request.
    pub fn results(&self, caller: &Caller<'_>, decided: DecidedRequest) {
        let DecidedRequest { request, response, mut records, snapshot, duration, length } = decided;
        let parts = response.results.len();
        if records.len() != parts {
            records = vec![Record { snapshot, ..Record::default() }; parts];
        }
        let mut request = Some(request);
        for ((number, result), record) in response.results.into_iter().enumerate().zip(records) {
            let record = with_reason(&result, record);
            self.trace((caller.surface, caller.route, caller.request_id), None, &record);
            let is_written = self.writes(outcome_of(result.decision));
            self.record(|time| {
                // The first line that is written has the attributes.
                let request = if is_written { request.take().map(Box::new) } else { None };
                Entry {
                    time,
                    surface: caller.surface,
                    route: caller.route,
                    request_id: caller.request_id.into(),
                    trace: caller.trace.clone(),
                    client: caller.client,
                    tenant: caller.tenant.clone(),
                    caller: Some(SmolStr::from(caller.name)).filter(|name| !name.is_empty()),
                    duration: Some(duration),
                    record: Arc::new(record),
                    bytes: if request.is_some() { length } else { 0 },
                    answer: LoggedAnswer::Result {
                        request,
                        result: Box::new(result),
                        part: (number + 1, parts),
                    },
                }
            });
        }
    }
}

/// The record with the reason of what is no decision of policies: a request or a subject that is not what it should be.
fn with_reason(result: &ResultOf, mut record: Record) -> Record {
    if let Some(reason) = token_reason(result) {
        // No policy decided about a subject whose token is not taken.
        let failures = vec![Failure::outside(reason)];
        return Record { snapshot: record.snapshot, failures, ..Record::default() };
    }
    match result.decision {
        Decision::Indeterminate if record.failures.is_empty() => {
            let message = result.status.message.as_deref().unwrap_or("no reason is known");
            record.failures = vec![Failure::outside(message)];
        }
        Decision::Indeterminate => {}
        Decision::Permit | Decision::Deny | Decision::NotApplicable => record.failures.clear(),
    }
    record
}

/// In the words that both languages share.
pub(super) fn outcome_of(decision: Decision) -> Outcome {
    match decision {
        Decision::Permit => Outcome::Permit,
        Decision::Deny => Outcome::Deny,
        Decision::NotApplicable => Outcome::NotApplicable,
        Decision::Indeterminate => Outcome::Indeterminate,
    }
}
