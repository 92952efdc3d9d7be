//! The server through its socket: what every caller and every operator sees.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "what helps a test fails as loudly as the test"
)]

mod answers;
mod attacks;
mod attribute_sources;
mod auth;
#[path = "../../../durward-session/tests/support/authenticator.rs"]
mod authenticator;
mod authzen;
mod brokers;
mod bundle_server;
#[path = "../../../durward-session/tests/support/certificates.rs"]
mod certificates;
mod client;
mod crowds;
mod decider;
mod devices;
mod dialects;
#[cfg(feature = "ldap")]
mod directory_steps;
mod doors;
mod dpop;
mod explain;
mod fence;
mod guards;
mod half_closed;
mod hostile;
mod http2;
mod identity;
mod identity_alone;
#[cfg(feature = "tls")]
mod jwt;
mod kubernetes;
mod large_directories;
mod limits;
mod listeners;
mod login_page;
mod logs;
mod logs_surfaces;
mod metrics;
#[cfg(feature = "nats")]
#[path = "../../../durward-session/tests/support/nats_servers.rs"]
#[allow(dead_code, reason = "other tests use other parts of it")]
mod nats_servers;
mod oauth;
mod oidc;
mod one_way;
mod opa;
mod openam;
mod operations;
mod otlp;
mod outside_steps;
mod packaging;
mod passkeys;
mod pipelined;
mod planning;
mod plans;
mod policy_watch;
mod proxies;
mod recorded;
mod remote_bundles;
mod routes;
mod rsocket;
mod sapl;
mod sapl_policies;
mod scim;
mod session_attacks;
mod settings;
#[path = "../../../durward-session/tests/support/slapd.rs"]
#[allow(dead_code, reason = "other tests use other parts of it")]
mod slapd;
mod subjects;
mod support;
mod tenants;
#[cfg(feature = "tls")]
mod tls;
mod traccar;
#[cfg(feature = "tls")]
mod upstream;
mod users_http;
mod watching;
