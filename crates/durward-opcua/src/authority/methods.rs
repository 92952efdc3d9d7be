//! Calls of the authorization service: what must hold before anybody decides, arguments as types, results as values.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use durward_identity::Moment;
use opcua_types::{
    AnonymousIdentityToken, ByteString, ExtensionObject, Guid, IssuedIdentityToken, NodeId, SignatureData,
    StatusCode, UserNameIdentityToken, Variant, X509IdentityToken,
};

use super::nodes::{AuthorityNodes, MethodIds, policies};
use super::requests::{OpenRequests, StartedRequest, TokenRequestId};
use super::{
    AccessTokenRequest, Authority, FinishRequest, Identity, MethodCaller, NODE_TABLE_BYTES_MAX,
    NodeTableUpload, REQUESTED_ROLES_MAX, REQUESTOR_DATA_BYTES_MAX, RESOURCE_ID_BYTES_MAX, RefreshRequest,
    Resource, StartRequest, Tokens,
};
use crate::permission::{Permission, PermissionRuling};
use crate::plant::{
    AccessGuard, ClientQuota, PendingCall, PlantServer, RemoteMethods, SpaceBuilder, SpaceError,
};

/// What the gates with one certificate may subscribe to: some restarts at once of a gate with its two variables, and events. Nobody else may
/// subscribe at all, so that gates never want for a place.
const GATE_QUOTA: ClientQuota =
    ClientQuota { subscriptions: 8, items: 32, queued: 4_000, lifetime: Duration::from_secs(600) };

/// Makes 128 random bits.
type RandomBits = Arc<dyn Fn() -> TokenRequestId + Send + Sync>;

/// A server that is an authorization service and nothing else. `chance` must give unpredictable bits.
///
/// # Errors
/// As [`SpaceBuilder::build`].
pub fn serve<A: Authority>(
    application_uri: &str,
    authority: Arc<A>,
    chance: impl Fn() -> TokenRequestId + Send + Sync + 'static,
    started: Moment,
) -> Result<(PlantServer, AuthorityNodes), SpaceError> {
    let mut builder = SpaceBuilder::new(application_uri, started);
    let nodes = super::add_authority(&mut builder, &authority.describe());
    let methods = AuthorityMethods::new(Arc::clone(&authority), nodes.methods.clone(), chance);
    let guard = FollowGuard::new(authority, &nodes);
    let server = PlantServer::new(builder.build()?)
        .with_remote(nodes.methods.all(), Arc::new(methods))
        .with_guard(guard);
    Ok((server, nodes))
}

/// Executes the methods of an authorization service.
pub struct AuthorityMethods<A> {
    authority: Arc<A>,
    methods: MethodIds,
    requests: Arc<Mutex<OpenRequests>>,
    chance: RandomBits,
}

impl<A: Authority> AuthorityMethods<A> {
    /// The methods with these ids. `chance` must give unpredictable bits: they name requests.
    pub fn new(
        authority: Arc<A>,
        methods: MethodIds,
        chance: impl Fn() -> TokenRequestId + Send + Sync + 'static,
    ) -> AuthorityMethods<A> {
        AuthorityMethods { authority, methods, requests: Arc::default(), chance: Arc::new(chance) }
    }

    /// Which method it is, and its arguments as types.
    fn begin(
        &self,
        caller: &MethodCaller,
        method: &NodeId,
        inputs: Vec<Variant>,
        now: Moment,
    ) -> Result<PendingCall, StatusCode> {
        // Tokens and passwords travel here: nothing of it over a channel that others can read (Part 12, 9.5).
        if !caller.encrypted {
            return Err(StatusCode::BadSecurityModeInsufficient);
        }
        let mut arguments = MethodArguments(inputs.into_iter());
        if *method == self.methods.get_service_description {
            Ok(self.describe())
        } else if *method == self.methods.request_access_token {
            self.request_access_token(caller, &mut arguments, now)
        } else if *method == self.methods.start_request_token {
            self.start(caller, &mut arguments, now)
        } else if *method == self.methods.finish_request_token {
            self.finish(caller, &mut arguments, now)
        } else if *method == self.methods.refresh_token {
            self.refresh(caller, &mut arguments, now)
        } else if *method == self.methods.publish_node_table {
            self.publish_node_table(caller, &mut arguments, now)
        } else if *method == self.methods.ask_cutoffs {
            self.ask_cutoffs(caller, &mut arguments, now)
        } else {
            Err(StatusCode::BadMethodInvalid)
        }
    }

