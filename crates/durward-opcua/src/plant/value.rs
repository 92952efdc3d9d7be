//! Values against their types, and parts of values by index ranges.

use opcua_types::{
    Argument, Array, ByteString, DataTypeId, Identifier, NodeId, NumericRange, StatusCode, UAString, Variant,
    VariantScalarTypeId, VariantTypeId,
};

use super::limits;
use super::node::VariableNode;
use super::space::AddressSpace;

/// The data type that a value of this built-in type has on the wire.
fn built_in(scalar: VariantScalarTypeId) -> NodeId {
    // A variant holds any type: its data type is BaseDataType, as its number in the encoding says (Part 6, 5.1.2).
    // An extension object holds a structure; it has the number of Structure, 22.
    NodeId::new(0, u32::from(scalar.encoding_mask()))
}

/// The built-in type by which values of this type travel: the nearest one above it.
fn wire_type(space: &AddressSpace, data_type: &NodeId) -> Option<NodeId> {
    let mut current = data_type;
    for _ in 0..limits::TYPE_DEPTH_MAX {
        if let (0, Identifier::Numeric(id)) = (current.namespace, &current.identifier) {
            // Number, Integer and UInteger have no encoding of their own; an enumeration travels as Int32 (Part 6, 5.2.4).
            if *id == DataTypeId::Enumeration as u32 {
                return Some(DataTypeId::Int32.into());
            }
            if *id <= DataTypeId::UInteger as u32 {
                return Some(current.clone());
            }
        }
        current = space.supertype(current)?;
    }
    None
}

/// Whether values of the built-in type may be null (Part 6, 5.1.2 and table 1).
fn nullable(wire: &NodeId) -> bool {
    const NULLABLE: [DataTypeId; 8] = [
        DataTypeId::String,
        DataTypeId::ByteString,
        DataTypeId::XmlElement,
        DataTypeId::Structure,
        DataTypeId::BaseDataType,
        DataTypeId::LocalizedText,
        DataTypeId::QualifiedName,
        DataTypeId::NodeId,
    ];
    wire.as_data_type_id().is_ok_and(|data_type| NULLABLE.contains(&data_type))
}

/// Checks a value against a data type and a rank, and gives it as it is kept.
///
/// # Errors
/// `BadTypeMismatch` where type, rank or dimensions differ.
pub(crate) fn check(
    space: &AddressSpace,
    value: Variant,
    data_type: &NodeId,
    value_rank: i32,
    dimensions: Option<&[u32]>,
) -> Result<Variant, StatusCode> {
    let wire = wire_type(space, data_type).ok_or(StatusCode::BadTypeMismatch)?;
    let value = without_empty_dimensions(bytes_as_array(value, &wire, value_rank));
    let scalar = match value.type_id() {
        VariantTypeId::Empty => {
            let allowed = nullable(&wire) || value_rank >= 0;
            return if allowed { Ok(value) } else { Err(StatusCode::BadTypeMismatch) };
        }
        VariantTypeId::Scalar(scalar) | VariantTypeId::Array(scalar, _) => scalar,
    };
    let rank_fits = fits_rank(&value, value_rank, dimensions.unwrap_or_default());
    if rank_fits && value.is_valid() && space.is_subtype(&built_in(scalar), &wire) {
        Ok(value)
    } else {
        Err(StatusCode::BadTypeMismatch)
    }
}

/// A byte string is taken for an array of bytes (Part 4, 5.11.4.1).
fn bytes_as_array(value: Variant, wire: &NodeId, value_rank: i32) -> Variant {
    let wanted =
        value_rank == 1 && wire.as_data_type_id().is_ok_and(|data_type| data_type == DataTypeId::Byte);
    if let (Variant::ByteString(bytes), true) = (&value, wanted) {
        return Variant::from(bytes.as_ref().to_vec());
    }
    value
}

/// An empty array comes out of the decoder with no dimensions where it had none to begin with. Encoded like that it would say that
/// dimensions follow.
fn without_empty_dimensions(value: Variant) -> Variant {
    let mut value = value;
    if let Variant::Array(array) = &mut value {
        array.dimensions = array.dimensions.take().filter(|dimensions| !dimensions.is_empty());
    }
    value
}

