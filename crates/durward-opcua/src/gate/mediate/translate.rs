//! TranslateBrowsePathsToNodeIds (Part 4, 5.9.4): a path through a hidden node, or to one, matches nothing.
//!
//! The server would follow a whole path at once and not say through which nodes. So paths are followed element by element: each round
//! asks the server for one element from every node that was reached and is visible, and its answer is filtered before the next. A path of
//! one element, the usual one, takes one round, as without the gate.

use opcua_types::{NodeId, StatusCode};

use super::access::{Aliases, ResolvedRights, is_type_of_session_diagnostics};
use super::pending::{MediatedReply, RequestPlan, ResponseRepair, UpstreamRequest};
use super::put::PutEncoded;
use super::service::ServiceKind;
use super::splice::count_within;
use super::walk::{DecodeError, WalkResult, Walker};
use super::{Mediator, PlannedRequest};
use crate::permission::{Permission, SessionRights};

/// Paths that are being followed.
#[derive(Debug)]
pub(super) struct PendingTranslate {
    paths: Vec<TranslatedPath>,
    /// For each path in the running round: which path of the client's it is.
    asked: Vec<usize>,
    /// How many paths a round may have.
    room: usize,
}

#[derive(Debug)]
struct TranslatedPath {
    /// The bytes of the `RelativePathElement`s, from `at` on those not yet followed.
    elements: Vec<u8>,
    at: usize,
    /// How many elements are not yet followed.
    ahead: usize,
    /// The visible nodes that were reached.
    reached: Vec<NodeId>,
    /// Set when the path has been followed to its end.
    result: Option<StatusCode>,
    /// Whether the server was asked before.
    is_under_way: bool,
}

impl Mediator {
    pub(super) fn translate<'a>(&self, rights: &dyn SessionRights, body: &'a [u8]) -> PlannedRequest<'a> {
        let lens = self.lens(rights);
        let mut walker = Walker::new(body);
        let count = count_within(&mut walker, self.room())?;
        if count == 0 {
            return Err(StatusCode::BadNothingToDo);
        }
        let mut left = self.entries_left();
        let mut paths = Vec::new();
        for _ in 0..count {
            let start = walker.node_id()?;
            let ahead = walker.count()?;
            let at = walker.at();
            (0..ahead).try_for_each(|_| skip_element(&mut walker))?;
            let elements = walker.since(at);
            let path = match lens.rule(Permission::Browse, &start) {
                Err(status) => TranslatedPath::refused(status),
                Ok(()) if ahead == 0 => TranslatedPath::refused(StatusCode::BadNothingToDo),
                Ok(()) if ahead > self.limits.path_elements => {
                    TranslatedPath::refused(StatusCode::BadTooManyOperations)
                }
                Ok(()) => TranslatedPath::new(lens.real(&start).clone(), ahead, elements),
            };
            // What is kept is bounded before it is copied on.
            left = left.checked_sub(path.weight()).ok_or(StatusCode::BadTooManyOperations)?;
            paths.push(path);
        }
        walker.end()?;
        let mut pending = PendingTranslate { paths, asked: Vec::new(), room: self.room() };
        Ok(match pending.next_round() {
            Some(body) => RequestPlan::Forward(body.into(), ResponseRepair::Translate(pending)),
            None => RequestPlan::Answer(pending.answer()),
        })
    }
}

impl PendingTranslate {
    pub(super) fn weight(&self) -> usize {
        self.paths.iter().map(TranslatedPath::weight).sum()
    }

    /// What to ask next; nothing, where all paths have come to their ends.
    fn next_round(&mut self) -> Option<Vec<u8>> {
        self.asked.clear();
        let mut entries = Vec::new();
        for (number, path) in self.paths.iter_mut().enumerate() {
            if path.result.is_some() {
                continue;
            }
            let Some(element) = path.next_element() else { continue };
            if self.asked.len() + path.reached.len() > self.room {
                path.end(StatusCode::BadTooManyMatches);
                continue;
            }
            // From these types, inverse type definitions lead to other clients' sessions.
            path.reached.retain(|node| !is_type_of_session_diagnostics(node));
            if path.reached.is_empty() {
                path.end(StatusCode::BadNoMatch);
            }
            for node in &path.reached {
                entries.put_node_id(node);
                entries.put_count(1);
                entries.put_bytes(&element);
                self.asked.push(number);
            }
        }
        if self.asked.is_empty() {
            return None;
        }
        let mut body = Vec::with_capacity(entries.len() + 4);
        body.put_count(self.asked.len());
        body.put_bytes(&entries);
        Some(body)
    }

