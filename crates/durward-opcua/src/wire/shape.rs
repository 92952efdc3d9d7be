//! The shapes of what is decoded, and the walk over bytes that goes before.
//!
//! The codec sets memory aside for what a length claims, before it looks whether there are as many bytes: 2 GiB for one extension object of
//! XML. So the rule is: nothing is given to the codec that was not walked over to its end, by its type. What has no shape here is not decoded
//! (services, and structures that are looked into) or stays bytes (all other structures).

use opcua_types::ObjectId;

use crate::error::Error;
use crate::gate::mediate::walk::{WalkResult, Walker};

/// A field, or some that follow each other.
#[derive(Clone, Copy)]
enum ShapeField {
    /// So many bytes.
    Fixed(usize),
    /// A string, byte string or numeric range.
    Text,
    NodeId,
    ExpandedNodeId,
    QualifiedName,
    LocalizedText,
    Extension,
    Variant,
    DataValue,
    Diagnostic,
    /// A structure.
    Of(&'static [ShapeField]),
    /// An array of structures with these fields.
    Each(&'static [ShapeField]),
}

use ShapeField::{
    DataValue, Diagnostic, Each, ExpandedNodeId, Extension, Fixed, LocalizedText, NodeId, Of, QualifiedName,
    Text, Variant,
};

/// A Boolean or a byte.
const B: ShapeField = Fixed(1);
/// 32 bits: numbers, enumerations, status codes.
const W: ShapeField = Fixed(4);
/// 64 bits: numbers, moments, durations.
const L: ShapeField = Fixed(8);

/// Authentication token, timestamp, handle, diagnostics, audit entry, timeout hint, additional header.
const REQUEST: ShapeField = Of(&[NodeId, L, W, W, Text, W, Extension]);
/// Timestamp, handle, result, diagnostics, string table, additional header.
const RESPONSE: ShapeField = Of(&[L, W, W, Diagnostic, Each(&[Text]), Extension]);

const TEXTS: ShapeField = Each(&[Text]);
const NUMBERS: ShapeField = Each(&[W]);
const DIAGNOSTICS: ShapeField = Each(&[Diagnostic]);
/// Status codes of operations, and diagnostics.
const RESULTS: &[ShapeField] = &[RESPONSE, NUMBERS, DIAGNOSTICS];

const SIGNATURE: ShapeField = Of(&[Text, Text]);
const APPLICATION: &[ShapeField] = &[Text, Text, LocalizedText, W, Text, Text, TEXTS];
const TOKEN_POLICY: &[ShapeField] = &[Text, W, Text, Text, Text];
const ENDPOINT: &[ShapeField] = &[Text, Of(APPLICATION), Text, W, Text, Each(TOKEN_POLICY), Text, B];

const READ_VALUE: &[ShapeField] = &[NodeId, W, Text, QualifiedName];
const REFERENCE: &[ShapeField] =
    &[NodeId, B, ExpandedNodeId, QualifiedName, LocalizedText, W, ExpandedNodeId];
const BROWSED: &[ShapeField] = &[RESPONSE, Each(&[W, Text, Each(REFERENCE)]), DIAGNOSTICS];
const RELATIVE_PATH: ShapeField = Each(&[NodeId, B, B, QualifiedName]);
const MONITORING: ShapeField = Of(&[W, L, Extension, W, B]);
const NOTIFICATION: ShapeField = Of(&[W, L, Each(&[Extension])]);

/// The fields of a service's request or response, behind the type id; nothing for services that this crate does not decode.
fn service(type_id: u32) -> Option<&'static [ShapeField]> {
    session_service(type_id).or_else(|| node_service(type_id)).or_else(|| subscription_service(type_id))
}

macro_rules! shapes {
    ($id:expr, $($name:ident => $fields:expr),* $(,)?) => {
        match $id {
            $(id if id == ObjectId::$name as u32 => Some({ const FIELDS: &[ShapeField] = $fields; FIELDS }),)*
            _ => None,
        }
    };
}

/// Channels, sessions, discovery (Part 4, 5.5 to 5.7).
fn session_service(type_id: u32) -> Option<&'static [ShapeField]> {
    shapes!(type_id,
        ServiceFault_Encoding_DefaultBinary => &[RESPONSE],
        OpenSecureChannelRequest_Encoding_DefaultBinary => &[REQUEST, W, W, W, Text, W],
        OpenSecureChannelResponse_Encoding_DefaultBinary => &[RESPONSE, W, W, W, L, W, Text],
        GetEndpointsRequest_Encoding_DefaultBinary => &[REQUEST, Text, TEXTS, TEXTS],
        GetEndpointsResponse_Encoding_DefaultBinary => &[RESPONSE, Each(ENDPOINT)],
        FindServersRequest_Encoding_DefaultBinary => &[REQUEST, Text, TEXTS, TEXTS],
        FindServersResponse_Encoding_DefaultBinary => &[RESPONSE, Each(APPLICATION)],
        CreateSessionRequest_Encoding_DefaultBinary => &[REQUEST, Of(APPLICATION), Text, Text, Text, Text, Text, L, W],
        CreateSessionResponse_Encoding_DefaultBinary =>
            &[RESPONSE, NodeId, NodeId, L, Text, Text, Each(ENDPOINT), Each(&[SIGNATURE]), SIGNATURE, W],
        ActivateSessionRequest_Encoding_DefaultBinary =>
            &[REQUEST, SIGNATURE, Each(&[SIGNATURE]), TEXTS, Extension, SIGNATURE],
        ActivateSessionResponse_Encoding_DefaultBinary => &[RESPONSE, Text, NUMBERS, DIAGNOSTICS],
        CloseSessionRequest_Encoding_DefaultBinary => &[REQUEST, B],
        CloseSessionResponse_Encoding_DefaultBinary => &[RESPONSE],
        CancelRequest_Encoding_DefaultBinary => &[REQUEST, W],
        CancelResponse_Encoding_DefaultBinary => &[RESPONSE, W],
    )
}

