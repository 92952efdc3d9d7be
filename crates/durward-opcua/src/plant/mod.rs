//! A small OPC UA server's insides: an address space and the services on it. The demo, tests and benchmarks put it behind the gate; the
//! authorization service is made of it.
//!
//! | file | holds |
//! |---|---|
//! | `node`, `space` | nodes, the builder of address spaces, the hierarchy of types |
//! | `standard` | the nodes of the standard that clients look at |
//! | `server` | which service answers what; traits of what is put into a server |
//! | `services` | Read, Write, Browse, paths, Call, HistoryRead |
//! | `subscription` | subscriptions, monitored items, events |
//! | `boiler` | a plant to look at |
//! | `host` | the server between sessions and a clock |
//!
//! Not here: discovery, sessions (the session layer has them), node management, queries, modified or processed history.

mod boiler;
mod codec;
mod host;
pub mod limits;
mod node;
mod server;
mod service;
mod services;
mod space;
mod standard;
mod subscription;
mod value;

#[cfg(test)]
pub(crate) mod test_client;
#[cfg(test)]
mod tests;

pub use boiler::{MODES, PLANT_NAMESPACE, TAGS_MAX, boiler};
pub use codec::date_time;
pub use host::PlantHost;
pub use node::{
    MethodNode, NewNode, NodeClassData, NodeReference, PlantNode, SUBSCRIBE_TO_EVENTS, ValueSource,
    VariableNode, access,
};
pub use server::{
    AccessGuard, Device, LateResponse, OpenAccess, PendingCall, PendingCalls, PlantServer, RemoteMethods,
    ServerReply, StillDevice,
};
pub use service::{ClientFacts, HostService, PasswordUsers, UserLogin};
pub use space::{AddressSpace, SpaceBuilder, SpaceError, argument, array_argument};
pub use subscription::{ClientQuota, LateResponseTicket, PlantEvent};
