//! Browse and BrowseNext (Part 4, 5.9.2 and 5.9.3): hidden nodes appear not to exist.

use opcua_types::{NodeId, StatusCode};

use super::access::{Aliases, ResolvedRights, is_type_of_session_diagnostics};
use super::pending::ResponseRepair;
use super::points::ContinuationPoints;
use super::put::PutEncoded;
use super::splice::{EntryFilter, FilteredRequest, ResultShape};
use super::walk::{DecodeError, ExpandedNodeIdView, WalkResult, Walker};
use super::{Mediator, PlannedRequest};
use crate::permission::{Permission, SessionRights};

/// A browse that went upstream.
#[derive(Debug)]
pub(super) struct PendingBrowse {
    pub(super) sieve: EntryFilter,
    /// From where was browsed, of the entries that were forwarded: continuation points belong to them.
    starts: Vec<BrowseStart>,
}

/// From where is browsed, and what for.
#[derive(Clone, Debug)]
pub(super) struct BrowseStart {
    node: NodeId,
    /// Whether the client asked for type definitions. The gate does in any case: nodes are hidden by their types.
    wants_type: bool,
}

/// Continuation points of browses.
pub(super) type BrowsePoints = ContinuationPoints<BrowseStart>;

/// Bit of `BrowseResultMask` (Part 4, 7.6).
const TYPE_DEFINITION: u8 = 1 << 5;

/// A null expanded node id.
const NO_NODE: [u8; 2] = [0, 0];

/// A `ReferenceDescription`.
struct BrowsedReference<'a> {
    target: ExpandedNodeIdView,
    /// All that stands before the type definition of the target.
    before_type: &'a [u8],
    type_definition: ExpandedNodeIdView,
}

/// Passes a `ReferenceDescription`.
fn reference<'a>(walker: &mut Walker<'a>) -> WalkResult<BrowsedReference<'a>> {
    let at = walker.at();
    walker.skip_node_id()?;
    walker.boolean()?;
    let target = walker.expanded_node_id()?;
    walker.skip_qualified_name()?;
    walker.skip_localized_text()?;
    walker.i32()?;
    let before_type = walker.since(at);
    Ok(BrowsedReference { target, before_type, type_definition: walker.expanded_node_id()? })
}

/// Passes a `ReferenceDescription`.
pub(super) fn skip_reference(walker: &mut Walker<'_>) -> WalkResult<()> {
    reference(walker).map(drop)
}

impl Mediator {
    pub(super) fn browse<'a>(&self, rights: &dyn SessionRights, body: &'a [u8]) -> PlannedRequest<'a> {
        let lens = self.lens(rights);
        let mut walker = Walker::new(body);
        let view = walker.node_id()?;
        // Timestamp and version of the view, maximum of references.
        walker.take(8 + 4 + 4)?;
        if !view.is_null() && !lens.sees(&view) {
            return Err(StatusCode::BadViewIdUnknown);
        }
        let mut starts = Vec::new();
        let mut masks_without_type = Vec::new();
        let sifted = FilteredRequest::new(body, &mut walker, self.room(), |_, walker| {
            let node = walker.node_id()?;
            // Direction.
            walker.i32()?;
            walker.skip_node_id()?;
            // Subtypes, node classes, result mask.
            walker.take(1 + 4)?;
            let mask_at = walker.at();
            let wants_type = walker.u32()? & u32::from(TYPE_DEFINITION) != 0;
            if !wants_type {
                masks_without_type.push(mask_at);
            }
            let verdict = lens.rule(Permission::Browse, &node);
            if verdict.is_ok() {
                starts.push(BrowseStart { node: lens.real(&node).clone(), wants_type });
            }
            Ok(verdict)
        })?;
        walker.end()?;
        let pending = |sieve| ResponseRepair::Browse(PendingBrowse { sieve, starts });
        if masks_without_type.is_empty() {
            return Ok(sifted.plan(ResultShape::Browse, pending));
        }
        let mut edited = body.to_vec();
        for at in masks_without_type {
            edited.get_mut(at).into_iter().for_each(|mask| *mask |= TYPE_DEFINITION);
        }
        Ok(sifted.over(&edited).plan(ResultShape::Browse, pending).into_owned())
    }

    pub(super) fn browse_next<'a>(
        &mut self,
        rights: &dyn SessionRights,
        body: &'a [u8],
    ) -> PlannedRequest<'a> {
        let room = self.room();
        let lens = ResolvedRights { rights, aliases: &self.aliases };
        let points = &mut self.browse_points;
        let mut walker = Walker::new(body);
        // Whether to release the points.
        walker.boolean()?;
        let mut starts = Vec::new();
        let sifted = FilteredRequest::new(body, &mut walker, room, |_, walker| {
            let point = walker.text()?.unwrap_or_default();
            let Some(start) = points.take(point) else {
                return Ok(Err(StatusCode::BadContinuationPointInvalid));
            };
            let verdict = lens.rule(Permission::Browse, &start.node);
            if verdict.is_ok() {
                starts.push(start);
            }
            Ok(verdict)
        })?;
        walker.end()?;
        Ok(sifted.plan(ResultShape::Browse, |sieve| ResponseRepair::Browse(PendingBrowse { sieve, starts })))
    }
}

