//! From text to nodes and values, with what the server tells of its types.

use opcua_types::{
    AttributeId, BrowseDirection, DataTypeId, Identifier, NodeId, ReferenceTypeId, StatusCode, Variant,
    VariantScalarTypeId,
};

use super::browse_name;
use super::calls::{self, BrowseFilter, attribute_of};
use super::requester::ClientRequester;
use super::text::{NodeText, PathElement, node_text, parse_node, parse_value, with_namespace};
use crate::error::Error;

/// How deep a data type may stand below the type that its values are encoded as.
const SUBTYPES_MAX: usize = 20;

/// The node that a text names.
pub(super) async fn node(on: &impl ClientRequester, text: &str) -> Result<NodeId, Error> {
    match parse_node(text)? {
        NodeText::Id(id) => Ok(id),
        NodeText::Uri { uri, identifier } => with_namespace(&calls::namespaces(on).await?, &uri, identifier),
        NodeText::Path(path) => follow(on, text, &path).await,
    }
}

/// With namespaces in one request; names without a namespace are looked for step by step where the standard's namespace has none.
async fn follow(on: &impl ClientRequester, text: &str, path: &[PathElement]) -> Result<NodeId, Error> {
    let names: Vec<_> =
        path.iter().map(|element| browse_name(element.namespace.unwrap_or(0), &element.name)).collect();
    let root = NodeId::root_folder_id();
    match calls::translate(on, &root, &names).await {
        Err(error) if error.status() == StatusCode::BadNoMatch => {}
        other => return other,
    }
    let mut node = root;
    for element in path {
        let below = calls::browse(on, &node, &BrowseFilter::below()).await?;
        let fits = |namespace: u16, name: &str| {
            name == element.name && element.namespace.is_none_or(|wanted| wanted == namespace)
        };
        let mut found: Vec<NodeId> = Vec::new();
        for reference in below {
            let name = &reference.browse_name;
            if fits(name.namespace_index, name.name.as_ref()) && !found.contains(&reference.node_id.node_id) {
                found.push(reference.node_id.node_id);
            }
        }
        node = match <[NodeId; 1]>::try_from(found) {
            Ok([only]) => only,
            Err(found) if found.is_empty() => {
                let reason = format!(
                    "`{}` leads nowhere: there is no `{}`",
                    text.escape_debug(),
                    element.name.escape_debug()
                );
                return Err(Error::new(StatusCode::BadNoMatch, reason));
            }
            Err(found) => {
                let ids: Vec<_> = found.iter().map(node_text).collect();
                let name = element.name.escape_debug();
                return Err(Error::new(
                    StatusCode::BadNoMatch,
                    format!("`{}` is ambiguous: `{name}` is {}", text.escape_debug(), ids.join(" and ")),
                ));
            }
        };
    }
    Ok(node)
}

/// A value for a variable.
pub(super) async fn for_variable(
    on: &impl ClientRequester,
    node: &NodeId,
    text: &str,
) -> Result<Variant, Error> {
    let attributes =
        vec![attribute_of(node, AttributeId::DataType), attribute_of(node, AttributeId::ValueRank)];
    let mut values = calls::read(on, attributes).await?.into_iter();
    let (data_type, rank) = (values.next().unwrap_or_default(), values.next().unwrap_or_default());
    if let Some(status) = data_type.status.filter(StatusCode::is_bad) {
        return Err(Error::new(status, format!("the data type of `{}` cannot be read", node_text(node))));
    }
    let Some(Variant::NodeId(data_type)) = data_type.value else {
        let reason = format!("`{}` has no data type: it is no variable", node_text(node));
        return Err(Error::new(StatusCode::BadAttributeIdInvalid, reason));
    };
    let rank = if let Some(Variant::Int32(rank)) = rank.value { rank } else { -2 };
    parse_value(text, built_in(on, &data_type).await?, rank)
}

