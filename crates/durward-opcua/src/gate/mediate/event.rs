//! Event filters and the fields of events (Part 4, 7.22.3): every event is checked by its source.
//!
//! Part 3, 8.55: an event is received only where `ReceiveEvents` is granted on its source. Clients need not select the field `SourceNode`. So
//! the gate selects it in addition, as the last field, and takes it out of every event before the client gets it.

use opcua_types::{NodeId, ObjectId, ObjectTypeId, StatusCode};

use super::access::{ResolvedRights, attribute};
use super::browse::filter_array;
use super::put::PutEncoded;
use super::walk::{DecodeError, ExtensionObjectView, WalkResult, Walker};
use crate::permission::Permission;

/// More fields than any type of event has.
const SELECT_CLAUSES_MAX: usize = 1000;

/// Walks over an `EventFilter` of a request.
///
/// # Errors
/// Those of [`select_source`].
pub(super) fn check_filter(walker: &mut Walker<'_>) -> Result<(), StatusCode> {
    select_source(walker, &mut Vec::new())
}

/// Copies an `EventFilter` with the source selected in addition. It is walked by its type, as what stands behind it is.
///
/// # Errors
/// `BadEventFilterInvalid` where nothing is selected, or too much; `BadFilterOperatorUnsupported` and `BadFilterOperandInvalid` where the filter
/// would look at other nodes than the event (the standard allows those in queries only, 7.7.3): a client could learn from it about nodes that
/// it may not read.
pub(super) fn select_source(walker: &mut Walker<'_>, out: &mut Vec<u8>) -> Result<(), StatusCode> {
    let count = walker.count()?;
    if count == 0 || count > SELECT_CLAUSES_MAX {
        return Err(StatusCode::BadEventFilterInvalid);
    }
    let at = walker.at();
    for _ in 0..count {
        skip_simple_operand(walker)?;
    }
    out.put_count(count + 1);
    out.put_bytes(walker.since(at));
    put_source_operand(out);
    let at = walker.at();
    let elements = walker.count()?;
    for _ in 0..elements {
        check_element(walker)?;
    }
    out.put_bytes(walker.since(at));
    Ok(())
}

/// Type definition, browse path, attribute, index range.
pub(super) fn skip_simple_operand(walker: &mut Walker<'_>) -> WalkResult<()> {
    walker.skip_node_id()?;
    walker.skip_array(Walker::skip_qualified_name)?;
    walker.u32()?;
    walker.text().map(drop)
}

fn put_source_operand(out: &mut Vec<u8>) {
    out.put_node_id(&NodeId::new(0, ObjectTypeId::BaseEventType as u32));
    out.put_count(1);
    out.put_bytes(&[0, 0]);
    out.put_text(Some(b"SourceNode"));
    out.put_u32(attribute::VALUE);
    out.put_null();
}

fn check_element(walker: &mut Walker<'_>) -> Result<(), StatusCode> {
    const IN_VIEW: i32 = 13;
    const RELATED_TO: i32 = 15;
    if matches!(walker.i32()?, IN_VIEW | RELATED_TO) {
        return Err(StatusCode::BadFilterOperatorUnsupported);
    }
    let operands = walker.count()?;
    for _ in 0..operands {
        check_operand(&walker.extension()?).map_err(|DecodeError| StatusCode::BadFilterOperandInvalid)?;
    }
    Ok(())
}

/// An operand that speaks of the event only. A literal that holds a structure is none of those: its length may lie, and then another operand hides
/// behind it.
fn check_operand(operand: &ExtensionObjectView<'_>) -> WalkResult<()> {
    let walked = if operand.is(ObjectId::LiteralOperand_Encoding_DefaultBinary) {
        operand.by_type(Walker::skip_variant)?
    } else if operand.is(ObjectId::ElementOperand_Encoding_DefaultBinary) {
        operand.by_type(|walker| walker.u32().map(drop))?
    } else if operand.is(ObjectId::SimpleAttributeOperand_Encoding_DefaultBinary) {
        operand.by_type(skip_simple_operand)?
    } else {
        return Err(DecodeError);
    };
    if walked.structures() == 0 { Ok(()) } else { Err(DecodeError) }
}

