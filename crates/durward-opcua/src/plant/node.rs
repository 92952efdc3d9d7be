//! Nodes, their attributes and their references.

use std::collections::VecDeque;

use opcua_types::{
    Argument, AttributeId, DataTypeId, DataValue, LocalizedText, NodeClass, NodeId, ObjectId, ObjectTypeId,
    QualifiedName, ReferenceTypeId, StatusCode, VariableTypeId, Variant,
};

/// Bits of the attribute `AccessLevel` (Part 3, 8.57).
pub mod access {
    /// The value can be read.
    pub const READ: u8 = 1;
    /// The value can be written.
    pub const WRITE: u8 = 1 << 1;
    /// The history of values can be read.
    pub const HISTORY_READ: u8 = 1 << 2;
    /// The status code can be written along with the value.
    pub const STATUS_WRITE: u8 = 1 << 5;
    /// The source timestamp can be written along with the value.
    pub const TIMESTAMP_WRITE: u8 = 1 << 6;
    /// What a client may write: the value, with status and timestamp, as many clients send them.
    pub const READ_WRITE: u8 = READ | WRITE | STATUS_WRITE | TIMESTAMP_WRITE;
}

/// The bit of `EventNotifier` for events that can be subscribed to (Part 3, 8.59).
pub const SUBSCRIBE_TO_EVENTS: u8 = 1;

/// A reference as it is kept at one of its two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeReference {
    /// The type of the reference.
    pub kind: NodeId,
    /// Whether it goes from the node it is kept at.
    pub forward: bool,
    /// The node at the other end.
    pub target: NodeId,
}

/// Where the value of a variable comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSource {
    /// It is kept in the node.
    Stored,
    /// The clock.
    CurrentTime,
    /// The structure `ServerStatusDataType`, made when it is asked for.
    ServerStatus,
}

/// What a variable has besides the attributes of all nodes.
#[derive(Clone, Debug)]
pub struct VariableNode {
    /// The value with status and timestamps.
    pub value: DataValue,
    /// Where the value comes from.
    pub source: ValueSource,
    /// The type that values have, or a supertype of it.
    pub data_type: NodeId,
    /// -1 a scalar, 1 an array, more a matrix; 0, -2 and -3 as in Part 3, 5.6.2.
    pub value_rank: i32,
    /// The lengths of the dimensions, 0 where there is no bound.
    pub array_dimensions: Option<Vec<u32>>,
    /// Bits of [`access`].
    pub access_level: u8,
    /// In milliseconds.
    pub minimum_sampling_interval: f64,
    /// Past values, oldest first, where the variable keeps them.
    pub history: Option<VecDeque<DataValue>>,
}

/// What a method has besides the attributes of all nodes.
#[derive(Clone, Debug, Default)]
pub struct MethodNode {
    /// Whether it can be called at all.
    pub executable: bool,
    /// What it takes.
    pub inputs: Vec<Argument>,
    /// What it gives.
    pub outputs: Vec<Argument>,
}

/// What depends on the class of a node.
#[derive(Clone, Debug)]
pub enum NodeClassData {
    /// An object.
    Object {
        /// Whether events can be subscribed to at it.
        event_notifier: u8,
    },
    /// A variable.
    Variable(Box<VariableNode>),
    /// A method.
    Method(Box<MethodNode>),
    /// A type of objects.
    ObjectType {
        /// Whether only subtypes have instances.
        is_abstract: bool,
    },
    /// A type of variables.
    VariableType {
        /// Whether only subtypes have instances.
        is_abstract: bool,
        /// The type of the values of instances.
        data_type: NodeId,
        /// The rank of the values of instances.
        value_rank: i32,
    },
    /// A type of references.
    ReferenceType {
        /// Whether only subtypes are used.
        is_abstract: bool,
        /// Whether it means the same both ways.
        symmetric: bool,
        /// Its name when it is followed backwards; empty where it is symmetric or abstract.
        inverse_name: LocalizedText,
    },
    /// A type of values.
    DataType {
        /// Whether only subtypes have values.
        is_abstract: bool,
    },
    /// A view.
    View,
}

