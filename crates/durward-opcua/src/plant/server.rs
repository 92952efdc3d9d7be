//! The server: what it holds, which service answers which request, and what happens as time passes. No socket, no clock.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use durward_identity::Moment;
use opcua_types::{
    ByteString, CallMethodResult, CallResponse, ContinuationPoint, DataValue, NodeId, ObjectId,
    ResponseHeader, StatusCode, Variant,
};

use super::codec::{Codec, header};
use super::services::{BrowsePoint, HistoryPoint};
use super::space::AddressSpace;
use super::subscription::{ClientQuota, LateResponseTicket, PlantEvent, PlantSubscriptions};
use crate::authority::{CallerSessionId, MethodCaller};
use crate::permission::{Permission, PermissionRuling};

/// What moves the variables of an address space and executes its methods.
pub trait Device: Send + Sync {
    /// Lets time pass until this moment. Gives the events that came up.
    fn tick(&mut self, space: &mut AddressSpace, now: Moment) -> Vec<PlantEvent>;

    /// Whether the value may be written to that variable; type and rank were checked.
    ///
    /// # Errors
    /// The status code of the write, `BadOutOfRange` as a rule.
    fn check_write(&self, space: &AddressSpace, node: &NodeId, value: &Variant) -> Result<(), StatusCode>;

    /// Executes a method; the arguments were checked.
    ///
    /// # Errors
    /// The status code of the call.
    fn call(
        &mut self,
        space: &mut AddressSpace,
        method: &NodeId,
        inputs: &[Variant],
        now: Moment,
    ) -> Result<Vec<Variant>, StatusCode>;
}

/// A device that does nothing.
#[derive(Clone, Copy, Debug)]
pub struct StillDevice;

impl Device for StillDevice {
    fn tick(&mut self, _space: &mut AddressSpace, _now: Moment) -> Vec<PlantEvent> {
        Vec::new()
    }

    fn check_write(&self, _space: &AddressSpace, _node: &NodeId, _value: &Variant) -> Result<(), StatusCode> {
        Ok(())
    }

    fn call(
        &mut self,
        _space: &mut AddressSpace,
        _method: &NodeId,
        _inputs: &[Variant],
        _now: Moment,
    ) -> Result<Vec<Variant>, StatusCode> {
        Err(StatusCode::BadNotImplemented)
    }
}

/// A call that is under way.
pub type PendingCall = Pin<Box<dyn Future<Output = Result<Vec<Variant>, StatusCode>> + Send>>;

/// Executes methods without the server's lock, however long that takes.
pub trait RemoteMethods: Send + Sync {
    /// Starts the method; the number of arguments and their types were checked.
    fn call(&self, caller: &MethodCaller, method: &NodeId, inputs: Vec<Variant>, now: Moment) -> PendingCall;
}

/// What callers may do to nodes. Asked for every node of every service.
pub trait AccessGuard: Send + Sync {
    /// Rules on one permission of one caller on one node.
    fn rule(&self, caller: &MethodCaller, permission: Permission, node: &NodeId) -> PermissionRuling;

    /// What the caller's application may have of subscriptions; nothing where only the limits of the server hold. Asked for each request
    /// that creates, changes or takes over something.
    ///
    /// # Errors
    /// The caller may have no subscription; the status code of the request.
    fn quota(&self, caller: &MethodCaller) -> Result<Option<ClientQuota>, StatusCode> {
        let _ = caller;
        Ok(None)
    }
}

/// Everybody may do everything: protection is the task of a gate in front.
#[derive(Clone, Copy, Debug)]
pub struct OpenAccess;

impl AccessGuard for OpenAccess {
    fn rule(&self, _caller: &MethodCaller, _permission: Permission, _node: &NodeId) -> PermissionRuling {
        PermissionRuling::Granted
    }
}

/// The answer to a request.
pub enum ServerReply {
    /// The response.
    Now(Vec<u8>),
    /// The response comes out of [`PlantServer::take_deliveries`] under this ticket.
    Later(LateResponseTicket),
    /// The response is there when its calls are done.
    Calls(PendingCalls),
}

