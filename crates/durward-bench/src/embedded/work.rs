//! What is measured: one request, decided or answered.

use std::hint::black_box;

use durward_pdp::sapl::{Decision, Outcome, Subscription};
use durward_pdp::xacml::request::{Limits, RequestError};
use durward_pdp::{Decider, Pdp, Request, Response};

use super::BenchError;

/// How a request is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFormat {
    /// XML.
    Xml,
    /// JSON.
    Json,
    /// A subscription of SAPL, which is JSON, too.
    Subscription,
}

/// A request as it comes over the wire.
#[derive(Clone, Debug)]
pub struct RequestText {
    /// How messages call it: a file and line.
    pub name: String,
    /// The text.
    pub text: Vec<u8>,
    /// How it is written.
    pub form: RequestFormat,
}

impl RequestText {
    fn read(&self) -> Result<Request, RequestError> {
        match self.form {
            RequestFormat::Xml => Request::from_xml(&self.text),
            RequestFormat::Json | RequestFormat::Subscription => Request::from_json(&self.text),
        }
    }

    /// Reads it as a question.
    fn prepare(&self) -> Result<ReadQuestion, BenchError> {
        let failed = |problem: String| BenchError::Request(self.name.clone(), problem);
        match self.form {
            RequestFormat::Xml | RequestFormat::Json => {
                let request = self.read().map_err(|error| failed(error.to_string()))?;
                Ok(ReadQuestion::Request(request))
            }
            RequestFormat::Subscription => {
                let subscription = Subscription::from_json(&self.text);
                Ok(ReadQuestion::Subscription(subscription.map_err(|error| failed(error.to_string()))?))
            }
        }
    }
}

/// A question of either language, read.
#[expect(
    clippy::large_enum_variant,
    reason = "they stand one behind the other, as those who ask many have them"
)]
enum ReadQuestion {
    Request(Request),
    Subscription(Subscription),
}

/// All requests, as text and read.
pub(super) struct BenchRequests<'t> {
    texts: &'t [RequestText],
    read: Vec<ReadQuestion>,
}

impl<'t> BenchRequests<'t> {
    /// Reads all.
    pub(super) fn read(texts: &'t [RequestText]) -> Result<BenchRequests<'t>, BenchError> {
        if texts.is_empty() {
            return Err(BenchError::NoRequests);
        }
        let read = texts.iter().map(RequestText::prepare).collect::<Result<_, _>>()?;
        Ok(BenchRequests { texts, read })
    }

    /// Encodes all for this decision point.
    pub(super) fn encoded(mut self, pdp: &Pdp) -> BenchRequests<'t> {
        for question in &mut self.read {
            match question {
                ReadQuestion::Request(request) => pdp.encode(request),
                ReadQuestion::Subscription(subscription) => pdp.encode_subscription(subscription),
            }
        }
        self
    }

    pub(super) fn len(&self) -> usize {
        self.read.len()
    }

    /// One decision.
    #[inline]
    pub(super) fn decide(&self, decider: &mut Decider<'_>, at: usize) {
        match self.read.get(at) {
            Some(ReadQuestion::Request(request)) => drop(black_box(decider.decide(black_box(request)))),
            Some(ReadQuestion::Subscription(asked)) => drop(black_box(decider.decide_once(black_box(asked)))),
            None => {}
        }
    }

    /// One answer, from text to text.
    #[inline]
    pub(super) fn answer(&self, pdp: &Pdp, at: usize) {
        let Some(text) = self.texts.get(at) else { return };
        // It was read before: it can be read again.
        if text.form == RequestFormat::Subscription {
            if let Ok(decision) = pdp.decide_json(&black_box(text).text) {
                drop(black_box(decision.to_json()));
            }
            return;
        }
        let (bytes, limits) = (&black_box(text).text, Limits::default());
        match text.form {
            RequestFormat::Xml => {
                if let Ok((response, version)) = pdp.decide_xml(bytes, &limits) {
                    drop(black_box(response.to_xml(version)));
                }
            }
            RequestFormat::Json | RequestFormat::Subscription => {
                if let Ok(response) = pdp.decide_request_json(bytes, &limits) {
                    drop(black_box(response.to_json()));
                }
            }
        }
    }

