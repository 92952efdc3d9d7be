//! What words are looked up in when they do not say enough.

use super::Number;
use crate::path::Path;
use crate::program::{SlotId, Slots};
use crate::value::Value;

/// What the words of a [`CompactSubscription`](super::CompactSubscription), or of [`Rows`](super::Rows), were made of.
pub trait Fields {
    /// The place of the field that is this part of the subscription, the whole of it; a request of XACML has no parts.
    fn place(&self, path: &Path) -> Option<u16> {
        let _ = path;
        None
    }

    /// The value at a place; `None` where it is not there as one.
    fn at(&self, place: u16) -> Option<&Value>;

    /// The value at a place that is not there as one; `None` where it would have to be made of other fields.
    fn made(&self, place: u16) -> Option<Value>;

    /// The number of a slot that asks for an attribute of one issuer; [`Number::MANY`] where the issuers are not known.
    fn issued(&self, slots: &Slots, slot: SlotId) -> Number {
        let _ = (slots, slot);
        Number::MANY
    }
}
