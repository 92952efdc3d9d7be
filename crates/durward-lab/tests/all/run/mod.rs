//! The lab against real sockets.

mod events;
mod faults;
mod http2;
mod load;
mod rsocket;
mod scenarios;
mod search;
pub(crate) mod server;
mod stall;
mod tls;
