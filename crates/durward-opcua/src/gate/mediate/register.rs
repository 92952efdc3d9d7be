//! RegisterNodes and UnregisterNodes (Part 4, 5.9.5 and 5.9.6): a server may give other ids to registered nodes; rights stay those of the node.

use opcua_types::{NodeId, StatusCode};

use super::access::Aliases;
use super::pending::{RequestPlan, ResponseRepair};
use super::put::PutEncoded;
use super::splice::{EntryFilter, count_within};
use super::walk::{DecodeError, WalkResult, Walker};
use super::{Mediator, PlannedRequest};
use crate::permission::{Permission, SessionRights};

impl Mediator {
    /// Nodes that may not be browsed are not registered: the client gets their own ids back, as from a server that has no need of aliases.
    pub(super) fn register<'a>(&self, rights: &dyn SessionRights, body: &'a [u8]) -> PlannedRequest<'a> {
        let lens = self.lens(rights);
        let mut walker = Walker::new(body);
        let count = count_within(&mut walker, self.room())?;
        if count == 0 {
            return Err(StatusCode::BadNothingToDo);
        }
        if count + self.aliases.len() > self.limits.aliases {
            return Err(StatusCode::BadTooManyOperations);
        }
        let mut sieve = EntryFilter::default();
        let mut nodes = Vec::with_capacity(count);
        for _ in 0..count {
            let node = walker.node_id()?;
            sieve.note(lens.rule(Permission::Browse, &node));
            nodes.push(lens.real(&node).clone());
        }
        walker.end()?;
        if sieve.refuses_all() {
            return Ok(RequestPlan::Answer(body.to_vec()));
        }
        let mut out = Vec::with_capacity(body.len());
        out.put_count(sieve.forwarded());
        let mut refused = sieve.refused.iter().peekable();
        for (number, node) in (0u32..).zip(&nodes) {
            if refused.next_if(|(refused, _)| *refused == number).is_none() {
                out.put_node_id(node);
            }
        }
        Ok(RequestPlan::Forward(out.into(), ResponseRepair::Register { sieve, nodes }))
    }

    /// Only the session's own aliases reach the server; other ids are passed over, as by a server that does not know them.
    pub(super) fn unregister<'a>(&mut self, body: &'a [u8]) -> PlannedRequest<'a> {
        let mut walker = Walker::new(body);
        let count = count_within(&mut walker, self.room())?;
        if count == 0 {
            return Err(StatusCode::BadNothingToDo);
        }
        let named = (0..count).map(|_| walker.node_id()).collect::<WalkResult<Vec<_>>>()?;
        walker.end()?;
        let own: Vec<NodeId> = named.into_iter().filter(|node| self.aliases.remove(node).is_some()).collect();
        if own.is_empty() {
            return Ok(RequestPlan::Answer(Vec::new()));
        }
        let mut out = Vec::new();
        out.put_count(own.len());
        own.iter().for_each(|alias| out.put_node_id(alias));
        Ok(RequestPlan::Forward(out.into(), ResponseRepair::Nothing))
    }
}

/// The ids that the client gets; keeps the aliases among them.
pub(super) fn mend(
    sieve: &EntryFilter,
    nodes: &[NodeId],
    aliases: &mut Aliases,
    aliases_max: usize,
    body: &[u8],
) -> WalkResult<Vec<u8>> {
    let mut walker = Walker::new(body);
    if walker.count()? != sieve.forwarded() {
        return Err(DecodeError);
    }
    let given = (0..sieve.forwarded()).map(|_| walker.node_id()).collect::<WalkResult<Vec<_>>>()?;
    walker.end()?;
    let mut given = given.into_iter();
    let mut out = Vec::with_capacity(body.len());
    out.put_count(nodes.len());
    let mut refused = sieve.refused.iter().peekable();
    for (number, node) in (0u32..).zip(nodes) {
        if refused.next_if(|(refused, _)| *refused == number).is_some() {
            out.put_node_id(node);
            continue;
        }
        let alias = given.next().ok_or(DecodeError)?;
        let is_other = *aliases.get(&alias).unwrap_or(node) != *node;
        if is_other {
            // One alias for two nodes: whose rights would it have?
            return Err(DecodeError);
        }
        if alias == *node || (aliases.len() >= aliases_max && !aliases.contains_key(&alias)) {
            out.put_node_id(node);
            continue;
        }
        out.put_node_id(&alias);
        aliases.insert(alias, node.clone());
    }
    Ok(out)
}