/// Arguments for a method.
pub(super) async fn for_method(
    on: &impl ClientRequester,
    method: &NodeId,
    texts: &[String],
) -> Result<Vec<Variant>, Error> {
    let arguments = calls::input_arguments(on, method).await?;
    if arguments.len() != texts.len() {
        let names: Vec<_> = arguments.iter().map(|argument| argument.name.as_ref()).collect();
        let status = if texts.len() < arguments.len() {
            StatusCode::BadArgumentsMissing
        } else {
            StatusCode::BadTooManyArguments
        };
        let (takes, given) = (names.len(), texts.len());
        let reason = format!("the method takes {takes} arguments ({}), {given} are given", names.join(", "));
        return Err(Error::new(status, reason));
    }
    let mut inputs = Vec::with_capacity(texts.len());
    for (argument, text) in arguments.iter().zip(texts) {
        let kind = built_in(on, &argument.data_type).await?;
        let input = parse_value(text, kind, argument.value_rank)
            .map_err(|error| Error::new(error.status(), format!("{}: {}", argument.name, error.reason())))?;
        inputs.push(input);
    }
    Ok(inputs)
}

/// As what values of a data type are encoded (Part 6, 5.1.2): the built-in type that it is, or is a subtype of.
async fn built_in(on: &impl ClientRequester, data_type: &NodeId) -> Result<VariantScalarTypeId, Error> {
    let mut current = data_type.clone();
    for _ in 0..SUBTYPES_MAX {
        if let Some(kind) = known(&current) {
            return Ok(kind);
        }
        let wanted = BrowseFilter {
            direction: BrowseDirection::Inverse,
            references: NodeId::from(ReferenceTypeId::HasSubtype),
            classes: 0,
        };
        match calls::browse(on, &current, &wanted).await?.into_iter().next() {
            Some(parent) => current = parent.node_id.node_id,
            None => break,
        }
    }
    let reason = format!("values of the data type `{}` cannot be written as text", node_text(data_type));
    Err(Error::new(StatusCode::BadTypeMismatch, reason))
}

/// Types that need not be asked for: built-in ones, and the standard's that are not structures.
fn known(data_type: &NodeId) -> Option<VariantScalarTypeId> {
    use VariantScalarTypeId as Kind;
    if data_type.namespace != 0 {
        return None;
    }
    let Identifier::Numeric(number) = data_type.identifier else { return None };
    const NUMBER: u32 = DataTypeId::Number as u32;
    const INTEGER: u32 = DataTypeId::Integer as u32;
    const UNSIGNED: u32 = DataTypeId::UInteger as u32;
    const ENUMERATION: u32 = DataTypeId::Enumeration as u32;
    const DURATION: u32 = DataTypeId::Duration as u32;
    const UTC_TIME: u32 = DataTypeId::UtcTime as u32;
    const LOCALE: u32 = DataTypeId::LocaleId as u32;
    Some(match number {
        1 => Kind::Boolean,
        2 => Kind::SByte,
        3 => Kind::Byte,
        4 => Kind::Int16,
        5 => Kind::UInt16,
        6 => Kind::Int32,
        7 => Kind::UInt32,
        8 => Kind::Int64,
        9 => Kind::UInt64,
        10 => Kind::Float,
        11 => Kind::Double,
        12 => Kind::String,
        13 => Kind::DateTime,
        14 => Kind::Guid,
        15 => Kind::ByteString,
        16 => Kind::XmlElement,
        17 => Kind::NodeId,
        18 => Kind::ExpandedNodeId,
        19 => Kind::StatusCode,
        20 => Kind::QualifiedName,
        21 => Kind::LocalizedText,
        22 => Kind::ExtensionObject,
        23 => Kind::DataValue,
        24 => Kind::Variant,
        25 => Kind::DiagnosticInfo,
        NUMBER => Kind::Double,
        INTEGER => Kind::Int64,
        UNSIGNED => Kind::UInt64,
        ENUMERATION => Kind::Int32,
        DURATION => Kind::Double,
        UTC_TIME => Kind::DateTime,
        LOCALE => Kind::String,
        _ => return None,
    })
}
