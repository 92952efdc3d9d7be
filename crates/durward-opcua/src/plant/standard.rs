//! The nodes of the standard that clients look at: root, types, the object `Server`. By hand, and not all of namespace 0.

use opcua_types::{
    DataTypeId, ExtensionObject, NodeId, ObjectId, ObjectTypeId, ReferenceTypeId, ServerState, UAString,
    VariableId, VariableTypeId, Variant,
};

use super::codec::date_time;
use super::limits;
use super::node::{NewNode, ValueSource};
use super::space::{SpaceBuilder, build_info};

/// Types of references: id, name, inverse name, supertype, whether abstract (Part 5, 11).
type ReferenceRow = (ReferenceTypeId, &'static str, &'static str, Option<ReferenceTypeId>, bool);
const REFERENCE_TYPES: [ReferenceRow; 17] = [
    (ReferenceTypeId::References, "References", "", None, true),
    (
        ReferenceTypeId::NonHierarchicalReferences,
        "NonHierarchicalReferences",
        "",
        Some(ReferenceTypeId::References),
        true,
    ),
    (
        ReferenceTypeId::HierarchicalReferences,
        "HierarchicalReferences",
        "InverseHierarchicalReferences",
        Some(ReferenceTypeId::References),
        true,
    ),
    (ReferenceTypeId::HasChild, "HasChild", "ChildOf", Some(ReferenceTypeId::HierarchicalReferences), true),
    (
        ReferenceTypeId::Organizes,
        "Organizes",
        "OrganizedBy",
        Some(ReferenceTypeId::HierarchicalReferences),
        false,
    ),
    (
        ReferenceTypeId::HasEventSource,
        "HasEventSource",
        "EventSourceOf",
        Some(ReferenceTypeId::HierarchicalReferences),
        false,
    ),
    (
        ReferenceTypeId::HasModellingRule,
        "HasModellingRule",
        "ModellingRuleOf",
        Some(ReferenceTypeId::NonHierarchicalReferences),
        false,
    ),
    (
        ReferenceTypeId::HasEncoding,
        "HasEncoding",
        "EncodingOf",
        Some(ReferenceTypeId::NonHierarchicalReferences),
        false,
    ),
    (
        ReferenceTypeId::HasDescription,
        "HasDescription",
        "DescriptionOf",
        Some(ReferenceTypeId::NonHierarchicalReferences),
        false,
    ),
    (
        ReferenceTypeId::HasTypeDefinition,
        "HasTypeDefinition",
        "TypeDefinitionOf",
        Some(ReferenceTypeId::NonHierarchicalReferences),
        false,
    ),
    (
        ReferenceTypeId::GeneratesEvent,
        "GeneratesEvent",
        "GeneratedBy",
        Some(ReferenceTypeId::NonHierarchicalReferences),
        false,
    ),
    (ReferenceTypeId::Aggregates, "Aggregates", "AggregatedBy", Some(ReferenceTypeId::HasChild), true),
    (ReferenceTypeId::HasSubtype, "HasSubtype", "SubtypeOf", Some(ReferenceTypeId::HasChild), false),
    (ReferenceTypeId::HasProperty, "HasProperty", "PropertyOf", Some(ReferenceTypeId::Aggregates), false),
    (ReferenceTypeId::HasComponent, "HasComponent", "ComponentOf", Some(ReferenceTypeId::Aggregates), false),
    (ReferenceTypeId::HasNotifier, "HasNotifier", "NotifierOf", Some(ReferenceTypeId::HasEventSource), false),
    (
        ReferenceTypeId::HasOrderedComponent,
        "HasOrderedComponent",
        "OrderedComponentOf",
        Some(ReferenceTypeId::HasComponent),
        false,
    ),
];

