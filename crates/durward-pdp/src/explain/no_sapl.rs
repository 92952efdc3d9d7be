//! In the place of `sapl.rs` without the feature `sapl`: there are no documents of SAPL to tell of.

use std::collections::HashMap;

use durward_ir::combine::Vote;
use durward_ir::program::{NodeId, Program};
use durward_ir::question::Question;

use super::Explained;
use super::near::Given;

pub(super) struct Seen;

impl Seen {
    pub(super) fn of(_: &Vote) -> Seen {
        Seen
    }
}

pub(super) fn tell(
    _: &Program,
    _: &Question<'_>,
    _: Given<'_>,
    _: &HashMap<NodeId, Seen>,
    _: &mut Explained,
) {
}