    fn describe(&self) -> PendingCall {
        let description = self.authority.describe();
        let policies = policies(&description);
        let certificate = ByteString::from(description.service_certificate);
        ready(Ok(vec![Variant::from(description.service_uri), Variant::from(certificate), policies]))
    }

    /// The resource must be a known one.
    fn resource(&self, id: &str) -> Result<Resource, StatusCode> {
        if id.is_empty() || id.len() > RESOURCE_ID_BYTES_MAX {
            return Err(StatusCode::BadNotFound);
        }
        self.authority.resource(id).ok_or(StatusCode::BadNotFound)
    }

    fn request_access_token(
        &self,
        caller: &MethodCaller,
        arguments: &mut MethodArguments,
        now: Moment,
    ) -> Result<PendingCall, StatusCode> {
        let identity = arguments.identity()?;
        let resource_id = arguments.text()?;
        self.resource(&resource_id)?;
        let reply =
            self.authority.request_access_token(caller, AccessTokenRequest { identity, resource_id }, now);
        Ok(Box::pin(async move { Ok(vec![Variant::from(reply.await?)]) }))
    }

    fn start(
        &self,
        caller: &MethodCaller,
        arguments: &mut MethodArguments,
        now: Moment,
    ) -> Result<PendingCall, StatusCode> {
        let request = StartRequest {
            resource_id: arguments.text()?,
            policy_id: arguments.text()?,
            requestor_data: arguments.bytes()?,
        };
        self.resource(&request.resource_id)?;
        let policies = self.authority.describe().user_token_policies;
        if !policies.iter().any(|policy| policy.policy_id.as_ref() == request.policy_id) {
            return Err(StatusCode::BadIdentityTokenInvalid);
        }
        if request.requestor_data.as_ref().len() > REQUESTOR_DATA_BYTES_MAX {
            return Err(StatusCode::BadInvalidArgument);
        }
        let reply = self.authority.start_request_token(caller, &request, now);
        let (requests, id, session) = (Arc::clone(&self.requests), (self.chance)(), caller.session);
        Ok(Box::pin(async move {
            let service_data = reply.await?;
            let started = StartedRequest { request, service_data: service_data.clone() };
            requests.lock().unwrap_or_else(PoisonError::into_inner).insert(id, session, started, now)?;
            Ok(vec![Variant::from(service_data), Variant::from(Guid::from_bytes(id))])
        }))
    }

    fn finish(
        &self,
        caller: &MethodCaller,
        arguments: &mut MethodArguments,
        now: Moment,
    ) -> Result<PendingCall, StatusCode> {
        let id = arguments.guid()?;
        let requested_roles = arguments.texts()?;
        let identity = arguments.identity();
        let signature = arguments.signature()?;
        if requested_roles.len() > REQUESTED_ROLES_MAX {
            return Err(StatusCode::BadInvalidArgument);
        }
        let taken =
            self.requests.lock().unwrap_or_else(PoisonError::into_inner).take(&id, caller.session, now);
        let StartedRequest { request: started, service_data } = taken.ok_or(StatusCode::BadNotFound)?;
        let request =
            FinishRequest { started, service_data, requested_roles, identity: identity?, signature };
        let reply = self.authority.finish_request_token(caller, request, now);
        Ok(Box::pin(async move { Ok(outputs(reply.await?)) }))
    }

