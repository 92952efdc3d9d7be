//! What an entry occupies in memory until its line is written, about: texts, and what holds them. Its text on the wire says
//! too little: `[0,0,0]` takes ten times as many bytes as values.

use durward_pdp::Value;
use durward_pdp::ir::path::Element;
use durward_pdp::record::Record;
use durward_pdp::xacml::request::Categories;
use durward_pdp::xacml::response::{Duty, PolicyIdentifier};
use durward_pdp::{Request, ResultOf};

use super::{Entry, LoggedAnswer, LoggedSubscription};
use durward_pdp::sapl::{Decision, Subscription};

/// What an entry costs beside what it holds.
const ENTRY_BYTES: usize = 512;

/// What a text, a list or a shared value costs beside its content, with what the allocator adds.
const PIECE_BYTES: usize = 48;

/// What an attribute of a request costs beside its texts.
const ATTRIBUTE_BYTES: usize = 160;

impl Entry {
    /// Its bytes in memory, about; no more than a little above `bytes_max` is counted, however large it is.
    pub(super) fn held(&self, bytes_max: usize) -> usize {
        let mut sum = Sum { bytes: ENTRY_BYTES + self.bytes, bytes_max };
        sum.record(&self.record);
        match &self.answer {
            LoggedAnswer::Result { request, result, part: _ } => {
                if let Some(request) = request {
                    sum.request(request);
                }
                sum.result(result);
            }
            LoggedAnswer::Decision { id, subscription, decision } => {
                sum.piece(id.as_ref().map_or(0, |id| id.len()));
                match subscription {
                    LoggedSubscription::Once(subscription) => sum.subscription(subscription),
                    // Written already: `bytes` are its.
                    LoggedSubscription::Always(_) | LoggedSubscription::Nothing => {}
                }
                sum.decision(decision);
            }
            LoggedAnswer::Plan(plan) => {
                sum.piece(plan.columns.len());
                if let LoggedSubscription::Once(subscription) = &plan.subscription {
                    sum.subscription(subscription);
                }
            }
        }
        sum.piece(self.trace.state.as_ref().map_or(0, |state| state.len()));
        sum.bytes
    }
}

struct Sum {
    bytes: usize,
    bytes_max: usize,
}

impl Sum {
    fn piece(&mut self, bytes: usize) {
        self.bytes += PIECE_BYTES + bytes;
    }

    /// Parts of values may be shared, and small in memory then: beyond the limit nothing is walked over.
    fn value(&mut self, value: &Value) {
        self.bytes += size_of::<Value>();
        if self.bytes > self.bytes_max {
            return;
        }
        if let Some(text) = value.as_text() {
            self.piece(text.len());
        } else if let Some(values) = value.as_array() {
            self.piece(0);
            values.iter().for_each(|value| self.value(value));
        } else if let Some(object) = value.as_object() {
            self.piece(0);
            for (key, value) in object.iter() {
                self.piece(key.len());
                self.value(value);
            }
        } else {
            self.piece(0);
        }
    }

    fn subscription(&mut self, subscription: &Subscription) {
        Element::ALL.iter().for_each(|element| self.value(subscription.element(*element)));
        self.value(subscription.secrets());
    }

    fn decision(&mut self, decision: &Decision) {
        decision.obligations().chain(decision.advice()).for_each(|duty| self.value(&duty));
        if let Some(resource) = decision.resource() {
            self.value(resource);
        }
    }

    /// Its texts are those that its caller sent.
    fn request(&mut self, request: &Request) {
        let Request { categories, document, .. } = request;
        self.bytes += categories.attribute_count() * ATTRIBUTE_BYTES;
        self.bytes += categories.value_count() * (size_of::<Value>() + PIECE_BYTES);
        self.piece(document.as_ref().map_or(0, |document| document.len()));
    }

    fn echoes(&mut self, categories: &Categories) {
        for attribute in categories.attributes() {
            self.bytes += ATTRIBUTE_BYTES + attribute.id.len();
            attribute.values().iter().for_each(|value| self.value_as_written(value));
        }
    }

    /// One of XACML's types, which are no texts in memory, but about as long.
    fn value_as_written(&mut self, value: &Value) {
        self.bytes += size_of::<Value>();
        self.piece(value.lexical().len());
    }

