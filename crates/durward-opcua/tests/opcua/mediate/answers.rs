//! A sound response of every service to its sample request, to be mutated.

use durward_opcua::gate::mediate::service::ServiceKind;
use opcua_types::*;

use super::support::{encode, node, response_body};

fn header() -> ResponseHeader {
    ResponseHeader::null()
}

fn one<T>(result: T) -> Option<Vec<T>> {
    Some(vec![result])
}

macro_rules! results {
    ($response:ident, $result:expr) => {
        response_body(&$response {
            response_header: header(),
            results: one($result),
            diagnostic_infos: one(DiagnosticInfo::null()),
        })
    };
}

fn reference() -> ReferenceDescription {
    ReferenceDescription {
        reference_type_id: ReferenceTypeId::Organizes.into(),
        is_forward: true,
        node_id: node(2).into(),
        browse_name: QualifiedName::new(2, "n2"),
        display_name: LocalizedText::new("en", "n2"),
        node_class: NodeClass::Variable,
        type_definition: VariableTypeId::BaseDataVariableType.into(),
    }
}

fn browsed() -> BrowseResult {
    BrowseResult {
        status_code: StatusCode::Good,
        continuation_point: ByteString::from(vec![1, 2, 3]),
        references: Some(vec![reference(), reference()]),
    }
}

fn event() -> HistoryEventFieldList {
    HistoryEventFieldList { event_fields: Some(vec![Variant::from("hot"), Variant::from(node(1))]) }
}

fn message() -> NotificationMessage {
    let change = MonitoredItemNotification { client_handle: 1, value: DataValue::from(1i32) };
    let event = EventFieldList {
        client_handle: 1,
        event_fields: Some(vec![Variant::from("hot"), Variant::from(node(1))]),
    };
    NotificationMessage {
        sequence_number: 1,
        publish_time: DateTime::epoch(),
        notification_data: Some(vec![
            ExtensionObject::from_message(DataChangeNotification {
                monitored_items: one(change),
                diagnostic_infos: one(DiagnosticInfo::null()),
            }),
            ExtensionObject::from_message(EventNotificationList { events: one(event) }),
        ]),
    }
}

fn of_nodes(service: ServiceKind) -> Option<Vec<u8>> {
    Some(match service {
        ServiceKind::Read => results!(ReadResponse, DataValue::from(1i32)),
        ServiceKind::Write => results!(WriteResponse, StatusCode::Good),
        ServiceKind::Browse => results!(BrowseResponse, browsed()),
        ServiceKind::BrowseNext => results!(BrowseNextResponse, browsed()),
        ServiceKind::HistoryRead => results!(
            HistoryReadResponse,
            HistoryReadResult {
                status_code: StatusCode::Good,
                continuation_point: ByteString::from(vec![9]),
                history_data: ExtensionObject::from_message(HistoryModifiedEvent {
                    events: Some(vec![event(), event()]),
                    modification_infos: Some(vec![ModificationInfo::default(), ModificationInfo::default()]),
                }),
            }
        ),
        ServiceKind::HistoryUpdate => results!(HistoryUpdateResponse, HistoryUpdateResult::default()),
        ServiceKind::Call => results!(
            CallResponse,
            CallMethodResult {
                output_arguments: Some(vec![Variant::from(vec![700u32]), Variant::from(vec![1u32])]),
                ..Default::default()
            }
        ),
        ServiceKind::TranslateBrowsePathsToNodeIds => results!(
            TranslateBrowsePathsToNodeIdsResponse,
            BrowsePathResult {
                status_code: StatusCode::Good,
                targets: one(BrowsePathTarget { target_id: node(2).into(), remaining_path_index: u32::MAX }),
            }
        ),
        ServiceKind::RegisterNodes => response_body(&RegisterNodesResponse {
            response_header: header(),
            registered_node_ids: one(node(77)),
        }),
        ServiceKind::UnregisterNodes => Vec::new(),
        ServiceKind::AddNodes => results!(AddNodesResponse, AddNodesResult::default()),
        ServiceKind::AddReferences => results!(AddReferencesResponse, StatusCode::Good),
        ServiceKind::DeleteNodes => results!(DeleteNodesResponse, StatusCode::Good),
        ServiceKind::DeleteReferences => results!(DeleteReferencesResponse, StatusCode::Good),
        _ => return None,
    })
}