    fn refresh(
        &self,
        caller: &MethodCaller,
        arguments: &mut MethodArguments,
        now: Moment,
    ) -> Result<PendingCall, StatusCode> {
        let request = RefreshRequest { resource_id: arguments.text()?, refresh_token: arguments.text()? };
        self.resource(&request.resource_id)?;
        if request.refresh_token.is_empty() {
            return Err(StatusCode::BadIdentityTokenInvalid);
        }
        let reply = self.authority.refresh_token(caller, request, now);
        Ok(Box::pin(async move { Ok(outputs(reply.await?)) }))
    }

    fn publish_node_table(
        &self,
        caller: &MethodCaller,
        arguments: &mut MethodArguments,
        now: Moment,
    ) -> Result<PendingCall, StatusCode> {
        let resource_id = arguments.text()?;
        let version = arguments.number()?;
        let table = arguments.bytes()?;
        let owner = self.resource(&resource_id)?.certificate;
        if owner.is_none() || owner != caller.certificate {
            return Err(StatusCode::BadUserAccessDenied);
        }
        if table.as_ref().is_empty() || table.as_ref().len() > NODE_TABLE_BYTES_MAX {
            return Err(StatusCode::BadInvalidArgument);
        }
        let reply =
            self.authority.publish_node_table(caller, NodeTableUpload { resource_id, version, table }, now);
        Ok(Box::pin(async move { reply.await.map(|()| Vec::new()) }))
    }

    fn ask_cutoffs(
        &self,
        caller: &MethodCaller,
        arguments: &mut MethodArguments,
        now: Moment,
    ) -> Result<PendingCall, StatusCode> {
        let question = arguments.long()?;
        if !self.authority.may_follow(caller) {
            return Err(StatusCode::BadUserAccessDenied);
        }
        let reply = self.authority.ask_cutoffs(caller, question, now);
        Ok(Box::pin(async move { Ok(vec![Variant::from(reply.await?)]) }))
    }
}

impl<A: Authority> RemoteMethods for AuthorityMethods<A> {
    fn call(&self, caller: &MethodCaller, method: &NodeId, inputs: Vec<Variant>, now: Moment) -> PendingCall {
        self.begin(caller, method, inputs, now).unwrap_or_else(|status| ready(Err(status)))
    }
}

fn ready(result: Result<Vec<Variant>, StatusCode>) -> PendingCall {
    Box::pin(std::future::ready(result))
}

fn outputs(tokens: Tokens) -> Vec<Variant> {
    vec![
        Variant::from(tokens.access_token),
        Variant::from(tokens.access_token_expiry),
        Variant::from(tokens.refresh_token),
        Variant::from(tokens.refresh_token_expiry),
    ]
}

/// Arguments in their order. The server checked their number and types; null stands for empty where a type has null.
struct MethodArguments(std::vec::IntoIter<Variant>);

impl MethodArguments {
    fn next(&mut self) -> Result<Variant, StatusCode> {
        self.0.next().ok_or(StatusCode::BadArgumentsMissing)
    }

    fn text(&mut self) -> Result<String, StatusCode> {
        let value = self.next()?;
        if value.is_empty() {
            return Ok(String::new());
        }
        if let Variant::String(text) = value {
            Ok(text.as_ref().to_owned())
        } else {
            Err(StatusCode::BadInvalidArgument)
        }
    }

    fn texts(&mut self) -> Result<Vec<String>, StatusCode> {
        let value = self.next()?;
        let values = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |value: &Variant| {
            if let Variant::String(text) = value {
                Ok(text.as_ref().to_owned())
            } else {
                Err(StatusCode::BadInvalidArgument)
            }
        };
        values.iter().map(text).collect()
    }

    fn bytes(&mut self) -> Result<ByteString, StatusCode> {
        let value = self.next()?;
        if value.is_empty() {
            return Ok(ByteString::null());
        }
        if let Variant::ByteString(bytes) = value { Ok(bytes) } else { Err(StatusCode::BadInvalidArgument) }
    }

