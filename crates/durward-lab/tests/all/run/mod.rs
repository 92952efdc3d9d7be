//! The lab against real sockets.

mod faults;
mod load;
mod scenarios;
pub(crate) mod server;
mod tls;
