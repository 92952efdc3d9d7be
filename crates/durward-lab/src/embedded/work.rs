//! What is measured: one request, decided or answered.

use std::hint::black_box;

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
            Form::Json => Request::from_json(&self.text),
        }
    }
}

/// All requests, as text and read.
pub(super) struct Requests<'t> {
    texts: &'t [RequestText],
    read: Vec<Request>,
}

impl<'t> Requests<'t> {
    /// Reads all, and encodes them for this decision point.
    pub(super) fn read(texts: &'t [RequestText], pdp: &Pdp) -> Result<Requests<'t>, BenchError> {
        if texts.is_empty() {
            return Err(BenchError::NoRequests);
        }
        let read_one = |one: &RequestText| {
            let mut request =
                one.read().map_err(|error| BenchError::Request(one.name.clone(), error.to_string()))?;
            pdp.encode(&mut request);
            Ok(request)
        };
        Ok(Requests { texts, read: texts.iter().map(read_one).collect::<Result<_, _>>()? })
    }

    pub(super) fn len(&self) -> usize {
        self.read.len()
    }

    /// One decision.
    #[inline]
    pub(super) fn decide(&self, pdp: &Pdp, at: usize) {
        if let Some(request) = self.read.get(at) {
            black_box(pdp.decide(black_box(request)));
        }
    }

    /// One answer, from text to text.
    #[inline]
    pub(super) fn answer(&self, pdp: &Pdp, at: usize) {
        let Some(text) = self.texts.get(at) else { return };
        // It was read before: it can be read again.
        let Ok(request) = black_box(text).read() else { return };
        let response = pdp.decide(&request);
        match text.form {
            Form::Xml => drop(black_box(response.to_xml(request.version))),
            Form::Json => drop(black_box(response.to_json())),
        }
    }
}
