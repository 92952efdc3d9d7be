//! Every service of Part 4, and where it is answered.

use opcua_types::ObjectId;

/// Who answers a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mediation {
    /// The mediator: its entries are checked one by one.
    Mediated,
    /// The session and channel layers: it never reaches the mediator. Should it, it is refused.
    Elsewhere,
    /// Nobody: always refused.
    Refused,
}

macro_rules! services {
    ($($name:ident $mediation:ident $request:ident $response:ident,)*) => {
        /// A service of Part 4.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ServiceKind {
            $(
                #[doc = concat!("The service `", stringify!($name), "`.")]
                $name,
            )*
        }

        impl ServiceKind {
            /// Every service of Part 4, in its order.
            pub const ALL: &[ServiceKind] = &[$(ServiceKind::$name),*];

            /// The service whose request has that encoding id (numeric, namespace 0).
            pub fn of_request(type_id: u32) -> Option<ServiceKind> {
                $(
                    if type_id == ObjectId::$request as u32 {
                        return Some(ServiceKind::$name);
                    }
                )*
                None
            }

            /// The encoding id of the request.
            pub fn request_id(self) -> u32 {
                match self {
                    $(ServiceKind::$name => ObjectId::$request as u32,)*
                }
            }

            /// The encoding id of the response.
            pub fn response_id(self) -> u32 {
                match self {
                    $(ServiceKind::$name => ObjectId::$response as u32,)*
                }
            }

            /// Who answers it.
            pub fn mediation(self) -> Mediation {
                match self {
                    $(ServiceKind::$name => Mediation::$mediation,)*
                }
            }
        }
    };
}

services! {
    FindServers Elsewhere FindServersRequest_Encoding_DefaultBinary FindServersResponse_Encoding_DefaultBinary,
    FindServersOnNetwork Elsewhere FindServersOnNetworkRequest_Encoding_DefaultBinary FindServersOnNetworkResponse_Encoding_DefaultBinary,
    GetEndpoints Elsewhere GetEndpointsRequest_Encoding_DefaultBinary GetEndpointsResponse_Encoding_DefaultBinary,
    RegisterServer Refused RegisterServerRequest_Encoding_DefaultBinary RegisterServerResponse_Encoding_DefaultBinary,
    RegisterServer2 Refused RegisterServer2Request_Encoding_DefaultBinary RegisterServer2Response_Encoding_DefaultBinary,
    OpenSecureChannel Elsewhere OpenSecureChannelRequest_Encoding_DefaultBinary OpenSecureChannelResponse_Encoding_DefaultBinary,
    CloseSecureChannel Elsewhere CloseSecureChannelRequest_Encoding_DefaultBinary CloseSecureChannelResponse_Encoding_DefaultBinary,
    CreateSession Elsewhere CreateSessionRequest_Encoding_DefaultBinary CreateSessionResponse_Encoding_DefaultBinary,
    ActivateSession Elsewhere ActivateSessionRequest_Encoding_DefaultBinary ActivateSessionResponse_Encoding_DefaultBinary,
    CloseSession Elsewhere CloseSessionRequest_Encoding_DefaultBinary CloseSessionResponse_Encoding_DefaultBinary,
    Cancel Mediated CancelRequest_Encoding_DefaultBinary CancelResponse_Encoding_DefaultBinary,
    AddNodes Mediated AddNodesRequest_Encoding_DefaultBinary AddNodesResponse_Encoding_DefaultBinary,
    AddReferences Mediated AddReferencesRequest_Encoding_DefaultBinary AddReferencesResponse_Encoding_DefaultBinary,
    DeleteNodes Mediated DeleteNodesRequest_Encoding_DefaultBinary DeleteNodesResponse_Encoding_DefaultBinary,
    DeleteReferences Mediated DeleteReferencesRequest_Encoding_DefaultBinary DeleteReferencesResponse_Encoding_DefaultBinary,
    Browse Mediated BrowseRequest_Encoding_DefaultBinary BrowseResponse_Encoding_DefaultBinary,
    BrowseNext Mediated BrowseNextRequest_Encoding_DefaultBinary BrowseNextResponse_Encoding_DefaultBinary,
    TranslateBrowsePathsToNodeIds Mediated TranslateBrowsePathsToNodeIdsRequest_Encoding_DefaultBinary TranslateBrowsePathsToNodeIdsResponse_Encoding_DefaultBinary,
    RegisterNodes Mediated RegisterNodesRequest_Encoding_DefaultBinary RegisterNodesResponse_Encoding_DefaultBinary,
    UnregisterNodes Mediated UnregisterNodesRequest_Encoding_DefaultBinary UnregisterNodesResponse_Encoding_DefaultBinary,
    QueryFirst Refused QueryFirstRequest_Encoding_DefaultBinary QueryFirstResponse_Encoding_DefaultBinary,
    QueryNext Refused QueryNextRequest_Encoding_DefaultBinary QueryNextResponse_Encoding_DefaultBinary,
    Read Mediated ReadRequest_Encoding_DefaultBinary ReadResponse_Encoding_DefaultBinary,
    HistoryRead Mediated HistoryReadRequest_Encoding_DefaultBinary HistoryReadResponse_Encoding_DefaultBinary,
    Write Mediated WriteRequest_Encoding_DefaultBinary WriteResponse_Encoding_DefaultBinary,
    HistoryUpdate Mediated HistoryUpdateRequest_Encoding_DefaultBinary HistoryUpdateResponse_Encoding_DefaultBinary,
    Call Mediated CallRequest_Encoding_DefaultBinary CallResponse_Encoding_DefaultBinary,
    CreateMonitoredItems Mediated CreateMonitoredItemsRequest_Encoding_DefaultBinary CreateMonitoredItemsResponse_Encoding_DefaultBinary,
    ModifyMonitoredItems Mediated ModifyMonitoredItemsRequest_Encoding_DefaultBinary ModifyMonitoredItemsResponse_Encoding_DefaultBinary,
    SetMonitoringMode Mediated SetMonitoringModeRequest_Encoding_DefaultBinary SetMonitoringModeResponse_Encoding_DefaultBinary,
    SetTriggering Mediated SetTriggeringRequest_Encoding_DefaultBinary SetTriggeringResponse_Encoding_DefaultBinary,
    DeleteMonitoredItems Mediated DeleteMonitoredItemsRequest_Encoding_DefaultBinary DeleteMonitoredItemsResponse_Encoding_DefaultBinary,
    CreateSubscription Mediated CreateSubscriptionRequest_Encoding_DefaultBinary CreateSubscriptionResponse_Encoding_DefaultBinary,
    ModifySubscription Mediated ModifySubscriptionRequest_Encoding_DefaultBinary ModifySubscriptionResponse_Encoding_DefaultBinary,
    SetPublishingMode Mediated SetPublishingModeRequest_Encoding_DefaultBinary SetPublishingModeResponse_Encoding_DefaultBinary,
    Publish Mediated PublishRequest_Encoding_DefaultBinary PublishResponse_Encoding_DefaultBinary,
    Republish Mediated RepublishRequest_Encoding_DefaultBinary RepublishResponse_Encoding_DefaultBinary,
    TransferSubscriptions Mediated TransferSubscriptionsRequest_Encoding_DefaultBinary TransferSubscriptionsResponse_Encoding_DefaultBinary,
    DeleteSubscriptions Mediated DeleteSubscriptionsRequest_Encoding_DefaultBinary DeleteSubscriptionsResponse_Encoding_DefaultBinary,
}
