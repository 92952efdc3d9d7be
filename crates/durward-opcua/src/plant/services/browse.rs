//! Browse, BrowseNext and registered nodes (Part 4, 5.9).

use durward_identity::Moment;
use opcua_types::{
    BrowseDescription, BrowseDescriptionResultMask, BrowseDirection, BrowseNextRequest, BrowseNextResponse,
    BrowseRequest, BrowseResponse, BrowseResult, ContinuationPoint, ExpandedNodeId, LocalizedText, NodeClass,
    NodeId, QualifiedName, ReferenceDescription, RegisterNodesRequest, RegisterNodesResponse, StatusCode,
    UnregisterNodesRequest, UnregisterNodesResponse,
};

use crate::authority::MethodCaller;
use crate::permission::Permission;
use crate::plant::limits;
use crate::plant::node::{NodeReference, PlantNode};
use crate::plant::server::{PlantServer, ReferenceBudget, good, operations};

/// What is left of a browse.
#[derive(Clone, Debug)]
pub(crate) struct BrowsePoint {
    description: BrowseDescription,
    /// The place in the node's references to go on at.
    place: usize,
    most: usize,
}

impl PlantServer {
    pub(crate) fn browse(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: BrowseRequest = self.codec.decode(body)?;
        let nodes = operations(request.nodes_to_browse, limits::BROWSE_NODES_MAX)?;
        let view = &request.view.view_id;
        if !view.is_null() && self.space.node(view).is_none_or(|node| node.node_class() != NodeClass::View) {
            return Err(StatusCode::BadViewIdUnknown);
        }
        let most = match request.requested_max_references_per_node as usize {
            0 => limits::REFERENCES_MAX,
            asked => asked.min(limits::REFERENCES_MAX),
        };
        let mut visits = ReferenceBudget::default();
        let results = nodes
            .into_iter()
            .map(|description| {
                self.browse_one(caller, BrowsePoint { description, place: 0, most }, &mut visits)
            })
            .collect();
        let response_header = good(request.request_header.request_handle, now);
        self.codec.encode(&BrowseResponse { response_header, results: Some(results), diagnostic_infos: None })
    }

    pub(crate) fn browse_next(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: BrowseNextRequest = self.codec.decode(body)?;
        let points = operations(request.continuation_points, limits::BROWSE_NODES_MAX)?;
        let release = request.release_continuation_points;
        let mut visits = ReferenceBudget::default();
        let results =
            points.iter().map(|point| self.browse_on(caller, point, release, &mut visits)).collect();
        let response_header = good(request.request_header.request_handle, now);
        self.codec.encode(&BrowseNextResponse {
            response_header,
            results: Some(results),
            diagnostic_infos: None,
        })
    }

    fn browse_on(
        &mut self,
        caller: &MethodCaller,
        point: &ContinuationPoint,
        release: bool,
        visits: &mut ReferenceBudget,
    ) -> BrowseResult {
        match self.session(caller).browse.take(point) {
            None => failed(StatusCode::BadContinuationPointInvalid),
            Some(_) if release => BrowseResult::default(),
            Some(point) => self.browse_one(caller, point, visits),
        }
    }

    fn browse_one(
        &mut self,
        caller: &MethodCaller,
        point: BrowsePoint,
        visits: &mut ReferenceBudget,
    ) -> BrowseResult {
        if let Err(status) = self.check_browse(caller, &point.description) {
            return failed(status);
        }
        let (references, left) = self.references(caller, &point, visits);
        let most = limits::CONTINUATION_POINTS_MAX;
        let continuation_point =
            match left.map(|place| self.session(caller).browse.keep(BrowsePoint { place, ..point }, most)) {
                None => ContinuationPoint::null(),
                Some(Ok(point)) => point,
                Some(Err(status)) => return failed(status),
            };
        BrowseResult { status_code: StatusCode::Good, continuation_point, references: Some(references) }
    }

    fn check_browse(&self, caller: &MethodCaller, description: &BrowseDescription) -> Result<(), StatusCode> {
        self.space.node(&description.node_id).ok_or(StatusCode::BadNodeIdUnknown)?;
        self.allowed(caller, Permission::Browse, &description.node_id)?;
        let kind = &description.reference_type_id;
        if !kind.is_null() && !self.space.is_reference_type(kind) {
            return Err(StatusCode::BadReferenceTypeIdInvalid);
        }
        if description.browse_direction == BrowseDirection::Invalid {
            return Err(StatusCode::BadBrowseDirectionInvalid);
        }
        Ok(())
    }