/// Views, attributes, methods (Part 4, 5.9 to 5.12).
fn node_service(type_id: u32) -> Option<&'static [ShapeField]> {
    shapes!(type_id,
        ReadRequest_Encoding_DefaultBinary => &[REQUEST, L, W, Each(READ_VALUE)],
        ReadResponse_Encoding_DefaultBinary => &[RESPONSE, Each(&[DataValue]), DIAGNOSTICS],
        WriteRequest_Encoding_DefaultBinary => &[REQUEST, Each(&[NodeId, W, Text, DataValue])],
        WriteResponse_Encoding_DefaultBinary => RESULTS,
        BrowseRequest_Encoding_DefaultBinary =>
            &[REQUEST, NodeId, L, W, W, Each(&[NodeId, W, NodeId, B, W, W])],
        BrowseResponse_Encoding_DefaultBinary => BROWSED,
        BrowseNextRequest_Encoding_DefaultBinary => &[REQUEST, B, TEXTS],
        BrowseNextResponse_Encoding_DefaultBinary => BROWSED,
        TranslateBrowsePathsToNodeIdsRequest_Encoding_DefaultBinary =>
            &[REQUEST, Each(&[NodeId, RELATIVE_PATH])],
        TranslateBrowsePathsToNodeIdsResponse_Encoding_DefaultBinary =>
            &[RESPONSE, Each(&[W, Each(&[ExpandedNodeId, W])]), DIAGNOSTICS],
        RegisterNodesRequest_Encoding_DefaultBinary => &[REQUEST, Each(&[NodeId])],
        RegisterNodesResponse_Encoding_DefaultBinary => &[RESPONSE, Each(&[NodeId])],
        UnregisterNodesRequest_Encoding_DefaultBinary => &[REQUEST, Each(&[NodeId])],
        UnregisterNodesResponse_Encoding_DefaultBinary => &[RESPONSE],
        CallRequest_Encoding_DefaultBinary => &[REQUEST, Each(&[NodeId, NodeId, Each(&[Variant])])],
        CallResponse_Encoding_DefaultBinary =>
            &[RESPONSE, Each(&[W, NUMBERS, DIAGNOSTICS, Each(&[Variant])]), DIAGNOSTICS],
        HistoryReadRequest_Encoding_DefaultBinary =>
            &[REQUEST, Extension, W, B, Each(&[NodeId, Text, QualifiedName, Text])],
        HistoryReadResponse_Encoding_DefaultBinary => &[RESPONSE, Each(&[W, Text, Extension]), DIAGNOSTICS],
    )
}

