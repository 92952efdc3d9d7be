//! Decoding and encoding of service bodies, with limits of our own and unknown extension objects as raw bytes.

use std::io::Read;

use bytes::Bytes;
use opcua_types::type_loader::ByteStringBody;
use opcua_types::{
    BinaryDecodable, BinaryEncodable, ByteString, Context, ContextOwned, DecodingOptions, DepthGauge,
    DynEncodable, EncodingResult, MessageInfo, NamespaceMap, NodeId, TypeLoader, TypeLoaderCollection,
    TypeLoaderPriority,
};

use super::limits::TransportLimits;
use super::service::type_id;
use super::shape::{check_service, check_structure};
use crate::error::Error;

/// Elements of one array. Capacity is set aside for so many before they are read.
const ARRAY_LENGTH_MAX: usize = 100_000;

/// How deep variants, extension objects and diagnostics may nest.
const DEPTH_MAX: u64 = 32;

/// A context for [`decode_service`] and [`encode_service`]: strings, arrays, messages and depth are limited, extension objects stay
/// bytes unless the caller adds type loaders of its own (`loaders_mut`).
pub fn context() -> ContextOwned {
    let mut loaders = TypeLoaderCollection::new_empty();
    loaders.add_type_loader(RawLoader);
    let message_bytes_max = TransportLimits::DEFAULT.receive.message_bytes_max as usize;
    let options = DecodingOptions {
        max_message_size: message_bytes_max,
        max_chunk_count: TransportLimits::DEFAULT.receive.chunk_count_max as usize,
        max_string_length: message_bytes_max,
        max_byte_string_length: message_bytes_max,
        max_array_length: ARRAY_LENGTH_MAX,
        decoding_depth_gauge: DepthGauge::new(DEPTH_MAX),
        ..DecodingOptions::default()
    };
    ContextOwned::new(NamespaceMap::default(), loaders, options)
}

/// Keeps the bytes of any extension object. The codec's own fallback sets aside as many bytes as the sender claims; this one reads what
/// is there.
struct RawLoader;

impl TypeLoader for RawLoader {
    fn load_from_binary(
        &self,
        node_id: &NodeId,
        stream: &mut dyn Read,
        ctx: &Context<'_>,
        length: Option<usize>,
    ) -> Option<EncodingResult<Box<dyn DynEncodable>>> {
        let length = length?;
        if length > ctx.options().max_message_size {
            return Some(Err(opcua_types::Error::decoding("an extension object is longer than a message")));
        }
        let mut raw = Vec::new();
        Some(match stream.take(length as u64).read_to_end(&mut raw) {
            Ok(read) if read == length => {
                // Whoever looks into it later decodes what was walked over here.
                if let Err(error) = check_structure(node_id, &raw) {
                    return Some(Err(opcua_types::Error::decoding(error.reason().to_owned())));
                }
                Ok(Box::new(ByteStringBody::new(ByteString::from(raw), node_id.clone())))
            }
            Ok(_) => Err(opcua_types::Error::decoding("an extension object is truncated")),
            Err(error) => Err(error.into()),
        })
    }

    fn priority(&self) -> TypeLoaderPriority {
        TypeLoaderPriority::Fallback
    }
}

/// Decodes a service body, its type id first, as the type that is expected. It is walked over to its end before.
///
/// # Errors
/// Another type, bytes that do not decode within the context's limits, or bytes left over.
pub fn decode_service<T: BinaryDecodable + MessageInfo>(
    context: &Context<'_>,
    body: &[u8],
) -> Result<T, Error> {
    let (found, length) = type_id(body)?;
    if encoding_of::<T>(context) != Some(found) {
        return Err(Error::decoding(format!("a message of type {found} where another was expected")));
    }
    let mut stream = body.get(length..).unwrap_or_default();
    check_service(found, stream)?;
    let decoded = T::decode(&mut stream, context)?;
    if !stream.is_empty() {
        return Err(Error::decoding("bytes are left over behind a message"));
    }
    Ok(decoded)
}

/// The number that a message type begins with. The codec tells it of messages only: here of the one whose bytes are all zero, which every
/// message type has (empty strings and arrays, the first of every enumeration).
pub(crate) fn encoding_of<T: BinaryDecodable + MessageInfo>(context: &Context<'_>) -> Option<u32> {
    let zeros = T::decode(&mut std::io::repeat(0), context).ok()?;
    Some(zeros.type_id() as u32)
}

/// Encodes a service body, its type id first.
///
/// # Errors
/// A value that has no encoding.
pub fn encode_service<T: BinaryEncodable + MessageInfo>(
    context: &Context<'_>,
    message: &T,
) -> Result<Bytes, Error> {
    let type_id = NodeId::new(0, message.type_id() as u32);
    let mut body =
        Vec::with_capacity(BinaryEncodable::byte_len(&type_id, context) + message.byte_len(context));
    BinaryEncodable::encode(&type_id, &mut body, context)?;
    message.encode(&mut body, context)?;
    Ok(Bytes::from(body))
}
