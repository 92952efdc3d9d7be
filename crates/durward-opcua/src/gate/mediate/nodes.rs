//! Node management (Part 4, 5.8).

use opcua_types::{NodeId, StatusCode};

use super::access::Lens;
use super::splice::Shape;
use super::walk::{Expanded, Walker};
use super::{Mediator, Planned};
use crate::permission::{Permission, Rights};

impl Mediator {
    /// The parent gets a reference; a node is added under it and, where the client chooses the id, there.
    pub(super) fn add_nodes<'a>(&self, rights: &dyn Rights, body: &'a [u8]) -> Planned<'a> {
        let lens = self.lens(rights);
        self.sift_list(body, Shape::AddNodes, |walker| {
            let parent = walker.expanded_node_id()?;
            walker.skip_node_id()?;
            let requested = walker.expanded_node_id()?;
            walker.skip_qualified_name()?;
            walker.i32()?;
            walker.skip_extension()?;
            walker.skip_expanded_node_id()?;
            Ok(rule_local(lens, &[Permission::AddReference, Permission::AddNode], &parent).and_then(|()| {
                if requested.node.is_null() {
                    Ok(())
                } else {
                    rule_local(lens, &[Permission::AddNode], &requested)
                }
            }))
        })
    }

    /// An inverse reference is the target's own.
    pub(super) fn add_references<'a>(&self, rights: &dyn Rights, body: &'a [u8]) -> Planned<'a> {
        let lens = self.lens(rights);
        self.sift_list(body, Shape::Status, |walker| {
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

    pub(super) fn delete_nodes<'a>(&self, rights: &dyn Rights, body: &'a [u8]) -> Planned<'a> {
        let lens = self.lens(rights);
        self.sift_list(body, Shape::Status, |walker: &mut Walker<'a>| {
            let node = walker.node_id()?;
            walker.boolean()?;
            Ok(lens.rule(Permission::DeleteNode, &node))
        })
    }

    /// Where both directions are deleted, the target loses one too; so it does where the reference is inverse.
    pub(super) fn delete_references<'a>(&self, rights: &dyn Rights, body: &'a [u8]) -> Planned<'a> {
        let lens = self.lens(rights);
        self.sift_list(body, Shape::Status, |walker| {
            let source = walker.node_id()?;
            walker.skip_node_id()?;
            let is_forward = walker.boolean()?;
            let target = walker.expanded_node_id()?;
            let is_both = walker.boolean()?;
            Ok(rule_reference(lens, Permission::RemoveReference, &source, &target, is_both || !is_forward))
        })
    }
}

/// The permissions on a node that has to be of this server, and named by namespace index: rights speak of no other.
fn rule_local(lens: Lens<'_>, permissions: &[Permission], node: &Expanded) -> Result<(), StatusCode> {
    if !node.is_local {
        return Err(StatusCode::BadNodeIdUnknown);
    }
    permissions.iter().try_for_each(|permission| lens.rule(*permission, &node.node))
}

fn rule_reference(
    lens: Lens<'_>,
    permission: Permission,
    source: &NodeId,
    target: &Expanded,
    changes_target: bool,
) -> Result<(), StatusCode> {
    lens.rule(permission, source)?;
    let permissions: &[Permission] =
        if changes_target { &[Permission::Browse, permission] } else { &[Permission::Browse] };
    rule_local(lens, permissions, target)
}
