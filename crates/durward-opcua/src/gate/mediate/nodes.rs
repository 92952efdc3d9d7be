//! Node management (Part 4, 5.8).

use opcua_types::{NodeId, ObjectId, StatusCode};

use super::access::ResolvedRights;
use super::splice::ResultShape;
use super::walk::{ExpandedNodeIdView, ExtensionObjectView, WalkResult, Walker};
use super::{Mediator, PlannedRequest};
use crate::permission::{Permission, SessionRights};

impl Mediator {
    /// The parent gets a reference; a node is added under it and, where the client chooses the id, there.
    pub(super) fn add_nodes<'a>(&self, rights: &dyn SessionRights, body: &'a [u8]) -> PlannedRequest<'a> {
        let lens = self.lens(rights);
        self.sift_list(body, ResultShape::AddNodes, |walker| {
            let parent = walker.expanded_node_id()?;
            walker.skip_node_id()?;
            let requested = walker.expanded_node_id()?;
            walker.skip_qualified_name()?;
            walker.i32()?;
            skip_attributes(walker)?;
            walker.skip_expanded_node_id()?;
            Ok(rule_local(lens, &[Permission::AddReference, Permission::AddNode], &parent).and_then(|()| {
                // With the URI of a namespace, or of another server, it may be the id of a node there.
                if requested.is_local && requested.node.is_null() {
                    Ok(())
                } else {
                    rule_local(lens, &[Permission::AddNode], &requested)
                }
            }))
        })
    }

    /// An inverse reference is the target's own.
    pub(super) fn add_references<'a>(
        &self,
        rights: &dyn SessionRights,
        body: &'a [u8],
    ) -> PlannedRequest<'a> {
        let lens = self.lens(rights);
        self.sift_list(body, ResultShape::Status, |walker| {
            let source = walker.node_id()?;
            walker.skip_node_id()?;
            let is_forward = walker.boolean()?;
            let is_local = walker.text()?.is_none_or(<[u8]>::is_empty);
            let mut target = walker.expanded_node_id()?;
            target.is_local &= is_local;
            walker.i32()?;
            Ok(rule_reference(lens, Permission::AddReference, &source, &target, !is_forward))
        })
    }

    pub(super) fn delete_nodes<'a>(&self, rights: &dyn SessionRights, body: &'a [u8]) -> PlannedRequest<'a> {
        let lens = self.lens(rights);
        self.sift_list(body, ResultShape::Status, |walker: &mut Walker<'a>| {
            let node = walker.node_id()?;
            walker.boolean()?;
            Ok(lens.rule(Permission::DeleteNode, &node))
        })
    }

    /// Where both directions are deleted, the target loses one too; so it does where the reference is inverse.
    pub(super) fn delete_references<'a>(
        &self,
        rights: &dyn SessionRights,
        body: &'a [u8],
    ) -> PlannedRequest<'a> {
        let lens = self.lens(rights);
        self.sift_list(body, ResultShape::Status, |walker| {
            let source = walker.node_id()?;
            walker.skip_node_id()?;
            let is_forward = walker.boolean()?;
            let target = walker.expanded_node_id()?;
            let is_both = walker.boolean()?;
            Ok(rule_reference(lens, Permission::RemoveReference, &source, &target, is_both || !is_forward))
        })
    }
}

/// Passes the attributes of a node to add. Those of the standard are walked by their type; others, and lengths that lie, are structures as in values.
fn skip_attributes(walker: &mut Walker<'_>) -> WalkResult<()> {
    let mut ahead = walker.clone();
    let attributes = ahead.extension()?;
    match walk_attributes(&attributes) {
        Some(Ok(inner)) => {
            *walker = ahead;
            walker.add_structures(&inner);
            Ok(())
        }
        Some(Err(_)) | None => walker.skip_extension(),
    }
}

/// Node attributes (Part 4, 7.24). `None` where the type is another one.
fn walk_attributes<'a>(attributes: &ExtensionObjectView<'a>) -> Option<WalkResult<Walker<'a>>> {
    use ObjectId as O;
    let fixed =
        |width| Some(attributes.by_type(|walker| walk_common(walker, |walker| walker.take(width).map(drop))));
    let is = |encoding| attributes.is(encoding);
    if is(O::VariableAttributes_Encoding_DefaultBinary) {
        // Access levels, sampling interval, historizing.
        Some(attributes.by_type(|walker| walk_common(walker, |walker| walk_value(walker, 1 + 1 + 8 + 1))))
    } else if is(O::VariableTypeAttributes_Encoding_DefaultBinary) {
        Some(attributes.by_type(|walker| walk_common(walker, |walker| walk_value(walker, 1))))
    } else if is(O::ObjectAttributes_Encoding_DefaultBinary)
        || is(O::ObjectTypeAttributes_Encoding_DefaultBinary)
        || is(O::DataTypeAttributes_Encoding_DefaultBinary)
    {
        fixed(1)
    } else if is(O::MethodAttributes_Encoding_DefaultBinary) || is(O::ViewAttributes_Encoding_DefaultBinary) {
        fixed(2)
    } else {
        None
    }
}

/// Which attributes, display name, description, write masks; then `rest`.
fn walk_common<'a>(
    walker: &mut Walker<'a>,
    rest: impl FnOnce(&mut Walker<'a>) -> WalkResult<()>,
) -> WalkResult<()> {
    walker.u32()?;
    walker.skip_localized_text()?;
    walker.skip_localized_text()?;
    walker.take(4 + 4)?;
    rest(walker)
}

/// Value, data type, rank, dimensions; then that many bytes.
fn walk_value(walker: &mut Walker<'_>, rest: usize) -> WalkResult<()> {
    walker.skip_variant()?;
    walker.skip_node_id()?;
    walker.i32()?;
    walker.skip_array(|walker| walker.u32().map(drop))?;
    walker.take(rest).map(drop)
}

/// The permissions on a node that has to be of this server, and named by namespace index: rights speak of no other.
fn rule_local(
    lens: ResolvedRights<'_>,
    permissions: &[Permission],
    node: &ExpandedNodeIdView,
) -> Result<(), StatusCode> {
    if !node.is_local {
        return Err(StatusCode::BadNodeIdUnknown);
    }
    permissions.iter().try_for_each(|permission| lens.rule(*permission, &node.node))
}

fn rule_reference(
    lens: ResolvedRights<'_>,
    permission: Permission,
    source: &NodeId,
    target: &ExpandedNodeIdView,
    changes_target: bool,
) -> Result<(), StatusCode> {
    lens.rule(permission, source)?;
    let permissions: &[Permission] =
        if changes_target { &[Permission::Browse, permission] } else { &[Permission::Browse] };
    rule_local(lens, permissions, target)
}
