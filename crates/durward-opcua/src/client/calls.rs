//! Services on a session, in types: read, write, call, browse, paths, history. What the token client, the watch and the way to the
//! authorization service are made of.

use opcua_types::type_loader::ByteStringBody;
use opcua_types::{
    Argument, AttributeId, BinaryDecodable, BrowseDescription, BrowseDirection, BrowseNextRequest,
    BrowseNextResponse, BrowsePath, BrowseRequest, BrowseResponse, ByteString, CallMethodRequest,
    CallRequest, CallResponse, DataValue, DateTime, ExtensionObject, HistoryData, HistoryReadRequest,
    HistoryReadResponse, HistoryReadValueId, NodeId, NumericRange, ObjectId, QualifiedName,
    ReadRawModifiedDetails, ReadRequest, ReadResponse, ReadValueId, ReferenceDescription, ReferenceTypeId,
    RelativePath, RelativePathElement, RequestHeader, StatusCode, TimestampsToReturn,
    TranslateBrowsePathsToNodeIdsRequest, TranslateBrowsePathsToNodeIdsResponse, UAString, VariableId,
    Variant, ViewDescription, WriteRequest, WriteResponse, WriteValue,
};

use super::requester::{ClientRequester, Resend};
use crate::error::Error;
use crate::wire;

/// References of one node, over all continuation points.
pub const REFERENCES_MAX: usize = 100_000;
/// Values of history that one call returns.
pub const HISTORY_VALUES_MAX: usize = 1_000_000;
/// References asked for at a time.
const REFERENCES_PER_RESPONSE: u32 = 1_000;
/// Responses to one question. A server could give continuation points for ever, with nothing in between.
const ROUNDS_MAX: usize = 10_000;
/// Everything that a reference says.
const ALL_FIELDS: u32 = 63;

/// The error of an operation that the server refused.
pub(super) fn refused(status: StatusCode, what: String) -> Error {
    Error::new(status, what)
}

/// A structure inside an extension object, decoded here: bodies come as bytes.
pub(super) fn structure<T: BinaryDecodable + Clone + Send + Sync + 'static>(
    object: &ExtensionObject,
    encoding: ObjectId,
) -> Option<T> {
    if let Some(known) = object.inner_as::<T>() {
        return Some(known.clone());
    }
    let raw = object.inner_as::<ByteStringBody>()?;
    if *raw.encoding_id() != NodeId::new(0, encoding as u32) {
        return None;
    }
    let owned = wire::context();
    let mut bytes = raw.raw_body().value.as_deref().unwrap_or_default();
    T::decode(&mut bytes, &owned.context()).ok()
}

/// The results of operations: as many as were asked for.
pub(super) fn results<T>(results: Option<Vec<T>>, asked: usize) -> Result<Vec<T>, Error> {
    let results = results.unwrap_or_default();
    if results.len() == asked {
        Ok(results)
    } else {
        Err(Error::new(
            StatusCode::BadUnknownResponse,
            format!("the server gave {} results where {asked} were asked for", results.len()),
        ))
    }
}

fn only<T>(results_of_one: Option<Vec<T>>) -> Result<T, Error> {
    let mut results = results(results_of_one, 1)?;
    results.pop().ok_or_else(|| Error::new(StatusCode::BadUnknownResponse, "the server gave no result"))
}

/// A value of a node to read.
pub fn value_of(node: &NodeId) -> ReadValueId {
    attribute_of(node, AttributeId::Value)
}

/// An attribute of a node to read.
pub fn attribute_of(node: &NodeId, attribute: AttributeId) -> ReadValueId {
    ReadValueId {
        node_id: node.clone(),
        attribute_id: attribute as u32,
        index_range: NumericRange::None,
        data_encoding: QualifiedName::null(),
    }
}

/// Reads attributes; each with its own status.
pub(super) async fn read(
    on: &impl ClientRequester,
    nodes: Vec<ReadValueId>,
) -> Result<Vec<DataValue>, Error> {
    let asked = nodes.len();
    let request = ReadRequest {
        request_header: RequestHeader::default(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Both,
        nodes_to_read: Some(nodes),
    };
    let response: ReadResponse = on.ask(&request, Resend::Yes).await?;
    results(response.results, asked)
}

/// Writes a value.
pub(super) async fn write(on: &impl ClientRequester, node: &NodeId, value: Variant) -> Result<(), Error> {
    let request = WriteRequest {
        request_header: RequestHeader::default(),
        nodes_to_write: Some(vec![WriteValue {
            node_id: node.clone(),
            attribute_id: AttributeId::Value as u32,
            index_range: NumericRange::None,
            value: DataValue { value: Some(value), ..DataValue::default() },
        }]),
    };
    let response: WriteResponse = on.ask(&request, Resend::No).await?;
    let status = only(response.results)?;
    if status.is_bad() { Err(refused(status, format!("the server did not write `{node}`"))) } else { Ok(()) }
}

/// Calls a method.
pub(super) async fn call(
    on: &impl ClientRequester,
    object: &NodeId,
    method: &NodeId,
    inputs: Vec<Variant>,
) -> Result<Vec<Variant>, Error> {
    let request = CallRequest {
        request_header: RequestHeader::default(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: object.clone(),
            method_id: method.clone(),
            input_arguments: Some(inputs),
        }]),
    };
    let response: CallResponse = on.ask(&request, Resend::No).await?;
    let result = only(response.results)?;
    if result.status_code.is_bad() {
        let wrong = result.input_argument_results.unwrap_or_default();
        let which = wrong.iter().position(|status| status.is_bad());
        let which = which.map(|index| format!(": argument {} is wrong", index + 1)).unwrap_or_default();
        return Err(refused(result.status_code, format!("the server did not execute `{method}`{which}")));
    }
    Ok(result.output_arguments.unwrap_or_default())
}

