//! Read and Write (Part 4, 5.11.2 and 5.11.4).

use opcua_types::NodeId;

use super::access::{ResolvedRights, to_read, to_write};
use super::pending::ResponseRepair;
use super::splice::{FilteredRequest, ResultShape, SplicedResults};
use super::walk::{WalkResult, Walker};
use super::{Mediator, PlannedRequest};
use crate::permission::SessionRights;

/// The node and attribute of a `ReadValueId`, that is passed.
pub(super) fn read_value_id(walker: &mut Walker<'_>) -> WalkResult<(NodeId, u32)> {
    let node = walker.node_id()?;
    let attribute = walker.u32()?;
    // Index range, data encoding.
    walker.text()?;
    walker.skip_qualified_name()?;
    Ok((node, attribute))
}

impl Mediator {
    /// The hot path: see `splice` for what is touched.
    pub(super) fn read<'a>(&self, rights: &dyn SessionRights, body: &'a [u8]) -> PlannedRequest<'a> {
        let lens = self.lens(rights);
        let mut reads = Vec::new();
        let mut edits = Vec::new();
        let mut walker = Walker::new(body);
        // Maximum age, timestamps to return.
        walker.take(8 + 4)?;
        let sifted = FilteredRequest::new(body, &mut walker, self.room(), |entry, walker| {
            let (node, attribute) = read_value_id(walker)?;
            let ruled =
                to_read(attribute).and_then(|permission| lens.rule(permission, &node).map(|()| permission));
            Ok(ruled.map(|permission| {
                if let Some(effective) = lens.effective(attribute, &node) {
                    edits.push((entry, effective));
                }
                reads.push((permission, lens.aliases.get(&node).cloned().unwrap_or(node)));
            }))
        })?;
        walker.end()?;
        Ok(sifted.plan(ResultShape::DataValue, |sieve| {
            ResponseRepair::Results(SplicedResults { shape: ResultShape::DataValue, sieve, reads, edits })
        }))
    }

    pub(super) fn write<'a>(&self, rights: &dyn SessionRights, body: &'a [u8]) -> PlannedRequest<'a> {
        let lens = self.lens(rights);
        self.sift_list(body, ResultShape::Status, |walker| {
            let node = walker.node_id()?;
            let attribute = walker.u32()?;
            walker.text()?;
            // A structure in it is counted: the request is cut behind it.
            walker.skip_data_value()?;
            Ok(to_write(attribute).and_then(|permission| lens.rule(permission, &node)))
        })
    }

    /// A request that is a list of entries and nothing else.
    pub(super) fn sift_list<'a>(
        &self,
        body: &'a [u8],
        shape: ResultShape,
        mut entry: impl FnMut(&mut Walker<'a>) -> WalkResult<Result<(), opcua_types::StatusCode>>,
    ) -> PlannedRequest<'a> {
        let mut walker = Walker::of_request(body);
        let sifted = FilteredRequest::new(body, &mut walker, self.room(), |_, walker| entry(walker))?;
        walker.end()?;
        Ok(sifted.plan(shape, |sieve| SplicedResults::plain(shape, sieve)))
    }

    /// The session's rights, with its aliases.
    pub(super) fn lens<'a>(&'a self, rights: &'a dyn SessionRights) -> ResolvedRights<'a> {
        ResolvedRights { rights, aliases: &self.aliases }
    }
}