    fn number(&mut self) -> Result<u32, StatusCode> {
        if let Variant::UInt32(number) = self.next()? {
            Ok(number)
        } else {
            Err(StatusCode::BadInvalidArgument)
        }
    }

    fn long(&mut self) -> Result<u64, StatusCode> {
        if let Variant::UInt64(number) = self.next()? {
            Ok(number)
        } else {
            Err(StatusCode::BadInvalidArgument)
        }
    }

    fn guid(&mut self) -> Result<TokenRequestId, StatusCode> {
        if let Variant::Guid(guid) = self.next()? {
            Ok(guid.to_bytes())
        } else {
            Err(StatusCode::BadInvalidArgument)
        }
    }

    fn structure(&mut self) -> Result<ExtensionObject, StatusCode> {
        let value = self.next()?;
        if value.is_empty() {
            return Ok(ExtensionObject::null());
        }
        if let Variant::ExtensionObject(object) = value {
            Ok(object)
        } else {
            Err(StatusCode::BadInvalidArgument)
        }
    }

    /// A user identity token. A structure of another type is none.
    fn identity(&mut self) -> Result<Identity, StatusCode> {
        let object = self.structure()?;
        if object.is_null() {
            return Ok(Identity::Session);
        }
        let anonymous =
            object.inner_as::<AnonymousIdentityToken>().map(|token| Identity::Anonymous(token.clone()));
        let name = || object.inner_as::<UserNameIdentityToken>().map(|token| Identity::Name(token.clone()));
        let certificate =
            || object.inner_as::<X509IdentityToken>().map(|token| Identity::Certificate(token.clone()));
        let issued = || object.inner_as::<IssuedIdentityToken>().map(|token| Identity::Issued(token.clone()));
        anonymous
            .or_else(name)
            .or_else(certificate)
            .or_else(issued)
            .ok_or(StatusCode::BadIdentityTokenInvalid)
    }

    fn signature(&mut self) -> Result<SignatureData, StatusCode> {
        let object = self.structure()?;
        if object.is_null() {
            return Ok(SignatureData::null());
        }
        object.inner_as::<SignatureData>().cloned().ok_or(StatusCode::BadInvalidArgument)
    }
}

/// Lets only gates, on encrypted channels, see cutoffs and their events, and subscribe; everything else is open.
pub struct FollowGuard<A> {
    authority: Arc<A>,
    hidden: [NodeId; 3],
    events: [NodeId; 3],
}

impl<A: Authority> FollowGuard<A> {
    /// A guard of these nodes.
    pub fn new(authority: Arc<A>, nodes: &AuthorityNodes) -> FollowGuard<A> {
        FollowGuard {
            authority,
            hidden: [nodes.revocations.clone(), nodes.sequence.clone(), nodes.heartbeat.clone()],
            // At the object Server and at the service the same events are seen as at the object for gates.
            events: [nodes.gates.clone(), nodes.service.clone(), NodeId::from(opcua_types::ObjectId::Server)],
        }
    }
}

impl<A: Authority> AccessGuard for FollowGuard<A> {
    fn rule(&self, caller: &MethodCaller, permission: Permission, node: &NodeId) -> PermissionRuling {
        let reads = permission == Permission::Read && self.hidden.contains(node);
        let receives = permission == Permission::ReceiveEvents && self.events.contains(node);
        if !reads && !receives {
            return PermissionRuling::Granted;
        }
        if !caller.encrypted {
            return PermissionRuling::Refused(StatusCode::BadSecurityModeInsufficient);
        }
        if self.authority.may_follow(caller) { PermissionRuling::Granted } else { PermissionRuling::DENIED }
    }

    fn quota(&self, caller: &MethodCaller) -> Result<Option<ClientQuota>, StatusCode> {
        if !caller.encrypted {
            return Err(StatusCode::BadSecurityModeInsufficient);
        }
        if self.authority.may_follow(caller) {
            Ok(Some(GATE_QUOTA))
        } else {
            Err(StatusCode::BadUserAccessDenied)
        }
    }
}
