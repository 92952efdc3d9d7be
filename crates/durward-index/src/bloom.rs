//! stub
use crate::{BloomStatistics, Settings};
use durward_ir::combine::Flow;
use durward_ir::evaluate::{Everything, Known, Shortlist};
use durward_ir::program::{NodeId, Program, Set};
use durward_ir::question::Question;

/// Bloom.
#[derive(Debug)]
pub struct Bloom {}

impl Bloom {
    pub(crate) fn build(_: &Program, _: &Settings) -> Bloom {
        Bloom {}
    }

    /// Statistics.
    pub fn statistics(&self) -> BloomStatistics {
        BloomStatistics::default()
    }
}

impl Shortlist for Bloom {
    fn children(
        &self,
        id: NodeId,
        set: &Set,
        question: &Question<'_>,
        show: impl FnMut(NodeId, Known) -> Flow,
    ) {
        Everything.children(id, set, question, show);
    }

    fn target(&self, _: NodeId, _: &Question<'_>) -> Known {
        Known::Unsure
    }
}