fn fits_rank(value: &Variant, value_rank: i32, declared: &[u32]) -> bool {
    let lengths = if let Variant::Array(array) = value { dimensions(array) } else { Vec::new() };
    let rank = i32::try_from(lengths.len()).unwrap_or(i32::MAX);
    let rank_fits = match value_rank {
        -3 => rank <= 1,
        -2 => true,
        -1 => rank == 0,
        0 => rank >= 1,
        exactly => rank == exactly,
    };
    rank_fits
        && (declared.is_empty()
            || lengths.iter().zip(declared).all(|(length, most)| *most == 0 || *length <= *most as usize))
}

/// The lengths of the dimensions of an array.
fn dimensions(array: &Array) -> Vec<usize> {
    match &array.dimensions {
        Some(dimensions) if !dimensions.is_empty() => {
            dimensions.iter().map(|length| *length as usize).collect()
        }
        _ => vec![array.values.len()],
    }
}

/// Checks what is about to be written to a variable.
pub(crate) fn check_written(
    space: &AddressSpace,
    variable: &VariableNode,
    value: Variant,
) -> Result<Variant, StatusCode> {
    check(space, value, &variable.data_type, variable.value_rank, variable.array_dimensions.as_deref())
}

/// Checks an argument of a call.
pub(crate) fn check_argument(
    space: &AddressSpace,
    argument: &Argument,
    value: Variant,
) -> Result<Variant, StatusCode> {
    check(space, value, &argument.data_type, argument.value_rank, argument.array_dimensions.as_deref())
}

/// The ranges of a numeric range, one for each dimension: first and last index.
fn ranges(range: &NumericRange) -> Result<Vec<(usize, usize)>, StatusCode> {
    match range {
        NumericRange::None => Ok(Vec::new()),
        NumericRange::Index(index) => Ok(vec![(*index as usize, *index as usize)]),
        NumericRange::Range(first, last) if first < last => Ok(vec![(*first as usize, *last as usize)]),
        NumericRange::Range(..) => Err(StatusCode::BadIndexRangeInvalid),
        NumericRange::MultipleRanges(several) => {
            let mut all = Vec::with_capacity(several.len());
            for one in several {
                match ranges(one)?.as_slice() {
                    [single] => all.push(*single),
                    _ => return Err(StatusCode::BadIndexRangeInvalid),
                }
            }
            Ok(all)
        }
    }
}

/// The part of a value that a range names (Part 4, 7.27). What lies beyond the end is left out; nothing at all is `BadIndexRangeNoData`.
pub(crate) fn part(value: &Variant, range: &NumericRange) -> Result<Variant, StatusCode> {
    let ranges = ranges(range)?;
    match (value, ranges.as_slice()) {
        (_, []) => Ok(value.clone()),
        (Variant::String(text), [(first, last)]) => substring(text, *first, *last),
        (Variant::ByteString(bytes), [(first, last)]) => {
            let part = slice(bytes.as_ref(), *first, *last)?;
            Ok(Variant::from(ByteString::from(part.to_vec())))
        }
        (Variant::Array(array), ranges) => part_of_array(array, ranges),
        _ => Err(StatusCode::BadIndexRangeDataMismatch),
    }
}

fn slice<T>(values: &[T], first: usize, last: usize) -> Result<&[T], StatusCode> {
    let end = last.saturating_add(1).min(values.len());
    values.get(first..end).filter(|part| !part.is_empty()).ok_or(StatusCode::BadIndexRangeNoData)
}

fn substring(text: &UAString, first: usize, last: usize) -> Result<Variant, StatusCode> {
    let count = last.saturating_sub(first).saturating_add(1);
    let part: String = text.as_ref().chars().skip(first).take(count).collect();
    if part.is_empty() { Err(StatusCode::BadIndexRangeNoData) } else { Ok(Variant::from(part)) }
}

