//! Bytes are made from the shapes, and the codec has to read them to the same end.

use opcua_types::{BinaryDecodable, BinaryEncodable, MessageInfo, ObjectId};

use super::{ShapeField, check_service, service, structure};
use crate::wire::{context, decode_service, encode_service, encoding_of, type_id};

/// A small generator: tests repeat exactly.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Bytes of fields: small numbers (enumerations have 0 and 1), short texts, few elements.
fn fill(random: &mut Random, fields: &[ShapeField], depth: usize, out: &mut Vec<u8>) {
    let text = |random: &mut Random, out: &mut Vec<u8>| match random.below(3) {
        0 => out.extend((-1i32).to_le_bytes()),
        n => {
            out.extend((n as i32).to_le_bytes());
            out.extend(std::iter::repeat_n(b'1', n as usize));
        }
    };
    for field in fields {
        match field {
            ShapeField::Fixed(bytes) => {
                out.push(random.below(2) as u8);
                out.extend(std::iter::repeat_n(0, bytes - 1));
            }
            ShapeField::Text => text(random, out),
            ShapeField::NodeId => match random.below(3) {
                0 => out.extend([0, 7]),
                1 => out.extend([1, 2, 3, 4]),
                _ => {
                    out.extend([3, 1, 0]);
                    text(random, out);
                }
            },
            ShapeField::ExpandedNodeId if random.below(2) == 0 => {
                out.extend([0xc0, 7]);
                text(random, out);
                out.extend([0; 4]);
            }
            ShapeField::ExpandedNodeId => out.extend([0x01, 2, 3, 4]),
            ShapeField::QualifiedName => {
                out.extend([1, 0]);
                text(random, out);
            }
            ShapeField::LocalizedText => {
                let mask = random.below(4) as u8;
                out.push(mask);
                (0..mask.count_ones()).for_each(|_| text(random, out));
            }
            ShapeField::Extension => match random.below(3) {
                0 => out.extend([0, 0, 0]),
                encoding => {
                    out.extend([1, 2, 3, 4, encoding as u8]);
                    out.extend(3i32.to_le_bytes());
                    out.extend([7; 3]);
                }
            },
            ShapeField::Variant => match random.below(4) {
                0 => out.push(0),
                1 => out.extend([6, 1, 0, 0, 0]),
                2 => {
                    out.push(22);
                    fill(random, &[ShapeField::Extension], depth, out);
                }
                _ => {
                    out.push(0x80 | 12);
                    out.extend(2i32.to_le_bytes());
                    text(random, out);
                    text(random, out);
                }
            },
            ShapeField::DataValue => {
                out.push(0x1 | 0x2 | 0x4);
                fill(random, &[ShapeField::Variant], depth, out);
                out.extend([0; 12]);
            }
            ShapeField::Diagnostic => {
                let deeper = depth < 3 && random.below(2) == 0;
                out.push(0x1 | 0x10 | if deeper { 0x40 } else { 0 });
                out.extend([1, 0, 0, 0]);
                text(random, out);
                if deeper {
                    fill(random, &[ShapeField::Diagnostic], depth + 1, out);
                }
            }
            ShapeField::Of(fields) => fill(random, fields, depth, out),
            ShapeField::Each(fields) => {
                let count = random.below(3) as i32;
                out.extend(if count == 0 { -1i32 } else { count }.to_le_bytes());
                (0..count).for_each(|_| fill(random, fields, depth, out));
            }
        }
    }
}

/// The codec reads what the shape says, and not a byte less or more.
fn service_is<T: BinaryDecodable + BinaryEncodable + MessageInfo>() {
    let owned = context();
    let id = encoding_of::<T>(&owned.context()).unwrap();
    let name = std::any::type_name::<T>();
    let shape = service(id).unwrap_or_else(|| panic!("{name} has no shape"));
    let mut random = Random(0x5eed);
    for _ in 0..200 {
        let mut body = opcua_types::NodeId::new(0, id).encode_to_vec(&owned.context());
        let start = type_id(&body).unwrap().1;
        fill(&mut random, shape, 0, &mut body);
        let decoded = decode_service::<T>(&owned.context(), &body);
        let decoded = decoded.unwrap_or_else(|error| panic!("{name}: {error}: {body:?}"));
        let again = encode_service(&owned.context(), &decoded).unwrap();
        check_service(id, &again[type_id(&again).unwrap().1..]).unwrap();
        check_service(id, &body[start..body.len() - 1]).unwrap_err();
        body.push(0);
        check_service(id, &body[start..]).unwrap_err();
    }
}