/// A node of the address space.
#[derive(Clone, Debug)]
pub struct PlantNode {
    /// Its id.
    pub id: NodeId,
    /// What depends on its class.
    pub class: NodeClassData,
    /// Its name in paths.
    pub browse_name: QualifiedName,
    /// Its name for people.
    pub display_name: LocalizedText,
    /// What it is for.
    pub description: LocalizedText,
    /// References from it and to it.
    pub references: Vec<NodeReference>,
}

impl PlantNode {
    /// The class as the standard counts them.
    pub fn node_class(&self) -> NodeClass {
        match self.class {
            NodeClassData::Object { .. } => NodeClass::Object,
            NodeClassData::Variable(_) => NodeClass::Variable,
            NodeClassData::Method(_) => NodeClass::Method,
            NodeClassData::ObjectType { .. } => NodeClass::ObjectType,
            NodeClassData::VariableType { .. } => NodeClass::VariableType,
            NodeClassData::ReferenceType { .. } => NodeClass::ReferenceType,
            NodeClassData::DataType { .. } => NodeClass::DataType,
            NodeClassData::View => NodeClass::View,
        }
    }

    /// The variable, if it is one.
    pub fn variable(&self) -> Option<&VariableNode> {
        if let NodeClassData::Variable(variable) = &self.class { Some(variable) } else { None }
    }

    /// The method, if it is one.
    pub fn method(&self) -> Option<&MethodNode> {
        if let NodeClassData::Method(method) = &self.class { Some(method) } else { None }
    }

    /// Whether events can be subscribed to at this node.
    pub fn notifies(&self) -> bool {
        matches!(self.class, NodeClassData::Object { event_notifier } if event_notifier & SUBSCRIBE_TO_EVENTS != 0)
    }

    /// The type definition, for objects and variables.
    pub fn type_definition(&self) -> Option<&NodeId> {
        let kind = NodeId::from(ReferenceTypeId::HasTypeDefinition);
        self.references
            .iter()
            .find(|reference| reference.forward && reference.kind == kind)
            .map(|reference| &reference.target)
    }

    /// An attribute other than the value.
    ///
    /// # Errors
    /// `BadAttributeIdInvalid` where nodes of this class have no such attribute, or this one does not.
    pub fn attribute(&self, id: AttributeId) -> Result<Variant, StatusCode> {
        let common = match id {
            AttributeId::NodeId => Some(Variant::from(self.id.clone())),
            AttributeId::NodeClass => Some(Variant::from(self.node_class() as i32)),
            AttributeId::BrowseName => Some(Variant::from(self.browse_name.clone())),
            AttributeId::DisplayName => Some(Variant::from(self.display_name.clone())),
            AttributeId::Description => Some(Variant::from(self.description.clone())),
            AttributeId::WriteMask | AttributeId::UserWriteMask => Some(Variant::from(0u32)),
            AttributeId::IsAbstract
            | AttributeId::Symmetric
            | AttributeId::InverseName
            | AttributeId::ContainsNoLoops
            | AttributeId::EventNotifier
            | AttributeId::Value
            | AttributeId::DataType
            | AttributeId::ValueRank
            | AttributeId::ArrayDimensions
            | AttributeId::AccessLevel
            | AttributeId::UserAccessLevel
            | AttributeId::MinimumSamplingInterval
            | AttributeId::Historizing
            | AttributeId::Executable
            | AttributeId::UserExecutable
            | AttributeId::DataTypeDefinition
            | AttributeId::RolePermissions
            | AttributeId::UserRolePermissions
            | AttributeId::AccessRestrictions
            | AttributeId::AccessLevelEx => None,
        };
        common.or_else(|| self.attribute_of_class(id)).ok_or(StatusCode::BadAttributeIdInvalid)
    }

