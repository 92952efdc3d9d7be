//! Random rights and random requests: what reaches the client, against a plain twin that looks at one value after the other.

use std::collections::BTreeSet;

use durward_opcua::gate::mediate::service::ServiceKind;
use durward_opcua::gate::mediate::{MediatedReply, MediatedRequest, Mediator};
use durward_opcua::permission::Permission;
use opcua_types::*;

use super::support::{Chance, Grants, mediator, node, read_of, refusal, request_body, response};
use super::upstream::{Upstream, attribute, diagnostic_of, name_of, roles};

const NODES: u32 = 12;

struct World {
    chance: Chance,
    grants: Grants,
    upstream: Upstream,
    mediator: Mediator,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let percent = *chance.pick(&[0, 30, 60, 90, 100]);
        let mut grants = Grants::default();
        for number in 1..=NODES + 2 {
            for permission in Permission::ALL {
                if chance.happens(percent) {
                    grants.grant(permission, &node(number));
                }
            }
        }
        World { upstream: Upstream::random(&mut chance, NODES), chance, grants, mediator: mediator() }
    }

    /// A client's request, all the way and back.
    fn ask(&mut self, service: ServiceKind, body: &[u8]) -> Vec<u8> {
        let outcome = self.mediator.on_request(&self.grants, 1, service.request_id(), body);
        let mut upstream_body = match outcome {
            MediatedRequest::Answer(body) => return body,
            MediatedRequest::Forward(body) => body.into_owned(),
            other => panic!("{service:?}: {other:?}"),
        };
        loop {
            let answer = self.upstream.answer(service, &upstream_body);
            match self.mediator.on_response(&self.grants, 1, service.response_id(), &answer) {
                MediatedReply::Pass(body) => return body.into_owned(),
                MediatedReply::FollowUp(next) => upstream_body = next.body,
                MediatedReply::Fault(status) => panic!("{service:?}: {status}"),
            }
        }
    }

    /// A node of the server.
    fn any(&mut self) -> NodeId {
        node(1 + self.chance.below(NODES as usize) as u32)
    }

    fn some(&mut self) -> Vec<NodeId> {
        let count = 1 + self.chance.below(8);
        (0..count).map(|_| self.any()).collect()
    }
}

fn refused(status: StatusCode) -> DataValue {
    DataValue { status: Some(status), ..DataValue::null() }
}

/// One attribute of one node, as this session may see it.
fn twin_read(world: &World, id: &ReadValueId) -> DataValue {
    let has = |permission| world.grants.has(permission, &id.node_id);
    let needed = match id.attribute_id {
        13 => Permission::Read,
        24 => Permission::ReadRolePermissions,
        28 => return refused(StatusCode::BadAttributeIdInvalid),
        _ => Permission::Browse,
    };
    if !has(needed) {
        return refused(refusal(&world.grants, &id.node_id));
    }
    let bits = |permission, bits: u32| if has(permission) { bits } else { 0 };
    let history =
        has(Permission::InsertHistory) || has(Permission::ModifyHistory) || has(Permission::DeleteHistory);
    match id.attribute_id {
        7 => {
            let others = !((1 << 9) | (1 << 21) | (1 << 23));
            DataValue::from(Variant::UInt32(
                bits(Permission::WriteAttribute, others)
                    | bits(Permission::WriteHistorizing, 1 << 9)
                    | bits(Permission::Write, 1 << 21)
                    | bits(Permission::WriteRolePermissions, 1 << 23),
            ))
        }
        18 => DataValue::from(Variant::Byte(
            (0x10
                | bits(Permission::Read, 1)
                | bits(Permission::Write, 0x62)
                | bits(Permission::ReadHistory, 4)) as u8
                | if history { 8 } else { 0 },
        )),
        22 => DataValue::from(Variant::Boolean(has(Permission::Call))),
        25 => DataValue::from(roles(
            Permission::ALL.iter().map(|permission| bits(*permission, permission.bit())).sum(),
        )),
        other => {
            let number = super::upstream::number_of(&id.node_id).expect("a number");
            attribute(&world.upstream.nodes[&number], other)
        }
    }
}