    fn result(&mut self, result: &ResultOf) {
        let ResultOf { status, obligations, advice, attributes, policy_ids, resource_id, decision: _ } =
            result;
        self.piece(status.message.as_ref().map_or(0, String::len));
        obligations.iter().chain(advice).for_each(|duty| self.duty(duty));
        self.echoes(attributes);
        policy_ids.iter().flatten().for_each(|id| self.policy(id));
        self.piece(resource_id.as_ref().map_or(0, |id| id.len()));
    }

    fn duty(&mut self, duty: &Duty) {
        self.piece(duty.id.len());
        for assignment in &duty.assignments {
            self.bytes += ATTRIBUTE_BYTES + assignment.id.len();
            self.value_as_written(&assignment.value);
        }
    }

    fn policy(&mut self, policy: &PolicyIdentifier) {
        self.bytes += size_of::<PolicyIdentifier>();
        self.piece(policy.id.len());
    }

    fn record(&mut self, record: &Record) {
        for failure in &record.failures {
            let path: usize = failure.path.iter().map(|id| PIECE_BYTES + id.len()).sum();
            self.piece(path + failure.place.len() + failure.message.len());
        }
        record.policies.iter().for_each(|policy| self.policy(policy));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use durward_pdp::Decision as Xacml;
    use durward_pdp::record::Failure;
    use durward_pdp::xacml::response::Status;

    use super::super::Surface;
    use super::*;
    use durward_pdp::sapl::Outcome;

    fn entry(answer: LoggedAnswer, record: Record, bytes: usize) -> Entry {
        Entry {
            time: SystemTime::UNIX_EPOCH,
            surface: Surface::Http,
            route: "decide-once",
            request_id: "r".into(),
            trace: crate::base::traces::Traces::new(false).begin(),
            client: None,
            tenant: "default".into(),
            caller: None,
            duration: None,
            record: Arc::new(record),
            answer,
            bytes,
        }
    }

    fn once(subject: &str, bytes: usize) -> usize {
        let text = format!(r#"{{"subject":{subject},"action":"a","resource":"r"}}"#);
        let subscription = Box::new(Subscription::from_json(text.as_bytes()).unwrap());
        let decision = Arc::new(Decision::plain(Outcome::Permit));
        let answer = LoggedAnswer::Decision {
            id: None,
            subscription: LoggedSubscription::Once(subscription),
            decision,
        };
        entry(answer, Record::default(), bytes).held(usize::MAX)
    }

    #[test]
    fn values_count_as_what_they_take_in_memory() {
        let many = format!("[{}]", vec!["0"; 10_000].join(","));
        let few = once("0", 100);
        assert!(once(&many, many.len()) - few >= 10_000 * size_of::<Value>() + many.len());
        let nested = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert!(once(&nested, nested.len()) - few >= 200 * (size_of::<Value>() + 16));
    }

    /// What policies add to what was asked is held as well.
    #[test]
    fn obligations_echoes_and_reasons_count() {
        let long = "x".repeat(10_000);
        let bare = || ResultOf::with_status(Xacml::Indeterminate, Status::processing_error("no"));
        let held = |result, record| {
            let answer = LoggedAnswer::Result { request: None, result: Box::new(result), part: (1, 1) };
            entry(answer, record, 0).held(usize::MAX)
        };
        let plain = held(bare(), Record::default());
        assert!(plain < 2_000, "{plain}");
        let duty = || Duty { id: long.as_str().into(), assignments: Vec::new() };
        let mut with_obligation = bare();
        with_obligation.obligations = vec![duty()];
        let mut with_advice = bare();
        with_advice.advice = vec![duty()];
        let mut echoing = bare();
        let request = Request::builder().subject("role", Value::text(&long)).build();
        *echoing.attributes = request.categories;
        for result in [with_obligation, with_advice, echoing] {
            assert!(held(result, Record::default()) > plain + long.len());
        }
        let failure = Failure { path: vec!["p".into()], place: String::new(), message: long.clone() };
        let record = Record { failures: vec![failure], ..Record::default() };
        assert!(held(bare(), record) > plain + long.len());
    }

    /// A value that is small because its parts are shared is not walked over for ever.
    #[test]
    fn what_is_too_large_is_not_counted_to_its_end() {
        let shared = (0..40).fold(Value::Null, |value, _| Value::array([value.clone(), value]));
        let decision = Decision::new(Outcome::Permit, vec![shared], Vec::new(), None);
        let answer = LoggedAnswer::Decision {
            id: None,
            subscription: LoggedSubscription::Nothing,
            decision: Arc::new(decision),
        };
        let held = entry(answer, Record::default(), 0).held(1 << 20);
        assert!((1 << 20..2 << 20).contains(&held), "{held}");
    }
}
