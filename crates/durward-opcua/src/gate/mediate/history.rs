//! HistoryRead and HistoryUpdate (Part 4, 5.11.3 and 5.11.5; details in Part 11, 6.5 and 6.9).

use opcua_types::{NodeId, ObjectId, StatusCode};

use super::access::{Aliases, Lens};
use super::browse::filter_array;
use super::event::{filter_history, select_source};
use super::pending::{Pending, Plan};
use super::points::Points;
use super::put::Put;
use super::splice::{Shape, Sieve, Sifted};
use super::walk::{Extension, Garbled, Walked, Walker};
use super::{Mediator, Planned};
use crate::permission::{Permission, Rights};

/// What kind of history is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum History {
    Values,
    Events,
}

/// History that is being read.
#[derive(Debug)]
pub(super) struct PendingHistory {
    pub(super) sieve: Sieve,
    /// The nodes of the entries that were forwarded: continuation points belong to them.
    nodes: Vec<NodeId>,
    history: History,
}

impl Mediator {
    pub(super) fn history_read<'a>(&mut self, rights: &dyn Rights, body: &'a [u8]) -> Planned<'a> {
        let mut walker = Walker::new(body);
        let details = walker.extension()?;
        match kind_of_read(&details)? {
            History::Values => self.history_read_entries(rights, body, History::Values),
            History::Events => {
                let mut edited = Vec::with_capacity(body.len() + 40);
                put_event_details(&details, &mut edited)?;
                edited.put_bytes(walker.rest());
                let plan = self.history_read_entries(rights, &edited, History::Events)?;
                Ok(match plan {
                    Plan::Forward(body, pending) => Plan::Forward(body.into_owned().into(), pending),
                    Plan::Answer(body) => Plan::Answer(body),
                    Plan::Cancel(handle) => Plan::Cancel(handle),
                })
            }
        }
    }

    fn history_read_entries<'a>(
        &mut self,
        rights: &dyn Rights,
        body: &'a [u8],
        history: History,
    ) -> Planned<'a> {
        let room = self.room();
        let lens = Lens { rights, aliases: &self.aliases };
        let points = &mut self.history_points;
        let mut nodes = Vec::new();
        let mut walker = Walker::new(body);
        walker.skip_extension()?;
        // Timestamps, whether to release the points.
        walker.take(4 + 1)?;
        let sifted = Sifted::new(body, &mut walker, room, |_, walker| {
            let node = walker.node_id()?;
            walker.text()?;
            walker.skip_qualified_name()?;
            let point = walker.text()?.unwrap_or_default();
            let node = lens.real(&node).clone();
            let verdict = lens.rule(Permission::ReadHistory, &node).and_then(|()| {
                // The server goes on by the point, whatever node stands beside it.
                if point.is_empty() || points.take(point).as_ref() == Some(&node) {
                    Ok(())
                } else {
                    Err(StatusCode::BadContinuationPointInvalid)
                }
            });
            if verdict.is_ok() {
                nodes.push(node);
            }
            Ok(verdict)
        })?;
        walker.end()?;
        Ok(sifted
            .plan(Shape::HistoryRead, |sieve| Pending::History(PendingHistory { sieve, nodes, history })))
    }

    pub(super) fn history_update<'a>(&self, rights: &dyn Rights, body: &'a [u8]) -> Planned<'a> {
        let lens = self.lens(rights);
        self.sift_list(body, Shape::HistoryUpdate, |walker| {
            let details = walker.extension()?;
            Ok(rule_update(lens, &details))
        })
    }
}

fn kind_of_read(details: &Extension<'_>) -> Result<History, StatusCode> {
    let values = [
        ObjectId::ReadRawModifiedDetails_Encoding_DefaultBinary,
        ObjectId::ReadProcessedDetails_Encoding_DefaultBinary,
        ObjectId::ReadAtTimeDetails_Encoding_DefaultBinary,
        ObjectId::ReadAnnotationDataDetails_Encoding_DefaultBinary,
    ];
    let events = [
        ObjectId::ReadEventDetails_Encoding_DefaultBinary,
        ObjectId::ReadEventDetails2_Encoding_DefaultBinary,
        ObjectId::ReadEventDetailsSorted_Encoding_DefaultBinary,
    ];
    if details.binary.is_some() && values.into_iter().any(|encoding| details.is(encoding)) {
        Ok(History::Values)
    } else if details.binary.is_some() && events.into_iter().any(|encoding| details.is(encoding)) {
        Ok(History::Events)
    } else {
        Err(StatusCode::BadHistoryOperationUnsupported)
    }
}

