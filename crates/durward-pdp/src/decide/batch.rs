//! Many requests in one call: they are looked at side by side, so that one waits for memory while others go on.

use durward_index::Index;
use durward_ir::combine::{Verdict, Vote};
use durward_ir::question::SlotReader;
use durward_xacml::request::Request;
use durward_xacml::response::{Response, ResultOf};
use smallvec::SmallVec;

use super::{Asking, Seen, decision_of, is_one};
use crate::Pdp;
use crate::snapshot::Snapshot;

/// So many questions are looked at side by side.
pub(crate) const BATCH: usize = 32;

impl Pdp {
    /// Answers each request in the place with its number, as [`Pdp::decide`] would, all by the policies in force now.
    /// Where one slice is longer than the other, its rest is left alone. Returns how many were answered. Faster than one by
    /// one: while one waits for memory, others go on.
    ///
    /// ```
    /// use durward_pdp::{Decision, Pdp, Request, Response};
    ///
    /// let policy = r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1.0"
    ///   RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-unless-permit">
    ///   <Target/><Rule RuleId="r" Effect="Permit"/></Policy>"#;
    /// let pdp = Pdp::builder().policy("p.xml", policy).build().map_err(|errors| errors[0].to_string())?;
    /// let requests = ["ann", "bob"].map(|who| Request::builder().subject("id", who).build());
    /// let mut responses = vec![Response { results: Default::default() }; 2];
    /// assert_eq!(pdp.decide_requests(&requests, &mut responses), 2);
    /// assert_eq!(responses[1].results[0].decision, Decision::Permit);
    /// # Ok::<(), String>(())
    /// ```
    pub fn decide_requests(&self, requests: &[Request], responses: &mut [Response]) -> usize {
        let snapshot = self.snapshot.load();
        for (requests, responses) in requests.chunks(BATCH).zip(responses.chunks_mut(BATCH)) {
            let mut verdicts = [None; BATCH];
            self.table_decisions(&snapshot, requests, &mut verdicts);
            for ((request, response), verdict) in requests.iter().zip(responses).zip(verdicts) {
                *response = match verdict {
                    Some(verdict) if !request.categories.has_echoes() => {
                        Response::of(ResultOf::new(decision_of(verdict)))
                    }
                    Some(verdict) => {
                        let asking = Asking::new(self, &snapshot);
                        Response::of(asking.result(request, Vote::plain(verdict), Vec::new()))
                    }
                    None => self.decide_by(&snapshot, request),
                };
            }
        }
        requests.len().min(responses.len())
    }

    /// Answers what can be answered side by side; the rest stays as it is.
    #[inline]
    fn table_decisions(
        &self,
        snapshot: &Snapshot,
        requests: &[Request],
        verdicts: &mut [Option<Verdict>; BATCH],
    ) {
        if !self.has_table_decisions(snapshot) {
            return;
        }
        snapshot.verdicts(requests.iter().map(|request| look(snapshot, request)), verdicts);
    }
}

impl Snapshot {
    /// Finds the verdicts on questions that can be found without evaluating anything, side by side, each in its question's place. A
    /// question without a reader leaves its place as it is.
    #[inline]
    pub(crate) fn verdicts<R: SlotReader>(
        &self,
        readers: impl Iterator<Item = Option<R>>,
        verdicts: &mut [Option<Verdict>; BATCH],
    ) {
        let mut side_by_side: SmallVec<[R; BATCH]> = SmallVec::new();
        let mut places: SmallVec<[&mut Option<Verdict>; BATCH]> = SmallVec::new();
        for (reader, place) in readers.zip(verdicts) {
            if let Some(reader) = reader {
                side_by_side.push(reader);
                places.push(place);
            }
        }
        let mut found: [Option<Verdict>; BATCH] = [None; BATCH];
        if let Index::Diagram(diagram) = &self.index {
            diagram.table_decisions(&self.program, &side_by_side, &mut found);
        } else {
            for (reader, verdict) in side_by_side.iter().zip(&mut found) {
                *verdict = self.verdict(reader);
            }
        }
        for (place, verdict) in places.into_iter().zip(found) {
            *place = verdict;
        }
    }
}

/// A request of a batch, as far as it can be seen at once; `None` where it does not mean one decision, or was read before these policies
/// were known.
#[inline]
fn look<'a>(snapshot: &'a Snapshot, request: &'a Request) -> Option<Seen<'a>> {
    if !is_one(request) {
        return None;
    }
    let seen = Seen::new(snapshot, request)?;
    // Ahead of all decisions of the batch. Of an encoded one the rows are not looked at.
    if matches!(seen, Seen::Read(_)) {
        request.categories.rows().load();
    }
    Some(seen)
}
