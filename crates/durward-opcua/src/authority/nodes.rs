//! The nodes of the authorization service: the types with the ids of the standard (namespace of Part 12), one instance with ids of its own.

use opcua_types::{
    Argument, ByteString, DataTypeId, ExtensionObject, NodeId, ObjectId, ObjectTypeId, ReferenceTypeId,
    Variant, VariantScalarTypeId,
};

use super::ServiceDescription;
use crate::plant::{NewNode, SpaceBuilder, argument, array_argument};

/// The namespace of Part 12.
pub const GDS_NAMESPACE: &str = "http://opcfoundation.org/UA/GDS/";
/// The namespace of what gates and the authorization service say to each other.
pub const AUTHORITY_NAMESPACE: &str = "urn:durward:opcua:authority";

/// Numbers of nodes in the namespace of Part 12 (the standard's node set).
mod gds {
    pub(super) const FOLDER_TYPE: u32 = 233;
    pub(super) const FOLDER: u32 = 959;
    pub(super) const SERVICE_TYPE: u32 = 966;
    pub(super) const USER_TOKEN_POLICIES: u32 = 967;
    pub(super) const SERVICE_CERTIFICATE: u32 = 968;
    pub(super) const SERVICE_URI: u32 = 1003;
    pub(super) const TOKEN_ISSUED_EVENT_TYPE: u32 = 975;
    /// Methods: id, ids of their arguments (0 where there are none).
    pub(super) const REQUEST_ACCESS_TOKEN: [u32; 3] = [969, 970, 971];
    pub(super) const GET_SERVICE_DESCRIPTION: [u32; 3] = [1004, 0, 1005];
    pub(super) const START_REQUEST_TOKEN: [u32; 3] = [95, 96, 97];
    pub(super) const FINISH_REQUEST_TOKEN: [u32; 3] = [98, 99, 100];
    pub(super) const REFRESH_TOKEN: [u32; 3] = [64, 65, 66];
}

/// The ids of the instance's methods.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodIds {
    /// `GetServiceDescription`.
    pub get_service_description: NodeId,
    /// `RequestAccessToken`.
    pub request_access_token: NodeId,
    /// `StartRequestToken`.
    pub start_request_token: NodeId,
    /// `FinishRequestToken`.
    pub finish_request_token: NodeId,
    /// `RefreshToken`.
    pub refresh_token: NodeId,
    /// `PublishNodeTable`, which only gates call.
    pub publish_node_table: NodeId,
    /// `AskCutoffs`, which only gates call.
    pub ask_cutoffs: NodeId,
}

/// The ids of the nodes of an authorization service.
#[derive(Clone, Debug, PartialEq)]
pub struct AuthorityNodes {
    /// The folder of all authorization services of a server.
    pub folder: NodeId,
    /// The service.
    pub service: NodeId,
    /// The object for gates, a component of the service.
    pub gates: NodeId,
    /// Its methods, and those of the object for gates.
    pub methods: MethodIds,
    /// The last cutoffs, encoded: an array of byte strings.
    pub revocations: NodeId,
    /// The number of the last cutoff.
    pub sequence: NodeId,
    /// The last heartbeat, encoded: a byte string.
    pub heartbeat: NodeId,
    /// Tells of new cutoffs.
    pub event_type: NodeId,
    /// The index of [`AUTHORITY_NAMESPACE`].
    pub namespace: u16,
}

/// One method of the type: its name, its ids, what it takes and gives, whether instances must have it.
struct DeclaredMethod {
    name: &'static str,
    ids: [u32; 3],
    inputs: Vec<Argument>,
    outputs: Vec<Argument>,
    rule: ObjectId,
}