#[test]
fn reads_agree_with_the_twin() {
    for seed in 0..400 {
        let mut world = World::new(seed);
        let ids: Vec<ReadValueId> = world.some().iter().map(|node| read_of(node, 13)).collect();
        let ids: Vec<ReadValueId> = ids
            .into_iter()
            .map(|id| {
                let attribute = *world.chance.pick(&[13, 13, 13, 4, 7, 18, 22, 24, 25, 28]);
                read_of(&id.node_id, attribute)
            })
            .collect();
        let body = request_body(&ReadRequest {
            request_header: RequestHeader::dummy(),
            max_age: 0.0,
            timestamps_to_return: TimestampsToReturn::Both,
            nodes_to_read: Some(ids.clone()),
        });
        let read: ReadResponse = response(&world.ask(ServiceKind::Read, &body));
        let expected: Vec<DataValue> = ids.iter().map(|id| twin_read(&world, id)).collect();
        assert_eq!(read.results.as_deref(), Some(expected.as_slice()), "seed {seed}: {ids:?}");
        // Where the server's diagnostic infos reach the client, each stands at its own entry.
        for (id, info) in ids.iter().zip(read.diagnostic_infos.unwrap_or_default()) {
            assert!(info == diagnostic_of(id) || info == DiagnosticInfo::null(), "seed {seed}");
        }
    }
}

