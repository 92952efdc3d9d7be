//! The gate in front of a plant, over TCP.

mod activation;
mod follow;
mod live;
mod names;
mod order;
mod requests;
pub(crate) mod support;
mod upstream;
