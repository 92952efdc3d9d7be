//! Events of a simple kind: the fields of `BaseEventType` and some of their own.

use durward_identity::Moment;
use opcua_types::{ByteString, LocalizedText, NodeId, ObjectId, QualifiedName, ReferenceTypeId, Variant};

use crate::permission::Permission;
use crate::plant::codec::date_time;
use crate::plant::limits;
use crate::plant::server::PlantServer;
use crate::plant::space::AddressSpace;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct PlantEvent {
    event_type: NodeId,
    /// The objects at which it can be seen: its source and what is above it.
    notifiers: Vec<NodeId>,
    fields: Vec<(QualifiedName, Variant)>,
}

impl PlantEvent {
    /// An event of a node. `id` names it; severity is 1 to 1000.
    pub fn new(
        space: &AddressSpace,
        event_type: &NodeId,
        source: &NodeId,
        id: [u8; 16],
        message: &str,
        severity: u16,
        now: Moment,
    ) -> PlantEvent {
        let name = space.node(source).map(|node| node.browse_name.name.clone()).unwrap_or_default();
        let time = date_time(now);
        let base: [(&str, Variant); 8] = [
            ("EventId", Variant::from(ByteString::from(id.to_vec()))),
            ("EventType", Variant::from(event_type.clone())),
            ("SourceNode", Variant::from(source.clone())),
            ("SourceName", Variant::from(name)),
            ("Time", Variant::from(time)),
            ("ReceiveTime", Variant::from(time)),
            ("Message", Variant::from(LocalizedText::from(message))),
            ("Severity", Variant::from(severity)),
        ];
        let fields = base.into_iter().map(|(name, value)| (QualifiedName::new(0, name), value)).collect();
        PlantEvent { event_type: event_type.clone(), notifiers: notifiers(space, source), fields }
    }

    /// Another field.
    #[must_use]
    pub fn with(mut self, namespace: u16, name: &str, value: impl Into<Variant>) -> PlantEvent {
        self.fields.push((QualifiedName::new(namespace, name), value.into()));
        self
    }

    /// Its type.
    pub fn event_type(&self) -> &NodeId {
        &self.event_type
    }

    /// A field by its browse name.
    pub fn field(&self, name: &QualifiedName) -> Option<&Variant> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    /// Whether it can be seen at this object.
    pub(crate) fn is_raised_at(&self, node: &NodeId) -> bool {
        self.notifiers.contains(node)
    }
}

/// The source, the nodes above it, and the object Server, which sees all events (Part 3, 7.4).
fn notifiers(space: &AddressSpace, source: &NodeId) -> Vec<NodeId> {
    let mut found = vec![NodeId::from(ObjectId::Server)];
    let mut current = Some(source.clone());
    for _ in 0..limits::TYPE_DEPTH_MAX {
        let Some(id) = current else { break };
        current = space
            .targets(&id, ReferenceTypeId::HierarchicalReferences, false)
            .next()
            .map(|parent| parent.id.clone());
        found.push(id);
    }
    found
}

impl PlantServer {
    /// Shows events to the items that look for them.
    pub fn raise(&mut self, events: &[PlantEvent]) {
        if events.is_empty() {
            return;
        }
        for subscription in self.subscriptions.all.values_mut() {
            let caller = &subscription.caller;
            for item in subscription.items.values_mut().filter(|item| item.looks_for_events()) {
                // The right may have ended since the item was created.
                if !self.guard.rule(caller, Permission::ReceiveEvents, &item.what.node_id).is_granted() {
                    continue;
                }
                for event in events {
                    item.notice(event, &self.space);
                }
            }
        }
    }
}
