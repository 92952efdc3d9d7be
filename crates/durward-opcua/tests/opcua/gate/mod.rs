//! The gate in front of a plant, over TCP.

mod activation;
mod follow;
mod names;
mod order;
mod live;
mod requests;
pub(crate) mod support;
mod upstream;
