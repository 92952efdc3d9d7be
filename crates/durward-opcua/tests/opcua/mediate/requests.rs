//! Requests of every service on nodes 1 and 2, and on the subscription [`OWN`].

use opcua_types::*;

use super::support::{node, read_of, request_body};

/// The session's subscription.
pub(super) const OWN: u32 = 70;
/// Its item, on node 1.
pub(super) const ITEM: u32 = 700;

pub(super) fn header() -> RequestHeader {
    RequestHeader::dummy()
}

pub(super) fn read(attribute: AttributeId) -> Vec<u8> {
    request_body(&ReadRequest {
        request_header: header(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Both,
        nodes_to_read: Some(vec![read_of(&node(1), attribute as u32)]),
    })
}

pub(super) fn write(attribute: AttributeId) -> Vec<u8> {
    request_body(&WriteRequest {
        request_header: header(),
        nodes_to_write: Some(vec![WriteValue {
            node_id: node(1),
            attribute_id: attribute as u32,
            index_range: NumericRange::None,
            value: DataValue::from(1i32),
        }]),
    })
}

pub(super) fn history_read(details: ExtensionObject) -> Vec<u8> {
    request_body(&HistoryReadRequest {
        request_header: header(),
        history_read_details: details,
        timestamps_to_return: TimestampsToReturn::Both,
        release_continuation_points: false,
        nodes_to_read: Some(vec![HistoryReadValueId {
            node_id: node(1),
            index_range: NumericRange::None,
            data_encoding: QualifiedName::null(),
            continuation_point: ByteString::null(),
        }]),
    })
}

pub(super) fn event_filter() -> EventFilter {
    EventFilter {
        select_clauses: Some(vec![SimpleAttributeOperand {
            type_definition_id: ObjectTypeId::BaseEventType.into(),
            browse_path: Some(vec![QualifiedName::new(0, "Message")]),
            attribute_id: AttributeId::Value as u32,
            index_range: NumericRange::None,
        }]),
        where_clause: ContentFilter { elements: None },
    }
}

pub(super) fn events_read() -> ExtensionObject {
    ExtensionObject::from_message(ReadEventDetails {
        num_values_per_node: 10,
        start_time: DateTime::epoch(),
        end_time: DateTime::epoch(),
        filter: event_filter(),
    })
}

pub(super) fn history_update(details: ExtensionObject) -> Vec<u8> {
    request_body(&HistoryUpdateRequest {
        request_header: header(),
        history_update_details: Some(vec![details]),
    })
}

pub(super) fn update(perform: PerformUpdateType) -> ExtensionObject {
    ExtensionObject::from_message(UpdateDataDetails {
        node_id: node(1),
        perform_insert_replace: perform,
        update_values: Some(vec![DataValue::from(1i32)]),
    })
}

pub(super) fn call(object: NodeId, method: NodeId, arguments: Vec<Variant>) -> Vec<u8> {
    request_body(&CallRequest {
        request_header: header(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: object,
            method_id: method,
            input_arguments: Some(arguments),
        }]),
    })
}

pub(super) fn browse(view: NodeId) -> Vec<u8> {
    request_body(&BrowseRequest {
        request_header: header(),
        view: ViewDescription { view_id: view, timestamp: DateTime::epoch(), view_version: 0 },
        requested_max_references_per_node: 0,
        nodes_to_browse: Some(vec![BrowseDescription {
            node_id: node(1),
            browse_direction: BrowseDirection::Forward,
            reference_type_id: NodeId::null(),
            include_subtypes: true,
            node_class_mask: 0,
            result_mask: 63,
        }]),
    })
}

pub(super) fn add_nodes(requested: impl Into<ExpandedNodeId>) -> Vec<u8> {
    request_body(&AddNodesRequest {
        request_header: header(),
        nodes_to_add: Some(vec![AddNodesItem {
            parent_node_id: node(1).into(),
            reference_type_id: ReferenceTypeId::Organizes.into(),
            requested_new_node_id: requested.into(),
            browse_name: QualifiedName::new(2, "new"),
            node_class: NodeClass::Variable,
            node_attributes: ExtensionObject::null(),
            type_definition: ExpandedNodeId::null(),
        }]),
    })
}

pub(super) fn add_reference(is_forward: bool) -> Vec<u8> {
    request_body(&AddReferencesRequest {
        request_header: header(),
        references_to_add: Some(vec![AddReferencesItem {
            source_node_id: node(1),
            reference_type_id: ReferenceTypeId::Organizes.into(),
            is_forward,
            target_server_uri: UAString::null(),
            target_node_id: node(2).into(),
            target_node_class: NodeClass::Variable,
        }]),
    })
}

pub(super) fn delete_reference(delete_bidirectional: bool) -> Vec<u8> {
    request_body(&DeleteReferencesRequest {
        request_header: header(),
        references_to_delete: Some(vec![DeleteReferencesItem {
            source_node_id: node(1),
            reference_type_id: ReferenceTypeId::Organizes.into(),
            is_forward: true,
            target_node_id: node(2).into(),
            delete_bidirectional,
        }]),
    })
}

pub(super) fn parameters(filter: ExtensionObject) -> MonitoringParameters {
    MonitoringParameters {
        client_handle: 5,
        sampling_interval: 100.0,
        filter,
        queue_size: 1,
        discard_oldest: true,
    }
}

pub(super) fn create_item(
    subscription: u32,
    node: &NodeId,
    attribute: u32,
    filter: ExtensionObject,
) -> Vec<u8> {
    request_body(&CreateMonitoredItemsRequest {
        request_header: header(),
        subscription_id: subscription,
        timestamps_to_return: TimestampsToReturn::Both,
        items_to_create: Some(vec![MonitoredItemCreateRequest {
            item_to_monitor: read_of(node, attribute),
            monitoring_mode: MonitoringMode::Reporting,
            requested_parameters: parameters(filter),
        }]),
    })
}

pub(super) fn modify_item() -> Vec<u8> {
    request_body(&ModifyMonitoredItemsRequest {
        request_header: header(),
        subscription_id: OWN,
        timestamps_to_return: TimestampsToReturn::Both,
        items_to_modify: Some(vec![MonitoredItemModifyRequest {
            monitored_item_id: ITEM,
            requested_parameters: parameters(ExtensionObject::null()),
        }]),
    })
}

pub(super) fn set_mode(mode: MonitoringMode) -> Vec<u8> {
    request_body(&SetMonitoringModeRequest {
        request_header: header(),
        subscription_id: OWN,
        monitoring_mode: mode,
        monitored_item_ids: Some(vec![ITEM]),
    })
}

pub(super) fn translate() -> Vec<u8> {
    request_body(&TranslateBrowsePathsToNodeIdsRequest {
        request_header: header(),
        browse_paths: Some(vec![BrowsePath {
            starting_node: node(1),
            relative_path: RelativePath {
                elements: Some(vec![RelativePathElement {
                    reference_type_id: ReferenceTypeId::Organizes.into(),
                    is_inverse: false,
                    include_subtypes: true,
                    target_name: QualifiedName::new(2, "n2"),
                }]),
            },
        }]),
    })
}