/// All three begin with the number of events, start and end, and the filter.
fn put_event_details(details: &Extension<'_>, out: &mut Vec<u8>) -> Result<(), StatusCode> {
    let mut walker = Walker::new(details.binary.unwrap_or_default());
    let mut body = Vec::new();
    body.put_bytes(walker.take(4 + 8 + 8)?);
    select_source(&mut walker, &mut body)?;
    body.put_bytes(walker.rest());
    out.put_node_id(&details.type_id);
    out.put_u8(1);
    out.put_text(Some(&body));
    Ok(())
}

/// The permissions that an update asks for (Part 3, 8.55).
fn rule_update(lens: Lens<'_>, details: &Extension<'_>) -> Result<(), StatusCode> {
    let unsupported = StatusCode::BadHistoryOperationUnsupported;
    let body = details.binary.ok_or(unsupported)?;
    let mut walker = Walker::new(body);
    let updates = [
        ObjectId::UpdateDataDetails_Encoding_DefaultBinary,
        ObjectId::UpdateStructureDataDetails_Encoding_DefaultBinary,
        ObjectId::UpdateEventDetails_Encoding_DefaultBinary,
    ];
    let deletions = [
        ObjectId::DeleteRawModifiedDetails_Encoding_DefaultBinary,
        ObjectId::DeleteAtTimeDetails_Encoding_DefaultBinary,
        ObjectId::DeleteEventDetails_Encoding_DefaultBinary,
    ];
    let is_update = updates.into_iter().any(|encoding| details.is(encoding));
    let is_deletion = deletions.into_iter().any(|encoding| details.is(encoding));
    if !is_update && !is_deletion {
        return Err(unsupported);
    }
    let node = walker.node_id()?;
    let permissions: &[Permission] = match is_deletion {
        true => &[Permission::DeleteHistory],
        // PerformInsertReplace: insert, replace, update (which does either), remove.
        false => match walker.i32()? {
            1 => &[Permission::InsertHistory],
            2 => &[Permission::ModifyHistory],
            3 => &[Permission::InsertHistory, Permission::ModifyHistory],
            4 => &[Permission::DeleteHistory],
            _ => return Err(StatusCode::BadHistoryOperationInvalid),
        },
    };
    permissions.iter().try_for_each(|permission| lens.rule(*permission, &node))
}

impl PendingHistory {
    pub(super) fn mend(
        &self,
        rights: &dyn Rights,
        aliases: &Aliases,
        points: &mut Points,
        body: &[u8],
    ) -> Walked<Vec<u8>> {
        let lens = Lens { rights, aliases };
        let mut nodes = self.nodes.iter();
        let mut walker = Walker::new(body);
        let mut out = Vec::with_capacity(body.len());
        self.sieve.merge(&mut walker, &mut out, Shape::HistoryRead, |_, walker, out| {
            out.put_status(walker.status()?);
            let point = walker.text()?;
            out.put_text(point);
            points.keep(point, nodes.next().ok_or(Garbled)?)?;
            match self.history {
                History::Values => {
                    let at = walker.at();
                    walker.skip_extension()?;
                    out.put_bytes(walker.since(at));
                    Ok(())
                }
                History::Events => put_event_history(lens, &walker.extension()?, out),
            }
        })?;
        walker.end()?;
        Ok(out)
    }
}

fn put_event_history(lens: Lens<'_>, history: &Extension<'_>, out: &mut Vec<u8>) -> Walked<()> {
    let Some(body) = history.binary else {
        out.put_no_extension();
        return Ok(());
    };
    let is_modified = history.is(ObjectId::HistoryModifiedEvent_Encoding_DefaultBinary);
    if !is_modified && !history.is(ObjectId::HistoryEvent_Encoding_DefaultBinary) {
        return Err(Garbled);
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
fn put_modifications(stayed: &[bool], walker: &mut Walker<'_>, out: &mut Vec<u8>) -> Walked<()> {
    let mut stayed = stayed.iter();
    filter_array(walker, out, |walker, out| {
        let at = walker.at();
        // Time, kind, user.
        walker.take(8 + 4)?;
        walker.text()?;
        let stays = *stayed.next().ok_or(Garbled)?;
        if stays {
            out.put_bytes(walker.since(at));
        }
        Ok(stays)
    })
    .map(drop)
}
