//! Tests of the whole crate: one binary, a module for each part.

mod crypto;
mod fixture;
mod hostile;
mod pki;
mod session;
mod session_rules;
mod wire;
