//! A second reader of requests, which believes no length of an extension object: as servers do that decode a type they know from the rest of the message
//! (open62541, async-opcua), or read a body without a length in place (.NET), or pass no body where the encoding is XML (asyncua).
//!
//! It shares no code with the mediator. What it sees in forwarded bytes is what such a server would do.

use std::io::Cursor;

use durward_opcua::gate::mediate::service::ServiceKind;
use durward_opcua::permission::Permission;
use opcua_types::*;

use super::support::context;

/// A structure of a vendor, of eight bytes, which the server knows.
pub(super) fn vendor_structure() -> NodeId {
    NodeId::new(2, 3003u32)
}
const VENDOR_BYTES: usize = 8;

/// One thing that a request asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen {
    On(Permission, NodeId),
    /// A monitored item, by the server's number.
    Item(u32),
    /// What nobody is granted.
    Never(&'static str),
}

/// How a server reads extension objects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Habits {
    /// Known types are read by their type, whatever the length says.
    pub(super) by_type: bool,
    /// A body of length -1 is read in place; an unknown one reaches to the end of the message.
    pub(super) null_is_inline: bool,
    /// Encoding 2 has no body.
    pub(super) xml_has_no_body: bool,
}

impl Habits {
    pub(super) fn all() -> impl Iterator<Item = Habits> {
        (0..8u8).map(|bits| Habits {
            by_type: bits & 1 != 0,
            null_is_inline: bits & 2 != 0,
            xml_has_no_body: bits & 4 != 0,
        })
    }
}

/// What a server with such habits does when it gets the body of a request; nothing, where it cannot decode it.
pub(super) fn seen(habits: Habits, service: ServiceKind, body: &[u8]) -> Vec<Seen> {
    let mut second = Second { bytes: body, at: 0, habits, seen: Vec::new(), depth: 40 };
    second.request(service).map(|()| second.seen).unwrap_or_default()
}

struct Second<'a> {
    bytes: &'a [u8],
    at: usize,
    habits: Habits,
    seen: Vec<Seen>,
    depth: u32,
}

fn to_read(attribute: u32) -> Result<Permission, &'static str> {
    match attribute {
        13 => Ok(Permission::Read),
        24 => Ok(Permission::ReadRolePermissions),
        1..=27 => Ok(Permission::Browse),
        _ => Err("an unknown attribute"),
    }
}

fn to_write(attribute: u32) -> Result<Permission, &'static str> {
    match attribute {
        13 => Ok(Permission::Write),
        20 => Ok(Permission::WriteHistorizing),
        24 => Ok(Permission::WriteRolePermissions),
        1..=27 => Ok(Permission::WriteAttribute),
        _ => Err("an unknown attribute"),
    }
}