fn of_subscriptions(service: ServiceKind) -> Option<Vec<u8>> {
    Some(match service {
        ServiceKind::CreateMonitoredItems => results!(
            CreateMonitoredItemsResponse,
            MonitoredItemCreateResult {
                monitored_item_id: 701,
                filter_result: ExtensionObject::from_message(EventFilterResult {
                    select_clause_results: Some(vec![StatusCode::Good, StatusCode::Good]),
                    ..Default::default()
                }),
                ..Default::default()
            }
        ),
        ServiceKind::ModifyMonitoredItems => {
            results!(ModifyMonitoredItemsResponse, MonitoredItemModifyResult::default())
        }
        ServiceKind::SetMonitoringMode => results!(SetMonitoringModeResponse, StatusCode::Good),
        ServiceKind::DeleteMonitoredItems => results!(DeleteMonitoredItemsResponse, StatusCode::Good),
        ServiceKind::SetPublishingMode => results!(SetPublishingModeResponse, StatusCode::Good),
        ServiceKind::DeleteSubscriptions => results!(DeleteSubscriptionsResponse, StatusCode::Good),
        ServiceKind::TransferSubscriptions => results!(
            TransferSubscriptionsResponse,
            TransferResult { status_code: StatusCode::Good, available_sequence_numbers: Some(vec![1, 2]) }
        ),
        ServiceKind::SetTriggering => response_body(&SetTriggeringResponse {
            response_header: header(),
            add_results: one(StatusCode::Good),
            add_diagnostic_infos: None,
            remove_results: None,
            remove_diagnostic_infos: None,
        }),
        ServiceKind::CreateSubscription => response_body(&CreateSubscriptionResponse {
            response_header: header(),
            subscription_id: 71,
            revised_publishing_interval: 100.0,
            revised_lifetime_count: 100,
            revised_max_keep_alive_count: 10,
        }),
        ServiceKind::ModifySubscription => response_body(&ModifySubscriptionResponse {
            response_header: header(),
            revised_publishing_interval: 100.0,
            revised_lifetime_count: 100,
            revised_max_keep_alive_count: 10,
        }),
        ServiceKind::Publish => response_body(&PublishResponse {
            response_header: header(),
            subscription_id: super::requests::OWN,
            available_sequence_numbers: Some(vec![1]),
            more_notifications: false,
            notification_message: message(),
            results: None,
            diagnostic_infos: None,
        }),
        ServiceKind::Republish => {
            response_body(&RepublishResponse { response_header: header(), notification_message: message() })
        }
        _ => return None,
    })
}

/// The body of a sound response to that sample of that service: histories are of values or of events, as it was asked.
pub(super) fn answer_to(service: ServiceKind, request: &[u8]) -> Vec<u8> {
    let of_values = encode(&NodeId::from(ObjectId::ReadRawModifiedDetails_Encoding_DefaultBinary));
    if service != ServiceKind::HistoryRead || !request.starts_with(&of_values) {
        return answer(service);
    }
    let history_data = ExtensionObject::from_message(HistoryData {
        data_values: Some(vec![DataValue::from(1i32), DataValue::from(2i32)]),
    });
    results!(
        HistoryReadResponse,
        HistoryReadResult {
            status_code: StatusCode::Good,
            continuation_point: ByteString::from(vec![9]),
            history_data,
        }
    )
}

/// The body of a sound response to the sample of that service; nothing for those that get none.
pub(super) fn answer(service: ServiceKind) -> Vec<u8> {
    of_nodes(service).or_else(|| of_subscriptions(service)).unwrap_or_default()
}