fn structure_is<T: BinaryDecodable>(encoding: ObjectId) {
    let owned = context();
    let shape = structure(encoding as u32).unwrap_or_else(|| panic!("{encoding:?} has no shape"));
    let mut random = Random(7);
    for _ in 0..200 {
        let mut body = Vec::new();
        fill(&mut random, shape, 0, &mut body);
        let mut stream = body.as_slice();
        match T::decode(&mut stream, &owned.context()) {
            Ok(_) => {}
            // An argument's dimensions must be as many as its rank says, which a shape does not know.
            Err(error) if error.to_string().contains("array dimensions") => continue,
            Err(error) => panic!("{encoding:?}: {error}: {body:?}"),
        }
        assert!(stream.is_empty(), "{encoding:?}: {body:?}");
    }
}

#[test]
fn the_codec_reads_services_as_they_are_walked_over() {
    macro_rules! services { ($($name:ident),* $(,)?) => { $(service_is::<opcua_types::$name>();)* }; }
    services!(
        ServiceFault,
        OpenSecureChannelRequest,
        OpenSecureChannelResponse,
        GetEndpointsRequest,
        GetEndpointsResponse,
        FindServersRequest,
        FindServersResponse,
        CreateSessionRequest,
        CreateSessionResponse,
        ActivateSessionRequest,
        ActivateSessionResponse,
        CloseSessionRequest,
        CloseSessionResponse,
        CancelRequest,
        CancelResponse,
        ReadRequest,
        ReadResponse,
        WriteRequest,
        WriteResponse,
        BrowseRequest,
        BrowseResponse,
        BrowseNextRequest,
        BrowseNextResponse,
        TranslateBrowsePathsToNodeIdsRequest,
        TranslateBrowsePathsToNodeIdsResponse,
        RegisterNodesRequest,
        RegisterNodesResponse,
        UnregisterNodesRequest,
        UnregisterNodesResponse,
        CallRequest,
        CallResponse,
        HistoryReadRequest,
        HistoryReadResponse,
        CreateMonitoredItemsRequest,
        CreateMonitoredItemsResponse,
        ModifyMonitoredItemsRequest,
        ModifyMonitoredItemsResponse,
        SetMonitoringModeRequest,
        SetMonitoringModeResponse,
        DeleteMonitoredItemsRequest,
        DeleteMonitoredItemsResponse,
        CreateSubscriptionRequest,
        CreateSubscriptionResponse,
        ModifySubscriptionRequest,
        ModifySubscriptionResponse,
        SetPublishingModeRequest,
        SetPublishingModeResponse,
        DeleteSubscriptionsRequest,
        DeleteSubscriptionsResponse,
        TransferSubscriptionsRequest,
        TransferSubscriptionsResponse,
        PublishRequest,
        PublishResponse,
        RepublishRequest,
        RepublishResponse,
    );
}

#[test]
fn the_codec_reads_structures_as_they_are_walked_over() {
    macro_rules! structures {
        ($($name:ident $encoding:ident),* $(,)?) => { $(structure_is::<opcua_types::$name>(ObjectId::$encoding);)* };
    }
    structures!(
        AnonymousIdentityToken AnonymousIdentityToken_Encoding_DefaultBinary,
        UserNameIdentityToken UserNameIdentityToken_Encoding_DefaultBinary,
        X509IdentityToken X509IdentityToken_Encoding_DefaultBinary,
        IssuedIdentityToken IssuedIdentityToken_Encoding_DefaultBinary,
        SignatureData SignatureData_Encoding_DefaultBinary,
        UserTokenPolicy UserTokenPolicy_Encoding_DefaultBinary,
        Argument Argument_Encoding_DefaultBinary,
        DataChangeFilter DataChangeFilter_Encoding_DefaultBinary,
        EventFilter EventFilter_Encoding_DefaultBinary,
        SimpleAttributeOperand SimpleAttributeOperand_Encoding_DefaultBinary,
        AttributeOperand AttributeOperand_Encoding_DefaultBinary,
        LiteralOperand LiteralOperand_Encoding_DefaultBinary,
        ElementOperand ElementOperand_Encoding_DefaultBinary,
        ReadRawModifiedDetails ReadRawModifiedDetails_Encoding_DefaultBinary,
        HistoryData HistoryData_Encoding_DefaultBinary,
        DataChangeNotification DataChangeNotification_Encoding_DefaultBinary,
        EventNotificationList EventNotificationList_Encoding_DefaultBinary,
        StatusChangeNotification StatusChangeNotification_Encoding_DefaultBinary,
    );
}

/// A message that is walked over as one type is not decoded as another.
#[test]
fn the_type_that_is_walked_over_is_the_type_that_is_decoded() {
    let owned = context();
    let body = encode_service(&owned.context(), &opcua_types::CancelResponse::default()).unwrap();
    decode_service::<opcua_types::CloseSessionResponse>(&owned.context(), &body).unwrap_err();
    decode_service::<opcua_types::CancelResponse>(&owned.context(), &body).unwrap();
    let unknown = encode_service(&owned.context(), &opcua_types::AddNodesRequest::default()).unwrap();
    let error = decode_service::<opcua_types::AddNodesRequest>(&owned.context(), &unknown).unwrap_err();
    assert!(error.reason().contains("are not decoded here"), "{error}");
}
