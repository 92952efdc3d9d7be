//! Where the attributes of a question come from.

use super::{Invocation, Number, Reading};
use crate::attribute::{AttributeName, NameKey};
use crate::fault::{Evaluated, Fault};
use crate::path::Path;
use crate::program::{SlotId, Slots};
use crate::value::Value;

/// Where a question's attributes come from: the request, in whatever language it is written.
pub trait Attributes {
    /// What is known of an attribute: its values of the name's data type and, where the name asks for one, of its
    /// issuer, in the order given. `key` is the name's [`NameKey`].
    fn read<'a>(&'a self, name: &AttributeName, key: NameKey) -> Reading<'a>;

    /// The number of what a slot holds that stands for an attribute, where that is found without looking at values; `None`
    /// where [`Attributes::read`] is to be asked.
    fn number(&self, slots: &Slots, slot: SlotId) -> Option<Number> {
        let _ = (slots, slot);
        None
    }

    /// What is known of a part of a subscription: [`Reading::Absent`] where it is undefined.
    fn part<'a>(&'a self, path: &Path) -> Reading<'a> {
        let _ = path;
        Reading::Absent
    }

    /// Where the value of a part of a subscription is found, if it is kept as such: what [`Attributes::at`] takes. Stays
    /// true as long as the subscription does not change.
    fn place(&self, path: &Path) -> Option<u16> {
        let _ = path;
        None
    }

    /// The value at such a place.
    fn at(&self, place: u16) -> Option<&Value> {
        let _ = place;
        None
    }

    /// What an attribute finder says; `None` where it has not said anything yet. By default nobody has anything to
    /// say: undefined.
    fn found(&self, invocation: &Invocation) -> Option<Evaluated<Value>> {
        let _ = invocation;
        Some(Ok(Value::Undefined))
    }

    /// What stands in for a function gives for these arguments. Only in tests of policies does anything.
    ///
    /// # Errors
    /// What stands in fails, or there is nothing that does.
    fn stand_in(&self, name: &str, arguments: &[Value]) -> Evaluated<Value> {
        let _ = arguments;
        Err(Fault::processing(format!("nothing stands in for `{name}`")))
    }
}

/// A request without attributes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAttributes;

impl Attributes for NoAttributes {
    fn read<'a>(&'a self, _: &AttributeName, _: NameKey) -> Reading<'a> {
        Reading::Absent
    }
}
