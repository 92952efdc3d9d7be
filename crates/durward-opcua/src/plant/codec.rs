//! Requests from bytes and responses to bytes, within limits.

use std::io::Read;

use durward_identity::Moment;
use opcua_types::{
    AnonymousIdentityToken, AttributeOperand, BinaryDecodable, BinaryEncodable, ByteString, ByteStringBody,
    Context, ContextOwned, DataChangeFilter, DataTypeId, DateTime, DecodingOptions, DepthGauge, DynEncodable,
    ElementOperand, EncodingResult, Error, EventFilter, IssuedIdentityToken, LiteralOperand, MessageInfo,
    NamespaceMap, NodeId, ObjectId, ReadRawModifiedDetails, ResponseHeader, SignatureData,
    SimpleAttributeOperand, StatusCode, TypeLoader, TypeLoaderCollection, TypeLoaderInstance,
    TypeLoaderPriority, UserNameIdentityToken, X509IdentityToken, binary_decode_to_enc,
};

use super::limits;
use crate::wire;

/// Ticks of 100 ns between 1601 and 1970 (Part 6, 5.2.2.5).
const TICKS_TO_1970: i64 = 116_444_736_000_000_000;
const TICKS_PER_MS: i64 = 10_000;

/// The moment as a `DateTime` of OPC UA.
pub fn date_time(moment: Moment) -> DateTime {
    let ms = i64::try_from(moment.ms()).unwrap_or(i64::MAX);
    DateTime::from(ms.saturating_mul(TICKS_PER_MS).saturating_add(TICKS_TO_1970))
}

/// Decodes requests and encodes responses. Extension objects of types that no service of this server looks into stay raw bytes.
#[derive(Debug)]
pub(crate) struct Codec {
    context: ContextOwned,
}

impl Codec {
    pub(crate) fn new() -> Codec {
        let mut loaders = TypeLoaderCollection::new_empty();
        loaders.add_type_loader(KnownTypes::new());
        let options = DecodingOptions {
            client_offset: Default::default(),
            max_message_size: limits::RESPONSE_BYTES_MAX,
            max_chunk_count: 0,
            max_string_length: limits::STRING_BYTES_MAX,
            max_byte_string_length: limits::BYTE_STRING_BYTES_MAX,
            max_array_length: limits::ARRAY_LENGTH_MAX,
            decoding_depth_gauge: DepthGauge::new(limits::DEPTH_MAX),
        };
        Codec { context: ContextOwned::new(NamespaceMap::new(), loaders, options) }
    }

    /// Reads a message: the node id of its encoding, then its fields. Bytes that are left over are refused.
    pub(crate) fn decode<T: BinaryDecodable + MessageInfo>(&self, body: &[u8]) -> Result<T, StatusCode> {
        let context = self.context.context();
        let (found, length) = wire::type_id(body).map_err(|error| error.status())?;
        let mut stream = body.get(length..).unwrap_or_default();
        if wire::encoding_of::<T>(&context) != Some(found) {
            return Err(StatusCode::BadDecodingError);
        }
        wire::check_service(found, stream).map_err(|error| error.status())?;
        let message = T::decode(&mut stream, &context).map_err(|error| error.status())?;
        if stream.is_empty() { Ok(message) } else { Err(StatusCode::BadDecodingError) }
    }

    /// Writes a message: the node id of its encoding, then its fields.
    pub(crate) fn encode<T: BinaryEncodable + MessageInfo>(
        &self,
        message: &T,
    ) -> Result<Vec<u8>, StatusCode> {
        let context = self.context.context();
        let type_id = NodeId::from(message.type_id());
        let length = type_id.byte_len(&context) + message.byte_len(&context);
        if length > limits::RESPONSE_BYTES_MAX {
            return Err(StatusCode::BadResponseTooLarge);
        }
        let mut bytes = Vec::with_capacity(length);
        type_id
            .encode(&mut bytes, &context)
            .and_then(|()| message.encode(&mut bytes, &context))
            .map_err(|error| error.status())?;
        Ok(bytes)
    }

    /// Bytes of a value when encoded.
    pub(crate) fn byte_len<T: BinaryEncodable>(&self, value: &T) -> usize {
        value.byte_len(&self.context.context())
    }
}

/// The header of a response that says: good.
pub(crate) fn header(handle: u32, now: Moment) -> ResponseHeader {
    ResponseHeader::new_timestamped_service_result(date_time(now), handle, StatusCode::Good)
}

/// The types of extension objects that services look into. Each is decoded from its own bytes, so that one cannot read into the next.
struct KnownTypes(TypeLoaderInstance);

impl KnownTypes {
    fn new() -> KnownTypes {
        let mut known = TypeLoaderInstance::new();
        macro_rules! know {
            ($($name:ident $encoding:ident),* $(,)?) => {
                $(known.add_binary_type(DataTypeId::$name as u32, ObjectId::$encoding as u32, binary_decode_to_enc::<$name>);)*
            };
        }
        know!(
            DataChangeFilter DataChangeFilter_Encoding_DefaultBinary,
            EventFilter EventFilter_Encoding_DefaultBinary,
            SimpleAttributeOperand SimpleAttributeOperand_Encoding_DefaultBinary,
            AttributeOperand AttributeOperand_Encoding_DefaultBinary,
            LiteralOperand LiteralOperand_Encoding_DefaultBinary,
            ElementOperand ElementOperand_Encoding_DefaultBinary,
            ReadRawModifiedDetails ReadRawModifiedDetails_Encoding_DefaultBinary,
            AnonymousIdentityToken AnonymousIdentityToken_Encoding_DefaultBinary,
            UserNameIdentityToken UserNameIdentityToken_Encoding_DefaultBinary,
            X509IdentityToken X509IdentityToken_Encoding_DefaultBinary,
            IssuedIdentityToken IssuedIdentityToken_Encoding_DefaultBinary,
            SignatureData SignatureData_Encoding_DefaultBinary,
        );
        KnownTypes(known)
    }

