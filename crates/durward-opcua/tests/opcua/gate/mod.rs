//! The gate in front of a plant, over TCP.

mod activation;
mod requests;
mod support;
mod upstream;