/// Subscriptions and monitored items (Part 4, 5.13 and 5.14).
fn subscription_service(type_id: u32) -> Option<&'static [ShapeField]> {
    shapes!(type_id,
        CreateMonitoredItemsRequest_Encoding_DefaultBinary =>
            &[REQUEST, W, W, Each(&[Of(READ_VALUE), W, MONITORING])],
        CreateMonitoredItemsResponse_Encoding_DefaultBinary =>
            &[RESPONSE, Each(&[W, W, L, W, Extension]), DIAGNOSTICS],
        ModifyMonitoredItemsRequest_Encoding_DefaultBinary => &[REQUEST, W, W, Each(&[W, MONITORING])],
        ModifyMonitoredItemsResponse_Encoding_DefaultBinary =>
            &[RESPONSE, Each(&[W, L, W, Extension]), DIAGNOSTICS],
        SetMonitoringModeRequest_Encoding_DefaultBinary => &[REQUEST, W, W, NUMBERS],
        SetMonitoringModeResponse_Encoding_DefaultBinary => RESULTS,
        DeleteMonitoredItemsRequest_Encoding_DefaultBinary => &[REQUEST, W, NUMBERS],
        DeleteMonitoredItemsResponse_Encoding_DefaultBinary => RESULTS,
        CreateSubscriptionRequest_Encoding_DefaultBinary => &[REQUEST, L, W, W, W, B, B],
        CreateSubscriptionResponse_Encoding_DefaultBinary => &[RESPONSE, W, L, W, W],
        ModifySubscriptionRequest_Encoding_DefaultBinary => &[REQUEST, W, L, W, W, W, B],
        ModifySubscriptionResponse_Encoding_DefaultBinary => &[RESPONSE, L, W, W],
        SetPublishingModeRequest_Encoding_DefaultBinary => &[REQUEST, B, NUMBERS],
        SetPublishingModeResponse_Encoding_DefaultBinary => RESULTS,
        DeleteSubscriptionsRequest_Encoding_DefaultBinary => &[REQUEST, NUMBERS],
        DeleteSubscriptionsResponse_Encoding_DefaultBinary => RESULTS,
        TransferSubscriptionsRequest_Encoding_DefaultBinary => &[REQUEST, NUMBERS, B],
        TransferSubscriptionsResponse_Encoding_DefaultBinary =>
            &[RESPONSE, Each(&[W, NUMBERS]), DIAGNOSTICS],
        PublishRequest_Encoding_DefaultBinary => &[REQUEST, Each(&[W, W])],
        PublishResponse_Encoding_DefaultBinary => &[RESPONSE, W, NUMBERS, B, NOTIFICATION, NUMBERS, DIAGNOSTICS],
        RepublishRequest_Encoding_DefaultBinary => &[REQUEST, W, W],
        RepublishResponse_Encoding_DefaultBinary => &[RESPONSE, NOTIFICATION],
    )
}