    fn attribute_of_class(&self, id: AttributeId) -> Option<Variant> {
        match (&self.class, id) {
            (NodeClassData::Object { event_notifier }, AttributeId::EventNotifier) => {
                Some(Variant::from(*event_notifier))
            }
            (NodeClassData::View, AttributeId::EventNotifier) => Some(Variant::from(0u8)),
            (NodeClassData::View, AttributeId::ContainsNoLoops) => Some(Variant::from(true)),
            (NodeClassData::Variable(variable), id) => variable.attribute(id),
            (NodeClassData::Method(method), AttributeId::Executable | AttributeId::UserExecutable) => {
                Some(Variant::from(method.executable))
            }
            (NodeClassData::VariableType { data_type, .. }, AttributeId::DataType) => {
                Some(Variant::from(data_type.clone()))
            }
            (NodeClassData::VariableType { value_rank, .. }, AttributeId::ValueRank) => {
                Some(Variant::from(*value_rank))
            }
            (
                NodeClassData::ObjectType { is_abstract }
                | NodeClassData::VariableType { is_abstract, .. }
                | NodeClassData::ReferenceType { is_abstract, .. }
                | NodeClassData::DataType { is_abstract },
                AttributeId::IsAbstract,
            ) => Some(Variant::from(*is_abstract)),
            (NodeClassData::ReferenceType { symmetric, .. }, AttributeId::Symmetric) => {
                Some(Variant::from(*symmetric))
            }
            (NodeClassData::ReferenceType { inverse_name, .. }, AttributeId::InverseName)
                if !inverse_name.text.is_empty() =>
            {
                Some(Variant::from(inverse_name.clone()))
            }
            _ => None,
        }
    }
}

impl VariableNode {
    fn attribute(&self, id: AttributeId) -> Option<Variant> {
        let value = match id {
            AttributeId::DataType => Variant::from(self.data_type.clone()),
            AttributeId::ValueRank => Variant::from(self.value_rank),
            AttributeId::ArrayDimensions => Variant::from(self.array_dimensions.clone()?),
            AttributeId::AccessLevel | AttributeId::UserAccessLevel => Variant::from(self.access_level),
            AttributeId::AccessLevelEx => Variant::from(u32::from(self.access_level)),
            AttributeId::MinimumSamplingInterval => Variant::from(self.minimum_sampling_interval),
            AttributeId::Historizing => Variant::from(self.history.is_some()),
            AttributeId::NodeId
            | AttributeId::NodeClass
            | AttributeId::BrowseName
            | AttributeId::DisplayName
            | AttributeId::Description
            | AttributeId::WriteMask
            | AttributeId::UserWriteMask
            | AttributeId::IsAbstract
            | AttributeId::Symmetric
            | AttributeId::InverseName
            | AttributeId::ContainsNoLoops
            | AttributeId::EventNotifier
            | AttributeId::Value
            | AttributeId::Executable
            | AttributeId::UserExecutable
            | AttributeId::DataTypeDefinition
            | AttributeId::RolePermissions
            | AttributeId::UserRolePermissions
            | AttributeId::AccessRestrictions => return None,
        };
        Some(value)
    }
}

/// A node that is about to be added, with the references it shall have.
#[derive(Clone, Debug)]
pub struct NewNode {
    pub(crate) node: PlantNode,
    /// Ids for the properties with the arguments of a method; they are made of that of the method otherwise.
    pub(crate) argument_ids: Option<(NodeId, NodeId)>,
}

impl NewNode {
    fn new(id: impl Into<NodeId>, name: &str, class: NodeClassData) -> NewNode {
        let id = id.into();
        let browse_name = QualifiedName::new(id.namespace, name);
        let node = PlantNode {
            id,
            class,
            browse_name,
            display_name: name.into(),
            description: LocalizedText::null(),
            references: Vec::new(),
        };
        NewNode { node, argument_ids: None }
    }