fn declared() -> Vec<DeclaredMethod> {
    let resource = || argument("ResourceId", DataTypeId::String, "the server the token is for");
    let expiry = |name| argument(name, DataTypeId::UtcTime, "when it ends");
    let token = |name| argument(name, DataTypeId::String, "");
    vec![
        DeclaredMethod {
            name: "GetServiceDescription",
            ids: gds::GET_SERVICE_DESCRIPTION,
            inputs: Vec::new(),
            outputs: vec![
                argument("ServiceUri", DataTypeId::String, "the issuer of the tokens"),
                argument("ServiceCertificate", DataTypeId::ByteString, "the certificate of the service"),
                array_argument(
                    "UserTokenPolicies",
                    DataTypeId::UserTokenPolicy,
                    "how users can identify themselves",
                ),
            ],
            rule: ObjectId::ModellingRule_Mandatory,
        },
        DeclaredMethod {
            name: "RequestAccessToken",
            ids: gds::REQUEST_ACCESS_TOKEN,
            inputs: vec![
                argument("IdentityToken", DataTypeId::UserIdentityToken, "null: the user of the session"),
                resource(),
            ],
            outputs: vec![token("AccessToken")],
            rule: ObjectId::ModellingRule_Optional,
        },
        DeclaredMethod {
            name: "StartRequestToken",
            ids: gds::START_REQUEST_TOKEN,
            inputs: vec![
                resource(),
                argument("PolicyId", DataTypeId::String, "one of UserTokenPolicies"),
                argument("RequestorData", DataTypeId::ByteString, "depends on the policy"),
            ],
            outputs: vec![
                argument("ServiceData", DataTypeId::ByteString, "depends on the policy"),
                argument("RequestId", DataTypeId::Guid, "for FinishRequestToken, in this session"),
            ],
            rule: ObjectId::ModellingRule_Optional,
        },
        DeclaredMethod {
            name: "FinishRequestToken",
            ids: gds::FINISH_REQUEST_TOKEN,
            inputs: vec![
                argument("RequestId", DataTypeId::Guid, "from StartRequestToken"),
                array_argument("RequestedRoles", DataTypeId::String, "none: all that are due"),
                argument("UserIdentityToken", DataTypeId::UserIdentityToken, "null: the user of the session"),
                argument("UserTokenSignature", DataTypeId::SignatureData, "the proof for a certificate"),
            ],
            outputs: vec![
                token("AccessToken"),
                expiry("AccessTokenExpiryTime"),
                token("RefreshToken"),
                expiry("RefreshTokenExpiryTime"),
            ],
            rule: ObjectId::ModellingRule_Optional,
        },
        DeclaredMethod {
            name: "RefreshToken",
            ids: gds::REFRESH_TOKEN,
            inputs: vec![resource(), token("CurrentRefreshToken")],
            outputs: vec![
                token("AccessToken"),
                expiry("AccessTokenExpiryTime"),
                token("NewRefreshToken"),
                expiry("NewRefreshTokenExpiryTime"),
            ],
            rule: ObjectId::ModellingRule_Optional,
        },
    ]
}

/// Adds the types of the standard, the folder `AuthorizationServices` under Objects and one service in it.
pub fn add_authority(builder: &mut SpaceBuilder, description: &ServiceDescription) -> AuthorityNodes {
    let gds = builder.namespace(GDS_NAMESPACE);
    let namespace = builder.namespace(AUTHORITY_NAMESPACE);
    add_types(builder, gds);
    let folder = NewNode::object(NodeId::new(gds, gds::FOLDER), "AuthorizationServices")
        .of_type(NodeId::new(gds, gds::FOLDER_TYPE));
    let folder = builder.add(folder.organized_by(ObjectId::ObjectsFolder));
    let id = |name: &str| NodeId::new(namespace, name);
    let service = NewNode::object(id("AuthorizationService"), "AuthorizationService")
        .of_type(NodeId::new(gds, gds::SERVICE_TYPE));
    let service = builder.add(service.notifier().component_of(folder.clone()));
    let uri = description.service_uri.as_str();
    let certificate = ByteString::from(description.service_certificate.clone());
    let properties: [(&str, DataTypeId, Variant); 3] = [
        ("ServiceUri", DataTypeId::String, uri.into()),
        ("ServiceCertificate", DataTypeId::ByteString, certificate.into()),
        ("UserTokenPolicies", DataTypeId::UserTokenPolicy, policies(description)),
    ];
    for (name, data_type, value) in properties {
        let property = NewNode::property(
            id(&format!("AuthorizationService.{name}")),
            name,
            data_type,
            value,
            service.clone(),
        );
        builder.add(property.browse_namespace(gds));
    }
    for DeclaredMethod { name, inputs, outputs, .. } in declared() {
        let method = NewNode::method(id(&format!("AuthorizationService.{name}")), name).browse_namespace(gds);
        builder.add(method.arguments(inputs, outputs).component_of(service.clone()));
    }
    add_gates(builder, namespace, folder, service)
}

/// The policies as the value of a variable.
pub(super) fn policies(description: &ServiceDescription) -> Variant {
    let values = description
        .user_token_policies
        .iter()
        .map(|policy| Variant::from(ExtensionObject::new(policy.clone())))
        .collect();
    Variant::from(opcua_types::Array {
        value_type: VariantScalarTypeId::ExtensionObject,
        values,
        dimensions: None,
    })
}

