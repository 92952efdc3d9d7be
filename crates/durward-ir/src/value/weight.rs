//! How large values are for whoever walks them, and how much walking was done.
//!
//! Parts of values are shared, so that one that is small in memory may take hours to compare or to write.

use std::cell::Cell;

use smol_str::SmolStr;

use super::Value;

/// How large a computed value may be, in bytes: 16 for every value and what its text has, counting each as often as it is
/// reached. Parts are shared, so that some lines of `[a, a]` over one another would make a value small in memory, but
/// without end for whoever walks or writes it. This is far above the largest document that is read, and walked in some
/// tens of milliseconds.
pub const WEIGHT_MAX: usize = 100_000_000;

/// The bytes counted for a value beside its text.
const VALUE_WEIGHT: usize = 16;

thread_local! {
    /// How many values were walked over since this was last asked for.
    static WALKED: Cell<u64> = const { Cell::new(0) };
}

/// Notes that so many values were walked over.
#[inline]
pub(super) fn note_walked(values: usize) {
    WALKED.set(WALKED.get().saturating_add(values as u64));
}

/// How many values this thread has walked over, comparing and weighing them, since the last call. The evaluator counts it.
#[inline]
pub(crate) fn take_walked() -> u64 {
    WALKED.replace(0)
}

/// Notes that all of a value will be walked over, by a function.
pub(crate) fn note_walk_over(value: &Value) {
    note_walked(weight(value) / VALUE_WEIGHT);
}

/// Notes that a value will be written for whoever asked for the decision, which takes longer, and memory.
pub(crate) fn note_writing(value: &Value) {
    note_walked(weight(value) / VALUE_WEIGHT * 4);
}

fn weight(value: &Value) -> usize {
    WEIGHT_MAX - value.weighed(WEIGHT_MAX).unwrap_or_default()
}

impl Value {
    /// What is left of `limit` bytes when everything inside was counted, as [`WEIGHT_MAX`] has it; `None` when they do
    /// not suffice.
    pub(crate) fn weighed(&self, limit: usize) -> Option<usize> {
        if let Value::Text(text) = self {
            limit.checked_sub(text.len())
        } else if let Value::Array(values) = self {
            note_walked(values.len());
            let left = limit.checked_sub(values.len().checked_mul(VALUE_WEIGHT)?)?;
            values.iter().try_fold(left, |left, value| value.weighed(left))
        } else if let Value::Object(object) = self {
            limit.checked_sub(object.weight)
        } else if let Value::Number(number) = self {
            limit.checked_sub(number.heap_size())
        } else {
            Some(limit)
        }
    }
}

/// The weight of an object of these entries; more than [`WEIGHT_MAX`] if it is.
pub(super) fn of_entries(entries: &[(SmolStr, Value)]) -> usize {
    let left = entries.iter().try_fold(WEIGHT_MAX, |left, (key, value)| {
        value.weighed(left.checked_sub(VALUE_WEIGHT + key.len())?)
    });
    left.map_or(WEIGHT_MAX + 1, |left| WEIGHT_MAX - left)
}
