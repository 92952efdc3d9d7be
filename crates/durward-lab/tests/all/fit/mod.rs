//! Fits of the scalability law.

mod curves;
mod laws;
mod usl;
