//! stub
use crate::{DiagramStatistics, Settings};
use durward_ir::combine::Flow;
use durward_ir::evaluate::{Everything, Known, Shortlist};
use durward_ir::program::{NodeId, Program, Set};
use durward_ir::question::Question;

/// Diagram.
#[derive(Debug)]
pub struct Diagram {}

impl Diagram {
    pub(crate) fn build(_: &Program, _: &Settings) -> Diagram {
        Diagram {}
    }

    /// Statistics.
    pub fn statistics(&self) -> DiagramStatistics {
        DiagramStatistics::default()
    }
}

impl Shortlist for Diagram {
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