    /// Takes the answer of a round in: the reply to the client, or what to ask next.
    pub(super) fn take(
        &mut self,
        rights: &dyn SessionRights,
        aliases: &Aliases,
        body: &[u8],
    ) -> WalkResult<MediatedReply<'static>> {
        let lens = ResolvedRights { rights, aliases };
        let mut walker = Walker::new(body);
        if walker.count()? != self.asked.len() {
            return Err(DecodeError);
        }
        let mut found = vec![RoundResult::default(); self.paths.len()];
        // Those of paths that are at their end count too: they are kept until the last path is.
        let ended = self.paths.iter().filter(|path| path.result.is_some());
        let mut reached: usize = ended.map(|path| path.reached.len()).sum();
        for number in &self.asked {
            let round = found.get_mut(*number).ok_or(DecodeError)?;
            round.was_asked = true;
            let status = walker.status()?;
            round.refused = status.is_bad().then_some(status);
            walker.skip_array(|walker| {
                let target = walker.expanded_node_id()?;
                // Another index than the highest: the path goes on in another server.
                let is_whole = walker.u32()? == u32::MAX;
                if !status.is_bad() && is_whole && target.is_local && lens.sees(&target.node) {
                    reached += 1;
                    if reached > self.room {
                        round.has_too_many = true;
                    } else {
                        round.reached.push(target.node);
                    }
                }
                Ok(())
            })?;
        }
        let diagnostics = walker.skip_array(Walker::skip_diagnostic_info)?;
        if diagnostics != 0 && diagnostics != self.asked.len() {
            return Err(DecodeError);
        }
        walker.end()?;
        for (path, round) in self.paths.iter_mut().zip(found) {
            path.go_on(round);
        }
        Ok(match self.next_round() {
            Some(body) => MediatedReply::FollowUp(UpstreamRequest {
                service: ServiceKind::TranslateBrowsePathsToNodeIds,
                body,
            }),
            None => MediatedReply::Pass(self.answer().into()),
        })
    }

    fn answer(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.put_count(self.paths.len());
        for path in &self.paths {
            out.put_status(path.result.unwrap_or(StatusCode::BadNoMatch));
            out.put_count(path.reached.len());
            for node in &path.reached {
                out.put_node_id(node);
                out.put_u32(u32::MAX);
            }
        }
        out.put_null();
        out
    }
}

/// What a round found for one path.
#[derive(Clone, Debug, Default)]
struct RoundResult {
    was_asked: bool,
    has_too_many: bool,
    refused: Option<StatusCode>,
    reached: Vec<NodeId>,
}

/// Passes a `RelativePathElement`.
fn skip_element(walker: &mut Walker<'_>) -> WalkResult<()> {
    walker.skip_node_id()?;
    // Whether inverse, whether with subtypes.
    walker.take(2)?;
    walker.skip_qualified_name()
}

impl TranslatedPath {
    fn new(start: NodeId, ahead: usize, elements: &[u8]) -> Self {
        TranslatedPath {
            elements: elements.to_vec(),
            at: 0,
            ahead,
            reached: vec![start],
            result: None,
            is_under_way: false,
        }
    }

    /// Nothing of it is kept but why.
    fn refused(status: StatusCode) -> Self {
        TranslatedPath {
            elements: Vec::new(),
            at: 0,
            ahead: 0,
            reached: Vec::new(),
            result: Some(status),
            is_under_way: false,
        }
    }

    fn weight(&self) -> usize {
        1 + self.ahead + self.reached.len()
    }

    /// The bytes of the element that is followed next.
    fn next_element(&mut self) -> Option<Vec<u8>> {
        let mut walker = Walker::new(self.elements.get(self.at..)?);
        skip_element(&mut walker).ok()?;
        self.at += walker.at();
        self.ahead = self.ahead.saturating_sub(1);
        Some(walker.since(0).to_vec())
    }

    fn end(&mut self, status: StatusCode) {
        *self = TranslatedPath::refused(status);
    }

    fn go_on(&mut self, round: RoundResult) {
        if !round.was_asked {
            return;
        }
        let is_first = !core::mem::replace(&mut self.is_under_way, true);
        if round.has_too_many {
            self.end(StatusCode::BadTooManyMatches);
            return;
        }
        let mut seen = std::collections::HashSet::new();
        self.reached = round.reached.into_iter().filter(|node| seen.insert(node.clone())).collect();
        if self.reached.is_empty() {
            // What the server says about the first element speaks of the node that the client named. Later ones it must not tell apart.
            let status = round.refused.filter(|_| is_first).unwrap_or(StatusCode::BadNoMatch);
            self.end(status);
        } else if self.ahead == 0 {
            self.elements = Vec::new();
            self.result = Some(StatusCode::Good);
        }
    }
}
