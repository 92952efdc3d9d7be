//! A client for tests: requests and responses as types, through the bytes that travel.

use std::sync::Arc;

use durward_identity::Moment;
use futures_util::FutureExt;
use opcua_types::{
    BinaryDecodable, BinaryEncodable, BrowseDescription, BrowseDirection, BrowseRequest, BrowseResponse,
    BrowseResult, CallMethodRequest, CallMethodResult, CallRequest, CallResponse, ContextOwned, DataValue,
    DecodingOptions, MessageInfo, NamespaceMap, NodeId, ReadRequest, ReadResponse, ReadValueId, StatusCode,
    TimestampsToReturn, Variant, WriteRequest, WriteResponse, WriteValue,
};

use super::{LateResponseTicket, PlantServer, ServerReply};
use crate::authority::{CallerSessionId, CallerUser, MethodCaller};

/// The moment at which tests begin.
pub(crate) const BEGIN: Moment = Moment::from_s(1_800_000_000);

/// A session on an encrypted channel, of a user with that name.
pub(crate) fn caller(session: u64, name: &str) -> MethodCaller {
    MethodCaller {
        session: CallerSessionId(session),
        certificate: Some(Arc::from(name.as_bytes())),
        application_uri: Arc::from(format!("urn:test:{name}")),
        user: CallerUser::Name(Arc::from(name)),
        encrypted: true,
    }
}

/// A server and a session.
pub(crate) struct TestClient {
    pub(crate) server: PlantServer,
    pub(crate) caller: MethodCaller,
    pub(crate) now: Moment,
    context: ContextOwned,
}

impl TestClient {
    pub(crate) fn new(server: PlantServer) -> TestClient {
        let context = ContextOwned::new_default(
            NamespaceMap::new(),
            DecodingOptions { max_array_length: 20_000, ..DecodingOptions::default() },
        );
        TestClient { server, caller: caller(1, "anna"), now: BEGIN, context }
    }

    pub(crate) fn boiler() -> TestClient {
        TestClient::new(super::boiler("urn:test:server", 5, BEGIN).unwrap())
    }

    pub(crate) fn bytes<T: BinaryEncodable + MessageInfo>(&self, request: &T) -> Vec<u8> {
        let context = self.context.context();
        let mut bytes = NodeId::from(request.type_id()).encode_to_vec(&context);
        bytes.extend(request.encode_to_vec(&context));
        bytes
    }

    pub(crate) fn decode<T: BinaryDecodable>(&self, bytes: &[u8]) -> T {
        let context = self.context.context();
        let mut stream = bytes;
        NodeId::decode(&mut stream, &context).unwrap();
        let response = T::decode(&mut stream, &context).unwrap();
        assert!(stream.is_empty(), "{} bytes are left over", stream.len());
        response
    }

    /// The response of a service that answers at once, or of calls that are ready.
    pub(crate) fn ask<R: BinaryEncodable + MessageInfo, T: BinaryDecodable>(
        &mut self,
        request: &R,
    ) -> Result<T, StatusCode> {
        let body = self.bytes(request);
        let bytes = match self.server.answer(&self.caller, request.type_id() as u32, &body, self.now)? {
            ServerReply::Now(bytes) => bytes,
            ServerReply::Calls(calls) => calls.finish().now_or_never().expect("the calls wait for nobody")?,
            ServerReply::Later(_) => panic!("the response comes later"),
        };
        Ok(self.decode(&bytes))
    }

    /// The ticket of a request that is answered later.
    pub(crate) fn park<R: BinaryEncodable + MessageInfo>(
        &mut self,
        request: &R,
    ) -> Result<LateResponseTicket, StatusCode> {
        let body = self.bytes(request);
        match self.server.answer(&self.caller, request.type_id() as u32, &body, self.now)? {
            ServerReply::Later(ticket) => Ok(ticket),
            ServerReply::Now(_) | ServerReply::Calls(_) => panic!("the response comes at once"),
        }
    }

    pub(crate) fn advance(&mut self, ms: u64) {
        self.now = self.now.plus(std::time::Duration::from_millis(ms));
    }

    /// Lets time pass in steps of 10 ms.
    pub(crate) fn run(&mut self, ms: u64) {
        for _ in 0..ms / 10 {
            self.advance(10);
            self.server.tick(self.now);
        }
    }

    /// A node of the plant.
    pub(crate) fn plant(&self, name: &str) -> NodeId {
        NodeId::new(self.server.space().namespace_index(super::PLANT_NAMESPACE).unwrap(), name)
    }

    pub(crate) fn read_all(&mut self, nodes: Vec<ReadValueId>) -> Vec<DataValue> {
        let timestamps_to_return = TimestampsToReturn::Both;
        let request =
            ReadRequest { timestamps_to_return, nodes_to_read: Some(nodes), ..ReadRequest::default() };
        self.ask::<_, ReadResponse>(&request).unwrap().results.unwrap()
    }

    pub(crate) fn read(&mut self, node: ReadValueId) -> DataValue {
        self.read_all(vec![node]).pop().unwrap()
    }

    pub(crate) fn value(&mut self, node: impl Into<NodeId>) -> Variant {
        let found = self.read(ReadValueId::new_value(node.into()));
        assert!(found.status().is_good(), "{:?}", found.status());
        found.value.unwrap()
    }

    pub(crate) fn write(&mut self, write: WriteValue) -> StatusCode {
        let request = WriteRequest { nodes_to_write: Some(vec![write]), ..WriteRequest::default() };
        self.ask::<_, WriteResponse>(&request).unwrap().results.unwrap().pop().unwrap()
    }

    pub(crate) fn browse(&mut self, description: BrowseDescription, most: u32) -> BrowseResult {
        let nodes_to_browse = Some(vec![description]);
        let request = BrowseRequest {
            requested_max_references_per_node: most,
            nodes_to_browse,
            ..BrowseRequest::default()
        };
        self.ask::<_, BrowseResponse>(&request).unwrap().results.unwrap().pop().unwrap()
    }

    pub(crate) fn call(
        &mut self,
        object: impl Into<NodeId>,
        method: impl Into<NodeId>,
        inputs: Vec<Variant>,
    ) -> CallMethodResult {
        let call = CallMethodRequest {
            object_id: object.into(),
            method_id: method.into(),
            input_arguments: Some(inputs),
        };
        let request = CallRequest { methods_to_call: Some(vec![call]), ..CallRequest::default() };
        self.ask::<_, CallResponse>(&request).unwrap().results.unwrap().pop().unwrap()
    }
}

/// Everything below a node, by references of a type and its subtypes.
pub(crate) fn below(node: impl Into<NodeId>, kind: impl Into<NodeId>) -> BrowseDescription {
    BrowseDescription {
        node_id: node.into(),
        browse_direction: BrowseDirection::Forward,
        reference_type_id: kind.into(),
        include_subtypes: true,
        node_class_mask: 0,
        result_mask: 63,
    }
}
