//! There is nothing in Rust here: see `peer.c`.