fn part_of_array(array: &Array, ranges: &[(usize, usize)]) -> Result<Variant, StatusCode> {
    let lengths = dimensions(array);
    // The last dimension of an array of strings may be followed by a range within the strings; this server has none.
    if lengths.len() != ranges.len() {
        return Err(StatusCode::BadIndexRangeDataMismatch);
    }
    let ranges: Vec<(usize, usize)> = clip(ranges, &lengths)?;
    let places = places(&ranges, &lengths);
    let values: Vec<Variant> = places.filter_map(|place| array.values.get(place)).cloned().collect();
    let dimensions = array
        .dimensions
        .as_ref()
        .map(|_| ranges.iter().map(|(first, last)| (last - first + 1) as u32).collect());
    Ok(Variant::from(Array { value_type: array.value_type, values, dimensions }))
}

/// The ranges within the lengths.
fn clip(ranges: &[(usize, usize)], lengths: &[usize]) -> Result<Vec<(usize, usize)>, StatusCode> {
    let clipped = ranges.iter().zip(lengths).map(|((first, last), length)| {
        if first < length {
            Ok((*first, (*last).min(length - 1)))
        } else {
            Err(StatusCode::BadIndexRangeNoData)
        }
    });
    clipped.collect()
}

/// The places in the flat list of values, the last dimension fastest.
fn places(ranges: &[(usize, usize)], lengths: &[usize]) -> impl Iterator<Item = usize> {
    let mut places = vec![0usize];
    for ((first, last), length) in ranges.iter().zip(lengths) {
        places = places
            .iter()
            .flat_map(|place| (*first..=*last).map(move |index| place * length + index))
            .collect();
    }
    places.into_iter()
}

/// Puts a value into the part of another that a range names. Unlike in reading, all of the range must be there (Part 4, 5.11.4.2).
pub(crate) fn put(current: &Variant, range: &NumericRange, new: &Variant) -> Result<Variant, StatusCode> {
    let ranges = ranges(range)?;
    match (current, new, ranges.as_slice()) {
        (_, _, []) => Ok(new.clone()),
        (Variant::Array(current), Variant::Array(new), ranges) => put_in_array(current, new, ranges),
        (Variant::String(current), Variant::String(new), [(first, last)]) => {
            put_in_string(current, new, *first, *last)
        }
        (Variant::ByteString(current), Variant::ByteString(new), [(first, last)]) => {
            let mut bytes = current.as_ref().to_vec();
            let place = bytes.get_mut(*first..=*last).ok_or(StatusCode::BadIndexRangeNoData)?;
            if place.len() != new.as_ref().len() {
                return Err(StatusCode::BadIndexRangeDataMismatch);
            }
            place.copy_from_slice(new.as_ref());
            Ok(Variant::from(ByteString::from(bytes)))
        }
        _ => Err(StatusCode::BadIndexRangeDataMismatch),
    }
}

fn put_in_array(current: &Array, new: &Array, ranges: &[(usize, usize)]) -> Result<Variant, StatusCode> {
    let lengths = dimensions(current);
    if lengths.len() != ranges.len() || current.value_type != new.value_type {
        return Err(StatusCode::BadIndexRangeDataMismatch);
    }
    if clip(ranges, &lengths)? != ranges {
        return Err(StatusCode::BadIndexRangeNoData);
    }
    let places: Vec<usize> = places(ranges, &lengths).collect();
    if places.len() != new.values.len() {
        return Err(StatusCode::BadIndexRangeDataMismatch);
    }
    let mut array = current.clone();
    for (place, value) in places.into_iter().zip(&new.values) {
        if let Some(slot) = array.values.get_mut(place) {
            *slot = value.clone();
        }
    }
    Ok(Variant::from(array))
}

fn put_in_string(
    current: &UAString,
    new: &UAString,
    first: usize,
    last: usize,
) -> Result<Variant, StatusCode> {
    let mut characters: Vec<char> = current.as_ref().chars().collect();
    let replacement: Vec<char> = new.as_ref().chars().collect();
    let place = characters.get_mut(first..=last).ok_or(StatusCode::BadIndexRangeNoData)?;
    if place.len() != replacement.len() {
        return Err(StatusCode::BadIndexRangeDataMismatch);
    }
    place.copy_from_slice(&replacement);
    Ok(Variant::from(characters.into_iter().collect::<String>()))
}
