//! The C library: `durward-embed` behind functions of C. `include/durward.h` is its documentation for callers; a test holds it to these
//! sources. Start at `border.rs`, through which every call goes.
//!
//! What the header asks of callers is what each `unsafe` here leans on, and is called "the header's promise":
//! a handle is null, or was made by this library and not freed yet; a text is null, or readable for its length, and not changed while
//! the call runs; a place for a result is null, or writable and aligned, and nobody else's while the call runs.

#![allow(
    unsafe_code,
    reason = "pointers of C are read and written here, and in no other crate; every block says why it is sound"
)]
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]
#![allow(non_camel_case_types, reason = "types are called as in the header")]

mod answer;
mod border;
mod code;
mod failure;
mod point;
mod watch;

use std::ffi::c_char;

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

#[unsafe(no_mangle)]
extern "C" fn durward_version() -> *const c_char {
    VERSION.as_ptr().cast()
}
