//! What surfaces over HTTP share.

pub mod http;
