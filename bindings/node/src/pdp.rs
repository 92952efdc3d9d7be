//! The decision point as an object of JavaScript.

use std::sync::Arc;

use durward_embed::{Decision, DecisionPoint, QuestionError, TEXT_BYTES_MAX};
use napi::bindgen_prelude::{AsyncTask, Buffer, BufferSlice};
use napi::{JsString, Result};
use napi_derive::napi;

use crate::answer::{Answer, Explanation, Snapshot, answer};
use crate::error;
use crate::load::{self, Opening, Renewing};
use crate::table;
use crate::watch::{NativeWatch, WakeFunction};

/// The longest text of a question, in bytes.
#[napi]
pub const TEXT_BYTES: u32 = TEXT_BYTES_MAX as u32;

/// A decision point. While this object is there, its number is good.
#[napi]
pub struct NativePdp {
    number: u32,
}

impl Drop for NativePdp {
    fn drop(&mut self) {
        table::free(self.number);
    }
}

/// Reads the policies of a folder, or of one file.
#[napi(catch_unwind)]
pub fn open(path: String) -> Result<NativePdp> {
    load::open(&path).and_then(NativePdp::new)
}

/// The same on another thread.
#[napi(catch_unwind)]
pub fn open_async(path: String) -> AsyncTask<Opening> {
    AsyncTask::new(Opening::new(move || load::open(&path)))
}

/// Takes policies as texts.
#[napi(catch_unwind)]
pub fn from_texts(names: Vec<String>, texts: Vec<Buffer>) -> Result<NativePdp> {
    load::from_texts(load::texts(names, &texts)).and_then(NativePdp::new)
}

/// The same on another thread.
#[napi(catch_unwind)]
pub fn from_texts_async(names: Vec<String>, texts: Vec<Buffer>) -> AsyncTask<Opening> {
    let texts = load::texts(names, &texts);
    AsyncTask::new(Opening::new(move || load::from_texts(texts)))
}

/// Answers a subscription; by the number of a decision point.
#[napi(catch_unwind)]
pub fn decide_text(number: u32, subscription: JsString<'_>) -> Result<Answer> {
    let text = subscription.into_utf8()?;
    table::with(number, |point| answered(point.decide(text.as_slice())))
}

/// Answers a subscription; by the number of a decision point.
#[napi(catch_unwind)]
pub fn decide_bytes(number: u32, subscription: BufferSlice<'_>) -> Result<Answer> {
    table::with(number, |point| answered(point.decide(&subscription)))
}

fn answered(decided: std::result::Result<Decision, QuestionError>) -> Result<Answer> {
    match decided {
        Ok(decision) => Ok(answer(&decision)),
        Err(error) => Err(error::of_question(&error)),
    }
}

impl NativePdp {
    pub(crate) fn new(point: DecisionPoint) -> Result<NativePdp> {
        table::insert(point).map(|number| NativePdp { number })
    }

    fn point(&self) -> Result<Arc<DecisionPoint>> {
        table::with(self.number, |point| Ok(Arc::clone(point)))
    }
}

#[napi]
impl NativePdp {
    /// Its number, for functions.
    #[napi(catch_unwind)]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Answers a request of XACML.
    #[napi(catch_unwind)]
    pub fn decide_request(&self, request: BufferSlice<'_>) -> Result<String> {
        self.point()?.decide_request(&request).map_err(|error| error::of_question(&error))
    }

    /// Says why a subscription is answered as it is.
    #[napi(catch_unwind)]
    pub fn explain(&self, subscription: BufferSlice<'_>) -> Result<Explanation> {
        let explained = self.point()?.explain(&subscription);
        explained.map(Explanation::from).map_err(|error| error::of_question(&error))
    }

    /// Says why a request of XACML is answered as it is.
    #[napi(catch_unwind)]
    pub fn explain_request(&self, request: BufferSlice<'_>) -> Result<Explanation> {
        let explained = self.point()?.explain_request(&request);
        explained.map(Explanation::from).map_err(|error| error::of_question(&error))
    }

    /// Watches a subscription; `wake` is called when it is worth asking for a decision, which is then asked for with `poll`.
    #[napi(catch_unwind)]
    pub fn watch(&self, subscription: BufferSlice<'_>, wake: WakeFunction) -> Result<NativeWatch> {
        let point = self.point()?;
        let watch = point.watch(&subscription).map_err(|error| error::of_question(&error))?;
        Ok(NativeWatch::new(watch, wake, point))
    }

    /// Reads the policies again.
    #[napi(catch_unwind)]
    pub fn reload(&self) -> Result<Snapshot> {
        load::reload(self.point()?.as_ref()).map(Snapshot::from)
    }

    /// The same on another thread.
    #[napi(catch_unwind)]
    pub fn reload_async(&self) -> Result<AsyncTask<Renewing>> {
        let point = self.point()?;
        Ok(AsyncTask::new(Renewing::new(move || load::reload(&point))))
    }

    /// Puts other policies in force.
    #[napi(catch_unwind)]
    pub fn replace(&self, names: Vec<String>, texts: Vec<Buffer>) -> Result<Snapshot> {
        load::replace(self.point()?.as_ref(), load::texts(names, &texts)).map(Snapshot::from)
    }

    /// The same on another thread.
    #[napi(catch_unwind)]
    pub fn replace_async(&self, names: Vec<String>, texts: Vec<Buffer>) -> Result<AsyncTask<Renewing>> {
        let (point, texts) = (self.point()?, load::texts(names, &texts));
        Ok(AsyncTask::new(Renewing::new(move || load::replace(&point, texts))))
    }

    /// What is in force.
    #[napi(catch_unwind)]
    pub fn snapshot(&self) -> Result<Snapshot> {
        Ok(self.point()?.snapshot().into())
    }

    /// Lets go of the policies. What is asked afterwards is an error.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        table::close(self.number);
    }
}