    /// An object without events.
    pub fn object(id: impl Into<NodeId>, name: &str) -> NewNode {
        NewNode::new(id, name, NodeClassData::Object { event_notifier: 0 })
    }

    /// A folder.
    pub fn folder(id: impl Into<NodeId>, name: &str) -> NewNode {
        NewNode::object(id, name).of_type(ObjectTypeId::FolderType)
    }

    /// A variable that can be read. Its rank follows from the value.
    pub fn variable(
        id: impl Into<NodeId>,
        name: &str,
        data_type: impl Into<NodeId>,
        value: impl Into<Variant>,
    ) -> NewNode {
        let value = value.into();
        let array_dimensions = if let Variant::Array(array) = &value {
            Some(array.dimensions.clone().unwrap_or_else(|| vec![0]))
        } else {
            None
        };
        let variable = VariableNode {
            value: DataValue::value_only(value),
            source: ValueSource::Stored,
            data_type: data_type.into(),
            value_rank: array_dimensions
                .as_ref()
                .map_or(-1, |dimensions| i32::try_from(dimensions.len()).unwrap_or(1)),
            array_dimensions,
            access_level: access::READ,
            minimum_sampling_interval: 0.0,
            history: None,
        };
        NewNode::new(id, name, NodeClassData::Variable(Box::new(variable)))
    }

    /// A component that holds a value of a process.
    pub fn data(
        id: impl Into<NodeId>,
        name: &str,
        data_type: impl Into<NodeId>,
        value: impl Into<Variant>,
    ) -> NewNode {
        NewNode::variable(id, name, data_type, value).of_type(VariableTypeId::BaseDataVariableType)
    }

    /// A property of another node.
    pub fn property(
        id: impl Into<NodeId>,
        name: &str,
        data_type: impl Into<NodeId>,
        value: impl Into<Variant>,
        owner: impl Into<NodeId>,
    ) -> NewNode {
        NewNode::variable(id, name, data_type, value)
            .of_type(VariableTypeId::PropertyType)
            .inside(owner, ReferenceTypeId::HasProperty)
    }

    /// A method that can be called.
    pub fn method(id: impl Into<NodeId>, name: &str) -> NewNode {
        NewNode::new(
            id,
            name,
            NodeClassData::Method(Box::new(MethodNode { executable: true, ..MethodNode::default() })),
        )
    }

    /// A type of objects.
    pub fn object_type(id: impl Into<NodeId>, name: &str) -> NewNode {
        NewNode::new(id, name, NodeClassData::ObjectType { is_abstract: false })
    }

    /// A type of variables.
    pub fn variable_type(id: impl Into<NodeId>, name: &str) -> NewNode {
        let class = NodeClassData::VariableType {
            is_abstract: false,
            data_type: DataTypeId::BaseDataType.into(),
            value_rank: -2,
        };
        NewNode::new(id, name, class)
    }

    /// A type of references.
    pub fn reference_type(id: impl Into<NodeId>, name: &str, inverse_name: &str) -> NewNode {
        let class = NodeClassData::ReferenceType {
            is_abstract: false,
            symmetric: inverse_name.is_empty(),
            inverse_name: inverse_name.into(),
        };
        NewNode::new(id, name, class)
    }

    /// A type of values.
    pub fn data_type(id: impl Into<NodeId>, name: &str) -> NewNode {
        NewNode::new(id, name, NodeClassData::DataType { is_abstract: false })
    }

    /// A view.
    pub fn view(id: impl Into<NodeId>, name: &str) -> NewNode {
        NewNode::new(id, name, NodeClassData::View)
    }

    fn refer(mut self, kind: impl Into<NodeId>, forward: bool, target: impl Into<NodeId>) -> NewNode {
        self.node.references.push(NodeReference { kind: kind.into(), forward, target: target.into() });
        self
    }

    /// It is below that node, by a reference of that type.
    #[must_use]
    pub fn inside(self, parent: impl Into<NodeId>, kind: ReferenceTypeId) -> NewNode {
        self.refer(kind, false, parent)
    }

