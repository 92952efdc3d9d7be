//! The rights of one session: by its token, or as anonymous.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opcua_types::{Identifier, NodeId};

use super::settings::AnonymousRights;
use crate::permission::{Permission, PermissionRuling, SessionRights};
use crate::token::{NodeTable, NodeTableError, TableRows, TokenRights};

/// Rights that stand in the settings, under a NamespaceArray.
pub(super) struct FixedRights {
    everywhere: u32,
    rows: TableRows,
    /// By row.
    on_nodes: Vec<u32>,
}

impl FixedRights {
    pub(super) fn new<S: AsRef<str>>(
        settings: Option<&AnonymousRights>,
        namespaces: &[S],
    ) -> Result<FixedRights, NodeTableError> {
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
        let rows = TableRows::new(Arc::new(table), namespaces);
        Ok(FixedRights { everywhere: bits_of(&settings.everywhere), rows, on_nodes })
    }
}

fn bits_of(permissions: &[Permission]) -> u32 {
    permissions.iter().fold(0, |bits, permission| bits | permission.bit())
}

impl SessionRights for FixedRights {
    fn rule(&self, permission: Permission, node: &NodeId) -> PermissionRuling {
        let on_node = self.rows.find(node).and_then(|row| self.on_nodes.get(row as usize));
        let bits = self.everywhere | on_node.copied().unwrap_or(0);
        if bits & permission.bit() != 0 { PermissionRuling::Granted } else { PermissionRuling::DENIED }
    }
}

/// Whether a node is one that clients look at right after they have connected, and to learn whether the server lives (Part 5, 6.3): a client that may
/// not read the NamespaceArray or the server's state connects again for ever. They say nothing of the plant.
fn is_server_state(node: &NodeId) -> bool {
    let Identifier::Numeric(number) = node.identifier else { return false };
    node.namespace == 0
        && matches!(
            number,
            // Root, Objects; Server, ServerArray, NamespaceArray, ServerStatus with all below it, ServiceLevel.
            84 | 85 | 2253..=2267 | 2992 | 2993
            // ServerCapabilities and what it says of limits; OperationLimits with all below it; redundancy.
            | 2268 | 2269 | 2271 | 2272 | 2735..=2737 | 11702..=11705 | 11707 | 11709..=11714
            | 12165..=12168 | 12911 | 24095..=24100 | 24104 | 31916 | 2296 | 3709
        )
}

/// What the machine has said about a session's deliveries and its user.
#[derive(Debug, Default)]
pub(super) struct DeliveryFlags {
    /// Nothing is delivered.
    pub(super) stopped: AtomicBool,
    /// The token has ended, and the session goes on as an anonymous one.
    pub(super) demoted: AtomicBool,
    /// The machine has ended the session.
    pub(super) ended: AtomicBool,
}

/// Where rights come from.
pub(super) enum RightsSource {
    Token(TokenRights),
    Anonymous,
}

/// The rights of a user of a session.
pub(super) struct CurrentUserRights<'a> {
    pub(super) flags: &'a DeliveryFlags,
    pub(super) source: &'a RightsSource,
    /// `None` before there is a session upstream.
    pub(super) anonymous: Option<&'a FixedRights>,
    /// Whether everybody may browse and read the state of the server.
    pub(super) shows_server_state: bool,
    /// Asked for a delivery: nothing where deliveries are stopped.
    pub(super) is_delivery: bool,
}

impl SessionRights for CurrentUserRights<'_> {
    fn rule(&self, permission: Permission, node: &NodeId) -> PermissionRuling {
        if self.is_delivery && self.flags.stopped.load(Ordering::Acquire) {
            return PermissionRuling::DENIED;
        }
        let looks = matches!(permission, Permission::Browse | Permission::Read);
        if looks && self.shows_server_state && is_server_state(node) {
            return PermissionRuling::Granted;
        }
        match self.source {
            RightsSource::Token(rights) if !self.flags.demoted.load(Ordering::Acquire) => {
                rights.rule(permission, node)
            }
            RightsSource::Token(_) | RightsSource::Anonymous => {
                self.anonymous.map_or(PermissionRuling::DENIED, |anonymous| anonymous.rule(permission, node))
            }
        }
    }
}
