//! Which expressions are worth remembering while one question is decided: those that several others are made of.

mod choose;

use std::sync::Arc;

use super::ExprId;

/// How many expressions are remembered at most: as many as fit a few cache lines.
pub(crate) const SHARED_MAX: usize = 16;

/// The place of every expression that is remembered.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared {
    /// For each expression one more than its place; 0 where it is not remembered.
    places: Arc<[u8]>,
    count: usize,
}

impl Shared {
    /// Whether nothing is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The place of an expression, below [`SHARED_MAX`].
    #[inline]
    pub(super) fn place(&self, id: ExprId) -> Option<usize> {
        usize::from(*self.places.get(id.0 as usize)?).checked_sub(1)
    }
}
