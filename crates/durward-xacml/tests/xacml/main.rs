//! What the crate promises, checked from outside: one module for each part.

mod messages;
mod policy;
