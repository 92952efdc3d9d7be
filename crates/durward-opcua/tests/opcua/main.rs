//! Tests of the whole crate: one binary, a module for each part.

mod mediate;
