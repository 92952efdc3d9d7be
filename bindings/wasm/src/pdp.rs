//! The decision point as an object of JavaScript.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use durward_embed::{Decision, DecisionPoint, Explained, LoadError, QuestionError, SnapshotInfo};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::answer::{self, Answers, closed, of_load, of_question};
use crate::host::clock;
use crate::texts::WasmTexts;
use crate::watch::{WasmWatch, Woken};

/// A decision point.
#[wasm_bindgen]
#[derive(Debug)]
pub struct WasmPdp {
    /// Nothing once it is closed.
    point: RefCell<Option<Arc<DecisionPoint>>>,
    answers: Answers,
    woken: Woken,
}

/// Takes policies as texts.
#[wasm_bindgen(js_name = fromTexts)]
pub fn from_texts(texts: WasmTexts) -> Result<WasmPdp, JsError> {
    WasmPdp::new(DecisionPoint::from_texts(texts.0, clock()))
}

/// Takes the files of a folder.
#[wasm_bindgen(js_name = fromFolder)]
pub fn from_folder(folder: &str, files: WasmTexts) -> Result<WasmPdp, JsError> {
    WasmPdp::new(DecisionPoint::from_folder(Path::new(folder), files.0, clock()))
}

impl WasmPdp {
    fn new(point: Result<DecisionPoint, LoadError>) -> Result<WasmPdp, JsError> {
        let point = point.map_err(|error| of_load(&error))?;
        Ok(WasmPdp {
            point: RefCell::new(Some(Arc::new(point))),
            answers: Answers::default(),
            woken: Woken::default(),
        })
    }

    fn point(&self) -> Result<Arc<DecisionPoint>, JsError> {
        self.point.borrow().clone().ok_or_else(closed)
    }

    fn answered(&self, decided: Result<Decision, QuestionError>) -> Result<u32, JsError> {
        decided.map(|decision| self.answers.put(&decision)).map_err(|error| of_question(&error))
    }
}

#[wasm_bindgen]
impl WasmPdp {
    /// Answers a subscription: the number of a plain decision, or of one whose JSON is fetched.
    #[wasm_bindgen(js_name = decideText)]
    pub fn decide_text(&self, subscription: &str) -> Result<u32, JsError> {
        self.decide_bytes(subscription.as_bytes())
    }

    /// The same.
    #[wasm_bindgen(js_name = decideBytes)]
    pub fn decide_bytes(&self, subscription: &[u8]) -> Result<u32, JsError> {
        match &*self.point.borrow() {
            Some(point) => self.answered(point.decide(subscription)),
            None => Err(closed()),
        }
    }

    /// The JSON of the last decision.
    #[wasm_bindgen(js_name = takeAnswer)]
    pub fn take_answer(&self) -> String {
        self.answers.take()
    }

    /// Answers a request of XACML.
    #[wasm_bindgen(js_name = decideRequest)]
    pub fn decide_request(&self, request: &[u8]) -> Result<String, JsError> {
        self.point()?.decide_request(request).map_err(|error| of_question(&error))
    }

    /// Says why a subscription is answered as it is: in words, and as JSON.
    pub fn explain(&self, subscription: &[u8]) -> Result<Vec<String>, JsError> {
        told(self.point()?.explain(subscription))
    }

    /// Says why a request of XACML is answered as it is.
    #[wasm_bindgen(js_name = explainRequest)]
    pub fn explain_request(&self, request: &[u8]) -> Result<Vec<String>, JsError> {
        told(self.point()?.explain_request(request))
    }

    /// Watches a subscription; it is known by this number where it has another decision.
    pub fn watch(&self, subscription: &[u8], number: u32) -> Result<WasmWatch, JsError> {
        let point = self.point()?;
        let watch = point.watch(subscription).map_err(|error| of_question(&error))?;
        Ok(WasmWatch::new(watch, number, &self.woken, point))
    }

    /// Drives the watched subscriptions; gives in how many milliseconds to do so again, or nothing where no decision depends on the time.
    pub fn tick(&self) -> Option<f64> {
        let point = self.point.borrow().clone()?;
        point.tick().map(|wait| wait.as_secs_f64() * 1_000.0)
    }

    /// The numbers of the watched subscriptions that have another decision since this was called.
    #[wasm_bindgen(js_name = takeWoken)]
    pub fn take_woken(&self) -> Vec<u32> {
        self.woken.take()
    }

    /// Puts other policies in force; gives the snapshot as JSON.
    pub fn replace(&self, texts: WasmTexts) -> Result<String, JsError> {
        snapshot(self.point()?.replace(texts.0))
    }

    /// Puts the files of a folder in force.
    #[wasm_bindgen(js_name = replaceFolder)]
    pub fn replace_folder(&self, folder: &str, files: WasmTexts) -> Result<String, JsError> {
        snapshot(self.point()?.replace_folder(Path::new(folder), files.0))
    }

    /// What is in force, as JSON.
    pub fn snapshot(&self) -> Result<String, JsError> {
        Ok(answer::snapshot(&self.point()?.snapshot()))
    }

    /// Lets go of the policies. What is asked afterwards is an error.
    pub fn close(&self) {
        drop(self.point.take());
    }
}

fn told(explained: Result<Explained, QuestionError>) -> Result<Vec<String>, JsError> {
    explained.map(|Explained { text, json }| vec![text, json]).map_err(|error| of_question(&error))
}

fn snapshot(replaced: Result<SnapshotInfo, LoadError>) -> Result<String, JsError> {
    replaced.map(|info| answer::snapshot(&info)).map_err(|error| of_load(&error))
}
