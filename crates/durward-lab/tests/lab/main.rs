//! The lab against real sockets.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests fail by panicking"
)]

mod faults;
mod load;
mod scenarios;
mod server;
mod tls;
