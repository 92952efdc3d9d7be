//! The walker against the decoder of `opcua_types`: as many bytes, for random values of every type.

use durward_opcua::gate::mediate::walk::{DecodeError, WalkResult, Walker};
use opcua_types::{
    Array, BinaryDecodable, BinaryEncodable, ByteString, DataValue, DateTime, DiagnosticInfo, ExpandedNodeId,
    ExtensionObject, Guid, LocalizedText, NodeId, QualifiedName, Range, StatusCode, UAString, Variant,
    VariantScalarTypeId,
};

use super::support::{Chance, context, encode};

fn text(chance: &mut Chance) -> UAString {
    match chance.below(3) {
        0 => UAString::null(),
        1 => UAString::from(""),
        _ => UAString::from("Temperatur °C".repeat(chance.below(4))),
    }
}

fn bytes(chance: &mut Chance) -> ByteString {
    let length = chance.below(20);
    ByteString::from((0..length).map(|_| chance.next() as u8).collect::<Vec<_>>())
}

fn guid(chance: &mut Chance) -> Guid {
    let mut bytes = [0; 16];
    bytes.iter_mut().for_each(|byte| *byte = chance.next() as u8);
    Guid::from_bytes(bytes)
}

fn node_id(chance: &mut Chance) -> NodeId {
    let namespace = *chance.pick(&[0, 1, 255, 256, 65535]);
    match chance.below(4) {
        0 => NodeId::new(namespace, *chance.pick(&[0u32, 255, 256, 65535, 65536, u32::MAX])),
        1 => NodeId::new(namespace, text(chance)),
        2 => NodeId::new(namespace, guid(chance)),
        _ => NodeId::new(namespace, bytes(chance)),
    }
}

fn expanded(chance: &mut Chance) -> ExpandedNodeId {
    ExpandedNodeId {
        node_id: node_id(chance),
        namespace_uri: text(chance),
        server_index: *chance.pick(&[0, 0, 1, 70000]),
    }
}

fn diagnostic_info(chance: &mut Chance, depth: usize) -> DiagnosticInfo {
    let mut info = DiagnosticInfo::null();
    if chance.happens(50) {
        info.symbolic_id = Some(1);
    }
    if chance.happens(50) {
        info.locale = Some(2);
        info.localized_text = Some(3);
    }
    if chance.happens(50) {
        info.additional_info = Some(text(chance));
    }
    if chance.happens(50) {
        info.inner_status_code = Some(StatusCode::BadInternalError);
    }
    if depth > 0 && chance.happens(50) {
        info.inner_diagnostic_info = Some(Box::new(diagnostic_info(chance, depth - 1)));
    }
    info
}

fn extension(chance: &mut Chance) -> ExtensionObject {
    if chance.happens(30) {
        return ExtensionObject::null();
    }
    ExtensionObject::from_message(Range { low: 1.0, high: 2.0 })
}

fn data_value(chance: &mut Chance, depth: usize) -> DataValue {
    let source_timestamp = chance.happens(50).then(DateTime::epoch);
    let server_timestamp = chance.happens(50).then(DateTime::epoch);
    DataValue {
        value: chance.happens(80).then(|| variant(chance, depth)),
        status: chance.happens(50).then_some(StatusCode::UncertainInitialValue),
        source_picoseconds: source_timestamp.and(Some(7)),
        source_timestamp,
        server_picoseconds: server_timestamp.and(Some(8)),
        server_timestamp,
    }
}

const KINDS: [VariantScalarTypeId; 25] = [
    VariantScalarTypeId::Boolean,
    VariantScalarTypeId::SByte,
    VariantScalarTypeId::Byte,
    VariantScalarTypeId::Int16,
    VariantScalarTypeId::UInt16,
    VariantScalarTypeId::Int32,
    VariantScalarTypeId::UInt32,
    VariantScalarTypeId::Int64,
    VariantScalarTypeId::UInt64,
    VariantScalarTypeId::Float,
    VariantScalarTypeId::Double,
    VariantScalarTypeId::String,
    VariantScalarTypeId::DateTime,
    VariantScalarTypeId::Guid,
    VariantScalarTypeId::StatusCode,
    VariantScalarTypeId::ByteString,
    VariantScalarTypeId::XmlElement,
    VariantScalarTypeId::QualifiedName,
    VariantScalarTypeId::LocalizedText,
    VariantScalarTypeId::NodeId,
    VariantScalarTypeId::ExpandedNodeId,
    VariantScalarTypeId::ExtensionObject,
    VariantScalarTypeId::Variant,
    VariantScalarTypeId::DataValue,
    VariantScalarTypeId::DiagnosticInfo,
];

