//! The address space: nodes by id, the hierarchy of types, values.

use std::collections::HashMap;
use std::fmt;

use durward_identity::Moment;
use opcua_types::{
    Argument, AttributeId, BuildInfo, DataTypeId, DataValue, DateTime, Identifier, LocalizedText, NodeClass,
    NodeId, ReferenceTypeId, ServerState, ServerStatusDataType, StatusCode, Variant,
};

use super::codec::date_time;
use super::limits;
use super::node::{NewNode, NodeClassData, NodeReference, PlantNode, ValueSource, VariableNode};

/// Why an address space could not be built.
#[derive(Clone, Debug, PartialEq)]
pub enum SpaceError {
    /// Two nodes have this id.
    DuplicateNode(NodeId),
    /// A reference goes to a node that is not there.
    UnknownNode {
        /// The node with the reference.
        from: NodeId,
        /// What is not there.
        target: NodeId,
    },
    /// More than [`limits::NODES_MAX`] nodes.
    TooManyNodes,
    /// More than 65,535 namespaces.
    TooManyNamespaces,
}

impl fmt::Display for SpaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpaceError::DuplicateNode(id) => write!(f, "two nodes have the id `{id}`"),
            SpaceError::UnknownNode { from, target } => {
                write!(f, "node `{from}` refers to `{target}`, which is not in the address space")
            }
            SpaceError::TooManyNodes => write!(f, "more than {} nodes", limits::NODES_MAX),
            SpaceError::TooManyNamespaces => write!(f, "more than 65535 namespaces"),
        }
    }
}

impl std::error::Error for SpaceError {}

/// The nodes of a server.
#[derive(Clone, Debug)]
pub struct AddressSpace {
    nodes: HashMap<NodeId, PlantNode>,
    namespaces: Vec<String>,
    started: Moment,
}

impl AddressSpace {
    /// The node.
    pub fn node(&self, id: &NodeId) -> Option<&PlantNode> {
        self.nodes.get(id)
    }

    /// Every node, in no order.
    pub fn nodes(&self) -> impl Iterator<Item = &PlantNode> {
        self.nodes.values()
    }

    /// The URIs of the namespaces by their index.
    pub fn namespaces(&self) -> &[String] {
        &self.namespaces
    }

    /// The index of a namespace.
    pub fn namespace_index(&self, uri: &str) -> Option<u16> {
        self.namespaces
            .iter()
            .position(|namespace| namespace == uri)
            .and_then(|index| u16::try_from(index).ok())
    }

    /// Whether a type is another one or below it.
    pub fn is_subtype(&self, type_id: &NodeId, ancestor: &NodeId) -> bool {
        let mut current = Some(type_id);
        for _ in 0..limits::TYPE_DEPTH_MAX {
            match current {
                Some(id) if id == ancestor => return true,
                Some(id) => current = self.supertype(id),
                None => return false,
            }
        }
        false
    }

    /// The type that this one is a subtype of.
    pub fn supertype(&self, type_id: &NodeId) -> Option<&NodeId> {
        let kind = NodeId::from(ReferenceTypeId::HasSubtype);
        let references = &self.nodes.get(type_id)?.references;
        references
            .iter()
            .find(|reference| !reference.forward && reference.kind == kind)
            .map(|reference| &reference.target)
    }

    /// Whether the id is that of a type of references.
    pub fn is_reference_type(&self, id: &NodeId) -> bool {
        self.nodes.get(id).is_some_and(|node| node.node_class() == NodeClass::ReferenceType)
    }

