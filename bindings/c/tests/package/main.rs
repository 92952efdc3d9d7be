//! The library as programs in C have it: compiled against the header, linked, run; and the header itself. The packages for Java and Go, which
//! stand on the library, are tested here too.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod cases;
mod go;
mod header;
mod java;
mod programs;
mod toolchain;
