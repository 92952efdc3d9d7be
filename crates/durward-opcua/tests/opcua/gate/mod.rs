//! The gate in front of a plant, over TCP.

mod activation;
mod follow;
mod requests;
mod support;
mod upstream;
