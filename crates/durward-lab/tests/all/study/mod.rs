//! Studies.

mod luas;
mod openam;