/// A response that comes late, and whose it is.
#[derive(Debug, PartialEq)]
pub struct LateResponse {
    /// The ticket that the request got.
    pub ticket: LateResponseTicket,
    /// The response, or why there is none.
    pub response: Result<Vec<u8>, StatusCode>,
}

/// What is kept of one call of a Call request.
pub(crate) enum CallSlot {
    Done(CallMethodResult),
    Waiting(PendingCall),
}

/// A Call request some of whose methods are not done yet.
pub struct PendingCalls {
    pub(crate) header: ResponseHeader,
    pub(crate) slots: Vec<CallSlot>,
    pub(crate) codec: Arc<Codec>,
}

impl PendingCalls {
    /// Waits for the calls, one after the other, and makes the response.
    ///
    /// # Errors
    /// `BadResponseTooLarge`.
    pub async fn finish(self) -> Result<Vec<u8>, StatusCode> {
        let mut results = Vec::with_capacity(self.slots.len());
        for slot in self.slots {
            results.push(match slot {
                CallSlot::Done(result) => result,
                CallSlot::Waiting(calling) => call_result(calling.await),
            });
        }
        self.codec.encode(&CallResponse {
            response_header: self.header,
            results: Some(results),
            diagnostic_infos: None,
        })
    }
}

/// The result of a call whose arguments were right.
pub(crate) fn call_result(outcome: Result<Vec<Variant>, StatusCode>) -> CallMethodResult {
    let (status_code, outputs) = match outcome {
        Ok(outputs) => (StatusCode::Good, Some(outputs)),
        Err(status) => (status, None),
    };
    CallMethodResult { status_code, output_arguments: outputs, ..CallMethodResult::default() }
}

/// Continuation points of one session: few, and the server decides what is in them.
#[derive(Debug)]
pub(crate) struct PlantContinuationPoints<T> {
    next: u64,
    held: BTreeMap<u64, T>,
}

impl<T> Default for PlantContinuationPoints<T> {
    fn default() -> Self {
        PlantContinuationPoints { next: 1, held: BTreeMap::new() }
    }
}

impl<T> PlantContinuationPoints<T> {
    /// Keeps what is left of a result, unless so many are kept already.
    pub(crate) fn keep(&mut self, left: T, most: usize) -> Result<ContinuationPoint, StatusCode> {
        if self.held.len() >= most {
            return Err(StatusCode::BadNoContinuationPoints);
        }
        let number = self.next;
        self.next += 1;
        self.held.insert(number, left);
        Ok(ByteString::from(number.to_le_bytes().to_vec()))
    }

    /// What is left; the point is used up.
    pub(crate) fn take(&mut self, point: &ContinuationPoint) -> Option<T> {
        let number = u64::from_le_bytes(point.as_ref().try_into().ok()?);
        self.held.remove(&number)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }
}

/// References that a request may still look at.
#[derive(Debug)]
pub(crate) struct ReferenceBudget(usize);

impl Default for ReferenceBudget {
    fn default() -> Self {
        ReferenceBudget(super::limits::VISITS_MAX)
    }
}

