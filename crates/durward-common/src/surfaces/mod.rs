//! What surfaces have in common beside what they stand on.

pub mod http;
