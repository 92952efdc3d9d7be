//! The library as programs in C have it: compiled against the header, linked, run; and the header itself. The package for Java, which stands on
//! the library, is tested here too.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod cases;
mod header;
mod java;
mod programs;
mod toolchain;
