//! HistoryRead and HistoryUpdate (Part 4, 5.11.3 and 5.11.5; details in Part 11, 6.5 and 6.9).

use opcua_types::{NodeId, ObjectId, StatusCode};

use super::access::{Aliases, ResolvedRights};
use super::browse::filter_array;
use super::event::{check_filter, filter_history, select_source, skip_simple_operand};
use super::pending::{RequestPlan, ResponseRepair};
use super::points::ContinuationPoints;
use super::put::PutEncoded;
use super::splice::{EntryFilter, FilteredRequest, ResultShape};
use super::walk::{DecodeError, ExtensionObjectView, WalkResult, Walker};
use super::{Mediator, PlannedRequest};
use crate::permission::{Permission, SessionRights};

/// What kind of history is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HistoryKind {
    Values,
    Events,
}

/// Continuation points of histories. One of events goes on with events, also where it is asked with details for values: those would pass unfiltered.
pub(super) type HistoryPoints = ContinuationPoints<(NodeId, HistoryKind)>;

/// History that is being read.
#[derive(Debug)]
pub(super) struct PendingHistory {
    pub(super) sieve: EntryFilter,
    /// The nodes of the entries that were forwarded: continuation points belong to them.
    nodes: Vec<NodeId>,
    history: HistoryKind,
}

impl Mediator {
    pub(super) fn history_read<'a>(
        &mut self,
        rights: &dyn SessionRights,
        body: &'a [u8],
    ) -> PlannedRequest<'a> {
        let mut walker = Walker::of_request(body);
        let details = walker.extension()?;
        match kind_of_read(&details)? {
            HistoryKind::Values => self.history_read_entries(rights, body, HistoryKind::Values),
            HistoryKind::Events => {
                let mut edited = Vec::with_capacity(body.len() + 40);
                put_event_details(&details, &mut edited)?;
                edited.put_bytes(walker.rest());
                self.history_read_entries(rights, &edited, HistoryKind::Events).map(RequestPlan::into_owned)
            }
        }
    }

    fn history_read_entries<'a>(
        &mut self,
        rights: &dyn SessionRights,
        body: &'a [u8],
        history: HistoryKind,
    ) -> PlannedRequest<'a> {
        let room = self.room();
        let lens = ResolvedRights { rights, aliases: &self.aliases };
        let points = &mut self.history_points;
        let mut nodes = Vec::new();
        let mut walker = Walker::of_request(body);
        // The details were walked by their type.
        walker.extension()?;
        // Timestamps, whether to release the points.
        walker.take(4 + 1)?;
        let sifted = FilteredRequest::new(body, &mut walker, room, |_, walker| {
            let node = walker.node_id()?;
            walker.text()?;
            walker.skip_qualified_name()?;
            let point = walker.text()?.unwrap_or_default();
            let node = lens.real(&node).clone();
            let verdict = lens.rule(Permission::ReadHistory, &node).and_then(|()| {
                // The server goes on by the point, whatever node stands beside it.
                match points.take(point) {
                    _ if point.is_empty() => Ok(()),
                    Some((of, kind)) if of == node && kind == history => Ok(()),
                    Some(_) | None => Err(StatusCode::BadContinuationPointInvalid),
                }
            });
            if verdict.is_ok() {
                nodes.push(node);
            }
            Ok(verdict)
        })?;
        walker.end()?;
        Ok(sifted.plan(ResultShape::HistoryRead, |sieve| {
            ResponseRepair::History(PendingHistory { sieve, nodes, history })
        }))
    }

    pub(super) fn history_update<'a>(
        &self,
        rights: &dyn SessionRights,
        body: &'a [u8],
    ) -> PlannedRequest<'a> {
        let lens = self.lens(rights);
        self.sift_list(body, ResultShape::HistoryUpdate, |walker| {
            let update = read_update(&walker.extension()?);
            Ok(update.and_then(|(update, inner)| {
                walker.add_structures(&inner);
                update.permissions.iter().try_for_each(|permission| lens.rule(*permission, &update.node))
            }))
        })
    }
}

