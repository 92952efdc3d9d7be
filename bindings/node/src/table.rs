//! The decision points of this thread, by number. A function that is given a number answers in two thirds of the time of a method, for which
//! the addon has to look up and verify its object at every call.

use std::cell::RefCell;
use std::sync::Arc;

use durward_embed::DecisionPoint;
use napi::{Error, Result};

use crate::error;

thread_local! {
    static POINTS: RefCell<Vec<Slot>> = const { RefCell::new(Vec::new()) };
}

enum Slot {
    Open(Arc<DecisionPoint>),
    Closed,
    /// The object that had this number is gone: it may be given again.
    Free,
}

/// Gives a number to a decision point.
pub(crate) fn insert(point: DecisionPoint) -> Result<u32> {
    POINTS.with_borrow_mut(|slots| {
        let free = slots.iter().position(|slot| matches!(slot, Slot::Free)).unwrap_or(slots.len());
        let number = u32::try_from(free).map_err(|_| Error::from_reason("too many decision points"))?;
        let slot = Slot::Open(Arc::new(point));
        match slots.get_mut(free) {
            Some(place) => *place = slot,
            None => slots.push(slot),
        }
        Ok(number)
    })
}

/// Asks a decision point. INVARIANT: `ask` calls no JavaScript, which could close it meanwhile.
pub(crate) fn with<R>(number: u32, ask: impl FnOnce(&Arc<DecisionPoint>) -> Result<R>) -> Result<R> {
    POINTS.with_borrow(|slots| match slots.get(number as usize) {
        Some(Slot::Open(point)) => ask(point),
        Some(Slot::Closed | Slot::Free) | None => Err(error::closed()),
    })
}

/// Lets go of a decision point; its number is not given again.
pub(crate) fn close(number: u32) {
    put(number, Slot::Closed);
}

/// The same, and the number may be given again.
pub(crate) fn free(number: u32) {
    put(number, Slot::Free);
}

fn put(number: u32, slot: Slot) {
    // A thread that ends may have lost its table before the last object is collected.
    let before = POINTS.try_with(|slots| {
        slots.borrow_mut().get_mut(number as usize).map(|place| std::mem::replace(place, slot))
    });
    // Policies are dropped when the table can be used again.
    drop(before);
}
