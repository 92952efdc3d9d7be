//! Call (Part 4, 5.12).

use std::sync::Arc;

use durward_identity::Moment;
use opcua_types::{
    CallMethodRequest, CallMethodResult, CallRequest, CallResponse, NodeId, ReferenceTypeId, StatusCode,
    Variant,
};

use crate::authority::MethodCaller;
use crate::permission::Permission;
use crate::plant::limits;
use crate::plant::node::{MethodNode, PlantNode};
use crate::plant::server::{CallSlot, PendingCalls, PlantServer, ServerReply, call_result, good, operations};
use crate::plant::value;

impl PlantServer {
    pub(crate) fn call(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<ServerReply, StatusCode> {
        let request: CallRequest = self.codec.decode(body)?;
        let methods = operations(request.methods_to_call, limits::CALLS_MAX)?;
        let header = good(request.request_header.request_handle, now);
        let slots: Vec<CallSlot> =
            methods.into_iter().map(|method| self.call_one(caller, method, now)).collect();
        if slots.iter().any(|slot| matches!(slot, CallSlot::Waiting(_))) {
            return Ok(ServerReply::Calls(PendingCalls { header, slots, codec: Arc::clone(&self.codec) }));
        }
        let results = slots
            .into_iter()
            .filter_map(|slot| if let CallSlot::Done(result) = slot { Some(result) } else { None })
            .collect();
        let response =
            CallResponse { response_header: header, results: Some(results), diagnostic_infos: None };
        self.codec.encode(&response).map(ServerReply::Now)
    }

    fn call_one(&mut self, caller: &MethodCaller, request: CallMethodRequest, now: Moment) -> CallSlot {
        let (method, inputs) = match self.prepare(caller, request) {
            Ok(prepared) => prepared,
            Err(result) => return CallSlot::Done(*result),
        };
        match self.remotes.get(&method) {
            Some(remote) => CallSlot::Waiting(remote.call(caller, &method, inputs, now)),
            None => CallSlot::Done(call_result(self.device.call(&mut self.space, &method, &inputs, now))),
        }
    }

    /// The method that is meant, and its arguments, checked.
    fn prepare(
        &self,
        caller: &MethodCaller,
        request: CallMethodRequest,
    ) -> Result<(NodeId, Vec<Variant>), Box<CallMethodResult>> {
        let failed = |status_code| Box::new(CallMethodResult { status_code, ..CallMethodResult::default() });
        let node = self.find_method(&request.object_id, &request.method_id).map_err(failed)?;
        self.allowed(caller, Permission::Call, &node.id).map_err(failed)?;
        let Some(method) = node.method() else { return Err(failed(StatusCode::BadMethodInvalid)) };
        if !method.executable {
            return Err(failed(StatusCode::BadNotExecutable));
        }
        let inputs =
            self.check_inputs(method, request.input_arguments.unwrap_or_default()).map_err(Box::new)?;
        Ok((node.id.clone(), inputs))
    }

    /// The method of an object: its own, or that of its type, which stands for the object's method of the same name (Part 4, 5.12.2.2).
    fn find_method(&self, object: &NodeId, method: &NodeId) -> Result<&PlantNode, StatusCode> {
        let object = self.space.node(object).ok_or(StatusCode::BadNodeIdUnknown)?;
        let method = self
            .space
            .node(method)
            .filter(|node| node.method().is_some())
            .ok_or(StatusCode::BadMethodInvalid)?;
        let mut own = self.space.targets(&object.id, ReferenceTypeId::HasComponent, true);
        if own.any(|component| component.id == method.id) {
            return Ok(method);
        }
        if !self.is_declared(object, method) {
            return Err(StatusCode::BadMethodInvalid);
        }
        let mut own = self.space.targets(&object.id, ReferenceTypeId::HasComponent, true);
        own.find(|component| component.browse_name == method.browse_name && component.method().is_some())
            .ok_or(StatusCode::BadMethodInvalid)
    }

    /// Whether the object's type, or a supertype of it, has the method.
    fn is_declared(&self, object: &PlantNode, method: &PlantNode) -> bool {
        let mut current = object.type_definition();
        for _ in 0..limits::TYPE_DEPTH_MAX {
            let Some(type_id) = current else { return false };
            if self
                .space
                .targets(type_id, ReferenceTypeId::HasComponent, true)
                .any(|component| component.id == method.id)
            {
                return true;
            }
            current = self.space.supertype(type_id);
        }
        false
    }

    fn check_inputs(
        &self,
        method: &MethodNode,
        inputs: Vec<Variant>,
    ) -> Result<Vec<Variant>, CallMethodResult> {
        let failed = |status_code| CallMethodResult { status_code, ..CallMethodResult::default() };
        if inputs.len() < method.inputs.len() {
            return Err(failed(StatusCode::BadArgumentsMissing));
        }
        if inputs.len() > method.inputs.len() {
            return Err(failed(StatusCode::BadTooManyArguments));
        }
        let checked: Vec<Result<Variant, StatusCode>> = inputs
            .into_iter()
            .zip(&method.inputs)
            .map(|(input, argument)| value::check_argument(&self.space, argument, input))
            .collect();
        if checked.iter().all(Result::is_ok) {
            return Ok(checked.into_iter().flatten().collect());
        }
        let results =
            checked.iter().map(|one| one.as_ref().err().copied().unwrap_or(StatusCode::Good)).collect();
        Err(CallMethodResult {
            input_argument_results: Some(results),
            ..failed(StatusCode::BadInvalidArgument)
        })
    }
}
