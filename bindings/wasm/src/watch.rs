//! Watched subscriptions. Nobody is called: JavaScript asks which of them have another decision, after it has driven them.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use durward_embed::{DecisionPoint, Watch};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::answer::Answers;

/// The numbers of those that have another decision.
#[derive(Clone, Debug, Default)]
pub(crate) struct Woken(Arc<Mutex<Vec<u32>>>);

impl Woken {
    pub(crate) fn take(&self) -> Vec<u32> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Waking {
    number: u32,
    woken: Woken,
}

impl Wake for Waking {
    fn wake(self: Arc<Waking>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Waking>) {
        self.woken.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

/// A watched subscription.
#[wasm_bindgen]
#[derive(Debug)]
pub struct WasmWatch {
    watch: Watch,
    waker: Waker,
    answers: Answers,
    /// The policies stay while it does.
    _point: Arc<DecisionPoint>,
}

impl WasmWatch {
    pub(crate) fn new(watch: Watch, number: u32, woken: &Woken, point: Arc<DecisionPoint>) -> WasmWatch {
        let waker = Waker::from(Arc::new(Waking { number, woken: woken.clone() }));
        WasmWatch { watch, waker, answers: Answers::default(), _point: point }
    }
}

#[wasm_bindgen]
impl WasmWatch {
    /// The next decision, as [`WasmPdp::decide_text`](crate::pdp::WasmPdp::decide_text) gives it; nothing where there is none yet, or where the
    /// watch is closed.
    pub fn poll(&self) -> Option<u32> {
        match self.watch.poll_next(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(decision) => decision.map(|decision| self.answers.put(&decision)),
            Poll::Pending => None,
        }
    }

    /// The JSON of the last decision.
    #[wasm_bindgen(js_name = takeAnswer)]
    pub fn take_answer(&self) -> String {
        self.answers.take()
    }

    /// Ends it.
    pub fn close(&self) {
        self.watch.close();
    }
}
