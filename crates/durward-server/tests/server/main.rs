//! The server through its socket: what every caller and every operator sees.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what helps a test fails as loudly as the test"
)]

mod answers;
mod attacks;
mod auth;
mod bundle_server;
mod client;
mod crowds;
mod decider;
mod hostile;
mod identity;
#[cfg(feature = "tls")]
mod jwt;
mod large_directories;
mod limits;
mod logs;
mod logs_surfaces;
mod metrics;
mod oauth;
mod openam;
mod operations;
mod proxies;
mod recorded;
mod remote_bundles;
mod routes;
mod rsocket;
mod sapl;
mod sapl_policies;
mod session_attacks;
mod settings;
mod subjects;
mod support;
mod tenants;
#[cfg(feature = "tls")]
mod tls;
mod watching;
