//! Who may do what: a row for each service and permission. A service of Part 4 without a row fails the test.
//!
//! Each row is tried with exactly what it needs, and once without each thing that it needs while everything else is granted.

use std::collections::HashSet;

use durward_opcua::gate::mediate::service::{Mediation, Service};
use durward_opcua::gate::mediate::{Mediator, Outcome};
use durward_opcua::permission::{Permission, Rights, Ruling};
use opcua_types::*;

use super::support::{All, Grants, forward, mediator, node, read_of, reply, request_body, response_body};

/// What a request asks for.
enum Needs {
    /// Permissions on nodes.
    Rights(Vec<(Permission, NodeId)>),
    /// The subscription [`OWN`], of this session, with the item [`ITEM`] on node 1; and permissions.
    Own(Vec<(Permission, NodeId)>),
    /// Nothing: it speaks of nothing that is anybody's.
    Nothing,
    /// It is always refused.
    Refused,
}

struct Row {
    service: Service,
    what: &'static str,
    needs: Needs,
    body: Vec<u8>,
}

pub(super) const OWN: u32 = 70;
pub(super) const ITEM: u32 = 700;

fn row(service: Service, what: &'static str, needs: Needs, body: Vec<u8>) -> Row {
    Row { service, what, needs, body }
}

fn on(permission: Permission) -> Needs {
    Needs::Rights(vec![(permission, node(1))])
}

fn header() -> RequestHeader {
    RequestHeader::dummy()
}

fn read(attribute: AttributeId) -> Vec<u8> {
    request_body(&ReadRequest {
        request_header: header(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Both,
        nodes_to_read: Some(vec![read_of(&node(1), attribute as u32)]),
    })
}

fn write(attribute: AttributeId) -> Vec<u8> {
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

fn events_read() -> ExtensionObject {
    ExtensionObject::from_message(ReadEventDetails {
        num_values_per_node: 10,
        start_time: DateTime::epoch(),
        end_time: DateTime::epoch(),
        filter: event_filter(),
    })
}

fn history_update(details: ExtensionObject) -> Vec<u8> {
    request_body(&HistoryUpdateRequest {
        request_header: header(),
        history_update_details: Some(vec![details]),
    })
}

fn update(perform: PerformUpdateType) -> ExtensionObject {
    ExtensionObject::from_message(UpdateDataDetails {
        node_id: node(1),
        perform_insert_replace: perform,
        update_values: Some(vec![DataValue::from(1i32)]),
    })
}

fn call(object: NodeId, method: NodeId, arguments: Vec<Variant>) -> Vec<u8> {
    request_body(&CallRequest {
        request_header: header(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: object,
            method_id: method,
            input_arguments: Some(arguments),
        }]),
    })
}