#[test]
fn a_read_that_is_all_granted_passes_untouched() {
    let mut world = World::new(1);
    (1..=NODES).for_each(|number| world.grants.grant(Permission::Read, &node(number)));
    let ids = world.some().iter().map(|node| read_of(node, 13)).collect();
    let body = request_body(&ReadRequest {
        request_header: RequestHeader::dummy(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Both,
        nodes_to_read: Some(ids),
    });
    let outcome = world.mediator.on_request(&world.grants, 1, ServiceKind::Read.request_id(), &body);
    assert!(matches!(outcome, MediatedRequest::Forward(std::borrow::Cow::Borrowed(bytes)) if bytes == body));
    let answer = world.upstream.answer(ServiceKind::Read, &body);
    let reply = world.mediator.on_response(&world.grants, 1, ServiceKind::Read.response_id(), &answer);
    assert!(matches!(reply, MediatedReply::Pass(std::borrow::Cow::Borrowed(bytes)) if bytes == answer));
}

#[test]
fn writes_agree_with_the_twin() {
    for seed in 0..400 {
        let mut world = World::new(seed);
        let nodes = world.some();
        let mut expected = Vec::new();
        let mut twin = world.upstream.clone();
        let mut writes = Vec::new();
        for (value, node) in (0..).zip(&nodes) {
            writes.push(WriteValue {
                node_id: node.clone(),
                attribute_id: 13,
                index_range: NumericRange::None,
                value: DataValue::from(value),
            });
            expected.push(if world.grants.has(Permission::Write, node) {
                let number = super::upstream::number_of(node).expect("a number");
                twin.nodes.get_mut(&number).expect("known").value = value;
                StatusCode::Good
            } else {
                refusal(&world.grants, node)
            });
        }
        let body = request_body(&WriteRequest {
            request_header: RequestHeader::dummy(),
            nodes_to_write: Some(writes),
        });
        let written: WriteResponse = response(&world.ask(ServiceKind::Write, &body));
        assert_eq!(written.results, Some(expected), "seed {seed}");
        let values =
            |upstream: &Upstream| upstream.nodes.values().map(|plain| plain.value).collect::<Vec<_>>();
        assert_eq!(values(&world.upstream), values(&twin), "seed {seed}");
    }
}

fn browse_of(nodes: &[NodeId]) -> Vec<u8> {
    let browse = |node: &NodeId| BrowseDescription {
        node_id: node.clone(),
        browse_direction: BrowseDirection::Both,
        reference_type_id: NodeId::null(),
        include_subtypes: true,
        node_class_mask: 0,
        result_mask: 63,
    };
    request_body(&BrowseRequest {
        request_header: RequestHeader::dummy(),
        view: ViewDescription { view_id: NodeId::null(), timestamp: DateTime::null(), view_version: 0 },
        requested_max_references_per_node: 2,
        nodes_to_browse: Some(nodes.iter().map(browse).collect()),
    })
}

/// Goes on until no continuation point is left.
fn browse_all(world: &mut World, first: BrowseResult) -> Vec<NodeId> {
    let mut seen = Vec::new();
    let mut result = first;
    loop {
        assert_eq!(result.status_code, StatusCode::Good);
        seen.extend(
            result.references.unwrap_or_default().into_iter().map(|reference| reference.node_id.node_id),
        );
        if result.continuation_point.is_null_or_empty() {
            return seen;
        }
        let body = request_body(&BrowseNextRequest {
            request_header: RequestHeader::dummy(),
            release_continuation_points: false,
            continuation_points: Some(vec![result.continuation_point]),
        });
        let next: BrowseNextResponse = response(&world.ask(ServiceKind::BrowseNext, &body));
        result = next.results.expect("results").remove(0);
    }
}

#[test]
fn browses_agree_with_the_twin() {
    for seed in 0..400 {
        let mut world = World::new(seed);
        let nodes = world.some();
        let browsed: BrowseResponse = response(&world.ask(ServiceKind::Browse, &browse_of(&nodes)));
        let results = browsed.results.expect("results");
        assert_eq!(results.len(), nodes.len());
        for (node_id, result) in nodes.iter().zip(results) {
            if !world.grants.has(Permission::Browse, node_id) {
                assert_eq!(result.status_code, StatusCode::BadNodeIdUnknown);
                assert_eq!(result.references.unwrap_or_default(), []);
                continue;
            }
            let number = super::upstream::number_of(node_id).expect("a number");
            let children = world.upstream.nodes[&number].children.clone();
            let expected: Vec<NodeId> = children
                .into_iter()
                .map(node)
                .filter(|child| world.grants.has(Permission::Browse, child))
                .collect();
            assert_eq!(browse_all(&mut world, result), expected, "seed {seed}: {node_id}");
        }
    }
}

/// Which nodes a path leads to, over visible nodes only.
fn twin_translate(world: &World, start: &NodeId, names: &[QualifiedName]) -> BTreeSet<u32> {
    let sees = |number: &u32| world.grants.has(Permission::Browse, &node(*number));
    let mut reached: BTreeSet<u32> = super::upstream::number_of(start).into_iter().filter(sees).collect();
    for name in names {
        let children = reached.iter().flat_map(|number| world.upstream.nodes[number].children.clone());
        reached = children.filter(|child| name_of(*child) == *name).filter(sees).collect();
    }
    reached
}

#[test]
fn paths_agree_with_the_twin() {
    let mut found = 0;
    for seed in 0..400 {
        let mut world = World::new(seed);
        let starts = world.some();
        let mut paths = Vec::new();
        for start in starts {
            let length = 1 + world.chance.below(4);
            let names: Vec<QualifiedName> =
                (0..length).map(|_| name_of(world.chance.below(5) as u32)).collect();
            paths.push((start, names));
        }
        let browse_path = |(start, names): &(NodeId, Vec<QualifiedName>)| BrowsePath {
            starting_node: start.clone(),
            relative_path: RelativePath {
                elements: Some(
                    names
                        .iter()
                        .map(|name| RelativePathElement {
                            reference_type_id: ReferenceTypeId::Organizes.into(),
                            is_inverse: false,
                            include_subtypes: true,
                            target_name: name.clone(),
                        })
                        .collect(),
                ),
            },
        };
        let body = request_body(&TranslateBrowsePathsToNodeIdsRequest {
            request_header: RequestHeader::dummy(),
            browse_paths: Some(paths.iter().map(browse_path).collect()),
        });
        let answer = world.ask(ServiceKind::TranslateBrowsePathsToNodeIds, &body);
        let translated: TranslateBrowsePathsToNodeIdsResponse = response(&answer);
        let results = translated.results.expect("results");
        assert_eq!(results.len(), paths.len());
        for ((start, names), result) in paths.iter().zip(results) {
            let expected = twin_translate(&world, start, names);
            let targets = result.targets.unwrap_or_default();
            let reached: BTreeSet<u32> = targets
                .iter()
                .filter_map(|target| super::upstream::number_of(&target.target_id.node_id))
                .collect();
            assert_eq!(reached, expected, "seed {seed}: {start} {names:?}");
            assert_eq!(targets.len(), reached.len(), "seed {seed}: a target twice");
            let status = if !world.grants.has(Permission::Browse, start) {
                StatusCode::BadNodeIdUnknown
            } else if expected.is_empty() {
                StatusCode::BadNoMatch
            } else {
                found += 1;
                StatusCode::Good
            };
            assert_eq!(result.status_code, status, "seed {seed}");
        }
    }
    assert!(found > 50, "only {found} paths led anywhere");
}

#[test]
fn history_agrees_with_the_twin_and_points_belong_to_their_node() {
    for seed in 0..400 {
        let mut world = World::new(seed);
        let read = world.any();
        let mut other = world.any();
        if other == read {
            other = node(NODES + 1);
        }
        let mut values = Vec::new();
        let mut point = ByteString::null();
        loop {
            let body = |node: &NodeId, point: &ByteString| {
                request_body(&HistoryReadRequest {
                    request_header: RequestHeader::dummy(),
                    history_read_details: ExtensionObject::from_message(ReadRawModifiedDetails::default()),
                    timestamps_to_return: TimestampsToReturn::Both,
                    release_continuation_points: false,
                    nodes_to_read: Some(vec![HistoryReadValueId {
                        node_id: node.clone(),
                        index_range: NumericRange::None,
                        data_encoding: QualifiedName::null(),
                        continuation_point: point.clone(),
                    }]),
                })
            };
            let answer: HistoryReadResponse =
                response(&world.ask(ServiceKind::HistoryRead, &body(&read, &point)));
            let result = answer.results.expect("results").remove(0);
            if !world.grants.has(Permission::ReadHistory, &read) {
                assert_eq!(result.status_code, refusal(&world.grants, &read), "seed {seed}");
                assert!(result.history_data.is_null());
                break;
            }
            let data = result.history_data.into_inner_as::<HistoryData>().expect("history");
            values.extend(data.data_values.unwrap_or_default());
            if result.continuation_point.is_null_or_empty() {
                let number = super::upstream::number_of(&read).expect("a number");
                let expected: Vec<DataValue> = world.upstream.nodes[&number]
                    .history
                    .iter()
                    .map(|value| DataValue::from(*value))
                    .collect();
                assert_eq!(values, expected, "seed {seed}");
                break;
            }
            point = result.continuation_point;
            if world.chance.happens(30) {
                let answer: HistoryReadResponse =
                    response(&world.ask(ServiceKind::HistoryRead, &body(&other, &point)));
                let result = answer.results.expect("results").remove(0);
                assert!(result.status_code.is_bad(), "seed {seed}: the point of {read} was used for {other}");
                break;
            }
        }
    }
}

#[test]
fn calls_agree_with_the_twin() {
    for seed in 0..400 {
        let mut world = World::new(seed);
        let pairs: Vec<(NodeId, NodeId)> =
            world.some().into_iter().map(|object| (object, world.any())).collect();
        let call = |(object, method): &(NodeId, NodeId)| CallMethodRequest {
            object_id: object.clone(),
            method_id: method.clone(),
            input_arguments: Some(vec![Variant::Int32(1)]),
        };
        let body = request_body(&CallRequest {
            request_header: RequestHeader::dummy(),
            methods_to_call: Some(pairs.iter().map(call).collect()),
        });
        let answer: CallResponse = response(&world.ask(ServiceKind::Call, &body));
        let mut made = Vec::new();
        for ((object, method), result) in pairs.iter().zip(answer.results.expect("results")) {
            let denied = [object, method].into_iter().find(|node| !world.grants.has(Permission::Call, node));
            match denied {
                Some(node) => {
                    assert_eq!(result.status_code, refusal(&world.grants, node), "seed {seed}");
                    assert_eq!(result.output_arguments.unwrap_or_default(), []);
                }
                None => {
                    assert_eq!(result.output_arguments, Some(vec![Variant::from(method.clone())]));
                    made.push((object.clone(), method.clone()));
                }
            }
        }
        assert_eq!(world.upstream.calls, made, "seed {seed}");
    }
}

#[test]
fn an_alias_has_the_rights_of_its_node() {
    for seed in 0..200 {
        let mut world = World::new(seed);
        let nodes = world.some();
        let body = request_body(&RegisterNodesRequest {
            request_header: RequestHeader::dummy(),
            nodes_to_register: Some(nodes.clone()),
        });
        let answer: RegisterNodesResponse = response(&world.ask(ServiceKind::RegisterNodes, &body));
        let aliases = answer.registered_node_ids.expect("ids");
        assert_eq!(aliases.len(), nodes.len());
        for (node, alias) in nodes.iter().zip(&aliases) {
            let is_browsed = world.grants.has(Permission::Browse, node);
            assert_eq!(alias.namespace == 7, is_browsed, "seed {seed}: hidden nodes keep their own ids");
            let body = request_body(&ReadRequest {
                request_header: RequestHeader::dummy(),
                max_age: 0.0,
                timestamps_to_return: TimestampsToReturn::Both,
                nodes_to_read: Some(vec![read_of(alias, 13)]),
            });
            let read: ReadResponse = response(&world.ask(ServiceKind::Read, &body));
            assert_eq!(read.results, Some(vec![twin_read(&world, &read_of(node, 13))]), "seed {seed}");
        }
        // Another session's mediator does not know them.
        world.mediator = mediator();
        let body = request_body(&ReadRequest {
            request_header: RequestHeader::dummy(),
            max_age: 0.0,
            timestamps_to_return: TimestampsToReturn::Both,
            nodes_to_read: Some(vec![read_of(&NodeId::new(7, 5001), 13)]),
        });
        let read: ReadResponse = response(&world.ask(ServiceKind::Read, &body));
        assert_eq!(read.results, Some(vec![refused(StatusCode::BadNodeIdUnknown)]));
    }
}