/// What is browsed for.
#[derive(Clone, Debug)]
pub struct BrowseFilter {
    /// Which way.
    pub direction: BrowseDirection,
    /// Which references, with their subtypes.
    pub references: NodeId,
    /// Which classes of nodes, a bit for each; 0: all.
    pub classes: u32,
}

impl BrowseFilter {
    /// What is below a node.
    pub fn below() -> BrowseFilter {
        BrowseFilter {
            direction: BrowseDirection::Forward,
            references: NodeId::from(ReferenceTypeId::HierarchicalReferences),
            classes: 0,
        }
    }
}

/// Browses a node, with all continuation points.
pub(super) async fn browse(
    on: &impl ClientRequester,
    node: &NodeId,
    wanted: &BrowseFilter,
) -> Result<Vec<ReferenceDescription>, Error> {
    let request = BrowseRequest {
        request_header: RequestHeader::default(),
        view: ViewDescription::default(),
        requested_max_references_per_node: REFERENCES_PER_RESPONSE,
        nodes_to_browse: Some(vec![BrowseDescription {
            node_id: node.clone(),
            browse_direction: wanted.direction,
            reference_type_id: wanted.references.clone(),
            include_subtypes: true,
            node_class_mask: wanted.classes,
            result_mask: ALL_FIELDS,
        }]),
    };
    let response: BrowseResponse = on.ask(&request, Resend::Yes).await?;
    let mut found = Vec::new();
    let mut result = only(response.results)?;
    for _ in 0..ROUNDS_MAX {
        if result.status_code.is_bad() {
            return Err(refused(result.status_code, format!("the server does not browse `{node}`")));
        }
        found.extend(result.references.unwrap_or_default());
        let point: ByteString = result.continuation_point;
        if point.is_null_or_empty() {
            return Ok(found);
        }
        let release_continuation_points = found.len() >= REFERENCES_MAX;
        let request = BrowseNextRequest {
            request_header: RequestHeader::default(),
            release_continuation_points,
            continuation_points: Some(vec![point]),
        };
        // A continuation point is of one session: not again on another one.
        let response: BrowseNextResponse = on.ask(&request, Resend::No).await?;
        if release_continuation_points {
            return Err(Error::new(
                StatusCode::BadTooManyOperations,
                format!("`{node}` has more than {REFERENCES_MAX} references"),
            ));
        }
        result = only(response.results)?;
    }
    Err(endless(node))
}

fn endless(node: &NodeId) -> Error {
    refused(
        StatusCode::BadTooManyOperations,
        format!("the server gives continuation points for `{node}` without end"),
    )
}

/// Follows a path of browse names; hierarchical references.
pub(super) async fn translate(
    on: &impl ClientRequester,
    start: &NodeId,
    path: &[QualifiedName],
) -> Result<NodeId, Error> {
    let element = |name: &QualifiedName| RelativePathElement {
        reference_type_id: NodeId::from(ReferenceTypeId::HierarchicalReferences),
        is_inverse: false,
        include_subtypes: true,
        target_name: name.clone(),
    };
    let request = TranslateBrowsePathsToNodeIdsRequest {
        request_header: RequestHeader::default(),
        browse_paths: Some(vec![BrowsePath {
            starting_node: start.clone(),
            relative_path: RelativePath { elements: Some(path.iter().map(element).collect()) },
        }]),
    };
    let response: TranslateBrowsePathsToNodeIdsResponse = on.ask(&request, Resend::Yes).await?;
    let result = only(response.results)?;
    if result.status_code.is_bad() {
        return Err(refused(result.status_code, "the server knows no node by that path".to_owned()));
    }
    let whole =
        result.targets.unwrap_or_default().into_iter().find(|target| target.remaining_path_index == u32::MAX);
    whole
        .map(|target| target.target_id.node_id)
        .ok_or_else(|| refused(StatusCode::BadNoMatch, "the path leads to another server".to_owned()))
}