    /// The nodes that a reference of this type, or of a subtype, leads to.
    pub fn targets<'a>(
        &'a self,
        from: &NodeId,
        kind: ReferenceTypeId,
        forward: bool,
    ) -> impl Iterator<Item = &'a PlantNode> {
        let kind = NodeId::from(kind);
        let references = self.nodes.get(from).map(|node| node.references.as_slice()).unwrap_or_default();
        references
            .iter()
            .filter(move |reference| reference.forward == forward && self.is_subtype(&reference.kind, &kind))
            .filter_map(|reference| self.nodes.get(&reference.target))
    }

    /// The value of a variable now, with status and timestamps.
    pub fn value(&self, variable: &VariableNode, now: Moment) -> DataValue {
        match variable.source {
            ValueSource::Stored => variable.value.clone(),
            ValueSource::CurrentTime => good_value(date_time(now).into(), now),
            ValueSource::ServerStatus => good_value(self.server_status(now).into(), now),
        }
    }

    fn server_status(&self, now: Moment) -> ServerStatusDataType {
        ServerStatusDataType {
            start_time: date_time(self.started),
            current_time: date_time(now),
            state: ServerState::Running,
            build_info: build_info(self.started),
            seconds_till_shutdown: 0,
            shutdown_reason: LocalizedText::null(),
        }
    }

    /// What the attribute holds now.
    ///
    /// # Errors
    /// `BadNodeIdUnknown`, `BadAttributeIdInvalid`; `BadNotReadable` for the value of a variable that cannot be read.
    pub fn read(&self, id: &NodeId, attribute: u32, now: Moment) -> Result<DataValue, StatusCode> {
        let node = self.nodes.get(id).ok_or(StatusCode::BadNodeIdUnknown)?;
        let attribute = AttributeId::from_u32(attribute).map_err(|_| StatusCode::BadAttributeIdInvalid)?;
        if attribute != AttributeId::Value {
            return node.attribute(attribute).map(DataValue::value_only);
        }
        let variable = node.variable().ok_or(StatusCode::BadAttributeIdInvalid)?;
        if variable.access_level & super::node::access::READ == 0 {
            return Err(StatusCode::BadNotReadable);
        }
        Ok(self.value(variable, now))
    }

    /// The value that is kept in a variable.
    pub fn stored(&self, id: &NodeId) -> Option<&Variant> {
        self.nodes.get(id)?.variable()?.value.value.as_ref()
    }

    /// The number that is kept in a variable.
    pub fn number(&self, id: &NodeId) -> Option<f64> {
        self.stored(id).and_then(Variant::as_f64)
    }

    /// Sets the value of a variable, good as of now. False where there is no such variable.
    pub fn set(&mut self, id: &NodeId, value: impl Into<Variant>, now: Moment) -> bool {
        self.store(id, good_value(value.into(), now))
    }

    /// Keeps the value as it is, in the history as well where there is one.
    pub(crate) fn store(&mut self, id: &NodeId, value: DataValue) -> bool {
        let Some(PlantNode { class: NodeClassData::Variable(variable), .. }) = self.nodes.get_mut(id) else {
            return false;
        };
        if let Some(history) = &mut variable.history {
            if history.len() >= limits::HISTORY_VALUES_MAX {
                history.pop_front();
            }
            history.push_back(value.clone());
        }
        variable.value = value;
        true
    }
}

/// A good value as of now. Good is the status that is not there (Part 6, 5.2.2.17), so that it is equal to that of other good values.
fn good_value(value: Variant, now: Moment) -> DataValue {
    let time = Some(date_time(now));
    DataValue { source_timestamp: time, server_timestamp: time, ..DataValue::value_only(value) }
}

/// Who made this server.
pub(crate) fn build_info(built: Moment) -> BuildInfo {
    BuildInfo {
        product_uri: "urn:durward:opcua".into(),
        manufacturer_name: "durward".into(),
        product_name: "durward".into(),
        software_version: env!("CARGO_PKG_VERSION").into(),
        build_number: "0".into(),
        build_date: date_time(built),
    }
}

/// Builds an address space. The first error is kept and told at the end.
#[derive(Debug)]
pub struct SpaceBuilder {
    space: AddressSpace,
    order: Vec<NodeId>,
    error: Option<SpaceError>,
}

impl SpaceBuilder {
    /// An address space with the standard's own nodes. The application's URI becomes namespace 1 (Part 5, 6.3.1).
    pub fn new(application_uri: &str, started: Moment) -> SpaceBuilder {
        let namespaces = vec!["http://opcfoundation.org/UA/".to_owned(), application_uri.to_owned()];
        let space = AddressSpace { nodes: HashMap::new(), namespaces, started };
        let mut builder = SpaceBuilder { space, order: Vec::new(), error: None };
        super::standard::add(&mut builder, application_uri);
        builder
    }

    /// When the server started.
    pub fn started(&self) -> Moment {
        self.space.started
    }

    /// The index of a namespace; a new one where it is not known yet.
    pub fn namespace(&mut self, uri: &str) -> u16 {
        if let Some(index) = self.space.namespace_index(uri) {
            return index;
        }
        let Ok(index) = u16::try_from(self.space.namespaces.len()) else {
            self.error.get_or_insert(SpaceError::TooManyNamespaces);
            return u16::MAX;
        };
        self.space.namespaces.push(uri.to_owned());
        index
    }

