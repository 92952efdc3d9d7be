//! Which binary is tested.

/// The path of the binary.
///
/// Clones may share a target directory, so another clone may have compiled this program of tests, with the path of its own binary in it:
/// `cargo xtask test` says at run time which binary goes with it. Where nobody does, it is the one it was compiled with.
pub(crate) fn binary() -> String {
    std::env::var("CARGO_BIN_EXE_durward").unwrap_or_else(|_| env!("CARGO_BIN_EXE_durward").to_owned())
}
