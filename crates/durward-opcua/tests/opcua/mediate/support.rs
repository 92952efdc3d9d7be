//! Rights as a set, seeded chance, bodies without headers.

use std::collections::HashSet;
use std::io::Cursor;
use std::sync::Arc;

use durward_opcua::gate::mediate::service::ServiceKind;
use durward_opcua::gate::mediate::{MediatedReply, MediatedRequest, Mediator, MediatorLimits, NoTransfers};
use durward_opcua::permission::{Permission, PermissionRuling, SessionRights};
use opcua_types::{
    BinaryDecodable, BinaryEncodable, ContextOwned, DecodingOptions, NamespaceMap, NodeId, NumericRange,
    ReadValueId, RequestHeader, ResponseHeader, StatusCode,
};

/// Numbers that are the same for each seed (xorshift64*).
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(super) fn happens(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// What is granted.
#[derive(Clone, Debug, Default)]
pub(super) struct Grants(pub(super) HashSet<(Permission, NodeId)>);

impl Grants {
    pub(super) fn of(grants: &[(Permission, NodeId)]) -> Self {
        Grants(grants.iter().cloned().collect())
    }

    pub(super) fn has(&self, permission: Permission, node: &NodeId) -> bool {
        self.0.contains(&(permission, node.clone()))
    }

    pub(super) fn grant(&mut self, permission: Permission, node: &NodeId) {
        self.0.insert((permission, node.clone()));
    }

    pub(super) fn end(&mut self, permission: Permission, node: &NodeId) {
        self.0.remove(&(permission, node.clone()));
    }
}

impl SessionRights for Grants {
    fn rule(&self, permission: Permission, node: &NodeId) -> PermissionRuling {
        if self.has(permission, node) { PermissionRuling::Granted } else { PermissionRuling::DENIED }
    }
}

/// Everything is granted.
pub(super) struct All;

impl SessionRights for All {
    fn rule(&self, _: Permission, _: &NodeId) -> PermissionRuling {
        PermissionRuling::Granted
    }
}

pub(super) fn node(number: u32) -> NodeId {
    NodeId::new(2, number)
}

pub(super) fn context() -> ContextOwned {
    let options = DecodingOptions { max_array_length: 100_000, ..DecodingOptions::default() };
    ContextOwned::new_default(NamespaceMap::default(), options)
}

pub(super) fn encode(value: &impl BinaryEncodable) -> Vec<u8> {
    value.encode_to_vec(&context().context())
}

pub(super) fn decode<T: BinaryDecodable>(bytes: &[u8]) -> T {
    let mut cursor = Cursor::new(bytes);
    let value = T::decode(&mut cursor, &context().context()).expect("sound bytes");
    assert_eq!(cursor.position() as usize, bytes.len(), "bytes are left over");
    value
}

/// The request without its header, which is [`RequestHeader::dummy`].
pub(super) fn request_body(request: &impl BinaryEncodable) -> Vec<u8> {
    encode(request).split_off(encode(&RequestHeader::dummy()).len())
}

/// The response without its header, which is [`ResponseHeader::null`].
pub(super) fn response_body(response: &impl BinaryEncodable) -> Vec<u8> {
    encode(response).split_off(encode(&ResponseHeader::null()).len())
}

pub(super) fn request<T: BinaryDecodable>(body: &[u8]) -> T {
    decode(&[encode(&RequestHeader::dummy()), body.to_vec()].concat())
}

pub(super) fn response<T: BinaryDecodable>(body: &[u8]) -> T {
    decode(&[encode(&ResponseHeader::null()), body.to_vec()].concat())
}

pub(super) fn mediator() -> Mediator {
    Mediator::new(MediatorLimits::default(), Arc::new(NoTransfers))
}

/// What goes upstream.
pub(super) fn forward(
    mediator: &mut Mediator,
    rights: &dyn SessionRights,
    id: u32,
    service: ServiceKind,
    body: &[u8],
) -> Vec<u8> {
    match mediator.on_request(rights, id, service.request_id(), body) {
        MediatedRequest::Forward(bytes) => bytes.into_owned(),
        other => panic!("{service:?}: {other:?}"),
    }
}

/// What reaches the client.
pub(super) fn reply(
    mediator: &mut Mediator,
    rights: &dyn SessionRights,
    id: u32,
    service: ServiceKind,
    body: &[u8],
) -> Vec<u8> {
    match mediator.on_response(rights, id, service.response_id(), body) {
        MediatedReply::Pass(bytes) => bytes.into_owned(),
        other => panic!("{service:?}: {other:?}"),
    }
}

pub(super) fn read_of(node: &NodeId, attribute: u32) -> ReadValueId {
    ReadValueId {
        node_id: node.clone(),
        attribute_id: attribute,
        index_range: NumericRange::None,
        data_encoding: Default::default(),
    }
}

/// How a refusal looks to somebody who may, or may not, browse the node.
pub(super) fn refusal(grants: &Grants, node: &NodeId) -> StatusCode {
    if grants.has(Permission::Browse, node) {
        StatusCode::BadUserAccessDenied
    } else {
        StatusCode::BadNodeIdUnknown
    }
}

/// What the mediator answers by itself.
pub(super) fn answered(
    mediator: &mut Mediator,
    rights: &dyn SessionRights,
    id: u32,
    service: ServiceKind,
    body: &[u8],
) -> Vec<u8> {
    match mediator.on_request(rights, id, service.request_id(), body) {
        MediatedRequest::Answer(bytes) => bytes,
        other => panic!("{service:?}: {other:?}"),
    }
}

/// Why a request is refused as a whole, though all is granted.
pub(super) fn refused(mediator: &mut Mediator, id: u32, service: ServiceKind, body: &[u8]) -> StatusCode {
    match mediator.on_request(&All, id, service.request_id(), body) {
        MediatedRequest::Refuse(status) => status,
        other => panic!("{service:?}: {other:?}"),
    }
}