/// What is read. Details for values are walked here, those for events by [`put_event_details`], to their exact end: the list of nodes stands behind
/// them, and a server that reads them by their type must find it there.
fn kind_of_read(details: &ExtensionObjectView<'_>) -> Result<HistoryKind, StatusCode> {
    use ObjectId as O;
    let events = [
        O::ReadEventDetails_Encoding_DefaultBinary,
        O::ReadEventDetails2_Encoding_DefaultBinary,
        O::ReadEventDetailsSorted_Encoding_DefaultBinary,
    ];
    if details.binary.is_none() {
        return Err(StatusCode::BadHistoryOperationUnsupported);
    } else if events.into_iter().any(|encoding| details.is(encoding)) {
        return Ok(HistoryKind::Events);
    } else if details.is(O::ReadRawModifiedDetails_Encoding_DefaultBinary) {
        // Whether modified ones are read, start, end, number of values, whether to return bounds.
        details.by_type(|walker| walker.take(1 + 8 + 8 + 4 + 1).map(drop))?;
    } else if details.is(O::ReadProcessedDetails_Encoding_DefaultBinary) {
        details.by_type(|walker| {
            // Start, end, interval.
            walker.take(8 + 8 + 8)?;
            walker.skip_array(Walker::skip_node_id)?;
            // Configuration of the aggregate.
            walker.take(5).map(drop)
        })?;
    } else if details.is(O::ReadAtTimeDetails_Encoding_DefaultBinary) {
        details.by_type(|walker| {
            walker.skip_array(skip_time)?;
            walker.boolean().map(drop)
        })?;
    } else if details.is(O::ReadAnnotationDataDetails_Encoding_DefaultBinary) {
        details.by_type(|walker| walker.skip_array(skip_time).map(drop))?;
    } else {
        return Err(StatusCode::BadHistoryOperationUnsupported);
    }
    Ok(HistoryKind::Values)
}

fn skip_time(walker: &mut Walker<'_>) -> WalkResult<()> {
    walker.take(8).map(drop)
}

/// All three begin with the number of events, start and end, and the filter.
fn put_event_details(details: &ExtensionObjectView<'_>, out: &mut Vec<u8>) -> Result<(), StatusCode> {
    let mut walker = Walker::of_request(details.binary.unwrap_or_default());
    let mut body = Vec::new();
    body.put_bytes(walker.take(4 + 8 + 8)?);
    select_source(&mut walker, &mut body)?;
    let at = walker.at();
    if details.is(ObjectId::ReadEventDetails2_Encoding_DefaultBinary) {
        // Whether modified ones are read.
        walker.boolean()?;
    } else if details.is(ObjectId::ReadEventDetailsSorted_Encoding_DefaultBinary) {
        walker.skip_array(|walker| {
            // Order, field.
            walker.i32()?;
            skip_simple_operand(walker)
        })?;
    }
    walker.end()?;
    body.put_bytes(walker.since(at));
    out.put_node_id(&details.type_id);
    out.put_u8(1);
    out.put_text(Some(&body));
    Ok(())
}

/// What an update asks for.
struct HistoryUpdate {
    node: NodeId,
    permissions: &'static [Permission],
}

/// Walks over the details of an update by their type, to their exact end (Part 11, 6.9). Gives the walker, for the structures in the values.
fn read_update<'a>(details: &ExtensionObjectView<'a>) -> Result<(HistoryUpdate, Walker<'a>), StatusCode> {
    use ObjectId as O;
    let unsupported = StatusCode::BadHistoryOperationUnsupported;
    let mut walker = Walker::of_request(details.binary.ok_or(unsupported)?);
    let is = |encoding| details.is(encoding);
    let update = if is(O::UpdateDataDetails_Encoding_DefaultBinary)
        || is(O::UpdateStructureDataDetails_Encoding_DefaultBinary)
    {
        let update = HistoryUpdate::performed(&mut walker)?;
        walker.skip_array(Walker::skip_data_value)?;
        update
    } else if is(O::UpdateEventDetails_Encoding_DefaultBinary) {
        let update = HistoryUpdate::performed(&mut walker)?;
        check_filter(&mut walker)?;
        walker.skip_array(|walker| walker.skip_array(Walker::skip_variant).map(drop))?;
        update
    } else if is(O::DeleteRawModifiedDetails_Encoding_DefaultBinary) {
        let update = HistoryUpdate::deletion(&mut walker)?;
        // Whether modified ones are deleted, start, end.
        walker.take(1 + 8 + 8)?;
        update
    } else if is(O::DeleteAtTimeDetails_Encoding_DefaultBinary) {
        let update = HistoryUpdate::deletion(&mut walker)?;
        walker.skip_array(skip_time)?;
        update
    } else if is(O::DeleteEventDetails_Encoding_DefaultBinary) {
        let update = HistoryUpdate::deletion(&mut walker)?;
        walker.skip_array(|walker| walker.text().map(drop))?;
        update
    } else {
        return Err(unsupported);
    };
    walker.end()?;
    Ok((update, walker))
}

