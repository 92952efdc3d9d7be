//! A tiny server in memory: a map of nodes. It checks nothing and answers everything; what protects it is the mediator alone.

use std::collections::{BTreeMap, HashMap};

use durward_opcua::gate::mediate::service::ServiceKind;
use opcua_types::*;

use super::support::{Chance, node, request, response_body};

/// How many references a browse, and values a read of history, gives at once.
const PAGE: usize = 2;

#[derive(Clone, Debug)]
pub(super) struct Plain {
    pub(super) value: i32,
    /// What it organizes, by number.
    pub(super) children: Vec<u32>,
    pub(super) history: Vec<i32>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Upstream {
    pub(super) nodes: BTreeMap<u32, Plain>,
    /// Continuation points: node and how far it has come.
    points: HashMap<Vec<u8>, (u32, usize)>,
    point_last: u32,
    /// Calls that were made: object and method.
    pub(super) calls: Vec<(NodeId, NodeId)>,
    /// Aliases of registered nodes.
    aliases: HashMap<NodeId, NodeId>,
}

pub(super) fn number_of(node: &NodeId) -> Option<u32> {
    match (&node.identifier, node.namespace) {
        (Identifier::Numeric(number), 2) => Some(*number),
        _ => None,
    }
}

pub(super) fn name_of(number: u32) -> QualifiedName {
    // Names repeat, so that paths have several targets.
    QualifiedName::new(2, format!("n{}", number % 5))
}

impl Upstream {
    pub(super) fn random(chance: &mut Chance, count: u32) -> Self {
        let nodes = (1..=count).map(|number| {
            let children = (1..=count).filter(|_| chance.happens(25)).collect();
            let history = (0..chance.below(7) as i32).map(|at| number as i32 * 100 + at).collect();
            let plain = Plain { value: number as i32 * 1000, children, history };
            (number, plain)
        });
        Upstream { nodes: nodes.collect(), ..Upstream::default() }
    }

    fn plain(&self, node: &NodeId) -> Option<&Plain> {
        let node = self.aliases.get(node).unwrap_or(node);
        number_of(node).and_then(|number| self.nodes.get(&number))
    }

    /// The body of the response to the body of a request.
    pub(super) fn answer(&mut self, service: ServiceKind, body: &[u8]) -> Vec<u8> {
        match service {
            ServiceKind::Read => response_body(&self.read(&request(body))),
            ServiceKind::Write => response_body(&self.write(&request(body))),
            ServiceKind::Browse => response_body(&self.browse(&request(body))),
            ServiceKind::BrowseNext => response_body(&self.browse_next(&request(body))),
            ServiceKind::TranslateBrowsePathsToNodeIds => response_body(&self.translate(&request(body))),
            ServiceKind::HistoryRead => response_body(&self.history_read(&request(body))),
            ServiceKind::Call => response_body(&self.call(&request(body))),
            ServiceKind::RegisterNodes => response_body(&self.register(&request(body))),
            other => panic!("not here: {other:?}"),
        }
    }

    fn read(&self, request: &ReadRequest) -> ReadResponse {
        let read = |id: &ReadValueId| match self.plain(&id.node_id) {
            Some(plain) => attribute(plain, id.attribute_id),
            None => DataValue { status: Some(StatusCode::BadNodeIdUnknown), ..DataValue::null() },
        };
        ReadResponse {
            response_header: ResponseHeader::null(),
            results: request.nodes_to_read.as_ref().map(|ids| ids.iter().map(read).collect()),
            // As many as results, so that their alignment shows.
            diagnostic_infos: request
                .nodes_to_read
                .as_ref()
                .map(|ids| ids.iter().map(diagnostic_of).collect()),
        }
    }

    fn write(&mut self, request: &WriteRequest) -> WriteResponse {
        let mut results = Vec::new();
        for write in request.nodes_to_write.iter().flatten() {
            let plain = number_of(&write.node_id).and_then(|number| self.nodes.get_mut(&number));
            results.push(match (plain, &write.value.value) {
                (Some(plain), Some(Variant::Int32(value))) if write.attribute_id == 13 => {
                    plain.value = *value;
                    StatusCode::Good
                }
                _ => StatusCode::BadNotWritable,
            });
        }
        WriteResponse {
            response_header: ResponseHeader::null(),
            results: Some(results),
            diagnostic_infos: None,
        }
    }

    fn point(&mut self, number: u32, from: usize, length: usize) -> ByteString {
        if from >= length {
            return ByteString::null();
        }
        self.point_last += 1;
        let point = self.point_last.to_be_bytes().to_vec();
        self.points.insert(point.clone(), (number, from));
        ByteString::from(point)
    }

    fn page(&mut self, number: u32, from: usize) -> BrowseResult {
        let children = self.nodes[&number].children.clone();
        let references = children.iter().skip(from).take(PAGE).map(|child| ReferenceDescription {
            reference_type_id: ReferenceTypeId::Organizes.into(),
            is_forward: true,
            node_id: node(*child).into(),
            browse_name: name_of(*child),
            display_name: LocalizedText::new("", "child"),
            node_class: NodeClass::Variable,
            type_definition: ExpandedNodeId::null(),
        });
        let references = Some(references.collect());
        BrowseResult {
            status_code: StatusCode::Good,
            continuation_point: self.point(number, from + PAGE, children.len()),
            references,
        }
    }

