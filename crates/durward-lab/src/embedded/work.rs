//! What is measured: one request, decided or answered.

use std::hint::black_box;

use durward_pdp::sapl::Subscription;
use durward_pdp::xacml::request::RequestError;
use durward_pdp::{Pdp, Request};

use super::BenchError;

/// How a request is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
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
    pub form: Form,
}

impl RequestText {
    fn read(&self) -> Result<Request, RequestError> {
        match self.form {
            Form::Xml => Request::from_xml(&self.text),
            Form::Json | Form::Subscription => Request::from_json(&self.text),
        }
    }

    /// Reads it as a question for this decision point.
    fn prepare(&self, pdp: &Pdp) -> Result<Question, BenchError> {
        let failed = |problem: String| BenchError::Request(self.name.clone(), problem);
        match self.form {
            Form::Xml | Form::Json => {
                let mut request = self.read().map_err(|error| failed(error.to_string()))?;
                pdp.encode(&mut request);
                Ok(Question::Request(request))
            }
            Form::Subscription => {
                let subscription = Subscription::from_json(&self.text);
                Ok(Question::Subscription(subscription.map_err(|error| failed(error.to_string()))?))
            }
        }
    }
}

/// A question of either language, read.
#[expect(clippy::large_enum_variant, reason = "they are in lists of one kind")]
enum Question {
    Request(Request),
    Subscription(Subscription),
}

/// All requests, as text and read.
pub(super) struct Requests<'t> {
    texts: &'t [RequestText],
    read: Vec<Question>,
}

impl<'t> Requests<'t> {
    /// Reads all, and encodes them for this decision point.
    pub(super) fn read(texts: &'t [RequestText], pdp: &Pdp) -> Result<Requests<'t>, BenchError> {
        if texts.is_empty() {
            return Err(BenchError::NoRequests);
        }
        let read = texts.iter().map(|one| one.prepare(pdp)).collect::<Result<_, _>>()?;
        Ok(Requests { texts, read })
    }

    pub(super) fn len(&self) -> usize {
        self.read.len()
    }

    /// One decision.
    #[inline]
    pub(super) fn decide(&self, pdp: &Pdp, at: usize) {
        match self.read.get(at) {
            Some(Question::Request(request)) => drop(black_box(pdp.decide(black_box(request)))),
            Some(Question::Subscription(asked)) => drop(black_box(pdp.decide_once(black_box(asked)))),
            None => {}
        }
    }

    /// One answer, from text to text.
    #[inline]
    pub(super) fn answer(&self, pdp: &Pdp, at: usize) {
        let Some(text) = self.texts.get(at) else { return };
        // It was read before: it can be read again.
        if text.form == Form::Subscription {
            if let Ok(asked) = Subscription::from_json(&black_box(text).text) {
                drop(black_box(pdp.decide_once(&asked).to_json()));
            }
            return;
        }
        let Ok(request) = black_box(text).read() else { return };
        let response = pdp.decide(&request);
        match text.form {
            Form::Xml => drop(black_box(response.to_xml(request.version))),
            Form::Json | Form::Subscription => drop(black_box(response.to_json())),
        }
    }
}
