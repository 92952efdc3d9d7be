//! Tests of the whole crate: one binary, a module for each part.

mod authority;
mod client;
mod crypto;
mod fixture;
mod gate;
mod hostile;
mod mediate;
mod model;
mod pki;
mod plant;
mod protocol;
mod session;
mod session_rules;
mod token;
mod whole;
mod wire;
