//! Services that take a list of entries and give a list of results: refused entries are cut out of the request, and their results are put
//! back into the response, in order. Diagnostic infos stay aligned with the results.
//!
//! The usual case, all entries granted, copies nothing: the request and the response pass as the bytes they came in. What a granted read
//! costs is then, per entry, one walk over its bytes and one question to the rights, and per result one walk.

use std::borrow::Cow;
use std::ops::Range;

use opcua_types::{NodeId, StatusCode};

use super::access::{EffectiveAttribute, ResolvedRights, put_refused_value};
use super::parts::{RequestPart, SplitRequest};
use super::pending::{RequestPlan, ResponseRepair};
use super::put::PutEncoded;
use super::walk::{DecodeError, WalkResult, Walker};
use crate::permission::Permission;

/// Which entries of a request are granted, and the results of the refused ones.
#[derive(Debug, Default)]
pub(super) struct EntryFilter {
    /// How many entries the client's request has.
    pub(super) count: usize,
    /// The refused ones, in order.
    pub(super) refused: Vec<(u32, StatusCode)>,
}

impl EntryFilter {
    /// Notes what became of the next entry.
    pub(super) fn note(&mut self, verdict: Result<(), StatusCode>) {
        if let Err(status) = verdict {
            self.refused.push((index(self.count), status));
        }
        self.count += 1;
    }

    pub(super) fn forwarded(&self) -> usize {
        self.count - self.refused.len()
    }

    /// Whether there are entries and all of them are refused. A request without entries is the server's to refuse.
    pub(super) fn refuses_all(&self) -> bool {
        self.count > 0 && self.forwarded() == 0
    }

    /// The results as the client gets them: `result` writes that of an entry that was forwarded.
    ///
    /// # Errors
    /// [`DecodeError`] where there are not as many results as entries were forwarded.
    pub(super) fn merge<'a>(
        &self,
        walker: &mut Walker<'a>,
        out: &mut Vec<u8>,
        shape: ResultShape,
        result: impl FnMut(u32, &mut Walker<'a>, &mut Vec<u8>) -> WalkResult<()>,
    ) -> WalkResult<()> {
        self.merge_results(walker, out, shape, result)?;
        self.merge_diagnostics(walker, out)
    }

    fn merge_results<'a>(
        &self,
        walker: &mut Walker<'a>,
        out: &mut Vec<u8>,
        shape: ResultShape,
        mut result: impl FnMut(u32, &mut Walker<'a>, &mut Vec<u8>) -> WalkResult<()>,
    ) -> WalkResult<()> {
        self.expect(walker.count()?)?;
        out.put_count(self.count);
        self.each(|entry, refused| match refused {
            Some(status) => {
                shape.put_refused(out, status);
                Ok(())
            }
            None => result(entry, walker, out),
        })
    }

    /// Diagnostic infos: none, or as many as there are results.
    pub(super) fn merge_diagnostics(&self, walker: &mut Walker<'_>, out: &mut Vec<u8>) -> WalkResult<()> {
        let count = walker.count()?;
        if count == 0 {
            out.put_null();
            return Ok(());
        }
        self.expect(count)?;
        out.put_count(self.count);
        self.each(|_, refused| {
            if refused.is_some() {
                out.put_u8(0);
                return Ok(());
            }
            let start = walker.at();
            walker.skip_diagnostic_info()?;
            out.put_bytes(walker.since(start));
            Ok(())
        })
    }

    fn expect(&self, count: usize) -> WalkResult<()> {
        if count == self.forwarded() { Ok(()) } else { Err(DecodeError) }
    }

    pub(super) fn each(
        &self,
        mut entry: impl FnMut(u32, Option<StatusCode>) -> WalkResult<()>,
    ) -> WalkResult<()> {
        let mut refused = self.refused.iter().peekable();
        for number in 0..index(self.count) {
            let status = refused.next_if(|(refused, _)| *refused == number).map(|(_, status)| *status);
            entry(number, status)?;
        }
        Ok(())
    }
}

/// Entries are fewer than a message has bytes.
fn index(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A request whose refused entries were removed.
pub(super) struct FilteredRequest<'a> {
    body: &'a [u8],
    /// Where the number of entries stands.
    count_at: usize,
    pub(super) sieve: EntryFilter,
    /// The bytes of the refused entries.
    cuts: Vec<Range<usize>>,
    /// Where the entries end.
    end_at: usize,
    /// The entries that hold structures whose length may lie: where each ends, and how many entries there are up to there.
    structures: Vec<(usize, usize)>,
}