    /// Batches of so many, the last with what is left.
    ///
    /// # Errors
    /// Questions of both languages: they cannot stand in one batch.
    pub(super) fn into_batches(self, size: usize) -> Result<QuestionBatches, BenchError> {
        let (mut requests, mut subscriptions) = (Vec::new(), Vec::new());
        for question in self.read {
            match question {
                ReadQuestion::Request(request) => requests.push(request),
                ReadQuestion::Subscription(subscription) => subscriptions.push(subscription),
            }
        }
        match (requests.is_empty(), subscriptions.is_empty()) {
            (false, false) => Err(BenchError::TwoLanguages),
            (false, true) => Ok(QuestionBatches::Requests(requests, size.max(1))),
            (true, _) => Ok(QuestionBatches::Subscriptions(subscriptions, size.max(1))),
        }
    }
}

/// Questions of one language, to be asked so many at once.
pub(super) enum QuestionBatches {
    Requests(Vec<Request>, usize),
    Subscriptions(Vec<Subscription>, usize),
}

/// Where the answers to a batch are put, again and again.
pub(super) enum BatchAnswers {
    Responses(Vec<Response>),
    Decisions(Vec<Decision>),
}

impl QuestionBatches {
    /// How many batches there are.
    pub(super) fn len(&self) -> usize {
        match self {
            QuestionBatches::Requests(all, size) => all.len().div_ceil(*size),
            QuestionBatches::Subscriptions(all, size) => all.len().div_ceil(*size),
        }
    }

    /// Room for the answers to any batch.
    pub(super) fn room(&self) -> BatchAnswers {
        match self {
            QuestionBatches::Requests(_, size) => {
                BatchAnswers::Responses(vec![Response { results: Default::default() }; *size])
            }
            QuestionBatches::Subscriptions(_, size) => {
                BatchAnswers::Decisions(vec![Decision::plain(Outcome::Indeterminate); *size])
            }
        }
    }

    /// Decides one batch; how many decisions that were.
    #[inline]
    pub(super) fn decide(&self, pdp: &Pdp, at: usize, answers: &mut BatchAnswers) -> usize {
        let part = |length: usize, size: usize| at * size..((at + 1) * size).min(length);
        match (self, answers) {
            (QuestionBatches::Requests(all, size), BatchAnswers::Responses(responses)) => {
                let asked = all.get(part(all.len(), *size)).unwrap_or_default();
                let decided = pdp.decide_requests(black_box(asked), responses);
                black_box(&*responses);
                decided
            }
            (QuestionBatches::Subscriptions(all, size), BatchAnswers::Decisions(decisions)) => {
                let asked = all.get(part(all.len(), *size)).unwrap_or_default();
                let decided = pdp.decide_batch(black_box(asked), decisions);
                black_box(&*decisions);
                decided
            }
            (QuestionBatches::Requests(..), BatchAnswers::Decisions(_))
            | (QuestionBatches::Subscriptions(..), BatchAnswers::Responses(_)) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(count: usize) -> Vec<RequestText> {
        let text = |number: usize| {
            let text = format!(r#"{{"subject":{number},"action":"read","resource":"x"}}"#);
            RequestText { name: number.to_string(), text: text.into(), form: RequestFormat::Subscription }
        };
        (0..count).map(text).collect()
    }

    #[test]
    fn batches_hold_every_question_once() {
        let pdp = Pdp::builder().policy("p.sapl", r#"policy "p" permit"#).build().unwrap();
        for (count, size, lengths) in [(5, 2, vec![2, 2, 1]), (4, 2, vec![2, 2]), (1, 64, vec![1])] {
            let texts = texts(count);
            let batches = BenchRequests::read(&texts).unwrap().into_batches(size).unwrap();
            let mut room = batches.room();
            let decided: Vec<usize> =
                (0..batches.len()).map(|at| batches.decide(&pdp, at, &mut room)).collect();
            assert_eq!(decided, lengths);
        }
    }
}