fn scalar(chance: &mut Chance, kind: VariantScalarTypeId, depth: usize) -> Variant {
    let below = depth.saturating_sub(1);
    match kind {
        VariantScalarTypeId::Boolean => Variant::Boolean(chance.happens(50)),
        VariantScalarTypeId::SByte => Variant::SByte(-1),
        VariantScalarTypeId::Byte => Variant::Byte(1),
        VariantScalarTypeId::Int16 => Variant::Int16(-2),
        VariantScalarTypeId::UInt16 => Variant::UInt16(2),
        VariantScalarTypeId::Int32 => Variant::Int32(-3),
        VariantScalarTypeId::UInt32 => Variant::UInt32(3),
        VariantScalarTypeId::Int64 => Variant::Int64(-4),
        VariantScalarTypeId::UInt64 => Variant::UInt64(4),
        VariantScalarTypeId::Float => Variant::Float(0.5),
        VariantScalarTypeId::Double => Variant::Double(0.25),
        VariantScalarTypeId::String => Variant::String(text(chance)),
        VariantScalarTypeId::DateTime => Variant::from(DateTime::epoch()),
        VariantScalarTypeId::Guid => Variant::from(guid(chance)),
        VariantScalarTypeId::StatusCode => Variant::from(StatusCode::BadTimeout),
        VariantScalarTypeId::ByteString => Variant::from(bytes(chance)),
        VariantScalarTypeId::XmlElement => Variant::XmlElement("<a/>".into()),
        VariantScalarTypeId::QualifiedName => Variant::from(QualifiedName::new(1, text(chance))),
        VariantScalarTypeId::LocalizedText => {
            Variant::from(LocalizedText { locale: text(chance), text: text(chance) })
        }
        VariantScalarTypeId::NodeId => Variant::from(node_id(chance)),
        VariantScalarTypeId::ExpandedNodeId => Variant::from(expanded(chance)),
        VariantScalarTypeId::ExtensionObject => Variant::from(extension(chance)),
        VariantScalarTypeId::Variant => {
            Variant::Variant(Box::new(if depth == 0 { Variant::Int32(9) } else { variant(chance, below) }))
        }
        VariantScalarTypeId::DataValue => {
            Variant::from(if depth == 0 { DataValue::null() } else { data_value(chance, below) })
        }
        VariantScalarTypeId::DiagnosticInfo => Variant::from(diagnostic_info(chance, 2)),
    }
}

fn variant(chance: &mut Chance, depth: usize) -> Variant {
    let kind = *chance.pick(&KINDS);
    match chance.below(4) {
        0 => Variant::Empty,
        1 => {
            // The decoder of `opcua_types` wants six elements for 2 x 3.
            let values: Vec<Variant> = (0..6).map(|_| scalar(chance, kind, depth)).collect();
            let dimensions = vec![2, 3];
            Variant::from(Array::new_multi(kind, values, dimensions).expect("values of one type"))
        }
        2 => {
            let count = chance.below(4);
            let values: Vec<Variant> = (0..count).map(|_| scalar(chance, kind, depth)).collect();
            Variant::from(Array::new(kind, values).expect("values of one type"))
        }
        _ => scalar(chance, kind, depth),
    }
}

