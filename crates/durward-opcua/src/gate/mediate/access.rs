//! Which permission an attribute requires, what is always hidden, and the attributes that tell a user's rights.

use std::collections::HashMap;

use opcua_types::{Identifier, NodeId, ObjectId, StatusCode};

use super::put::PutEncoded;
use super::walk::{DecodeError, WalkResult, Walker};
use crate::permission::{Permission, PermissionRuling, SessionRights};

/// Attribute ids (Part 6, Annex A.1) that are treated apart.
pub(super) mod attribute {
    pub(in super::super) const USER_WRITE_MASK: u32 = 7;
    pub(in super::super) const EVENT_NOTIFIER: u32 = 12;
    pub(in super::super) const VALUE: u32 = 13;
    pub(in super::super) const USER_ACCESS_LEVEL: u32 = 18;
    pub(in super::super) const HISTORIZING: u32 = 20;
    pub(in super::super) const USER_EXECUTABLE: u32 = 22;
    pub(in super::super) const ROLE_PERMISSIONS: u32 = 24;
    pub(in super::super) const USER_ROLE_PERMISSIONS: u32 = 25;
    /// The last attribute of the standard, `AccessLevelEx`. One beyond it is unknown, and so refused.
    pub(in super::super) const LAST: u32 = 27;
}

/// What reading an attribute asks for.
pub(super) fn to_read(attribute: u32) -> Result<Permission, StatusCode> {
    match attribute {
        attribute::VALUE => Ok(Permission::Read),
        attribute::ROLE_PERMISSIONS => Ok(Permission::ReadRolePermissions),
        1..=attribute::LAST => Ok(Permission::Browse),
        _ => Err(StatusCode::BadAttributeIdInvalid),
    }
}

/// What writing an attribute asks for.
pub(super) fn to_write(attribute: u32) -> Result<Permission, StatusCode> {
    match attribute {
        attribute::VALUE => Ok(Permission::Write),
        attribute::HISTORIZING => Ok(Permission::WriteHistorizing),
        attribute::ROLE_PERMISSIONS => Ok(Permission::WriteRolePermissions),
        1..=attribute::LAST => Ok(Permission::WriteAttribute),
        _ => Err(StatusCode::BadAttributeIdInvalid),
    }
}

/// What monitoring an attribute asks for.
pub(super) fn to_monitor(attribute: u32) -> Result<Permission, StatusCode> {
    match attribute {
        attribute::EVENT_NOTIFIER => Ok(Permission::ReceiveEvents),
        other => to_read(other),
    }
}

/// Sessions' diagnostics tell of other clients: their names, addresses, users, certificates and subscriptions (Part 5, 6.3.3 to 6.3.6).
/// A gate's sessions are the gate's own anyway, so nobody sees these nodes through it.
fn tells_of_sessions(node: &NodeId) -> bool {
    // Summary of sessions, its two arrays; sampling intervals; subscriptions: of the server object.
    node.namespace == 0 && matches!(node.identifier, Identifier::Numeric(3706..=3708 | 2289 | 2290))
}

/// Nodes of these types hold the same, wherever they are: one object for each session.
pub(super) fn is_type_of_session_diagnostics(node: &NodeId) -> bool {
    node.namespace == 0
        && matches!(
            node.identifier,
            Identifier::Numeric(2026 | 2029 | 2164 | 2165 | 2171 | 2172 | 2196 | 2197 | 2243 | 2244)
        )
}

/// Nodes by the aliases under which the server registered them (Part 4, 5.9.5).
pub(super) type Aliases = HashMap<NodeId, NodeId>;

/// A session's rights, asked with its aliases resolved.
#[derive(Clone, Copy)]
pub(super) struct ResolvedRights<'a> {
    pub(super) rights: &'a dyn SessionRights,
    pub(super) aliases: &'a Aliases,
}