impl<'a> FilteredRequest<'a> {
    /// Walks over the entries of the list that begins here; `entry` walks over one and rules on it.
    ///
    /// # Errors
    /// `BadTooManyOperations` where there are more than `room`; `BadDecodingError`.
    pub(super) fn new(
        body: &'a [u8],
        walker: &mut Walker<'a>,
        room: usize,
        mut entry: impl FnMut(u32, &mut Walker<'a>) -> WalkResult<Result<(), StatusCode>>,
    ) -> Result<Self, StatusCode> {
        let count_at = walker.at();
        let count = count_within(walker, room)?;
        let mut sieve = EntryFilter::default();
        let mut cuts = Vec::new();
        let mut structures = Vec::new();
        for number in 0..index(count) {
            let start = walker.at();
            let structures_before = walker.structures();
            let verdict = entry(number, walker)?;
            if verdict.is_err() {
                cuts.push(start..walker.at());
            }
            sieve.note(verdict);
            if walker.structures() > structures_before {
                structures.push((walker.at(), sieve.count));
            }
        }
        Ok(FilteredRequest { body, count_at, sieve, cuts, end_at: walker.at(), structures })
    }

    /// The same entries in the same places of other bytes.
    pub(super) fn over(self, body: &[u8]) -> FilteredRequest<'_> {
        FilteredRequest { body, ..self }
    }

    /// Forwards what was granted; answers where nothing was; cuts the request into parts where entries stand behind a structure.
    pub(super) fn plan(
        self,
        shape: ResultShape,
        pending: impl FnOnce(EntryFilter) -> ResponseRepair,
    ) -> RequestPlan<'a> {
        if let Some(parts) = self.parts() {
            return RequestPlan::InParts(SplitRequest::new(shape, parts));
        }
        if self.sieve.refuses_all() {
            return RequestPlan::Answer(shape.refuse_all(&self.sieve));
        }
        let body = self.kept();
        RequestPlan::Forward(body, pending(self.sieve))
    }

    /// The request in parts, in each of which only the last entry holds structures. `None` where it is so already.
    ///
    /// It is cut behind refused entries too: the parts are ruled on again when they are sent.
    fn parts(&self) -> Option<Vec<RequestPart>> {
        let (_, first) = *self.structures.first()?;
        if first >= self.sieve.count {
            return None;
        }
        let bytes = |range: Range<usize>| self.body.get(range).unwrap_or_default();
        let mut parts = Vec::new();
        let (mut from, mut before) = (self.count_at + 4, 0);
        for (end, count) in self.structures.iter().copied().chain([(self.end_at, self.sieve.count)]) {
            if count == before {
                break;
            }
            let entries = count - before;
            let mut body = bytes(0..self.count_at).to_vec();
            body.put_count(entries);
            body.put_bytes(bytes(from..end));
            body.put_bytes(bytes(self.end_at..self.body.len()));
            parts.push(RequestPart { body, entries });
            (from, before) = (end, count);
        }
        Some(parts)
    }

    fn kept(&self) -> Cow<'a, [u8]> {
        if self.cuts.is_empty() {
            return Cow::Borrowed(self.body);
        }
        let part = |range: Range<usize>| self.body.get(range).unwrap_or_default();
        let mut kept = Vec::with_capacity(self.body.len());
        kept.put_bytes(part(0..self.count_at));
        kept.put_count(self.sieve.forwarded());
        let mut from = self.count_at + 4;
        for cut in &self.cuts {
            kept.put_bytes(part(from..cut.start));
            from = cut.end;
        }
        kept.put_bytes(part(from..self.body.len()));
        Cow::Owned(kept)
    }
}

/// The number of entries of the list that begins here.
///
/// # Errors
/// `BadTooManyOperations` where it is above `room`.
pub(super) fn count_within(walker: &mut Walker<'_>, room: usize) -> Result<usize, StatusCode> {
    let count = walker.count()?;
    if count > room {
        return Err(StatusCode::BadTooManyOperations);
    }
    Ok(count)
}

/// What a result consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultShape {
    Status,
    DataValue,
    HistoryRead,
    HistoryUpdate,
    Call,
    Browse,
    AddNodes,
    CreateItem,
    ModifyItem,
    Transfer,
}

impl ResultShape {
    /// Passes a result.
    pub(super) fn skip(self, walker: &mut Walker<'_>) -> WalkResult<()> {
        match self {
            ResultShape::DataValue => return walker.skip_data_value(),
            ResultShape::Status
            | ResultShape::HistoryRead
            | ResultShape::HistoryUpdate
            | ResultShape::Call
            | ResultShape::Browse
            | ResultShape::AddNodes
            | ResultShape::CreateItem
            | ResultShape::ModifyItem
            | ResultShape::Transfer => walker.u32()?,
        };
        match self {
            ResultShape::Status | ResultShape::DataValue => {}
            ResultShape::HistoryRead => {
                walker.text()?;
                walker.skip_extension()?;
            }
            ResultShape::HistoryUpdate => {
                walker.skip_array(|walker| walker.u32().map(drop))?;
                walker.skip_array(Walker::skip_diagnostic_info)?;
            }
            ResultShape::Call => {
                walker.skip_array(|walker| walker.u32().map(drop))?;
                walker.skip_array(Walker::skip_diagnostic_info)?;
                walker.skip_array(Walker::skip_variant)?;
            }
            ResultShape::Browse => {
                walker.text()?;
                walker.skip_array(super::browse::skip_reference)?;
            }
            ResultShape::AddNodes => walker.skip_node_id()?,
            ResultShape::CreateItem => {
                walker.take(4 + 8 + 4)?;
                walker.skip_extension()?;
            }
            ResultShape::ModifyItem => {
                walker.take(8 + 4)?;
                walker.skip_extension()?;
            }
            ResultShape::Transfer => walker.skip_array(|walker| walker.u32().map(drop)).map(drop)?,
        }
        Ok(())
    }