impl PendingBrowse {
    /// Takes references to hidden nodes out of the results. A result may be left without references and with a continuation point: the
    /// client goes on with BrowseNext, as it does with a server that has run out of time.
    pub(super) fn mend(
        &self,
        rights: &dyn SessionRights,
        aliases: &Aliases,
        points: &mut BrowsePoints,
        body: &[u8],
    ) -> WalkResult<Vec<u8>> {
        let lens = ResolvedRights { rights, aliases };
        let mut starts = self.starts.iter();
        let mut walker = Walker::new(body);
        let mut out = Vec::with_capacity(body.len());
        self.sieve.merge(&mut walker, &mut out, ResultShape::Browse, |_, walker, out| {
            let start = starts.next().ok_or(DecodeError)?;
            if let Err(status) = lens.rule(Permission::Browse, &start.node) {
                ResultShape::Browse.skip(walker)?;
                ResultShape::Browse.put_refused(out, status);
                return Ok(());
            }
            out.put_status(walker.status()?);
            let point = walker.text()?;
            out.put_text(point);
            points.keep(point, start.clone())?;
            // Inverse type definitions: from the type to the sessions. What else those types refer to is in namespace 0.
            let leads_to_sessions = is_type_of_session_diagnostics(&start.node);
            filter_array(walker, out, |walker, out| {
                let at = walker.at();
                let BrowsedReference { target, before_type, type_definition } = reference(walker)?;
                // A node of another server is not of those that the session's rights speak of.
                let is_seen = target.is_local
                    && lens.sees(&target.node)
                    && !is_type_of_session_diagnostics(&type_definition.node)
                    && !(leads_to_sessions && target.node.namespace != 0);
                if is_seen && start.wants_type {
                    out.put_bytes(walker.since(at));
                } else if is_seen {
                    out.put_bytes(before_type);
                    out.put_bytes(&NO_NODE);
                }
                Ok(is_seen)
            })
            .map(drop)
        })?;
        walker.end()?;
        Ok(out)
    }
}

/// Rewrites an array: `element` passes one, writes it where it stays, and says whether it stays. Gives how many stayed.
pub(super) fn filter_array<'a>(
    walker: &mut Walker<'a>,
    out: &mut Vec<u8>,
    mut element: impl FnMut(&mut Walker<'a>, &mut Vec<u8>) -> WalkResult<bool>,
) -> WalkResult<usize> {
    let count = walker.count()?;
    let count_at = out.len();
    out.put_count(0);
    let mut kept = 0;
    for _ in 0..count {
        if element(walker, out)? {
            kept += 1;
        }
    }
    put_count_at(out, count_at, kept);
    Ok(kept)
}

/// Writes a number of elements where a place was kept for it.
fn put_count_at(out: &mut [u8], at: usize, count: usize) {
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&i32::try_from(count).unwrap_or(i32::MAX).to_le_bytes());
    }
}
