//! The client that keeps a token, against servers that run.

mod services;
mod text;
mod tokens;
mod watching;
mod world;