impl Second<'_> {
    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn i32(&mut self) -> Option<i32> {
        self.take(4).map(|bytes| i32::from_le_bytes(bytes.try_into().expect("four bytes")))
    }

    fn u32(&mut self) -> Option<u32> {
        self.i32().map(i32::cast_unsigned)
    }

    /// Negative lengths are null, to those who are lenient.
    fn length(&mut self) -> Option<usize> {
        self.i32().map(|length| usize::try_from(length).unwrap_or(0))
    }

    fn text(&mut self) -> Option<()> {
        let length = self.length()?;
        self.take(length).map(drop)
    }

    fn array(&mut self, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let count = self.length()?;
        if count > self.bytes.len() {
            return None;
        }
        (0..count).try_for_each(|_| each(self))
    }

    /// The library's own decoder of a type that holds no extension object.
    fn plain<T: BinaryDecodable>(&mut self) -> Option<T> {
        thread_local!(static CONTEXT: ContextOwned = context());
        let mut cursor = Cursor::new(self.bytes.get(self.at..)?);
        let value = CONTEXT.with(|context| T::decode(&mut cursor, &context.context())).ok()?;
        self.at += usize::try_from(cursor.position()).ok()?;
        Some(value)
    }

    fn node(&mut self) -> Option<NodeId> {
        self.plain()
    }

    fn local(&mut self) -> Option<NodeId> {
        let expanded: ExpandedNodeId = self.plain()?;
        if expanded.server_index != 0 || !expanded.namespace_uri.as_ref().is_empty() {
            self.seen.push(Seen::Never("a node of another server"));
        }
        Some(expanded.node_id)
    }

    fn on(&mut self, permission: Permission, node: NodeId) {
        self.seen.push(Seen::On(permission, node));
    }

    fn by(&mut self, permission: Result<Permission, &'static str>, node: NodeId) {
        self.seen.push(match permission {
            Ok(permission) => Seen::On(permission, node),
            Err(never) => Seen::Never(never),
        });
    }

    fn extension(&mut self) -> Option<()> {
        self.depth = self.depth.checked_sub(1)?;
        let type_id = self.node()?;
        match self.u8()? {
            0 => {}
            1 => self.body(&type_id)?,
            2 if self.habits.xml_has_no_body => {}
            2 => self.text()?,
            _ => return None,
        }
        self.depth += 1;
        Some(())
    }

    fn body(&mut self, type_id: &NodeId) -> Option<()> {
        let Ok(length) = usize::try_from(self.i32()?) else {
            if self.habits.null_is_inline && !self.known(type_id)? {
                self.at = self.bytes.len();
            }
            return Some(());
        };
        if self.habits.by_type {
            if !self.known(type_id)? {
                self.take(length)?;
            }
            return Some(());
        }
        let end = self.at.checked_add(length)?;
        let whole = self.bytes;
        self.bytes = whole.get(..end)?;
        let walked = self.known(type_id);
        (self.bytes, self.at) = (whole, end);
        walked.map(drop)
    }

    /// Reads a body by its type; `false` where the type is unknown.
    fn known(&mut self, type_id: &NodeId) -> Option<bool> {
        if *type_id == vendor_structure() {
            return self.take(VENDOR_BYTES).map(|_| true);
        }
        let object = match type_id.identifier {
            Identifier::Numeric(number) if type_id.namespace == 0 => ObjectId::try_from(number).ok(),
            _ => None,
        };
        let Some(object) = object else { return Some(false) };
        use ObjectId as O;
        match object {
            O::DataChangeFilter_Encoding_DefaultBinary => self.plain::<DataChangeFilter>().map(drop)?,
            O::AggregateFilter_Encoding_DefaultBinary => self.plain::<AggregateFilter>().map(drop)?,
            O::Range_Encoding_DefaultBinary => self.plain::<Range>().map(drop)?,
            O::ObjectAttributes_Encoding_DefaultBinary => self.plain::<ObjectAttributes>().map(drop)?,
            O::ReadRawModifiedDetails_Encoding_DefaultBinary => {
                self.plain::<ReadRawModifiedDetails>().map(drop)?
            }
            O::ReadProcessedDetails_Encoding_DefaultBinary => {
                self.plain::<ReadProcessedDetails>().map(drop)?
            }
            O::ReadAtTimeDetails_Encoding_DefaultBinary => self.plain::<ReadAtTimeDetails>().map(drop)?,
            O::ReadAnnotationDataDetails_Encoding_DefaultBinary => {
                self.plain::<ReadAnnotationDataDetails>().map(drop)?
            }
            O::ReadEventDetails_Encoding_DefaultBinary => self.event_details(|_| Some(()))?,
            O::ReadEventDetails2_Encoding_DefaultBinary => {
                self.event_details(|second| second.u8().map(drop))?
            }
            O::ReadEventDetailsSorted_Encoding_DefaultBinary => {
                self.event_details(|second| {
                    second.array(|second| {
                        second.i32()?;
                        second.plain::<SimpleAttributeOperand>().map(drop)
                    })
                })?;
            }
            O::EventFilter_Encoding_DefaultBinary => self.event_filter()?,
            O::LiteralOperand_Encoding_DefaultBinary => self.variant()?,
            O::ElementOperand_Encoding_DefaultBinary => self.u32().map(drop)?,
            O::SimpleAttributeOperand_Encoding_DefaultBinary => {
                self.plain::<SimpleAttributeOperand>().map(drop)?;
            }
            O::AttributeOperand_Encoding_DefaultBinary => {
                self.plain::<AttributeOperand>()?;
                self.seen.push(Seen::Never("an operand of another node"));
            }
            O::VariableAttributes_Encoding_DefaultBinary => self.variable_attributes()?,
            _ => return self.update(object),
        }
        Some(true)
    }

    fn variable_attributes(&mut self) -> Option<()> {
        self.u32()?;
        self.plain::<LocalizedText>()?;
        self.plain::<LocalizedText>()?;
        self.take(4 + 4)?;
        self.variant()?;
        self.node()?;
        self.i32()?;
        self.array(|second| second.u32().map(drop))?;
        self.take(1 + 1 + 8 + 1).map(drop)
    }

    fn event_details(&mut self, rest: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.take(4 + 8 + 8)?;
        self.event_filter()?;
        rest(self)
    }

    fn event_filter(&mut self) -> Option<()> {
        self.array(|second| second.plain::<SimpleAttributeOperand>().map(drop))?;
        self.array(|second| {
            if matches!(second.i32()?, 13 | 15) {
                second.seen.push(Seen::Never("an operator on other nodes"));
            }
            second.array(Self::extension)
        })
    }

    fn update(&mut self, details: ObjectId) -> Option<bool> {
        use ObjectId as O;
        match details {
            O::UpdateDataDetails_Encoding_DefaultBinary
            | O::UpdateStructureDataDetails_Encoding_DefaultBinary => {
                self.performed()?;
                self.array(Self::data_value)?;
            }
            O::UpdateEventDetails_Encoding_DefaultBinary => {
                self.performed()?;
                self.event_filter()?;
                self.array(|second| second.array(Self::variant))?;
            }
            O::DeleteRawModifiedDetails_Encoding_DefaultBinary => {
                self.deleted()?;
                self.take(1 + 8 + 8)?;
            }
            O::DeleteAtTimeDetails_Encoding_DefaultBinary => {
                self.deleted()?;
                self.array(|second| second.take(8).map(drop))?;
            }
            O::DeleteEventDetails_Encoding_DefaultBinary => {
                self.deleted()?;
                self.array(Self::text)?;
            }
            _ => return Some(false),
        }
        Some(true)
    }

    fn performed(&mut self) -> Option<()> {
        let node = self.node()?;
        match self.i32()? {
            1 => self.on(Permission::InsertHistory, node),
            2 => self.on(Permission::ModifyHistory, node),
            3 => {
                self.on(Permission::InsertHistory, node.clone());
                self.on(Permission::ModifyHistory, node);
            }
            4 => self.on(Permission::DeleteHistory, node),
            _ => self.seen.push(Seen::Never("an unknown update")),
        }
        Some(())
    }

    fn deleted(&mut self) -> Option<()> {
        let node = self.node()?;
        self.on(Permission::DeleteHistory, node);
        Some(())
    }

    fn data_value(&mut self) -> Option<()> {
        self.depth = self.depth.checked_sub(1)?;
        let mask = self.u8()?;
        if mask & 1 != 0 {
            self.variant()?;
        }
        for (bit, width) in [(2, 4), (4, 8), (16, 2), (8, 8), (32, 2)] {
            if mask & bit != 0 {
                self.take(width)?;
            }
        }
        self.depth += 1;
        Some(())
    }

    fn variant(&mut self) -> Option<()> {
        self.depth = self.depth.checked_sub(1)?;
        let mask = self.u8()?;
        let kind = mask & 0x3f;
        if mask & 0x80 != 0 {
            self.array(|second| second.built_in(kind))?;
            if mask & 0x40 != 0 {
                self.array(|second| second.i32().map(drop))?;
            }
        } else if kind != 0 {
            self.built_in(kind)?;
        }
        self.depth += 1;
        Some(())
    }

    fn built_in(&mut self, kind: u8) -> Option<()> {
        match kind {
            1..=3 => self.take(1).map(drop),
            4 | 5 => self.take(2).map(drop),
            6 | 7 | 10 | 19 => self.take(4).map(drop),
            8 | 9 | 11 | 13 => self.take(8).map(drop),
            14 => self.take(16).map(drop),
            12 | 15 | 16 => self.text(),
            17 => self.node().map(drop),
            18 => self.plain::<ExpandedNodeId>().map(drop),
            20 => self.plain::<QualifiedName>().map(drop),
            21 => self.plain::<LocalizedText>().map(drop),
            22 => self.extension(),
            23 => self.data_value(),
            // .NET reads the kinds 26 to 28 as variants.
            24 | 26..=28 => self.variant(),
            25 => self.plain::<DiagnosticInfo>().map(drop),
            _ => None,
        }
    }

    fn read_value_id(&mut self) -> Option<(NodeId, u32)> {
        let (node, attribute) = (self.node()?, self.u32()?);
        self.text()?;
        self.plain::<QualifiedName>()?;
        Some((node, attribute))
    }

    fn parameters(&mut self) -> Option<()> {
        self.take(4 + 8)?;
        self.extension()?;
        self.take(4 + 1).map(drop)
    }

    fn request(&mut self, service: ServiceKind) -> Option<()> {
        match service {
            ServiceKind::CreateMonitoredItems => {
                self.take(4 + 4)?;
                self.array(|second| {
                    let (node, attribute) = second.read_value_id()?;
                    let permission =
                        if attribute == 12 { Ok(Permission::ReceiveEvents) } else { to_read(attribute) };
                    second.by(permission, node);
                    second.i32()?;
                    second.parameters()
                })
            }
            ServiceKind::ModifyMonitoredItems => {
                self.take(4 + 4)?;
                self.array(|second| {
                    let item = Seen::Item(second.u32()?);
                    second.seen.push(item);
                    second.parameters()
                })
            }
            ServiceKind::HistoryRead => {
                self.extension()?;
                self.take(4 + 1)?;
                self.array(|second| {
                    let node = second.node()?;
                    second.on(Permission::ReadHistory, node);
                    second.text()?;
                    second.plain::<QualifiedName>()?;
                    second.text()
                })
            }
            ServiceKind::HistoryUpdate => self.array(Self::extension),
            ServiceKind::Write => self.array(|second| {
                let (node, attribute) = (second.node()?, second.u32()?);
                second.by(to_write(attribute), node);
                second.text()?;
                second.data_value()
            }),
            ServiceKind::Call => self.array(|second| {
                let (object, method) = (second.node()?, second.node()?);
                second.on(Permission::Call, object);
                second.on(Permission::Call, method);
                second.array(Self::variant)
            }),
            _ => self.request_without_extensions(service),
        }
    }

    fn request_without_extensions(&mut self, service: ServiceKind) -> Option<()> {
        match service {
            ServiceKind::Read => {
                self.take(8 + 4)?;
                self.array(|second| {
                    let (node, attribute) = second.read_value_id()?;
                    second.by(to_read(attribute), node);
                    Some(())
                })
            }
            ServiceKind::Browse => {
                let view = self.node()?;
                if !view.is_null() {
                    self.on(Permission::Browse, view);
                }
                self.take(8 + 4 + 4)?;
                self.array(|second| {
                    let node = second.node()?;
                    second.on(Permission::Browse, node);
                    second.i32()?;
                    second.node()?;
                    second.take(1 + 4 + 4).map(drop)
                })
            }
            ServiceKind::TranslateBrowsePathsToNodeIds => self.array(|second| {
                let node = second.node()?;
                second.on(Permission::Browse, node);
                second.plain::<RelativePath>().map(drop)
            }),
            ServiceKind::RegisterNodes => self.array(|second| {
                let node = second.node()?;
                second.on(Permission::Browse, node);
                Some(())
            }),
            _ => self.node_management(service),
        }
    }

    fn node_management(&mut self, service: ServiceKind) -> Option<()> {
        match service {
            ServiceKind::AddNodes => self.array(|second| {
                let parent = second.local()?;
                second.on(Permission::AddReference, parent.clone());
                second.on(Permission::AddNode, parent);
                second.node()?;
                let requested = second.local()?;
                if !requested.is_null() {
                    second.on(Permission::AddNode, requested);
                }
                second.plain::<QualifiedName>()?;
                second.i32()?;
                second.extension()?;
                second.plain::<ExpandedNodeId>().map(drop)
            }),
            ServiceKind::DeleteNodes => self.array(|second| {
                let node = second.node()?;
                second.on(Permission::DeleteNode, node);
                second.u8().map(drop)
            }),
            ServiceKind::AddReferences => self.array(|second| {
                let source = second.node()?;
                second.on(Permission::AddReference, source);
                second.node()?;
                let is_forward = second.u8()? != 0;
                second.text()?;
                let target = second.local()?;
                second.on(if is_forward { Permission::Browse } else { Permission::AddReference }, target);
                second.i32().map(drop)
            }),
            ServiceKind::DeleteReferences => self.array(|second| {
                let source = second.node()?;
                second.on(Permission::RemoveReference, source);
                second.node()?;
                let is_forward = second.u8()? != 0;
                let target = second.local()?;
                let is_both = second.u8()? != 0;
                let changes_target = is_both || !is_forward;
                second.on(
                    if changes_target { Permission::RemoveReference } else { Permission::Browse },
                    target,
                );
                Some(())
            }),
            _ => Some(()),
        }
    }
}
