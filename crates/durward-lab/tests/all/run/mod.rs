//! The lab against real sockets.

mod faults;
mod load;
mod scenarios;
mod server;
mod stall;
mod tls;
