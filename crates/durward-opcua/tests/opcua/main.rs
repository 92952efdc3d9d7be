//! Tests of the whole crate: one binary, a module for each part.

mod client;
mod crypto;
mod fixture;
mod hostile;
mod mediate;
mod model;
mod pki;
mod protocol;
mod session;
mod session_rules;
mod token;
mod wire;