    /// It organizes what is inside that folder.
    #[must_use]
    pub fn organized_by(self, parent: impl Into<NodeId>) -> NewNode {
        self.inside(parent, ReferenceTypeId::Organizes)
    }

    /// It is a component of that node.
    #[must_use]
    pub fn component_of(self, parent: impl Into<NodeId>) -> NewNode {
        self.inside(parent, ReferenceTypeId::HasComponent)
    }

    /// It is a subtype of that type.
    #[must_use]
    pub fn subtype_of(self, parent: impl Into<NodeId>) -> NewNode {
        self.inside(parent, ReferenceTypeId::HasSubtype)
    }

    /// It is of that type.
    #[must_use]
    pub fn of_type(mut self, type_id: impl Into<NodeId>) -> NewNode {
        let kind = NodeId::from(ReferenceTypeId::HasTypeDefinition);
        self.node.references.retain(|reference| reference.kind != kind);
        self.refer(kind, true, type_id)
    }

    /// Instances of the type it belongs to must have it, or may.
    #[must_use]
    pub fn ruled(self, rule: ObjectId) -> NewNode {
        self.refer(ReferenceTypeId::HasModellingRule, true, rule)
    }

    /// What it is for.
    #[must_use]
    pub fn described(mut self, description: &str) -> NewNode {
        self.node.description = description.into();
        self
    }

    /// Another namespace for the browse name than that of the id.
    #[must_use]
    pub fn browse_namespace(mut self, namespace: u16) -> NewNode {
        self.node.browse_name.namespace_index = namespace;
        self
    }

    /// Events can be subscribed to at it.
    #[must_use]
    pub fn notifier(mut self) -> NewNode {
        if let NodeClassData::Object { event_notifier } = &mut self.node.class {
            *event_notifier = SUBSCRIBE_TO_EVENTS;
        }
        self
    }

    /// Only subtypes of it are used.
    #[must_use]
    pub fn abstract_type(mut self) -> NewNode {
        match &mut self.node.class {
            NodeClassData::ObjectType { is_abstract }
            | NodeClassData::VariableType { is_abstract, .. }
            | NodeClassData::ReferenceType { is_abstract, .. }
            | NodeClassData::DataType { is_abstract } => *is_abstract = true,
            NodeClassData::Object { .. }
            | NodeClassData::Variable(_)
            | NodeClassData::Method(_)
            | NodeClassData::View => {}
        }
        self
    }

    fn with_variable(mut self, change: impl FnOnce(&mut VariableNode)) -> NewNode {
        if let NodeClassData::Variable(variable) = &mut self.node.class {
            change(variable);
        }
        self
    }

    /// The bits of [`access`].
    #[must_use]
    pub fn access(self, level: u8) -> NewNode {
        self.with_variable(|variable| variable.access_level = level)
    }

    /// It keeps past values (see [`HISTORY_VALUES_MAX`](super::limits::HISTORY_VALUES_MAX)).
    #[must_use]
    pub fn historized(self) -> NewNode {
        self.with_variable(|variable| {
            variable.history = Some(VecDeque::new());
            variable.access_level |= access::HISTORY_READ;
        })
    }

    /// Where its value comes from.
    #[must_use]
    pub fn source(self, source: ValueSource) -> NewNode {
        self.with_variable(|variable| variable.source = source)
    }

    /// What the method takes and gives.
    #[must_use]
    pub fn arguments(mut self, inputs: Vec<Argument>, outputs: Vec<Argument>) -> NewNode {
        if let NodeClassData::Method(method) = &mut self.node.class {
            method.inputs = inputs;
            method.outputs = outputs;
        }
        self
    }

    /// The ids of the properties `InputArguments` and `OutputArguments`.
    #[must_use]
    pub fn argument_ids(mut self, inputs: impl Into<NodeId>, outputs: impl Into<NodeId>) -> NewNode {
        self.argument_ids = Some((inputs.into(), outputs.into()));
        self
    }
}
