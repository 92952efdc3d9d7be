//! What may be done to a node: permissions as in Part 3, 8.55, and the trait by which mediation asks for them.

use opcua_types::{NodeId, StatusCode};

/// One thing that may be done to a node. The number is the bit in `PermissionType` (Part 3, 8.55).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Permission {
    /// See the node when browsing, and its attributes other than the value.
    Browse = 0,
    /// Read the attribute `RolePermissions`.
    ReadRolePermissions = 1,
    /// Write attributes other than the value, `Historizing` and `RolePermissions`.
    WriteAttribute = 2,
    /// Write the attribute `RolePermissions`.
    WriteRolePermissions = 3,
    /// Write the attribute `Historizing`.
    WriteHistorizing = 4,
    /// Read the value.
    Read = 5,
    /// Write the value.
    Write = 6,
    /// Read the history of values or events.
    ReadHistory = 7,
    /// Insert history.
    InsertHistory = 8,
    /// Modify history.
    ModifyHistory = 9,
    /// Delete history.
    DeleteHistory = 10,
    /// Receive the node's events.
    ReceiveEvents = 11,
    /// Call the method, or methods of the object.
    Call = 12,
    /// Add references from the node.
    AddReference = 13,
    /// Remove references from the node.
    RemoveReference = 14,
    /// Delete the node.
    DeleteNode = 15,
    /// Add nodes to the namespace.
    AddNode = 16,
}

impl Permission {
    /// Every permission, in the order of their bits.
    pub const ALL: [Permission; 17] = [
        Permission::Browse,
        Permission::ReadRolePermissions,
        Permission::WriteAttribute,
        Permission::WriteRolePermissions,
        Permission::WriteHistorizing,
        Permission::Read,
        Permission::Write,
        Permission::ReadHistory,
        Permission::InsertHistory,
        Permission::ModifyHistory,
        Permission::DeleteHistory,
        Permission::ReceiveEvents,
        Permission::Call,
        Permission::AddReference,
        Permission::RemoveReference,
        Permission::DeleteNode,
        Permission::AddNode,
    ];

    /// The bit of this permission in `PermissionType`.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// What was said about one permission on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionRuling {
    /// It may be done now.
    Granted,
    /// It may not be done; the status code says why (`BadUserAccessDenied` unless something else is true).
    Refused(StatusCode),
}

impl PermissionRuling {
    /// The usual refusal.
    pub const DENIED: PermissionRuling = PermissionRuling::Refused(StatusCode::BadUserAccessDenied);

    /// Whether it may be done.
    pub fn is_granted(self) -> bool {
        match self {
            PermissionRuling::Granted => true,
            PermissionRuling::Refused(_) => false,
        }
    }
}

/// May this session do this to that node, at this moment? One value belongs to one session; what it says can change from one question
/// to the next, when the token is renewed, recalled or ends.
///
/// The gate asks it for every node of every service. A server written in Rust can ask it as well.
pub trait SessionRights {
    /// Rules on one permission on one node. Node ids are those of the server that has the node.
    fn rule(&self, permission: Permission, node: &NodeId) -> PermissionRuling;
}