/// The filter of an item for events.
///
/// # Errors
/// Those of [`select_source`]; `BadMonitoredItemFilterInvalid` where it is no event filter.
pub(super) fn put_filter(filter: &ExtensionObjectView<'_>, out: &mut Vec<u8>) -> Result<(), StatusCode> {
    let Some(body) = filter.binary.filter(|_| filter.is(ObjectId::EventFilter_Encoding_DefaultBinary)) else {
        return Err(StatusCode::BadMonitoredItemFilterInvalid);
    };
    let mut walker = Walker::of_request(body);
    let mut edited = Vec::with_capacity(body.len() + 40);
    select_source(&mut walker, &mut edited)?;
    walker.end()?;
    out.put_extension(ObjectId::EventFilter_Encoding_DefaultBinary, &edited);
    Ok(())
}

/// The result of a filter, without what it says about the clause that the gate added.
pub(super) fn put_filter_result(walker: &mut Walker<'_>, out: &mut Vec<u8>) -> WalkResult<()> {
    let start = walker.at();
    let result = walker.extension()?;
    let Some(body) = result.binary.filter(|_| result.is(ObjectId::EventFilterResult_Encoding_DefaultBinary))
    else {
        out.put_bytes(walker.since(start));
        return Ok(());
    };
    let mut walker = Walker::new(body);
    let mut edited = Vec::with_capacity(body.len());
    put_all_but_last(&mut walker, &mut edited, |walker| walker.u32().map(drop))?;
    put_all_but_last(&mut walker, &mut edited, Walker::skip_diagnostic_info)?;
    edited.put_bytes(walker.rest());
    out.put_extension(ObjectId::EventFilterResult_Encoding_DefaultBinary, &edited);
    Ok(())
}

fn put_all_but_last<'a>(
    walker: &mut Walker<'a>,
    out: &mut Vec<u8>,
    mut skip: impl FnMut(&mut Walker<'a>) -> WalkResult<()>,
) -> WalkResult<()> {
    let count = walker.count()?;
    out.put_count(count.saturating_sub(1));
    for number in 0..count {
        let at = walker.at();
        skip(walker)?;
        if number + 1 < count {
            out.put_bytes(walker.since(at));
        }
    }
    Ok(())
}

/// Copies the fields of an event without the last, where the last says that it comes from a node whose events may be received.
/// Gives whether it does.
pub(super) fn put_fields(
    lens: ResolvedRights<'_>,
    walker: &mut Walker<'_>,
    out: &mut Vec<u8>,
) -> WalkResult<bool> {
    let count = walker.count()?;
    out.put_count(count.saturating_sub(1));
    let mut comes_from_granted = false;
    for number in 0..count {
        let at = walker.at();
        walker.skip_variant()?;
        if number + 1 < count {
            out.put_bytes(walker.since(at));
        } else {
            comes_from_granted = is_granted_source(lens, walker.since(at));
        }
    }
    Ok(comes_from_granted)
}

/// A null source: the event speaks of no node in particular (Part 5, 6.4.2). Then the item's own node decides, and has.
fn is_granted_source(lens: ResolvedRights<'_>, field: &[u8]) -> bool {
    const NODE_ID: u8 = 17;
    let mut walker = Walker::new(field);
    let source = match walker.u8() {
        Ok(NODE_ID) => walker.node_id(),
        Ok(_) | Err(DecodeError) => Err(DecodeError),
    };
    source.is_ok_and(|source| source.is_null() || lens.has(Permission::ReceiveEvents, &source))
}

/// Copies a list of event fields (`HistoryEvent`, Part 11, 6.6.4) without the events of other sources; gives which ones stayed.
pub(super) fn filter_history(
    lens: ResolvedRights<'_>,
    walker: &mut Walker<'_>,
    out: &mut Vec<u8>,
) -> WalkResult<Vec<bool>> {
    let mut stayed = Vec::new();
    filter_array(walker, out, |walker, out| {
        let start = out.len();
        let stays = put_fields(lens, walker, out)?;
        if !stays {
            out.truncate(start);
        }
        stayed.push(stays);
        Ok(stays)
    })?;
    Ok(stayed)
}