impl ReferenceBudget {
    /// One more. False where that was too much.
    pub(crate) fn visit(&mut self) -> bool {
        let left = self.0.checked_sub(1);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// What the server keeps for a session besides its subscriptions.
#[derive(Debug, Default)]
pub(crate) struct PlantSession {
    pub(crate) browse: PlantContinuationPoints<BrowsePoint>,
    pub(crate) history: PlantContinuationPoints<HistoryPoint>,
}

/// A server's insides.
pub struct PlantServer {
    pub(crate) space: AddressSpace,
    pub(crate) codec: Arc<Codec>,
    pub(crate) device: Box<dyn Device>,
    pub(crate) guard: Box<dyn AccessGuard>,
    pub(crate) remotes: HashMap<NodeId, Arc<dyn RemoteMethods>>,
    pub(crate) sessions: HashMap<CallerSessionId, PlantSession>,
    pub(crate) subscriptions: PlantSubscriptions,
    pub(crate) outbox: Vec<LateResponse>,
}

impl PlantServer {
    /// A server with these nodes.
    pub fn new(space: AddressSpace) -> PlantServer {
        PlantServer {
            space,
            codec: Arc::new(Codec::new()),
            device: Box::new(StillDevice),
            guard: Box::new(OpenAccess),
            remotes: HashMap::new(),
            sessions: HashMap::new(),
            subscriptions: PlantSubscriptions::default(),
            outbox: Vec::new(),
        }
    }

    /// What moves its variables.
    #[must_use]
    pub fn with_device(mut self, device: impl Device + 'static) -> PlantServer {
        self.device = Box::new(device);
        self
    }

    /// What callers may do.
    #[must_use]
    pub fn with_guard(mut self, guard: impl AccessGuard + 'static) -> PlantServer {
        self.guard = Box::new(guard);
        self
    }

    /// Who executes these methods.
    #[must_use]
    pub fn with_remote(
        mut self,
        methods: impl IntoIterator<Item = NodeId>,
        remote: Arc<dyn RemoteMethods>,
    ) -> PlantServer {
        self.remotes.extend(methods.into_iter().map(|method| (method, Arc::clone(&remote))));
        self
    }

    /// The address space.
    pub fn space(&self) -> &AddressSpace {
        &self.space
    }

    /// The address space, to set values.
    pub fn space_mut(&mut self) -> &mut AddressSpace {
        &mut self.space
    }

    /// Answers a request of one of the services that change nothing; nothing where it is another one. `type_id` is the number of the
    /// request's binary encoding in namespace 0, `body` the encoded request with that node id in front.
    pub fn look(
        &self,
        caller: &MethodCaller,
        type_id: u32,
        body: &[u8],
        now: Moment,
    ) -> Option<Result<Vec<u8>, StatusCode>> {
        let response = match ObjectId::try_from(type_id) {
            Ok(ObjectId::ReadRequest_Encoding_DefaultBinary) => self.read(caller, body, now),
            Ok(ObjectId::TranslateBrowsePathsToNodeIdsRequest_Encoding_DefaultBinary) => {
                self.translate(caller, body, now)
            }
            Ok(ObjectId::RegisterNodesRequest_Encoding_DefaultBinary) => self.register(body, now),
            Ok(ObjectId::UnregisterNodesRequest_Encoding_DefaultBinary) => self.unregister(body, now),
            _ => return None,
        };
        Some(response)
    }

    /// Answers a request. What comes late, of this request or of others, is in [`PlantServer::take_deliveries`] afterwards.
    ///
    /// # Errors
    /// The service's status code, for a `ServiceFault`: `BadServiceUnsupported`, `BadDecodingError`, `BadTooManyOperations` and so on.
    pub fn answer(
        &mut self,
        caller: &MethodCaller,
        type_id: u32,
        body: &[u8],
        now: Moment,
    ) -> Result<ServerReply, StatusCode> {
        if let Some(response) = self.look(caller, type_id, body, now) {
            return response.map(ServerReply::Now);
        }
        let response = match ObjectId::try_from(type_id) {
            Ok(ObjectId::CallRequest_Encoding_DefaultBinary) => return self.call(caller, body, now),
            Ok(ObjectId::PublishRequest_Encoding_DefaultBinary) => {
                return self.publish(caller, body, now).map(ServerReply::Later);
            }
            Ok(ObjectId::WriteRequest_Encoding_DefaultBinary) => self.write(caller, body, now),
            Ok(ObjectId::BrowseRequest_Encoding_DefaultBinary) => self.browse(caller, body, now),
            Ok(ObjectId::BrowseNextRequest_Encoding_DefaultBinary) => self.browse_next(caller, body, now),
            Ok(ObjectId::HistoryReadRequest_Encoding_DefaultBinary) => self.history_read(caller, body, now),
            Ok(ObjectId::CreateSubscriptionRequest_Encoding_DefaultBinary) => {
                self.create_subscription(caller, body, now)
            }
            Ok(ObjectId::ModifySubscriptionRequest_Encoding_DefaultBinary) => {
                self.modify_subscription(caller, body, now)
            }
            Ok(ObjectId::SetPublishingModeRequest_Encoding_DefaultBinary) => {
                self.set_publishing_mode(caller, body, now)
            }
            Ok(ObjectId::DeleteSubscriptionsRequest_Encoding_DefaultBinary) => {
                self.delete_subscriptions(caller, body, now)
            }
            Ok(ObjectId::TransferSubscriptionsRequest_Encoding_DefaultBinary) => {
                self.transfer_subscriptions(caller, body, now)
            }
            Ok(ObjectId::RepublishRequest_Encoding_DefaultBinary) => self.republish(caller, body, now),
            Ok(ObjectId::CreateMonitoredItemsRequest_Encoding_DefaultBinary) => {
                self.create_items(caller, body, now)
            }
            Ok(ObjectId::ModifyMonitoredItemsRequest_Encoding_DefaultBinary) => {
                self.modify_items(caller, body, now)
            }
            Ok(ObjectId::SetMonitoringModeRequest_Encoding_DefaultBinary) => {
                self.set_monitoring_mode(caller, body, now)
            }
            Ok(ObjectId::DeleteMonitoredItemsRequest_Encoding_DefaultBinary) => {
                self.delete_items(caller, body, now)
            }
            _ => return Err(StatusCode::BadServiceUnsupported),
        };
        response.map(ServerReply::Now)
    }

    /// Lets time pass: the device moves, values are sampled, subscriptions publish. Every 10 to 100 ms is enough.
    pub fn tick(&mut self, now: Moment) {
        let events = self.device.tick(&mut self.space, now);
        self.raise(&events);
        self.publish_due(now);
    }

    /// Responses that are ready, for requests that got a ticket. A ticket whose session is closed does not come.
    pub fn take_deliveries(&mut self) -> Vec<LateResponse> {
        std::mem::take(&mut self.outbox)
    }

    /// A session is over. Its subscriptions end with it, or wait for another session that takes them over. Gives the tickets of its
    /// requests that get no response any more.
    pub fn close_session(
        &mut self,
        session: CallerSessionId,
        delete_subscriptions: bool,
    ) -> Vec<LateResponseTicket> {
        self.sessions.remove(&session);
        self.subscriptions.close_session(session, delete_subscriptions)
    }

    /// Forgets requests that were cancelled.
    pub fn withdraw(&mut self, tickets: &[LateResponseTicket]) {
        if !tickets.is_empty() {
            self.subscriptions.withdraw(tickets);
        }
    }

    /// The session has another user: what is sampled for it from now on is sampled for that one (Part 2, 6.20).
    pub fn change_user(&mut self, caller: &MethodCaller) {
        self.subscriptions.change_user(caller);
    }

    /// What the guard says.
    pub(crate) fn allowed(
        &self,
        caller: &MethodCaller,
        permission: Permission,
        node: &NodeId,
    ) -> Result<(), StatusCode> {
        match self.guard.rule(caller, permission, node) {
            PermissionRuling::Granted => Ok(()),
            PermissionRuling::Refused(status) => Err(status),
        }
    }

    pub(crate) fn session(&mut self, caller: &MethodCaller) -> &mut PlantSession {
        self.sessions.entry(caller.session).or_default()
    }
}

/// A value that says only why there is none.
pub(crate) fn bad_value(status: StatusCode) -> DataValue {
    DataValue { status: Some(status), ..DataValue::null() }
}

/// The operations of a request: at least one, at most so many.
pub(crate) fn operations<T>(list: Option<Vec<T>>, most: usize) -> Result<Vec<T>, StatusCode> {
    match list {
        Some(list) if list.len() > most => Err(StatusCode::BadTooManyOperations),
        Some(list) if !list.is_empty() => Ok(list),
        _ => Err(StatusCode::BadNothingToDo),
    }
}

/// The header of a response of this server.
pub(crate) fn good(handle: u32, now: Moment) -> ResponseHeader {
    header(handle, now)
}
