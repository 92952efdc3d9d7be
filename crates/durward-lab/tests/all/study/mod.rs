//! Studies.

mod luas;