/// The permissions that an update asks for (Part 3, 8.55).
impl HistoryUpdate {
    fn deletion(walker: &mut Walker<'_>) -> WalkResult<HistoryUpdate> {
        Ok(HistoryUpdate { node: walker.node_id()?, permissions: &[Permission::DeleteHistory] })
    }

    fn performed(walker: &mut Walker<'_>) -> Result<HistoryUpdate, StatusCode> {
        let node = walker.node_id()?;
        // PerformInsertReplace: insert, replace, update (which does either), remove.
        let permissions: &[Permission] = match walker.i32()? {
            1 => &[Permission::InsertHistory],
            2 => &[Permission::ModifyHistory],
            3 => &[Permission::InsertHistory, Permission::ModifyHistory],
            4 => &[Permission::DeleteHistory],
            _ => return Err(StatusCode::BadHistoryOperationInvalid),
        };
        Ok(HistoryUpdate { node, permissions })
    }
}

impl PendingHistory {
    pub(super) fn mend(
        &self,
        rights: &dyn SessionRights,
        aliases: &Aliases,
        points: &mut HistoryPoints,
        body: &[u8],
    ) -> WalkResult<Vec<u8>> {
        let lens = ResolvedRights { rights, aliases };
        let mut nodes = self.nodes.iter();
        let mut walker = Walker::new(body);
        let mut out = Vec::with_capacity(body.len());
        self.sieve.merge(&mut walker, &mut out, ResultShape::HistoryRead, |_, walker, out| {
            let status = walker.status()?;
            let point = walker.text()?;
            let history = walker.extension()?;
            let node = nodes.next().ok_or(DecodeError)?;
            if let Err(status) = lens.rule(Permission::ReadHistory, node) {
                ResultShape::HistoryRead.put_refused(out, status);
                return Ok(());
            }
            out.put_status(status);
            out.put_text(point);
            points.keep(point, (node.clone(), self.history))?;
            match self.history {
                HistoryKind::Values => put_value_history(&history, out),
                HistoryKind::Events => put_event_history(lens, &history, out),
            }
        })?;
        walker.end()?;
        Ok(out)
    }
}

/// Values, as they are; nothing else, which would have to be filtered.
fn put_value_history(history: &ExtensionObjectView<'_>, out: &mut Vec<u8>) -> WalkResult<()> {
    let Some(body) = history.binary else {
        out.put_no_extension();
        return Ok(());
    };
    let values =
        [ObjectId::HistoryData_Encoding_DefaultBinary, ObjectId::HistoryModifiedData_Encoding_DefaultBinary];
    let encoding = values.into_iter().find(|encoding| history.is(*encoding)).ok_or(DecodeError)?;
    out.put_extension(encoding, body);
    Ok(())
}

fn put_event_history(
    lens: ResolvedRights<'_>,
    history: &ExtensionObjectView<'_>,
    out: &mut Vec<u8>,
) -> WalkResult<()> {
    let Some(body) = history.binary else {
        out.put_no_extension();
        return Ok(());
    };
    let is_modified = history.is(ObjectId::HistoryModifiedEvent_Encoding_DefaultBinary);
    if !is_modified && !history.is(ObjectId::HistoryEvent_Encoding_DefaultBinary) {
        return Err(DecodeError);
    }
    let mut walker = Walker::new(body);
    let mut edited = Vec::with_capacity(body.len());
    let stayed = filter_history(lens, &mut walker, &mut edited)?;
    if is_modified {
        put_modifications(&stayed, &mut walker, &mut edited)?;
    }
    walker.end()?;
    out.put_node_id(&history.type_id);
    out.put_u8(1);
    out.put_text(Some(&edited));
    Ok(())
}

/// The `ModificationInfo` of each event that stayed.
fn put_modifications(stayed: &[bool], walker: &mut Walker<'_>, out: &mut Vec<u8>) -> WalkResult<()> {
    let mut stayed = stayed.iter();
    filter_array(walker, out, |walker, out| {
        let at = walker.at();
        // Time, kind, user.
        walker.take(8 + 4)?;
        walker.text()?;
        let stays = *stayed.next().ok_or(DecodeError)?;
        if stays {
            out.put_bytes(walker.since(at));
        }
        Ok(stays)
    })
    .map(drop)
}