impl ResolvedRights<'_> {
    /// The node that is meant, where the id is an alias.
    pub(super) fn real<'n>(&'n self, node: &'n NodeId) -> &'n NodeId {
        self.aliases.get(node).unwrap_or(node)
    }

    /// Rules on one permission. What may not be browsed is not there: such a refusal says that no such node is known.
    pub(super) fn rule(&self, permission: Permission, node: &NodeId) -> Result<(), StatusCode> {
        let node = self.real(node);
        if tells_of_sessions(node) {
            return Err(StatusCode::BadNodeIdUnknown);
        }
        match self.rights.rule(permission, node) {
            PermissionRuling::Granted => Ok(()),
            PermissionRuling::Refused(status) if !status.is_bad() => Err(StatusCode::BadUserAccessDenied),
            PermissionRuling::Refused(StatusCode::BadUserAccessDenied) if !self.sees(node) => {
                Err(StatusCode::BadNodeIdUnknown)
            }
            PermissionRuling::Refused(status) => Err(status),
        }
    }

    /// Whether the node is there for this session.
    pub(super) fn sees(&self, node: &NodeId) -> bool {
        self.has(Permission::Browse, node)
    }

    /// Whether one permission is granted.
    pub(super) fn has(&self, permission: Permission, node: &NodeId) -> bool {
        let node = self.real(node);
        !tells_of_sessions(node) && self.rights.rule(permission, node).is_granted()
    }

    /// How the value of an attribute that tells rights is to be edited; `None` where it passes as it is.
    pub(super) fn effective(&self, attribute: u32, node: &NodeId) -> Option<EffectiveAttribute> {
        let has = |permission| self.has(permission, node);
        let effective = match attribute {
            attribute::USER_WRITE_MASK => EffectiveAttribute::WriteMask(self.write_mask(node)),
            attribute::USER_ACCESS_LEVEL => EffectiveAttribute::AccessLevel(self.access_level(node)),
            attribute::USER_EXECUTABLE => EffectiveAttribute::Executable(has(Permission::Call)),
            attribute::USER_ROLE_PERMISSIONS => {
                let granted = Permission::ALL.into_iter().filter(|permission| has(*permission));
                EffectiveAttribute::RolePermissions(
                    granted.fold(0, |mask, permission| mask | permission.bit()),
                )
            }
            _ => return None,
        };
        (!effective.changes_nothing()).then_some(effective)
    }

    /// Bits of `AccessLevelType` (Part 3, 8.57).
    fn access_level(&self, node: &NodeId) -> u8 {
        let has = |permission| self.has(permission, node);
        let rules: [(bool, u8); 4] = [
            (has(Permission::Read), 0b0000_0001),
            // With the value go its status and its source time.
            (has(Permission::Write), 0b0110_0010),
            (has(Permission::ReadHistory), 0b0000_0100),
            (
                has(Permission::InsertHistory)
                    || has(Permission::ModifyHistory)
                    || has(Permission::DeleteHistory),
                0b0000_1000,
            ),
        ];
        // Semantic changes (bit 4) and the reserved bit say nothing about rights.
        rules.into_iter().filter(|(granted, _)| *granted).fold(0b1001_0000, |mask, (_, bits)| mask | bits)
    }

    /// Bits of `AttributeWriteMask` (Part 3, 8.60).
    fn write_mask(&self, node: &NodeId) -> u32 {
        const HISTORIZING: u32 = 1 << 9;
        const ROLE_PERMISSIONS: u32 = 1 << 23;
        /// The value of a variable type.
        const VALUE: u32 = 1 << 21;
        let rules = [
            (Permission::WriteAttribute, !(HISTORIZING | ROLE_PERMISSIONS | VALUE)),
            (Permission::Write, VALUE),
            (Permission::WriteHistorizing, HISTORIZING),
            (Permission::WriteRolePermissions, ROLE_PERMISSIONS),
        ];
        rules
            .into_iter()
            .filter(|(permission, _)| self.has(*permission, node))
            .fold(0, |mask, (_, bits)| mask | bits)
    }
}

/// What is left of an attribute that tells a user's rights: the server's value AND what is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EffectiveAttribute {
    AccessLevel(u8),
    Executable(bool),
    WriteMask(u32),
    RolePermissions(u32),
}

impl EffectiveAttribute {
    fn changes_nothing(self) -> bool {
        match self {
            EffectiveAttribute::AccessLevel(mask) => mask == u8::MAX,
            EffectiveAttribute::Executable(is_executable) => is_executable,
            EffectiveAttribute::WriteMask(mask) => mask == u32::MAX,
            // Unknown bits of the server are taken out even where all permissions are granted.
            EffectiveAttribute::RolePermissions(_) => false,
        }
    }

    /// Edits a data value. One that is of another type than the attribute has is replaced by a refusal: its meaning is unknown.
    pub(super) fn edit(self, data_value: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.put_bytes(data_value);
        let edited = out.get_mut(start..).ok_or(DecodeError).and_then(|bytes| self.edit_in_place(bytes));
        if edited.is_err() {
            out.truncate(start);
            put_refused_value(out, StatusCode::BadUserAccessDenied);
        }
    }

    /// The edits keep all lengths.
    fn edit_in_place(self, bytes: &mut [u8]) -> WalkResult<()> {
        let mut walker = Walker::new(bytes);
        if walker.u8()? & 1 == 0 {
            return Ok(());
        }
        let kind = walker.u8()?;
        let at = walker.at();
        match (kind, self) {
            (0, _) => Ok(()),
            (3, EffectiveAttribute::AccessLevel(mask)) => and(bytes, at, &[mask]),
            (1, EffectiveAttribute::Executable(is_executable)) => {
                and(bytes, at, &[u8::from(is_executable) * 0xff])
            }
            (7, EffectiveAttribute::WriteMask(mask)) => and(bytes, at, &mask.to_le_bytes()),
            (0x96, EffectiveAttribute::RolePermissions(mask)) => {
                let ends = role_permissions(bytes, at)?;
                ends.into_iter().try_for_each(|at| and(bytes, at, &mask.to_le_bytes()))
            }
            (
                _,
                EffectiveAttribute::AccessLevel(_)
                | EffectiveAttribute::Executable(_)
                | EffectiveAttribute::WriteMask(_)
                | EffectiveAttribute::RolePermissions(_),
            ) => Err(DecodeError),
        }
    }
}

fn and(bytes: &mut [u8], at: usize, mask: &[u8]) -> WalkResult<()> {
    let target = bytes.get_mut(at..at + mask.len()).ok_or(DecodeError)?;
    target.iter_mut().zip(mask).for_each(|(byte, mask)| *byte &= mask);
    Ok(())
}

/// Where the permissions stand in an array of `RolePermissionType` (Part 3, 8.48) that begins at `at`.
fn role_permissions(bytes: &[u8], at: usize) -> WalkResult<Vec<usize>> {
    let mut walker = Walker::new(bytes);
    walker.take(at)?;
    let count = walker.count()?;
    let mut places = Vec::new();
    for _ in 0..count {
        let extension = walker.extension()?;
        if !extension.is(ObjectId::RolePermissionType_Encoding_DefaultBinary) {
            return Err(DecodeError);
        }
        let mut body = Walker::new(extension.binary.ok_or(DecodeError)?);
        body.skip_node_id()?;
        body.u32()?;
        body.end()?;
        places.push(walker.at() - 4);
    }
    Ok(places)
}

/// A data value that holds a status and nothing else.
pub(super) fn put_refused_value(out: &mut Vec<u8>, status: StatusCode) {
    out.put_u8(2);
    out.put_status(status);
}
