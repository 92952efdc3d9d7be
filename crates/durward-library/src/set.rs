//! Sets of values, in which values are the same that `==` calls equal.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::LazyLock;

use durward_ir::value::Value;

/// A value as a member of a set.
#[derive(Clone, Copy)]
pub(crate) struct SetMember<'a>(pub(crate) &'a Value);

impl PartialEq for SetMember<'_> {
    fn eq(&self, other: &SetMember<'_>) -> bool {
        self.0.equals(other.0)
    }
}

impl Eq for SetMember<'_> {}

impl Hash for SetMember<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Value::Text(text) = self.0 {
            text.hash(state);
        } else if let Value::Number(number) = self.0 {
            number.hash(state);
        } else if let Value::Array(elements) = self.0 {
            state.write_usize(elements.len());
            elements.iter().for_each(|element| SetMember(element).hash(state));
        } else if let Value::Object(object) = self.0 {
            // A sum, as the order of the keys does not count.
            let entries = object.iter().map(|(key, value)| hasher().hash_one((key, SetMember(value))));
            state.write_u64(entries.fold(0, u64::wrapping_add));
        } else {
            // `true`, `false`, `null` and `undefined`: there are not many.
            state.write_u64(self.0.content_hash());
        }
    }
}

/// Requests bring the values: every process hashes differently, so that nobody can make them collide.
fn hasher() -> &'static RandomState {
    static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    &HASHER
}

/// The members of an array, for looking up.
pub(crate) fn set_of(values: &[Value]) -> HashSet<SetMember<'_>> {
    values.iter().map(SetMember).collect()
}

/// The values without those that came before, in their order.
pub(crate) fn distinct<'a>(values: impl IntoIterator<Item = &'a Value>) -> Vec<&'a Value> {
    let mut seen = HashSet::new();
    values.into_iter().filter(|value| seen.insert(SetMember(value))).collect()
}