    fn browse(&mut self, request: &BrowseRequest) -> BrowseResponse {
        let numbers: Vec<u32> = request
            .nodes_to_browse
            .iter()
            .flatten()
            .filter_map(|browse| number_of(&browse.node_id))
            .collect();
        BrowseResponse {
            response_header: ResponseHeader::null(),
            results: Some(numbers.into_iter().map(|number| self.page(number, 0)).collect()),
            diagnostic_infos: None,
        }
    }

    fn browse_next(&mut self, request: &BrowseNextRequest) -> BrowseNextResponse {
        let points = request.continuation_points.clone().unwrap_or_default();
        let results = points.into_iter().map(|point| {
            let (number, from) =
                self.points.remove(point.as_ref()).expect("the mediator lets no other points pass");
            self.page(number, from)
        });
        BrowseNextResponse {
            response_header: ResponseHeader::null(),
            results: Some(results.collect()),
            diagnostic_infos: None,
        }
    }

    fn translate(
        &self,
        request: &TranslateBrowsePathsToNodeIdsRequest,
    ) -> TranslateBrowsePathsToNodeIdsResponse {
        let results = request.browse_paths.iter().flatten().map(|path| {
            let mut reached: Vec<u32> = number_of(&path.starting_node).into_iter().collect();
            for element in path.relative_path.elements.iter().flatten() {
                let children = reached.iter().flat_map(|number| self.nodes[number].children.clone());
                reached = children.filter(|child| name_of(*child) == element.target_name).collect();
            }
            let targets: Vec<_> = reached
                .into_iter()
                .map(|number| BrowsePathTarget {
                    target_id: node(number).into(),
                    remaining_path_index: u32::MAX,
                })
                .collect();
            BrowsePathResult {
                status_code: if targets.is_empty() { StatusCode::BadNoMatch } else { StatusCode::Good },
                targets: Some(targets),
            }
        });
        TranslateBrowsePathsToNodeIdsResponse {
            response_header: ResponseHeader::null(),
            results: Some(results.collect()),
            diagnostic_infos: None,
        }
    }

    fn history_read(&mut self, request: &HistoryReadRequest) -> HistoryReadResponse {
        let reads = request.nodes_to_read.clone().unwrap_or_default();
        let results = reads.into_iter().map(|read| {
            // As real servers do: the point decides, not the node beside it.
            let (number, from) = match self.points.remove(read.continuation_point.as_ref()) {
                Some(point) => point,
                None => (number_of(&read.node_id).expect("a number"), 0),
            };
            let history = self.nodes[&number].history.clone();
            let values = history.iter().skip(from).take(PAGE).map(|value| DataValue::from(*value));
            HistoryReadResult {
                status_code: StatusCode::Good,
                continuation_point: self.point(number, from + PAGE, history.len()),
                history_data: ExtensionObject::from_message(HistoryData {
                    data_values: Some(values.collect()),
                }),
            }
        });
        HistoryReadResponse {
            response_header: ResponseHeader::null(),
            results: Some(results.collect()),
            diagnostic_infos: None,
        }
    }

    fn call(&mut self, request: &CallRequest) -> CallResponse {
        let calls = request.methods_to_call.iter().flatten();
        self.calls.extend(calls.clone().map(|call| (call.object_id.clone(), call.method_id.clone())));
        let results = calls.map(|call| CallMethodResult {
            status_code: StatusCode::Good,
            input_argument_results: None,
            input_argument_diagnostic_infos: None,
            output_arguments: Some(vec![Variant::from(call.method_id.clone())]),
        });
        CallResponse {
            response_header: ResponseHeader::null(),
            results: Some(results.collect()),
            diagnostic_infos: None,
        }
    }

    fn register(&mut self, request: &RegisterNodesRequest) -> RegisterNodesResponse {
        let nodes = request.nodes_to_register.clone().unwrap_or_default();
        let aliases = nodes.into_iter().map(|node| {
            let alias = NodeId::new(7, 5000 + number_of(&node).expect("a number"));
            self.aliases.insert(alias.clone(), node);
            alias
        });
        RegisterNodesResponse {
            response_header: ResponseHeader::null(),
            registered_node_ids: Some(aliases.collect()),
        }
    }
}

/// Tells of which node it speaks.
pub(super) fn diagnostic_of(id: &ReadValueId) -> DiagnosticInfo {
    DiagnosticInfo { additional_info: Some(UAString::from(id.node_id.to_string())), ..DiagnosticInfo::null() }
}

/// The server's own rights are unlimited.
pub(super) fn attribute(plain: &Plain, attribute: u32) -> DataValue {
    DataValue::from(match attribute {
        7 => Variant::UInt32(u32::MAX),
        13 => Variant::Int32(plain.value),
        18 => Variant::Byte(0x7f),
        22 => Variant::Boolean(true),
        25 => roles(u32::MAX),
        _ => Variant::String(UAString::from(format!("attribute {attribute} of {}", plain.value))),
    })
}

pub(super) fn roles(permissions: u32) -> Variant {
    let role = |role: ObjectId| {
        Variant::from(ExtensionObject::from_message(RolePermissionType {
            role_id: role.into(),
            permissions: PermissionType::from_bits_retain(permissions.cast_signed()),
        }))
    };
    let roles = vec![role(ObjectId::WellKnownRole_Operator), role(ObjectId::WellKnownRole_Anonymous)];
    Variant::from(Array::new(VariantScalarTypeId::ExtensionObject, roles).expect("values of one type"))
}