    fn load(
        &self,
        node_id: &NodeId,
        stream: &mut dyn Read,
        context: &Context<'_>,
        length: usize,
    ) -> EncodingResult<Box<dyn DynEncodable>> {
        if length > context.options().max_byte_string_length {
            return Err(Error::new(
                StatusCode::BadEncodingLimitsExceeded,
                format!("an extension object of {length} bytes"),
            ));
        }
        let mut bytes = vec![0; length];
        stream.read_exact(&mut bytes)?;
        let wrong = |error: crate::error::Error| Error::new(error.status(), error.reason().to_owned());
        if wire::check_structure(node_id, &bytes).map_err(wrong)? {
            let known = node_id.as_u32();
            if let Some(found) = known.and_then(|id| self.0.decode_binary(id, &mut bytes.as_slice(), context))
            {
                return found;
            }
        }
        Ok(Box::new(ByteStringBody::new(ByteString::from(bytes), node_id.clone())))
    }
}

impl TypeLoader for KnownTypes {
    fn load_from_binary(
        &self,
        node_id: &NodeId,
        stream: &mut dyn Read,
        context: &Context<'_>,
        length: Option<usize>,
    ) -> Option<EncodingResult<Box<dyn DynEncodable>>> {
        Some(self.load(node_id, stream, context, length?))
    }

    fn priority(&self) -> TypeLoaderPriority {
        TypeLoaderPriority::Core
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opcua_types::{
        CallMethodRequest, CallRequest, ContentFilter, ContentFilterElement, ExtensionObject,
        MonitoringParameters, ReadRequest, ReadValueId,
    };

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let codec = Codec::new();
        let request = ReadRequest {
            nodes_to_read: Some(vec![ReadValueId::new_value(NodeId::new(2, "a"))]),
            ..ReadRequest::default()
        };
        let bytes = codec.encode(&request).unwrap();
        assert_eq!(codec.decode::<ReadRequest>(&bytes).unwrap().nodes_to_read, request.nodes_to_read);
    }

    #[test]
    fn bytes_that_are_left_over_or_missing_are_refused() {
        let codec = Codec::new();
        let mut bytes = codec.encode(&ReadRequest::default()).unwrap();
        bytes.push(0);
        assert_eq!(codec.decode::<ReadRequest>(&bytes).unwrap_err(), StatusCode::BadDecodingError);
        bytes.truncate(bytes.len() - 2);
        assert!(codec.decode::<ReadRequest>(&bytes).is_err());
    }

    #[test]
    fn an_extension_object_that_claims_more_than_there_may_be_is_refused() {
        let codec = Codec::new();
        let raw = ByteStringBody::new(ByteString::from(vec![7; 40]), NodeId::new(5, 1u32));
        let message =
            MonitoringParameters { filter: ExtensionObject::new(raw), ..MonitoringParameters::default() };
        let context = codec.context.context();
        let mut bytes = message.encode_to_vec(&context);
        assert_eq!(
            MonitoringParameters::decode(&mut bytes.as_slice(), &context).unwrap(),
            message,
            "unknown ones stay as they are"
        );
        let place = bytes.windows(4).position(|window| window == 40i32.to_le_bytes()).unwrap();
        bytes[place..place + 4].copy_from_slice(&i32::MAX.to_le_bytes());
        let error = MonitoringParameters::decode(&mut bytes.as_slice(), &context).unwrap_err();
        assert_eq!(error.status(), StatusCode::BadEncodingLimitsExceeded);
    }

    /// The codec sets aside what an extension object of XML claims, before it reads. Here it lies in a filter, and that in an argument.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_lies_inside_of_a_structure_sets_no_memory_aside() {
        let codec = Codec::new();
        let mark = [0xaa; 5];
        let operand = ByteStringBody::new(ByteString::from(mark.to_vec()), NodeId::new(1, 4_711u32));
        let element = ContentFilterElement {
            filter_operands: Some(vec![ExtensionObject::new(operand)]),
            ..ContentFilterElement::default()
        };
        let where_clause = ContentFilter { elements: Some(vec![element]) };
        let filter = EventFilter { where_clause, ..EventFilter::default() };
        let call = CallMethodRequest {
            input_arguments: Some(vec![ExtensionObject::new(filter).into()]),
            ..CallMethodRequest::default()
        };
        let request = CallRequest { methods_to_call: Some(vec![call]), ..CallRequest::default() };
        let mut bytes = codec.encode(&request).unwrap();
        codec.decode::<CallRequest>(&bytes).unwrap();
        let honest = [&[1, 5, 0, 0, 0][..], &mark].concat();
        let place = bytes.windows(honest.len()).position(|window| window == honest).unwrap();
        bytes[place] = 2;
        bytes[place + 1..place + 5].copy_from_slice(&i32::MAX.to_le_bytes());
        let mapped_kib = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:")).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
        };
        let before = mapped_kib();
        assert!(codec.decode::<CallRequest>(&bytes).is_err());
        assert!(mapped_kib() - before < 1 << 20, "a GiB was mapped");
    }

    #[test]
    fn moments_are_counted_from_1601() {
        assert_eq!(date_time(Moment::from_ms(0)), DateTime::ymd(1970, 1, 1));
        assert_eq!(date_time(Moment::from_ms(1_000)).ticks(), TICKS_TO_1970 + 10_000_000);
        assert!(date_time(Moment::from_ms(u64::MAX)) >= DateTime::endtimes());
    }
}