fn browse(view: NodeId) -> Vec<u8> {
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

fn add_nodes(requested: NodeId) -> Vec<u8> {
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

fn add_reference(is_forward: bool) -> Vec<u8> {
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

fn delete_reference(delete_bidirectional: bool) -> Vec<u8> {
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

fn parameters(filter: ExtensionObject) -> MonitoringParameters {
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

fn modify_item() -> Vec<u8> {
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

fn set_mode(mode: MonitoringMode) -> Vec<u8> {
    request_body(&SetMonitoringModeRequest {
        request_header: header(),
        subscription_id: OWN,
        monitoring_mode: mode,
        monitored_item_ids: Some(vec![ITEM]),
    })
}

fn translate() -> Vec<u8> {
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

fn node_rows() -> Vec<Row> {
    use Permission::*;
    use Service as S;
    let both = |first, second| Needs::Rights(vec![(first, node(1)), (second, node(2))]);
    let same = |first, second| Needs::Rights(vec![(first, node(1)), (second, node(1))]);
    vec![
        row(S::Read, "value", on(Read), read(AttributeId::Value)),
        row(S::Read, "role permissions", on(ReadRolePermissions), read(AttributeId::RolePermissions)),
        row(S::Read, "display name", on(Browse), read(AttributeId::DisplayName)),
        row(S::Read, "user access level", on(Browse), read(AttributeId::UserAccessLevel)),
        row(S::Write, "value", on(Write), write(AttributeId::Value)),
        row(S::Write, "display name", on(WriteAttribute), write(AttributeId::DisplayName)),
        row(S::Write, "historizing", on(WriteHistorizing), write(AttributeId::Historizing)),
        row(S::Write, "role permissions", on(WriteRolePermissions), write(AttributeId::RolePermissions)),
        row(
            S::HistoryRead,
            "values",
            on(ReadHistory),
            history_read(ExtensionObject::from_message(ReadRawModifiedDetails::default())),
        ),
        row(S::HistoryRead, "events", on(ReadHistory), history_read(events_read())),
        row(S::HistoryRead, "unknown details", Needs::Refused, history_read(ExtensionObject::null())),
        row(S::HistoryUpdate, "insert", on(InsertHistory), history_update(update(PerformUpdateType::Insert))),
        row(
            S::HistoryUpdate,
            "replace",
            on(ModifyHistory),
            history_update(update(PerformUpdateType::Replace)),
        ),
        row(
            S::HistoryUpdate,
            "update",
            same(InsertHistory, ModifyHistory),
            history_update(update(PerformUpdateType::Update)),
        ),
        row(S::HistoryUpdate, "remove", on(DeleteHistory), history_update(update(PerformUpdateType::Remove))),
        row(
            S::HistoryUpdate,
            "delete",
            on(DeleteHistory),
            history_update(ExtensionObject::from_message(DeleteAtTimeDetails {
                node_id: node(1),
                req_times: None,
            })),
        ),
        row(S::HistoryUpdate, "unknown details", Needs::Refused, history_update(ExtensionObject::null())),
        row(S::Call, "object and method", both(Call, Call), call(node(1), node(2), vec![])),
        row(S::Browse, "from a node", on(Browse), browse(NodeId::null())),
        row(S::Browse, "in a view", both(Browse, Browse), browse(node(2))),
        row(
            S::BrowseNext,
            "a point of another session",
            Needs::Refused,
            request_body(&BrowseNextRequest {
                request_header: header(),
                release_continuation_points: false,
                continuation_points: Some(vec![ByteString::from(vec![1])]),
            }),
        ),
        row(S::TranslateBrowsePathsToNodeIds, "from a node", on(Browse), translate()),
        row(
            S::RegisterNodes,
            "a node",
            on(Browse),
            request_body(&RegisterNodesRequest {
                request_header: header(),
                nodes_to_register: Some(vec![node(1)]),
            }),
        ),
        row(
            S::UnregisterNodes,
            "an alias of another session",
            Needs::Refused,
            request_body(&UnregisterNodesRequest {
                request_header: header(),
                nodes_to_unregister: Some(vec![node(9)]),
            }),
        ),
        row(S::AddNodes, "where the server chooses", same(AddNode, AddReference), add_nodes(NodeId::null())),
        row(
            S::AddNodes,
            "where the client chooses",
            Needs::Rights(vec![(AddNode, node(1)), (AddReference, node(1)), (AddNode, node(2))]),
            add_nodes(node(2)),
        ),
        row(S::AddReferences, "forward", both(AddReference, Browse), add_reference(true)),
        row(
            S::AddReferences,
            "inverse",
            Needs::Rights(vec![(AddReference, node(1)), (Browse, node(2)), (AddReference, node(2))]),
            add_reference(false),
        ),
        row(
            S::DeleteNodes,
            "a node",
            on(DeleteNode),
            request_body(&DeleteNodesRequest {
                request_header: header(),
                nodes_to_delete: Some(vec![DeleteNodesItem {
                    node_id: node(1),
                    delete_target_references: true,
                }]),
            }),
        ),
        row(S::DeleteReferences, "one direction", both(RemoveReference, Browse), delete_reference(false)),
        row(
            S::DeleteReferences,
            "both directions",
            Needs::Rights(vec![(RemoveReference, node(1)), (Browse, node(2)), (RemoveReference, node(2))]),
            delete_reference(true),
        ),
    ]
}

fn subscription_rows() -> Vec<Row> {
    use Permission::*;
    use Service as S;
    let own = |permission| Needs::Own(vec![(permission, node(1))]);
    let server: NodeId = ObjectId::Server.into();
    let of_server = |method: MethodId| {
        let method: NodeId = method.into();
        row(
            S::Call,
            "a method of the server, of a subscription",
            Needs::Own(vec![(Call, server.clone()), (Call, method.clone())]),
            call(server.clone(), method, vec![Variant::UInt32(OWN)]),
        )
    };
    let events = ExtensionObject::from_message(event_filter());
    let none = ExtensionObject::null;
    vec![
        of_server(MethodId::Server_GetMonitoredItems),
        of_server(MethodId::Server_ResendData),
        of_server(MethodId::Server_SetSubscriptionDurable),
        of_server(MethodId::ConditionType_ConditionRefresh),
        row(S::CreateMonitoredItems, "value", own(Read), create_item(OWN, &node(1), 13, none())),
        row(S::CreateMonitoredItems, "events", own(ReceiveEvents), create_item(OWN, &node(1), 12, events)),
        row(S::CreateMonitoredItems, "display name", own(Browse), create_item(OWN, &node(1), 4, none())),
        row(
            S::CreateMonitoredItems,
            "role permissions",
            own(ReadRolePermissions),
            create_item(OWN, &node(1), 24, none()),
        ),
        row(S::ModifyMonitoredItems, "an item", own(Read), modify_item()),
        row(S::SetMonitoringMode, "enable", own(Read), set_mode(MonitoringMode::Sampling)),
        row(S::SetMonitoringMode, "disable", Needs::Own(vec![]), set_mode(MonitoringMode::Disabled)),
        row(
            S::SetTriggering,
            "links",
            Needs::Own(vec![]),
            request_body(&SetTriggeringRequest {
                request_header: header(),
                subscription_id: OWN,
                triggering_item_id: ITEM,
                links_to_add: Some(vec![ITEM]),
                links_to_remove: None,
            }),
        ),
        row(
            S::DeleteMonitoredItems,
            "an item",
            Needs::Own(vec![]),
            request_body(&DeleteMonitoredItemsRequest {
                request_header: header(),
                subscription_id: OWN,
                monitored_item_ids: Some(vec![ITEM]),
            }),
        ),
        row(
            S::CreateSubscription,
            "a subscription",
            Needs::Nothing,
            request_body(&CreateSubscriptionRequest {
                request_header: header(),
                requested_publishing_interval: 100.0,
                requested_lifetime_count: 100,
                requested_max_keep_alive_count: 10,
                max_notifications_per_publish: 0,
                publishing_enabled: true,
                priority: 0,
            }),
        ),
        row(
            S::ModifySubscription,
            "a subscription",
            Needs::Own(vec![]),
            request_body(&ModifySubscriptionRequest {
                request_header: header(),
                subscription_id: OWN,
                requested_publishing_interval: 100.0,
                requested_lifetime_count: 100,
                requested_max_keep_alive_count: 10,
                max_notifications_per_publish: 0,
                priority: 0,
            }),
        ),
        row(
            S::SetPublishingMode,
            "a subscription",
            Needs::Own(vec![]),
            request_body(&SetPublishingModeRequest {
                request_header: header(),
                publishing_enabled: true,
                subscription_ids: Some(vec![OWN]),
            }),
        ),
        row(
            S::DeleteSubscriptions,
            "a subscription",
            Needs::Own(vec![]),
            request_body(&DeleteSubscriptionsRequest {
                request_header: header(),
                subscription_ids: Some(vec![OWN]),
            }),
        ),
        row(
            S::TransferSubscriptions,
            "of another user",
            Needs::Own(vec![]),
            request_body(&TransferSubscriptionsRequest {
                request_header: header(),
                subscription_ids: Some(vec![OWN]),
                send_initial_values: true,
            }),
        ),
        row(
            S::Publish,
            "notifications, each checked on delivery",
            Needs::Nothing,
            request_body(&PublishRequest { request_header: header(), subscription_acknowledgements: None }),
        ),
        row(
            S::Republish,
            "a message that was not sent",
            Needs::Refused,
            request_body(&RepublishRequest {
                request_header: header(),
                subscription_id: OWN,
                retransmit_sequence_number: 1,
            }),
        ),
    ]
}

fn refused_rows() -> Vec<Row> {
    let refused = [
        Service::FindServers,
        Service::FindServersOnNetwork,
        Service::GetEndpoints,
        Service::RegisterServer,
        Service::RegisterServer2,
        Service::OpenSecureChannel,
        Service::CloseSecureChannel,
        Service::CreateSession,
        Service::ActivateSession,
        Service::CloseSession,
        Service::QueryFirst,
        Service::QueryNext,
    ];
    refused.map(|service| row(service, "anything", Needs::Refused, Vec::new())).into_iter().collect()
}

fn rows() -> Vec<Row> {
    let mut rows = node_rows();
    rows.extend(subscription_rows());
    rows.extend(refused_rows());
    rows.push(row(
        Service::Cancel,
        "own requests",
        Needs::Nothing,
        request_body(&CancelRequest { request_header: header(), request_handle: 5 }),
    ));
    rows
}

/// The session has the subscription [`OWN`], with [`ITEM`] on node 1.
pub(super) fn with_subscription(mediator: &mut Mediator) {
    let create = subscription_rows().into_iter().find(|row| row.service == Service::CreateSubscription);
    forward(mediator, &All, 1, Service::CreateSubscription, &create.expect("a row").body);
    let made = response_body(&CreateSubscriptionResponse {
        response_header: ResponseHeader::null(),
        subscription_id: OWN,
        revised_publishing_interval: 100.0,
        revised_lifetime_count: 100,
        revised_max_keep_alive_count: 10,
    });
    reply(mediator, &All, 1, Service::CreateSubscription, &made);
    let item = create_item(OWN, &node(1), 13, ExtensionObject::null());
    forward(mediator, &All, 2, Service::CreateMonitoredItems, &item);
    let made = response_body(&CreateMonitoredItemsResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![MonitoredItemCreateResult { monitored_item_id: ITEM, ..Default::default() }]),
        diagnostic_infos: None,
    });
    reply(mediator, &All, 2, Service::CreateMonitoredItems, &made);
}

/// Everything but one thing.
struct AllBut((Permission, NodeId));

impl Rights for AllBut {
    fn rule(&self, permission: Permission, node: &NodeId) -> Ruling {
        if (permission, node.clone()) == self.0 { Ruling::DENIED } else { Ruling::Granted }
    }
}

fn goes_upstream(row: &Row, rights: &dyn Rights, owns: bool) -> bool {
    let mut mediator = mediator();
    if owns {
        with_subscription(&mut mediator);
    }
    match mediator.on_request(rights, 9, row.service.request_id(), &row.body) {
        Outcome::Forward(_) | Outcome::Cancel(_) => true,
        Outcome::Answer(_) | Outcome::Refuse(_) => false,
    }
}

#[test]
fn who_may_do_what() {
    for row in rows() {
        let (service, what) = (row.service, row.what);
        let (rights, owns) = match &row.needs {
            Needs::Rights(rights) => (rights.as_slice(), false),
            Needs::Own(rights) => (rights.as_slice(), true),
            Needs::Nothing => {
                assert!(goes_upstream(&row, &Grants::default(), false), "{service:?}, {what}");
                continue;
            }
            Needs::Refused => {
                assert!(!goes_upstream(&row, &All, true), "{service:?}, {what}: passes");
                continue;
            }
        };
        assert!(
            goes_upstream(&row, &Grants::of(rights), owns),
            "{service:?}, {what}: refused with all it needs"
        );
        assert!(!owns || !goes_upstream(&row, &All, false), "{service:?}, {what}: passes in another session");
        for needed in rights {
            let passes = goes_upstream(&row, &AllBut(needed.clone()), owns);
            assert!(!passes, "{service:?}, {what}: passes without {needed:?}");
        }
    }
}

#[test]
fn every_service_has_a_row() {
    let rows = rows();
    let with_row: HashSet<Service> = rows.iter().map(|row| row.service).collect();
    let missing: Vec<_> = Service::ALL.iter().filter(|service| !with_row.contains(service)).collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
    // Every permission is asked for by some row.
    let asked: HashSet<Permission> = rows
        .iter()
        .flat_map(|row| match &row.needs {
            Needs::Rights(rights) | Needs::Own(rights) => rights.as_slice(),
            Needs::Nothing | Needs::Refused => &[],
        })
        .map(|(permission, _)| *permission)
        .collect();
    let missing: Vec<_> =
        Permission::ALL.into_iter().filter(|permission| !asked.contains(permission)).collect();
    assert!(missing.is_empty(), "no row asks for {missing:?}");
}

#[test]
fn services_that_are_not_listed_are_refused() {
    let listed: HashSet<u32> = Service::ALL.iter().map(|service| service.request_id()).collect();
    for type_id in (0..40_000).filter(|id| !listed.contains(id)) {
        let outcome = mediator().on_request(&All, 1, type_id, &[]);
        assert_eq!(outcome, Outcome::Refuse(StatusCode::BadServiceUnsupported), "{type_id}");
    }
    let elsewhere = Service::ALL.iter().filter(|service| service.mediation() != Mediation::Mediated);
    for service in elsewhere {
        let outcome = mediator().on_request(&All, 1, service.request_id(), &[]);
        assert_eq!(outcome, Outcome::Refuse(StatusCode::BadServiceUnsupported), "{service:?}");
    }
}

/// A sound request of every service that is mediated.
pub(super) fn samples() -> Vec<(Service, Vec<u8>)> {
    let mediated = rows().into_iter().filter(|row| row.service.mediation() == Mediation::Mediated);
    mediated.map(|row| (row.service, row.body)).collect()
}
