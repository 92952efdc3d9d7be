//! The lab against real sockets.

mod faults;
mod load;
mod server;