fn add_types(builder: &mut SpaceBuilder, gds: u16) {
    let id = |number: u32| NodeId::new(gds, number);
    let folder_type = NewNode::object_type(id(gds::FOLDER_TYPE), "AuthorizationServicesFolderType");
    builder.add(folder_type.subtype_of(ObjectTypeId::FolderType));
    let event_type =
        NewNode::object_type(id(gds::TOKEN_ISSUED_EVENT_TYPE), "AccessTokenIssuedAuditEventType");
    builder.add(event_type.subtype_of(ObjectTypeId::BaseEventType));
    let service_type = NewNode::object_type(id(gds::SERVICE_TYPE), "AuthorizationServiceType");
    let service_type = builder.add(service_type.subtype_of(ObjectTypeId::BaseObjectType));
    let empty: Variant = opcua_types::Array {
        value_type: VariantScalarTypeId::ExtensionObject,
        values: Vec::new(),
        dimensions: None,
    }
    .into();
    let properties = [
        (
            gds::SERVICE_URI,
            "ServiceUri",
            DataTypeId::String,
            Variant::Empty,
            ObjectId::ModellingRule_Mandatory,
        ),
        (
            gds::SERVICE_CERTIFICATE,
            "ServiceCertificate",
            DataTypeId::ByteString,
            Variant::Empty,
            ObjectId::ModellingRule_Mandatory,
        ),
        (
            gds::USER_TOKEN_POLICIES,
            "UserTokenPolicies",
            DataTypeId::UserTokenPolicy,
            empty,
            ObjectId::ModellingRule_Optional,
        ),
    ];
    for (number, name, data_type, value, rule) in properties {
        builder.add(NewNode::property(id(number), name, data_type, value, service_type.clone()).ruled(rule));
    }
    for DeclaredMethod { name, ids: [number, input_id, output_id], inputs, outputs, rule } in declared() {
        let method = NewNode::method(id(number), name).ruled(rule).component_of(service_type.clone());
        builder.add(method.arguments(inputs, outputs).argument_ids(id(input_id), id(output_id)));
    }
}

fn add_gates(builder: &mut SpaceBuilder, namespace: u16, folder: NodeId, service: NodeId) -> AuthorityNodes {
    let id = |name: &str| NodeId::new(namespace, name);
    let gates = NewNode::object(id("Gates"), "Gates").of_type(ObjectTypeId::BaseObjectType).notifier();
    let gates = builder.add(gates.component_of(service.clone()));
    let none: Vec<ByteString> = Vec::new();
    let revocations = NewNode::data(id("Gates.Revocations"), "Revocations", DataTypeId::ByteString, none);
    let revocations = builder.add(
        revocations
            .described("the last cutoffs, encoded; the newest is the last")
            .component_of(gates.clone()),
    );
    let sequence = NewNode::data(id("Gates.Sequence"), "Sequence", DataTypeId::UInt64, 0u64);
    let sequence =
        builder.add(sequence.described("the number of the last cutoff").component_of(gates.clone()));
    let heartbeat =
        NewNode::data(id("Gates.Heartbeat"), "Heartbeat", DataTypeId::ByteString, ByteString::null());
    let heartbeat =
        builder.add(heartbeat.described("the last heartbeat, encoded").component_of(gates.clone()));
    let table = NewNode::method(id("Gates.PublishNodeTable"), "PublishNodeTable").component_of(gates.clone());
    let table = builder.add(table.arguments(
        vec![
            argument("ResourceId", DataTypeId::String, "the server whose nodes they are"),
            argument("Version", DataTypeId::UInt32, "tokens name it"),
            argument("Table", DataTypeId::ByteString, "the table, encoded"),
        ],
        Vec::new(),
    ));
    let ask = NewNode::method(id("Gates.AskCutoffs"), "AskCutoffs").component_of(gates.clone());
    let ask = builder.add(ask.arguments(
        vec![argument("Question", DataTypeId::UInt64, "the number of the question")],
        vec![argument(
            "Snapshot",
            DataTypeId::ByteString,
            "every cutoff in force, encoded, with that number",
        )],
    ));
    let event_type = NewNode::object_type(id("RevocationEventType"), "RevocationEventType")
        .subtype_of(ObjectTypeId::BaseEventType);
    let event_type = builder.add(event_type.inside(gates.clone(), ReferenceTypeId::GeneratesEvent));
    for (name, data_type) in [("Sequence", DataTypeId::UInt64), ("Cutoffs", DataTypeId::ByteString)] {
        let field = NewNode::property(
            id(&format!("RevocationEventType.{name}")),
            name,
            data_type,
            Variant::Empty,
            event_type.clone(),
        );
        builder.add(field.ruled(ObjectId::ModellingRule_Mandatory));
    }
    let method = |name: &str| id(&format!("AuthorizationService.{name}"));
    let methods = MethodIds {
        get_service_description: method("GetServiceDescription"),
        request_access_token: method("RequestAccessToken"),
        start_request_token: method("StartRequestToken"),
        finish_request_token: method("FinishRequestToken"),
        refresh_token: method("RefreshToken"),
        publish_node_table: table,
        ask_cutoffs: ask,
    };
    AuthorityNodes {
        folder,
        service,
        gates,
        methods,
        revocations,
        sequence,
        heartbeat,
        event_type,
        namespace,
    }
}

impl MethodIds {
    /// Every method.
    pub fn all(&self) -> [NodeId; 7] {
        [
            self.get_service_description.clone(),
            self.request_access_token.clone(),
            self.start_request_token.clone(),
            self.finish_request_token.clone(),
            self.refresh_token.clone(),
            self.publish_node_table.clone(),
            self.ask_cutoffs.clone(),
        ]
    }
}