/// Types of values: id, name, supertype, whether abstract (Part 5, 12).
type DataRow = (DataTypeId, &'static str, Option<DataTypeId>, bool);
const DATA_TYPES: [DataRow; 43] = [
    (DataTypeId::BaseDataType, "BaseDataType", None, true),
    (DataTypeId::Boolean, "Boolean", Some(DataTypeId::BaseDataType), false),
    (DataTypeId::Number, "Number", Some(DataTypeId::BaseDataType), true),
    (DataTypeId::Integer, "Integer", Some(DataTypeId::Number), true),
    (DataTypeId::UInteger, "UInteger", Some(DataTypeId::Number), true),
    (DataTypeId::SByte, "SByte", Some(DataTypeId::Integer), false),
    (DataTypeId::Byte, "Byte", Some(DataTypeId::UInteger), false),
    (DataTypeId::Int16, "Int16", Some(DataTypeId::Integer), false),
    (DataTypeId::UInt16, "UInt16", Some(DataTypeId::UInteger), false),
    (DataTypeId::Int32, "Int32", Some(DataTypeId::Integer), false),
    (DataTypeId::UInt32, "UInt32", Some(DataTypeId::UInteger), false),
    (DataTypeId::Int64, "Int64", Some(DataTypeId::Integer), false),
    (DataTypeId::UInt64, "UInt64", Some(DataTypeId::UInteger), false),
    (DataTypeId::Float, "Float", Some(DataTypeId::Number), false),
    (DataTypeId::Double, "Double", Some(DataTypeId::Number), false),
    (DataTypeId::String, "String", Some(DataTypeId::BaseDataType), false),
    (DataTypeId::DateTime, "DateTime", Some(DataTypeId::BaseDataType), false),
    (DataTypeId::Guid, "Guid", Some(DataTypeId::BaseDataType), false),
    (DataTypeId::ByteString, "ByteString", Some(DataTypeId::BaseDataType), false),
    (DataTypeId::XmlElement, "XmlElement", Some(DataTypeId::BaseDataType), false),
    (DataTypeId::NodeId, "NodeId", Some(DataTypeId::BaseDataType), false),
    (DataTypeId::ExpandedNodeId, "ExpandedNodeId", Some(DataTypeId::BaseDataType), false),
    (DataTypeId::StatusCode, "StatusCode", Some(DataTypeId::BaseDataType), false),
    (DataTypeId::QualifiedName, "QualifiedName", Some(DataTypeId::BaseDataType), false),
    (DataTypeId::LocalizedText, "LocalizedText", Some(DataTypeId::BaseDataType), false),
    (DataTypeId::Structure, "Structure", Some(DataTypeId::BaseDataType), true),
    (DataTypeId::DataValue, "DataValue", Some(DataTypeId::BaseDataType), false),
    (DataTypeId::DiagnosticInfo, "DiagnosticInfo", Some(DataTypeId::BaseDataType), false),
    (DataTypeId::Enumeration, "Enumeration", Some(DataTypeId::BaseDataType), true),
    (DataTypeId::IntegerId, "IntegerId", Some(DataTypeId::UInt32), false),
    (DataTypeId::Duration, "Duration", Some(DataTypeId::Double), false),
    (DataTypeId::UtcTime, "UtcTime", Some(DataTypeId::DateTime), false),
    (DataTypeId::LocaleId, "LocaleId", Some(DataTypeId::String), false),
    (DataTypeId::Argument, "Argument", Some(DataTypeId::Structure), false),
    (DataTypeId::ServerState, "ServerState", Some(DataTypeId::Enumeration), false),
    (DataTypeId::BuildInfo, "BuildInfo", Some(DataTypeId::Structure), false),
    (DataTypeId::ServerStatusDataType, "ServerStatusDataType", Some(DataTypeId::Structure), false),
    (DataTypeId::SignedSoftwareCertificate, "SignedSoftwareCertificate", Some(DataTypeId::Structure), false),
    (DataTypeId::Range, "Range", Some(DataTypeId::Structure), false),
    (DataTypeId::EUInformation, "EUInformation", Some(DataTypeId::Structure), false),
    (DataTypeId::UserTokenPolicy, "UserTokenPolicy", Some(DataTypeId::Structure), false),
    (DataTypeId::UserIdentityToken, "UserIdentityToken", Some(DataTypeId::Structure), true),
    (DataTypeId::SignatureData, "SignatureData", Some(DataTypeId::Structure), false),
];

/// Types of objects: id, name, supertype (Part 5, 6 and 8).
const OBJECT_TYPES: [(ObjectTypeId, &str, Option<ObjectTypeId>); 8] = [
    (ObjectTypeId::BaseObjectType, "BaseObjectType", None),
    (ObjectTypeId::FolderType, "FolderType", Some(ObjectTypeId::BaseObjectType)),
    (ObjectTypeId::ServerType, "ServerType", Some(ObjectTypeId::BaseObjectType)),
    (ObjectTypeId::ServerCapabilitiesType, "ServerCapabilitiesType", Some(ObjectTypeId::BaseObjectType)),
    (ObjectTypeId::OperationLimitsType, "OperationLimitsType", Some(ObjectTypeId::FolderType)),
    (ObjectTypeId::ModellingRuleType, "ModellingRuleType", Some(ObjectTypeId::BaseObjectType)),
    (ObjectTypeId::BaseEventType, "BaseEventType", Some(ObjectTypeId::BaseObjectType)),
    (ObjectTypeId::DataTypeEncodingType, "DataTypeEncodingType", Some(ObjectTypeId::BaseObjectType)),
];

/// Types of variables: id, name, supertype, whether abstract (Part 5, 7; Part 8, 5.3).
const VARIABLE_TYPES: [(VariableTypeId, &str, Option<VariableTypeId>, bool); 8] = [
    (VariableTypeId::BaseVariableType, "BaseVariableType", None, true),
    (
        VariableTypeId::BaseDataVariableType,
        "BaseDataVariableType",
        Some(VariableTypeId::BaseVariableType),
        false,
    ),
    (VariableTypeId::PropertyType, "PropertyType", Some(VariableTypeId::BaseVariableType), false),
    (VariableTypeId::ServerStatusType, "ServerStatusType", Some(VariableTypeId::BaseDataVariableType), false),
    (VariableTypeId::BuildInfoType, "BuildInfoType", Some(VariableTypeId::BaseDataVariableType), false),
    (VariableTypeId::DataItemType, "DataItemType", Some(VariableTypeId::BaseDataVariableType), false),
    (VariableTypeId::BaseAnalogType, "BaseAnalogType", Some(VariableTypeId::DataItemType), false),
    (VariableTypeId::AnalogItemType, "AnalogItemType", Some(VariableTypeId::BaseAnalogType), false),
];

/// Fields of every event (Part 5, 6.4.2): id, name, type.
pub(crate) const EVENT_FIELDS: [(VariableId, &str, DataTypeId); 8] = [
    (VariableId::BaseEventType_EventId, "EventId", DataTypeId::ByteString),
    (VariableId::BaseEventType_EventType, "EventType", DataTypeId::NodeId),
    (VariableId::BaseEventType_SourceNode, "SourceNode", DataTypeId::NodeId),
    (VariableId::BaseEventType_SourceName, "SourceName", DataTypeId::String),
    (VariableId::BaseEventType_Time, "Time", DataTypeId::UtcTime),
    (VariableId::BaseEventType_ReceiveTime, "ReceiveTime", DataTypeId::UtcTime),
    (VariableId::BaseEventType_Message, "Message", DataTypeId::LocalizedText),
    (VariableId::BaseEventType_Severity, "Severity", DataTypeId::UInt16),
];

/// Adds them all.
pub(super) fn add(builder: &mut SpaceBuilder, application_uri: &str) {
    add_folders(builder);
    add_types(builder);
    add_server(builder, application_uri);
    add_status(builder);
    add_capabilities(builder);
}

fn add_folders(builder: &mut SpaceBuilder) {
    builder.add(NewNode::folder(ObjectId::RootFolder, "Root"));
    let below_root = [
        (ObjectId::ObjectsFolder, "Objects"),
        (ObjectId::TypesFolder, "Types"),
        (ObjectId::ViewsFolder, "Views"),
    ];
    for (id, name) in below_root {
        builder.add(NewNode::folder(id, name).organized_by(ObjectId::RootFolder));
    }
    let below_types = [
        (ObjectId::ObjectTypesFolder, "ObjectTypes"),
        (ObjectId::VariableTypesFolder, "VariableTypes"),
        (ObjectId::DataTypesFolder, "DataTypes"),
        (ObjectId::ReferenceTypesFolder, "ReferenceTypes"),
        (ObjectId::EventTypesFolder, "EventTypes"),
    ];
    for (id, name) in below_types {
        builder.add(NewNode::folder(id, name).organized_by(ObjectId::TypesFolder));
    }
    for (id, name) in
        [(ObjectId::ModellingRule_Mandatory, "Mandatory"), (ObjectId::ModellingRule_Optional, "Optional")]
    {
        builder.add(NewNode::object(id, name).of_type(ObjectTypeId::ModellingRuleType));
    }
}

/// Below its supertype, or in the folder of its kind.
fn placed(node: NewNode, supertype: Option<impl Into<NodeId>>, folder: ObjectId) -> NewNode {
    match supertype {
        Some(supertype) => node.subtype_of(supertype),
        None => node.organized_by(folder),
    }
}

fn add_types(builder: &mut SpaceBuilder) {
    for (id, name, inverse, supertype, is_abstract) in REFERENCE_TYPES {
        let node =
            placed(NewNode::reference_type(id, name, inverse), supertype, ObjectId::ReferenceTypesFolder);
        builder.add(if is_abstract { node.abstract_type() } else { node });
    }
    for (id, name, supertype, is_abstract) in DATA_TYPES {
        let node = placed(NewNode::data_type(id, name), supertype, ObjectId::DataTypesFolder);
        builder.add(if is_abstract { node.abstract_type() } else { node });
    }
    for (id, name, supertype) in OBJECT_TYPES {
        let node = placed(NewNode::object_type(id, name), supertype, ObjectId::ObjectTypesFolder);
        builder.add(if id == ObjectTypeId::BaseEventType {
            node.organized_by(ObjectId::EventTypesFolder)
        } else {
            node
        });
    }
    for (id, name, supertype, is_abstract) in VARIABLE_TYPES {
        let node = placed(NewNode::variable_type(id, name), supertype, ObjectId::VariableTypesFolder);
        builder.add(if is_abstract { node.abstract_type() } else { node });
    }
    for (id, name, data_type) in EVENT_FIELDS {
        let field = NewNode::property(id, name, data_type, Variant::Empty, ObjectTypeId::BaseEventType);
        builder.add(field.ruled(ObjectId::ModellingRule_Mandatory));
    }
}

fn add_server(builder: &mut SpaceBuilder, application_uri: &str) {
    let server = NewNode::object(ObjectId::Server, "Server").of_type(ObjectTypeId::ServerType).notifier();
    builder.add(server.organized_by(ObjectId::ObjectsFolder));
    let uri: Vec<UAString> = vec![application_uri.into()];
    // The namespaces are filled in when the address space is complete.
    let arrays = [
        (VariableId::Server_ServerArray, "ServerArray"),
        (VariableId::Server_NamespaceArray, "NamespaceArray"),
    ];
    for (id, name) in arrays {
        builder.add(NewNode::property(id, name, DataTypeId::String, uri.clone(), ObjectId::Server));
    }
    builder.add(NewNode::property(
        VariableId::Server_ServiceLevel,
        "ServiceLevel",
        DataTypeId::Byte,
        255u8,
        ObjectId::Server,
    ));
    builder.add(NewNode::property(
        VariableId::Server_Auditing,
        "Auditing",
        DataTypeId::Boolean,
        false,
        ObjectId::Server,
    ));
}

fn add_status(builder: &mut SpaceBuilder) {
    let started = date_time(builder.started());
    let status = VariableId::Server_ServerStatus;
    let node = NewNode::variable(status, "ServerStatus", DataTypeId::ServerStatusDataType, Variant::Empty);
    builder.add(
        node.of_type(VariableTypeId::ServerStatusType)
            .source(ValueSource::ServerStatus)
            .component_of(ObjectId::Server),
    );
    let current = NewNode::data(
        VariableId::Server_ServerStatus_CurrentTime,
        "CurrentTime",
        DataTypeId::UtcTime,
        started,
    );
    builder.add(current.source(ValueSource::CurrentTime).component_of(status));
    let parts = [
        (VariableId::Server_ServerStatus_StartTime, "StartTime", DataTypeId::UtcTime, Variant::from(started)),
        (
            VariableId::Server_ServerStatus_State,
            "State",
            DataTypeId::ServerState,
            Variant::from(ServerState::Running as i32),
        ),
        (
            VariableId::Server_ServerStatus_SecondsTillShutdown,
            "SecondsTillShutdown",
            DataTypeId::UInt32,
            Variant::from(0u32),
        ),
        (
            VariableId::Server_ServerStatus_ShutdownReason,
            "ShutdownReason",
            DataTypeId::LocalizedText,
            Variant::from(opcua_types::LocalizedText::null()),
        ),
    ];
    for (id, name, data_type, value) in parts {
        builder.add(NewNode::data(id, name, data_type, value).component_of(status));
    }
    add_build_info(builder);
}

fn add_build_info(builder: &mut SpaceBuilder) {
    let info = build_info(builder.started());
    let status = VariableId::Server_ServerStatus;
    let build = VariableId::Server_ServerStatus_BuildInfo;
    let node =
        NewNode::variable(build, "BuildInfo", DataTypeId::BuildInfo, ExtensionObject::new(info.clone()));
    builder.add(node.of_type(VariableTypeId::BuildInfoType).component_of(status));
    let parts = [
        (
            VariableId::Server_ServerStatus_BuildInfo_ProductName,
            "ProductName",
            DataTypeId::String,
            Variant::from(info.product_name),
        ),
        (
            VariableId::Server_ServerStatus_BuildInfo_ProductUri,
            "ProductUri",
            DataTypeId::String,
            Variant::from(info.product_uri),
        ),
        (
            VariableId::Server_ServerStatus_BuildInfo_ManufacturerName,
            "ManufacturerName",
            DataTypeId::String,
            Variant::from(info.manufacturer_name),
        ),
        (
            VariableId::Server_ServerStatus_BuildInfo_SoftwareVersion,
            "SoftwareVersion",
            DataTypeId::String,
            Variant::from(info.software_version),
        ),
        (
            VariableId::Server_ServerStatus_BuildInfo_BuildNumber,
            "BuildNumber",
            DataTypeId::String,
            Variant::from(info.build_number),
        ),
        (
            VariableId::Server_ServerStatus_BuildInfo_BuildDate,
            "BuildDate",
            DataTypeId::UtcTime,
            Variant::from(info.build_date),
        ),
    ];
    for (id, name, data_type, value) in parts {
        builder.add(NewNode::data(id, name, data_type, value).component_of(build));
    }
}

/// A limit as the type that its property has.
fn count(limit: usize) -> u32 {
    u32::try_from(limit).unwrap_or(u32::MAX)
}

fn add_capabilities(builder: &mut SpaceBuilder) {
    let capabilities = ObjectId::Server_ServerCapabilities;
    let node =
        NewNode::object(capabilities, "ServerCapabilities").of_type(ObjectTypeId::ServerCapabilitiesType);
    builder.add(node.component_of(ObjectId::Server));
    // None: it was never certified for any.
    let profiles: Vec<UAString> = Vec::new();
    let locales: Vec<UAString> = vec!["en".into()];
    use VariableId as V;
    let properties: [(V, &str, DataTypeId, Variant); 4] = [
        (
            V::Server_ServerCapabilities_ServerProfileArray,
            "ServerProfileArray",
            DataTypeId::String,
            profiles.into(),
        ),
        (V::Server_ServerCapabilities_LocaleIdArray, "LocaleIdArray", DataTypeId::LocaleId, locales.into()),
        (
            V::Server_ServerCapabilities_MinSupportedSampleRate,
            "MinSupportedSampleRate",
            DataTypeId::Duration,
            (limits::INTERVAL_MS_MIN as f64).into(),
        ),
        (
            V::Server_ServerCapabilities_SoftwareCertificates,
            "SoftwareCertificates",
            DataTypeId::SignedSoftwareCertificate,
            Variant::from(opcua_types::Array {
                value_type: opcua_types::VariantScalarTypeId::ExtensionObject,
                values: Vec::new(),
                dimensions: None,
            }),
        ),
    ];
    for (id, name, data_type, value) in properties {
        builder.add(NewNode::property(id, name, data_type, value, capabilities));
    }
    add_size_limits(builder);
    add_operation_limits(builder);
}

fn add_size_limits(builder: &mut SpaceBuilder) {
    let points = |most: usize| u16::try_from(most).unwrap_or(u16::MAX);
    let browse_points = points(limits::CONTINUATION_POINTS_MAX);
    let history_points = points(limits::HISTORY_POINTS_MAX);
    use VariableId as V;
    let properties: [(V, &str, DataTypeId, Variant); 6] = [
        (
            V::Server_ServerCapabilities_MaxBrowseContinuationPoints,
            "MaxBrowseContinuationPoints",
            DataTypeId::UInt16,
            browse_points.into(),
        ),
        (
            V::Server_ServerCapabilities_MaxQueryContinuationPoints,
            "MaxQueryContinuationPoints",
            DataTypeId::UInt16,
            0u16.into(),
        ),
        (
            V::Server_ServerCapabilities_MaxHistoryContinuationPoints,
            "MaxHistoryContinuationPoints",
            DataTypeId::UInt16,
            history_points.into(),
        ),
        (
            V::Server_ServerCapabilities_MaxArrayLength,
            "MaxArrayLength",
            DataTypeId::UInt32,
            count(limits::ARRAY_LENGTH_MAX).into(),
        ),
        (
            V::Server_ServerCapabilities_MaxStringLength,
            "MaxStringLength",
            DataTypeId::UInt32,
            count(limits::STRING_BYTES_MAX).into(),
        ),
        (
            V::Server_ServerCapabilities_MaxByteStringLength,
            "MaxByteStringLength",
            DataTypeId::UInt32,
            count(limits::BYTE_STRING_BYTES_MAX).into(),
        ),
    ];
    for (id, name, data_type, value) in properties {
        builder.add(NewNode::property(id, name, data_type, value, ObjectId::Server_ServerCapabilities));
    }
}

fn add_operation_limits(builder: &mut SpaceBuilder) {
    let parent = ObjectId::Server_ServerCapabilities_OperationLimits;
    let node = NewNode::object(parent, "OperationLimits").of_type(ObjectTypeId::OperationLimitsType);
    builder.add(node.component_of(ObjectId::Server_ServerCapabilities));
    use VariableId as V;
    let most = [
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerRead,
            "MaxNodesPerRead",
            limits::OPERATIONS_MAX,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerHistoryReadData,
            "MaxNodesPerHistoryReadData",
            limits::HISTORY_NODES_MAX,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerWrite,
            "MaxNodesPerWrite",
            limits::OPERATIONS_MAX,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerMethodCall,
            "MaxNodesPerMethodCall",
            limits::CALLS_MAX,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerBrowse,
            "MaxNodesPerBrowse",
            limits::BROWSE_NODES_MAX,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerRegisterNodes,
            "MaxNodesPerRegisterNodes",
            limits::OPERATIONS_MAX,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerTranslateBrowsePathsToNodeIds,
            "MaxNodesPerTranslateBrowsePathsToNodeIds",
            limits::BROWSE_NODES_MAX,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxMonitoredItemsPerCall,
            "MaxMonitoredItemsPerCall",
            limits::OPERATIONS_MAX,
        ),
    ];
    for (id, name, limit) in most {
        builder.add(NewNode::property(id, name, DataTypeId::UInt32, count(limit), parent));
    }
}
