//! A server from its settings to its end: listens, accepts, finds what answers. The only place that knows all surfaces.

mod connection;
mod dispatch;
mod forwarded;
pub(crate) mod listener;
pub(crate) mod routes;
pub(crate) mod server;
pub(crate) mod state;
