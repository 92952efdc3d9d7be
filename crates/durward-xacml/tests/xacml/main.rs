//! What the crate promises, checked from outside: one module for each part.

mod encodings;
mod messages;
mod policy;