    /// Adds a node; the nodes it refers to may come later. Arguments of methods become properties.
    pub fn add(&mut self, new: NewNode) -> NodeId {
        let id = new.node.id.clone();
        if self.space.nodes.len() >= limits::NODES_MAX {
            self.error.get_or_insert(SpaceError::TooManyNodes);
            return id;
        }
        let mut node = new.node;
        if let NodeClassData::Variable(variable) = &mut node.class {
            let time = date_time(self.space.started);
            variable.value.source_timestamp = Some(time);
            variable.value.server_timestamp = Some(time);
            if let Some(history) = &mut variable.history {
                history.push_back(variable.value.clone());
            }
        }
        let arguments = node.method().map(|method| (method.inputs.clone(), method.outputs.clone()));
        if self.space.nodes.insert(id.clone(), node).is_some() {
            self.error.get_or_insert(SpaceError::DuplicateNode(id.clone()));
        }
        self.order.push(id.clone());
        if let Some((inputs, outputs)) = arguments {
            let (input_id, output_id) = new.argument_ids.unzip();
            self.add_arguments(&id, "InputArguments", input_id, inputs);
            self.add_arguments(&id, "OutputArguments", output_id, outputs);
        }
        id
    }

    /// A property with the arguments of a method.
    fn add_arguments(&mut self, method: &NodeId, name: &str, id: Option<NodeId>, arguments: Vec<Argument>) {
        if arguments.is_empty() {
            return;
        }
        // In namespace 1, the server's own: namespace 0 and those of companion standards have no such ids.
        let namespace = if method.namespace == 0 { 1 } else { method.namespace };
        let made = || {
            let method = if let Identifier::String(text) = &method.identifier {
                text.to_string()
            } else {
                method.identifier.to_string()
            };
            NodeId::new(namespace, format!("{method}.{name}").as_str())
        };
        let id = id.unwrap_or_else(made);
        self.add(
            NewNode::property(id, name, DataTypeId::Argument, arguments, method.clone()).browse_namespace(0),
        );
    }

    /// The address space, with every reference known at both of its ends.
    ///
    /// # Errors
    /// The first thing that was wrong.
    pub fn build(mut self) -> Result<AddressSpace, SpaceError> {
        let namespaces: Vec<Variant> =
            self.space.namespaces.iter().map(|uri| Variant::from(uri.as_str())).collect();
        let array = opcua_types::Array {
            value_type: opcua_types::VariantScalarTypeId::String,
            values: namespaces,
            dimensions: None,
        };
        let started = self.space.started;
        self.space.set(&opcua_types::VariableId::Server_NamespaceArray.into(), array, started);
        for id in std::mem::take(&mut self.order) {
            self.link_back(&id);
        }
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.space),
        }
    }

    fn link_back(&mut self, id: &NodeId) {
        let has_type = NodeId::from(ReferenceTypeId::HasTypeDefinition);
        let own = self.space.nodes.get(id).map(|node| node.references.clone()).unwrap_or_default();
        for NodeReference { kind, forward, target } in own {
            // A type that many instances have does not keep the way back to each of them: nobody browses it, and it would grow with them.
            let one_way = kind == has_type && forward;
            let Some(node) = self.space.nodes.get_mut(&target) else {
                self.error.get_or_insert(SpaceError::UnknownNode { from: id.clone(), target });
                continue;
            };
            let back = NodeReference { kind, forward: !forward, target: id.clone() };
            // References are declared at one end only: the other end cannot have it already.
            if !one_way {
                node.references.push(back);
            }
        }
    }
}

/// An argument of a method that is one value.
pub fn argument(name: &str, data_type: DataTypeId, description: &str) -> Argument {
    Argument {
        name: name.into(),
        data_type: data_type.into(),
        value_rank: -1,
        array_dimensions: None,
        description: description.into(),
    }
}

/// An argument of a method that is an array.
pub fn array_argument(name: &str, data_type: DataTypeId, description: &str) -> Argument {
    Argument { value_rank: 1, array_dimensions: Some(vec![0]), ..argument(name, data_type, description) }
}

/// The moment of a `DateTime`, nothing before 1970.
pub(crate) fn is_unset(time: DateTime) -> bool {
    time.ticks() <= 0
}
