//! A server from its settings to its end: listens, accepts, finds what answers. The only place that knows all surfaces.

mod compose;
mod connection;
mod dispatch;
mod forwarded;
mod listener;
mod places;
pub(crate) mod reload;
pub(crate) mod routes;
mod rsocket;
pub(crate) mod server;
mod state;