    /// The references from a place on, and the place of the first that did not fit or was not looked at any more.
    fn references(
        &self,
        caller: &MethodCaller,
        point: &BrowsePoint,
        visits: &mut ReferenceBudget,
    ) -> (Vec<ReferenceDescription>, Option<usize>) {
        let description = &point.description;
        let all =
            self.space.node(&description.node_id).map(|node| node.references.as_slice()).unwrap_or_default();
        let mut found = Vec::new();
        for (place, reference) in all.iter().enumerate().skip(point.place) {
            if !visits.visit() {
                return (found, Some(place));
            }
            if !self.is_wanted(description, reference) {
                continue;
            }
            let Some(target) = self.space.node(&reference.target) else { continue };
            let class_wanted = description.node_class_mask == 0
                || description.node_class_mask & target.node_class() as u32 != 0;
            if !class_wanted || self.allowed(caller, Permission::Browse, &target.id).is_err() {
                continue;
            }
            if found.len() == point.most {
                return (found, Some(place));
            }
            found.push(describe(reference, target, description.result_mask));
        }
        (found, None)
    }

    fn is_wanted(&self, description: &BrowseDescription, reference: &NodeReference) -> bool {
        let direction = match description.browse_direction {
            BrowseDirection::Forward => reference.forward,
            BrowseDirection::Inverse => !reference.forward,
            BrowseDirection::Both => true,
            BrowseDirection::Invalid => false,
        };
        direction
            && self.is_kind(&reference.kind, &description.reference_type_id, description.include_subtypes)
    }

    /// Whether a reference is of the type asked for; a null type stands for all.
    pub(crate) fn is_kind(&self, kind: &NodeId, wanted: &NodeId, include_subtypes: bool) -> bool {
        wanted.is_null() || kind == wanted || (include_subtypes && self.space.is_subtype(kind, wanted))
    }

    pub(crate) fn register(&self, body: &[u8], now: Moment) -> Result<Vec<u8>, StatusCode> {
        let request: RegisterNodesRequest = self.codec.decode(body)?;
        let nodes = operations(request.nodes_to_register, limits::OPERATIONS_MAX)?;
        // Access by node id is as fast as it gets: the ids themselves are the registered ones. Unknown ones fail when they are used.
        let response_header = good(request.request_header.request_handle, now);
        self.codec.encode(&RegisterNodesResponse { response_header, registered_node_ids: Some(nodes) })
    }

    pub(crate) fn unregister(&self, body: &[u8], now: Moment) -> Result<Vec<u8>, StatusCode> {
        let request: UnregisterNodesRequest = self.codec.decode(body)?;
        operations(request.nodes_to_unregister, limits::OPERATIONS_MAX)?;
        self.codec.encode(&UnregisterNodesResponse {
            response_header: good(request.request_header.request_handle, now),
        })
    }
}

fn failed(status_code: StatusCode) -> BrowseResult {
    BrowseResult { status_code, ..BrowseResult::default() }
}

/// The fields that the mask asks for.
fn describe(reference: &NodeReference, target: &PlantNode, mask: u32) -> ReferenceDescription {
    let mask = BrowseDescriptionResultMask::from_bits_truncate(mask);
    let wants = |field| mask.contains(field);
    let type_definition =
        target.type_definition().filter(|_| wants(BrowseDescriptionResultMask::RESULT_MASK_TYPE_DEFINITION));
    let kind = wants(BrowseDescriptionResultMask::RESULT_MASK_REFERENCE_TYPE).then(|| reference.kind.clone());
    let name =
        wants(BrowseDescriptionResultMask::RESULT_MASK_BROWSE_NAME).then(|| target.browse_name.clone());
    let display =
        wants(BrowseDescriptionResultMask::RESULT_MASK_DISPLAY_NAME).then(|| target.display_name.clone());
    let class = wants(BrowseDescriptionResultMask::RESULT_MASK_NODE_CLASS).then(|| target.node_class());
    ReferenceDescription {
        reference_type_id: kind.unwrap_or_else(NodeId::null),
        is_forward: wants(BrowseDescriptionResultMask::RESULT_MASK_IS_FORWARD) && reference.forward,
        node_id: ExpandedNodeId::from(&target.id),
        browse_name: name.unwrap_or_else(QualifiedName::null),
        display_name: display.unwrap_or_else(LocalizedText::null),
        node_class: class.unwrap_or(NodeClass::Unspecified),
        type_definition: type_definition.map(ExpandedNodeId::from).unwrap_or_else(ExpandedNodeId::null),
    }
}
