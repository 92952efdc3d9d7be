//! Who may do what: a row for each service and permission. A service of Part 4 without a row fails the test.
//!
//! Each row is tried with exactly what it needs, and once without each thing that it needs while everything else is granted.

use std::collections::HashSet;

use durward_opcua::gate::mediate::service::{Mediation, ServiceKind};
use durward_opcua::gate::mediate::{MediatedRequest, Mediator};
use durward_opcua::permission::{Permission, PermissionRuling, SessionRights};
use opcua_types::*;

use super::requests::{
    ITEM, OWN, add_nodes, add_reference, browse, call, create_item, delete_reference, event_filter,
    events_read, header, history_read, history_update, modify_item, read, set_mode, translate, update, write,
};
use super::support::{All, Grants, forward, mediator, node, reply, request_body, response_body};

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
    service: ServiceKind,
    what: &'static str,
    needs: Needs,
    body: Vec<u8>,
}

fn row(service: ServiceKind, what: &'static str, needs: Needs, body: Vec<u8>) -> Row {
    Row { service, what, needs, body }
}

fn on(permission: Permission) -> Needs {
    Needs::Rights(vec![(permission, node(1))])
}

fn node_rows() -> Vec<Row> {
    use Permission::*;
    use ServiceKind as S;
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
    use ServiceKind as S;
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
        ServiceKind::FindServers,
        ServiceKind::FindServersOnNetwork,
        ServiceKind::GetEndpoints,
        ServiceKind::RegisterServer,
        ServiceKind::RegisterServer2,
        ServiceKind::OpenSecureChannel,
        ServiceKind::CloseSecureChannel,
        ServiceKind::CreateSession,
        ServiceKind::ActivateSession,
        ServiceKind::CloseSession,
        ServiceKind::QueryFirst,
        ServiceKind::QueryNext,
    ];
    refused.map(|service| row(service, "anything", Needs::Refused, Vec::new())).into_iter().collect()
}

fn rows() -> Vec<Row> {
    let mut rows = node_rows();
    rows.extend(subscription_rows());
    rows.extend(refused_rows());
    rows.push(row(
        ServiceKind::Cancel,
        "own requests",
        Needs::Nothing,
        request_body(&CancelRequest { request_header: header(), request_handle: 5 }),
    ));
    rows
}

/// The session has the subscription [`OWN`], with [`ITEM`] on node 1.
pub(super) fn with_subscription(mediator: &mut Mediator) {
    let create = subscription_rows().into_iter().find(|row| row.service == ServiceKind::CreateSubscription);
    forward(mediator, &All, 1, ServiceKind::CreateSubscription, &create.expect("a row").body);
    let made = response_body(&CreateSubscriptionResponse {
        response_header: ResponseHeader::null(),
        subscription_id: OWN,
        revised_publishing_interval: 100.0,
        revised_lifetime_count: 100,
        revised_max_keep_alive_count: 10,
    });
    reply(mediator, &All, 1, ServiceKind::CreateSubscription, &made);
    let item = create_item(OWN, &node(1), 13, ExtensionObject::null());
    forward(mediator, &All, 2, ServiceKind::CreateMonitoredItems, &item);
    let made = response_body(&CreateMonitoredItemsResponse {
        response_header: ResponseHeader::null(),
        results: Some(vec![MonitoredItemCreateResult { monitored_item_id: ITEM, ..Default::default() }]),
        diagnostic_infos: None,
    });
    reply(mediator, &All, 2, ServiceKind::CreateMonitoredItems, &made);
}

/// Everything but one thing.
struct AllBut((Permission, NodeId));

impl SessionRights for AllBut {
    fn rule(&self, permission: Permission, node: &NodeId) -> PermissionRuling {
        if (permission, node.clone()) == self.0 {
            PermissionRuling::DENIED
        } else {
            PermissionRuling::Granted
        }
    }
}

fn goes_upstream(row: &Row, rights: &dyn SessionRights, owns: bool) -> bool {
    let mut mediator = mediator();
    if owns {
        with_subscription(&mut mediator);
    }
    match mediator.on_request(rights, 9, row.service.request_id(), &row.body) {
        MediatedRequest::Forward(_) | MediatedRequest::Cancel(_) => true,
        MediatedRequest::Answer(_) | MediatedRequest::Refuse(_) => false,
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

/// The table as text, for those who read and not run it.
fn text(rows: &[Row]) -> String {
    let mut text = String::from("service | what | needs\n");
    for row in rows {
        let rights = |rights: &[(Permission, NodeId)]| {
            rights.iter().map(|(permission, node)| format!("{permission:?} on {node}")).collect::<Vec<_>>()
        };
        let needs = match &row.needs {
            Needs::Rights(needed) => rights(needed),
            Needs::Own(needed) => [vec!["own subscription".to_owned()], rights(needed)].concat(),
            Needs::Nothing => vec!["nothing".to_owned()],
            Needs::Refused => vec!["always refused".to_owned()],
        };
        text.push_str(&format!("{:?} | {} | {}\n", row.service, row.what, needs.join(", ")));
    }
    text
}

/// A change of what a service needs shows in the committed table. To write it anew: set `DURWARD_BLESS`.
#[test]
fn the_table_is_committed_as_text() {
    let text = text(&rows());
    if std::env::var_os("DURWARD_BLESS").is_some() {
        let path = "crates/durward-opcua/tests/opcua/mediate/who_may_do_what.txt";
        std::fs::write(durward_testdata::workspace().join(path), &text).expect("written");
    }
    assert_eq!(text, include_str!("who_may_do_what.txt"));
}

#[test]
fn every_service_has_a_row() {
    let rows = rows();
    let with_row: HashSet<ServiceKind> = rows.iter().map(|row| row.service).collect();
    let missing: Vec<_> = ServiceKind::ALL.iter().filter(|service| !with_row.contains(service)).collect();
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
    let listed: HashSet<u32> = ServiceKind::ALL.iter().map(|service| service.request_id()).collect();
    for type_id in (0..40_000).filter(|id| !listed.contains(id)) {
        let outcome = mediator().on_request(&All, 1, type_id, &[]);
        assert_eq!(outcome, MediatedRequest::Refuse(StatusCode::BadServiceUnsupported), "{type_id}");
    }
    let elsewhere = ServiceKind::ALL.iter().filter(|service| service.mediation() != Mediation::Mediated);
    for service in elsewhere {
        let outcome = mediator().on_request(&All, 1, service.request_id(), &[]);
        assert_eq!(outcome, MediatedRequest::Refuse(StatusCode::BadServiceUnsupported), "{service:?}");
    }
}

/// A sound request of every service that is mediated.
pub(super) fn samples() -> Vec<(ServiceKind, Vec<u8>)> {
    let mediated = rows().into_iter().filter(|row| row.service.mediation() == Mediation::Mediated);
    mediated.map(|row| (row.service, row.body)).collect()
}
