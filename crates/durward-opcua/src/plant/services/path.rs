//! TranslateBrowsePathsToNodeIds (Part 4, 5.9.4).

use std::collections::BTreeSet;

use durward_identity::Moment;
use opcua_types::{
    BrowsePath, BrowsePathResult, BrowsePathTarget, ExpandedNodeId, NodeId, RelativePathElement, StatusCode,
    TranslateBrowsePathsToNodeIdsRequest, TranslateBrowsePathsToNodeIdsResponse,
};

use crate::authority::MethodCaller;
use crate::permission::Permission;
use crate::plant::limits;
use crate::plant::server::{PlantServer, ReferenceBudget, good, operations};

impl PlantServer {
    pub(crate) fn translate(
        &self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: TranslateBrowsePathsToNodeIdsRequest = self.codec.decode(body)?;
        let paths = operations(request.browse_paths, limits::BROWSE_NODES_MAX)?;
        let mut visits = ReferenceBudget::default();
        let results = paths.iter().map(|path| match self.follow(caller, path, &mut visits) {
            Ok(targets) => BrowsePathResult { status_code: StatusCode::Good, targets: Some(targets) },
            Err(status_code) => BrowsePathResult { status_code, targets: None },
        });
        let results = Some(results.collect());
        let response_header = good(request.request_header.request_handle, now);
        self.codec.encode(&TranslateBrowsePathsToNodeIdsResponse {
            response_header,
            results,
            diagnostic_infos: None,
        })
    }

    fn follow(
        &self,
        caller: &MethodCaller,
        path: &BrowsePath,
        visits: &mut ReferenceBudget,
    ) -> Result<Vec<BrowsePathTarget>, StatusCode> {
        self.space.node(&path.starting_node).ok_or(StatusCode::BadNodeIdUnknown)?;
        self.allowed(caller, Permission::Browse, &path.starting_node)?;
        let elements = path.relative_path.elements.as_deref().unwrap_or_default();
        if elements.is_empty() {
            return Err(StatusCode::BadNothingToDo);
        }
        if elements.len() > limits::PATH_ELEMENTS_MAX {
            return Err(StatusCode::BadQueryTooComplex);
        }
        let mut reached = vec![path.starting_node.clone()];
        for element in elements {
            if element.target_name.is_null() {
                return Err(StatusCode::BadBrowseNameInvalid);
            }
            reached = self.step(caller, &reached, element, visits)?;
        }
        let target = |id: NodeId| BrowsePathTarget {
            target_id: ExpandedNodeId::from(id),
            remaining_path_index: u32::MAX,
        };
        Ok(reached.into_iter().map(target).collect())
    }

    /// The nodes that one element leads to from these.
    fn step(
        &self,
        caller: &MethodCaller,
        from: &[NodeId],
        element: &RelativePathElement,
        visits: &mut ReferenceBudget,
    ) -> Result<Vec<NodeId>, StatusCode> {
        let mut seen = BTreeSet::new();
        let mut reached = Vec::new();
        for node in from.iter().filter_map(|id| self.space.node(id)) {
            for reference in &node.references {
                if !visits.visit() {
                    return Err(StatusCode::BadQueryTooComplex);
                }
                let fits = reference.forward != element.is_inverse
                    && self.is_kind(&reference.kind, &element.reference_type_id, element.include_subtypes);
                let target = self
                    .space
                    .node(&reference.target)
                    .filter(|target| fits && target.browse_name == element.target_name);
                let Some(target) =
                    target.filter(|target| self.allowed(caller, Permission::Browse, &target.id).is_ok())
                else {
                    continue;
                };
                if seen.insert(target.id.to_string()) {
                    reached.push(target.id.clone());
                }
                if reached.len() > limits::PATH_WIDTH_MAX {
                    return Err(StatusCode::BadTooManyMatches);
                }
            }
        }
        if reached.is_empty() { Err(StatusCode::BadNoMatch) } else { Ok(reached) }
    }
}
