//! What the one verifier takes and refuses.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod hostile;
mod keys;
mod signing;