/// Values as they were, raw, oldest first when `start` is before `end`; at most `max` (0: as many as [`HISTORY_VALUES_MAX`]).
pub(super) async fn history(
    on: &impl ClientRequester,
    node: &NodeId,
    start: DateTime,
    end: DateTime,
    max: usize,
) -> Result<Vec<DataValue>, Error> {
    let max = if max == 0 { HISTORY_VALUES_MAX } else { max.min(HISTORY_VALUES_MAX) };
    let mut values: Vec<DataValue> = Vec::new();
    let mut point = ByteString::null();
    for _ in 0..ROUNDS_MAX {
        let enough = values.len() >= max;
        let left = u32::try_from(max - values.len().min(max)).unwrap_or(u32::MAX);
        let request = HistoryReadRequest {
            request_header: RequestHeader::default(),
            history_read_details: ExtensionObject::new(ReadRawModifiedDetails {
                is_read_modified: false,
                start_time: start,
                end_time: end,
                num_values_per_node: left,
                return_bounds: false,
            }),
            timestamps_to_return: TimestampsToReturn::Both,
            release_continuation_points: enough,
            nodes_to_read: Some(vec![HistoryReadValueId {
                node_id: node.clone(),
                index_range: NumericRange::None,
                data_encoding: QualifiedName::null(),
                continuation_point: point.clone(),
            }]),
        };
        let again = if point.is_null_or_empty() { Resend::Yes } else { Resend::No };
        let response: HistoryReadResponse = on.ask(&request, again).await?;
        if enough {
            return Ok(values);
        }
        let result = only(response.results)?;
        if result.status_code.is_bad() {
            return Err(refused(
                result.status_code,
                format!("the server does not give the history of `{node}`"),
            ));
        }
        let data: Option<HistoryData> =
            structure(&result.history_data, ObjectId::HistoryData_Encoding_DefaultBinary);
        let more = data.and_then(|data| data.data_values).unwrap_or_default();
        values.extend(more);
        values.truncate(max);
        point = result.continuation_point;
        if point.is_null_or_empty() {
            return Ok(values);
        }
    }
    Err(endless(node))
}

/// The namespaces of the server, by their index.
pub(super) async fn namespaces(on: &impl ClientRequester) -> Result<Vec<String>, Error> {
    let node = NodeId::from(VariableId::Server_NamespaceArray);
    let value = read(on, vec![value_of(&node)]).await?.pop().unwrap_or_default();
    if let Some(status) = value.status.filter(StatusCode::is_bad) {
        return Err(refused(status, "the server does not tell its namespaces (i=2255)".to_owned()));
    }
    let array = value.value.as_ref().and_then(Variant::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Variant| {
        if let Variant::String(text) = value { text.as_ref().to_owned() } else { String::new() }
    };
    Ok(array.iter().map(text).collect())
}

/// The arguments that a method takes; none where it has no such property.
pub(super) async fn input_arguments(
    on: &impl ClientRequester,
    method: &NodeId,
) -> Result<Vec<Argument>, Error> {
    let name = QualifiedName { namespace_index: 0, name: UAString::from("InputArguments") };
    let property = match translate(on, method, &[name]).await {
        Ok(property) => property,
        Err(error) if error.status() == StatusCode::BadNoMatch => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let value = read(on, vec![value_of(&property)]).await?.pop().unwrap_or_default();
    if let Some(status) = value.status.filter(StatusCode::is_bad) {
        return Err(refused(status, format!("the arguments of `{method}` cannot be read")));
    }
    let arguments = value.value.as_ref().and_then(Variant::as_array).map(Vec::as_slice).unwrap_or_default();
    let argument = |value: &Variant| {
        let object = if let Variant::ExtensionObject(object) = value { Some(object) } else { None };
        object.and_then(|object| structure::<Argument>(object, ObjectId::Argument_Encoding_DefaultBinary))
    };
    let wrong = || refused(StatusCode::BadTypeMismatch, format!("the arguments of `{method}` are none"));
    arguments.iter().map(|value| argument(value).ok_or_else(wrong)).collect()
}

#[cfg(test)]
mod tests {
    use durward_identity::Moment;

    use super::*;

    /// A server that refuses to be read.
    struct Refuses;

    impl ClientRequester for Refuses {
        async fn ask<Q, R>(&self, _request: &Q, _again: Resend) -> Result<R, Error>
        where
            Q: opcua_types::BinaryEncodable + opcua_types::MessageInfo + Sync,
            R: opcua_types::BinaryDecodable + opcua_types::MessageInfo + Send,
        {
            let refused = DataValue { status: Some(StatusCode::BadUserAccessDenied), ..DataValue::default() };
            let response = ReadResponse {
                response_header: wire::response_header(1, StatusCode::Good, Moment::from_s(1_780_000_000)),
                results: Some(vec![refused]),
                diagnostic_infos: None,
            };
            let owned = wire::context();
            let body = wire::encode_service(&owned.context(), &response)?;
            wire::decode_service(&owned.context(), &body)
        }
    }

    /// A user without the right to it was told that the server has no such namespace.
    #[tokio::test]
    async fn namespaces_that_may_not_be_read_are_not_taken_for_none() {
        let refused = namespaces(&Refuses).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::BadUserAccessDenied);
    }
}