    /// Writes the result of an entry that was refused.
    pub(super) fn put_refused(self, out: &mut Vec<u8>, status: StatusCode) {
        if self == ResultShape::DataValue {
            return put_refused_value(out, status);
        }
        out.put_status(status);
        match self {
            ResultShape::Status | ResultShape::DataValue => {}
            ResultShape::HistoryRead => {
                out.put_null();
                out.put_no_extension();
            }
            ResultShape::HistoryUpdate | ResultShape::Browse => {
                out.put_null();
                out.put_null();
            }
            ResultShape::Call => {
                out.put_null();
                out.put_null();
                out.put_null();
            }
            ResultShape::AddNodes => out.put_bytes(&[0, 0]),
            ResultShape::CreateItem => {
                out.put_bytes(&[0; 16]);
                out.put_no_extension();
            }
            ResultShape::ModifyItem => {
                out.put_bytes(&[0; 12]);
                out.put_no_extension();
            }
            ResultShape::Transfer => out.put_null(),
        }
    }

    /// The response to a request of which nothing was forwarded.
    pub(super) fn refuse_all(self, sieve: &EntryFilter) -> Vec<u8> {
        let mut out = Vec::new();
        out.put_count(sieve.refused.len());
        for (_, status) in &sieve.refused {
            self.put_refused(&mut out, *status);
        }
        out.put_null();
        out
    }
}

/// Results that need no other mending than that those of refused entries are put back, that what is read is ruled on again, and that some data
/// values are edited.
#[derive(Debug)]
pub(super) struct SplicedResults {
    pub(super) shape: ResultShape,
    pub(super) sieve: EntryFilter,
    /// What each forwarded entry asked for, in order, where its result is read: the right may have ended until the response comes. Empty
    /// where the results tell what was done.
    pub(super) reads: Vec<(Permission, NodeId)>,
    /// The data values to edit, by entry, in order.
    pub(super) edits: Vec<(u32, EffectiveAttribute)>,
}

impl SplicedResults {
    pub(super) fn plain(shape: ResultShape, sieve: EntryFilter) -> ResponseRepair {
        ResponseRepair::Results(SplicedResults { shape, sieve, reads: Vec::new(), edits: Vec::new() })
    }

    /// Those forwarded entries, by their place among them, whose right has ended.
    fn ended(&self, lens: ResolvedRights<'_>) -> Vec<(usize, StatusCode)> {
        let ruled = self.reads.iter().enumerate();
        ruled
            .filter_map(|(place, (permission, node))| Some((place, lens.rule(*permission, node).err()?)))
            .collect()
    }

    pub(super) fn mend<'a>(&self, lens: ResolvedRights<'_>, body: &'a [u8]) -> WalkResult<Cow<'a, [u8]>> {
        let ended = self.ended(lens);
        let mut walker = Walker::new(body);
        if self.sieve.refused.is_empty() && self.edits.is_empty() && ended.is_empty() {
            self.sieve.expect(walker.count()?)?;
            (0..self.sieve.count).try_for_each(|_| self.shape.skip(&mut walker))?;
            self.skip_diagnostics(&mut walker)?;
            walker.end()?;
            return Ok(Cow::Borrowed(body));
        }
        let mut out = Vec::with_capacity(body.len() + 8 * self.sieve.refused.len());
        let mut edits = self.edits.iter().peekable();
        let mut ends = ended.iter().peekable();
        let mut places = 0..;
        self.sieve.merge_results(&mut walker, &mut out, self.shape, |entry, walker, out| {
            let start = walker.at();
            self.shape.skip(walker)?;
            let place = places.next();
            let edit = edits.next_if(|(edited, _)| *edited == entry);
            match (ends.next_if(|(ended, _)| Some(*ended) == place), edit) {
                (Some((_, status)), _) => self.shape.put_refused(out, *status),
                (None, Some((_, effective))) => effective.edit(walker.since(start), out),
                (None, None) => out.put_bytes(walker.since(start)),
            }
            Ok(())
        })?;
        if ended.is_empty() {
            self.sieve.merge_diagnostics(&mut walker, &mut out)?;
        } else {
            // They would speak of what is no longer told.
            self.skip_diagnostics(&mut walker)?;
            out.put_null();
        }
        walker.end()?;
        Ok(Cow::Owned(out))
    }

    /// Passes the diagnostic infos: none, or as many as there are results.
    fn skip_diagnostics(&self, walker: &mut Walker<'_>) -> WalkResult<()> {
        match walker.skip_array(Walker::skip_diagnostic_info)? {
            0 => Ok(()),
            count => self.sieve.expect(count),
        }
    }
}
