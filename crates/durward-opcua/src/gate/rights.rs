//! What one session may do: by its token, or as nobody in particular.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opcua_types::NodeId;

use super::settings::AnonymousRights;
use crate::permission::{Permission, Rights, Ruling};
use crate::token::{NodeTable, Rows, TableError, TokenRights};

/// Rights that stand in the settings, under a NamespaceArray.
pub(super) struct FixedRights {
    everywhere: u32,
    rows: Rows,
    /// By row.
    on_nodes: Vec<u32>,
}

impl FixedRights {
    pub(super) fn new<S: AsRef<str>>(
        settings: Option<&AnonymousRights>,
        namespaces: &[S],
    ) -> Result<FixedRights, TableError> {
        let nothing = AnonymousRights::default();
        let settings = settings.unwrap_or(&nothing);
        let table = NodeTable::new(settings.nodes.iter().map(|(node, _)| node.clone()))?;
        let mut on_nodes = vec![0; table.len()];
        for (node, permissions) in &settings.nodes {
            let row = table.row(node.namespace(), node.identifier());
            if let Some(bits) = row.and_then(|row| on_nodes.get_mut(row as usize)) {
                *bits |= bits_of(permissions);
            }
        }
        let rows = Rows::new(Arc::new(table), namespaces);
        Ok(FixedRights { everywhere: bits_of(&settings.everywhere), rows, on_nodes })
    }
}

fn bits_of(permissions: &[Permission]) -> u32 {
    permissions.iter().fold(0, |bits, permission| bits | permission.bit())
}

impl Rights for FixedRights {
    fn rule(&self, permission: Permission, node: &NodeId) -> Ruling {
        let on_node = self.rows.find(node).and_then(|row| self.on_nodes.get(row as usize));
        let bits = self.everywhere | on_node.copied().unwrap_or(0);
        if bits & permission.bit() != 0 { Ruling::Granted } else { Ruling::DENIED }
    }
}

/// What the machine has said about a session's deliveries and its user.
#[derive(Debug, Default)]
pub(super) struct Flags {
    /// Nothing is delivered.
    pub(super) stopped: AtomicBool,
    /// The token has ended, and the session goes on as an anonymous one.
    pub(super) demoted: AtomicBool,
    /// The machine has ended the session.
    pub(super) ended: AtomicBool,
}

/// Where rights come from.
pub(super) enum Source {
    Token(TokenRights),
    Anonymous,
}

/// The rights of a user of a session.
pub(super) struct UserRightsNow<'a> {
    pub(super) flags: &'a Flags,
    pub(super) source: &'a Source,
    /// `None` before there is a session upstream.
    pub(super) anonymous: Option<&'a FixedRights>,
    /// Asked for a delivery: nothing where deliveries are stopped.
    pub(super) is_delivery: bool,
}

impl Rights for UserRightsNow<'_> {
    fn rule(&self, permission: Permission, node: &NodeId) -> Ruling {
        if self.is_delivery && self.flags.stopped.load(Ordering::Acquire) {
            return Ruling::DENIED;
        }
        match self.source {
            Source::Token(rights) if !self.flags.demoted.load(Ordering::Acquire) => {
                rights.rule(permission, node)
            }
            Source::Token(_) | Source::Anonymous => {
                self.anonymous.map_or(Ruling::DENIED, |anonymous| anonymous.rule(permission, node))
            }
        }
    }
}
