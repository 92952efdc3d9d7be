//! Tokens for other services: given, believed, asked about, recalled, and what nobody should get one with.

mod asking;
mod grants;
mod hostile;
mod keys;
pub(crate) mod world;
