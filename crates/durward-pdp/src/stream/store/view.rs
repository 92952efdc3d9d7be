//! What one subscription knows while it is decided, and what of it is used.

use std::cell::Cell;

use durward_ir::Value;
use durward_ir::fault::Evaluated;
use smallvec::SmallVec;

use crate::stream::broker::Broker;
use crate::stream::decider::KnownAttributes;
use crate::stream::entry::Use;
use crate::stream::invocation::Invocation;

/// The values of the streams that a subscription uses. A handful, looked through one by one.
pub(super) struct View<'a> {
    broker: &'a Broker,
    uses: &'a [Use],
    is_used: SmallVec<[Cell<bool>; 8]>,
}

impl<'a> View<'a> {
    pub(super) fn new(broker: &'a Broker, uses: &'a [Use]) -> View<'a> {
        View { broker, uses, is_used: uses.iter().map(|_| Cell::new(false)).collect() }
    }

    /// The streams that were not asked for.
    pub(super) fn unused(&self) -> SmallVec<[u32; 8]> {
        let uses = self.uses.iter().zip(&self.is_used);
        uses.filter(|(_, is_used)| !is_used.get()).map(|(used, _)| used.stream).collect()
    }
}

impl KnownAttributes for View<'_> {
    fn get(&self, invocation: &Invocation) -> Option<&Evaluated<Value>> {
        let mut uses = self.uses.iter().zip(&self.is_used);
        let (used, is_used) = uses.find(|(used, _)| self.broker.answers(used.stream, invocation))?;
        is_used.set(true);
        self.broker.value(used.stream)
    }
}