/// Both read as far, and nothing that is cut short passes.
fn alike<T: BinaryEncodable + BinaryDecodable + core::fmt::Debug>(
    value: &T,
    skip: impl Fn(&mut Walker<'_>) -> WalkResult<()>,
) {
    let mut bytes = encode(value);
    let length = bytes.len();
    for cut in 0..length.min(64) {
        let short = &bytes[..cut];
        assert_eq!(skip(&mut Walker::new(short)), Err(DecodeError), "{value:?} cut to {cut} of {length}");
    }
    bytes.extend([0xaa; 8]);
    let mut cursor = std::io::Cursor::new(&bytes);
    T::decode(&mut cursor, &context().context()).expect("decodes");
    assert_eq!(cursor.position() as usize, length);
    let mut walker = Walker::new(&bytes);
    skip(&mut walker).unwrap_or_else(|DecodeError| panic!("not walked: {value:?}"));
    assert_eq!(walker.at(), length, "{value:?}");
}

#[test]
fn walker_passes_as_many_bytes_as_the_decoder() {
    for seed in 0..2000 {
        let chance = &mut Chance::new(seed);
        alike(&variant(chance, 3), |walker| walker.skip_variant());
        alike(&data_value(chance, 3), |walker| walker.skip_data_value());
        alike(&diagnostic_info(chance, 5), |walker| walker.skip_diagnostic_info());
        alike(&extension(chance), |walker| walker.skip_extension());
        alike(&extension(chance), |walker| walker.extension().map(drop));
        alike(&LocalizedText::new("de", "Kessel"), |walker| walker.skip_localized_text());
        alike(&QualifiedName::new(3, text(chance)), |walker| walker.skip_qualified_name());
        alike(&expanded(chance), |walker| walker.skip_expanded_node_id());
        alike(&node_id(chance), |walker| walker.skip_node_id());
    }
}

#[test]
fn every_kind_of_scalar_and_array_is_walked() {
    let chance = &mut Chance::new(1);
    for kind in KINDS {
        alike(&scalar(chance, kind, 2), |walker| walker.skip_variant());
        let values = (0..3).map(|_| scalar(chance, kind, 2)).collect::<Vec<_>>();
        alike(&Variant::from(Array::new(kind, values).expect("values of one type")), |walker| {
            walker.skip_variant()
        });
    }
}

#[test]
fn node_ids_are_read_as_the_decoder_reads_them() {
    for seed in 0..2000 {
        let chance = &mut Chance::new(seed);
        let node = node_id(chance);
        assert_eq!(Walker::new(&encode(&node)).node_id(), Ok(node));
        let expanded = expanded(chance);
        let read = Walker::new(&encode(&expanded)).expanded_node_id().expect("sound");
        assert_eq!(read.node, expanded.node_id);
        let is_local = expanded.namespace_uri.as_ref().is_empty() && expanded.server_index == 0;
        assert_eq!(read.is_local, is_local, "{expanded:?}");
    }
}

#[test]
fn nesting_without_end_is_garbled_and_so_are_lengths_beyond_the_bytes() {
    // Variants in variants; data values in variants: each of 10,000 levels.
    for nested in [&[0x18u8][..], &[0x17, 0x01]] {
        let bytes = nested.repeat(10_000);
        assert_eq!(Walker::new(&bytes).skip_variant(), Err(DecodeError));
    }
    assert_eq!(Walker::new(&[0x40; 10_000]).skip_diagnostic_info(), Err(DecodeError));
    // 2^31 - 1 elements; -2 elements; a string longer than what follows.
    for bytes in
        [&[0x86, 0xff, 0xff, 0xff, 0x7f, 0][..], &[0x86, 0xfe, 0xff, 0xff, 0xff], &[0x0c, 9, 0, 0, 0, b'a']]
    {
        assert_eq!(Walker::new(bytes).skip_variant(), Err(DecodeError));
    }
}

/// The decoder of `opcua_types` refuses them; Part 6, 5.2.2.16 does not.
#[test]
fn kinds_of_the_future_are_byte_strings() {
    for kind in 26..=31u8 {
        let bytes = [kind, 2, 0, 0, 0, 7, 7];
        let mut walker = Walker::new(&bytes);
        assert_eq!((walker.skip_variant(), walker.end()), (Ok(()), Ok(())));
    }
    assert_eq!(Walker::new(&[32, 0, 0, 0, 0]).skip_variant(), Err(DecodeError));
}
