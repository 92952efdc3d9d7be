//! Sources that do what the simulation tells them, and tell it what becomes of them.

use std::sync::{Arc, Mutex};

use durward_pdp::stream::{AttributeFinder, Context, Invocation, Publisher};

/// A source that was opened.
pub(super) struct Opened {
    pub(super) name: String,
    pub(super) id: u64,
    pub(super) publisher: Publisher,
}

#[derive(Default)]
pub(super) struct Happened {
    pub(super) opened: Vec<Opened>,
    pub(super) closed: Vec<u64>,
    last: u64,
    pub(super) open: usize,
}

/// A finder for `<src.n>`, for n below a bound.
#[derive(Clone)]
pub(super) struct Simulated {
    pub(super) happened: Arc<Mutex<Happened>>,
    pub(super) bound: u64,
}

struct Handle {
    happened: Arc<Mutex<Happened>>,
    id: u64,
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut happened = self.happened.lock().unwrap();
        happened.closed.push(self.id);
        happened.open -= 1;
    }
}

impl AttributeFinder for Simulated {
    fn serves(&self, invocation: &Invocation) -> bool {
        serves(self.bound, &invocation.name)
    }

    fn open(&self, invocation: &Invocation, _: &Context, publisher: Publisher) -> Box<dyn Send> {
        let mut happened = self.happened.lock().unwrap();
        happened.last += 1;
        happened.open += 1;
        let id = happened.last;
        happened.opened.push(Opened { name: invocation.name.to_string(), id, publisher });
        Box::new(Handle { happened: Arc::clone(&self.happened), id })
    }
}

/// Whether a finder with this bound serves the attribute of this name.
pub(super) fn serves(bound: u64, name: &str) -> bool {
    name.strip_prefix("src.").and_then(|n| n.parse::<u64>().ok()).is_some_and(|n| n < bound)
}