/// The fields of the structures that are looked into, by the number of their binary encoding in namespace 0.
fn structure(encoding: u32) -> Option<&'static [ShapeField]> {
    shapes!(encoding,
        AnonymousIdentityToken_Encoding_DefaultBinary => &[Text],
        UserNameIdentityToken_Encoding_DefaultBinary => &[Text, Text, Text, Text],
        X509IdentityToken_Encoding_DefaultBinary => &[Text, Text],
        IssuedIdentityToken_Encoding_DefaultBinary => &[Text, Text, Text],
        SignatureData_Encoding_DefaultBinary => &[SIGNATURE],
        UserTokenPolicy_Encoding_DefaultBinary => TOKEN_POLICY,
        Argument_Encoding_DefaultBinary => &[Text, NodeId, W, NUMBERS, LocalizedText],
        DataChangeFilter_Encoding_DefaultBinary => &[W, W, L],
        EventFilter_Encoding_DefaultBinary =>
            &[Each(SIMPLE_OPERAND), Each(&[W, Each(&[Extension])])],
        SimpleAttributeOperand_Encoding_DefaultBinary => SIMPLE_OPERAND,
        AttributeOperand_Encoding_DefaultBinary => &[NodeId, Text, RELATIVE_PATH, W, Text],
        LiteralOperand_Encoding_DefaultBinary => &[Variant],
        ElementOperand_Encoding_DefaultBinary => &[W],
        ReadRawModifiedDetails_Encoding_DefaultBinary => &[B, L, L, W, B],
        HistoryData_Encoding_DefaultBinary => &[Each(&[DataValue])],
        DataChangeNotification_Encoding_DefaultBinary => &[Each(&[W, DataValue]), DIAGNOSTICS],
        EventNotificationList_Encoding_DefaultBinary => &[Each(&[W, Each(&[Variant])])],
        StatusChangeNotification_Encoding_DefaultBinary => &[W, Diagnostic],
    )
}

const SIMPLE_OPERAND: &[ShapeField] = &[NodeId, Each(&[QualifiedName]), W, Text];

fn walk(walker: &mut Walker<'_>, fields: &[ShapeField]) -> WalkResult<()> {
    fields.iter().try_for_each(|field| match field {
        Fixed(bytes) => walker.take(*bytes).map(drop),
        Text => walker.text().map(drop),
        NodeId => walker.skip_node_id(),
        ExpandedNodeId => walker.skip_expanded_node_id(),
        QualifiedName => walker.skip_qualified_name(),
        LocalizedText => walker.skip_localized_text(),
        Extension => walker.skip_extension(),
        Variant => walker.skip_variant(),
        DataValue => walker.skip_data_value(),
        Diagnostic => walker.skip_diagnostic_info(),
        Of(fields) => walk(walker, fields),
        Each(fields) => walker.skip_array(|walker| walk(walker, fields)).map(drop),
    })
}

fn check(bytes: &[u8], fields: &[ShapeField], what: &str) -> Result<(), Error> {
    let mut walker = Walker::new(bytes);
    let walked = walk(&mut walker, fields).and_then(|()| walker.end());
    walked.map_err(|_| {
        Error::decoding(format!("{what} is truncated, has bytes left over, or lengths that are not true"))
    })
}

/// Walks over a request or response, behind its type id, to its end.
///
/// # Errors
/// `BadDecodingError`: it does not end where its fields do, or is of a service that this crate does not decode.
pub(crate) fn check_service(type_id: u32, fields: &[u8]) -> Result<(), Error> {
    let shape = service(type_id)
        .ok_or_else(|| Error::decoding(format!("messages of type {type_id} are not decoded here")))?;
    check(fields, shape, "a message")
}

/// Walks over the body of a structure, to its end. False where its type is not one that is looked into: it must stay bytes.
///
/// # Errors
/// `BadDecodingError`: it does not end where its fields do.
pub(crate) fn check_structure(type_id: &opcua_types::NodeId, body: &[u8]) -> Result<bool, Error> {
    let number = type_id.as_u32().filter(|_| type_id.namespace == 0);
    match number.and_then(structure) {
        Some(shape) => check(body, shape, "a structure").map(|()| true),
        None => Ok(false),
    }
}

#[cfg(test)]
mod tests;
