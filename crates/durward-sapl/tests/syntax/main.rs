//! SAPL as text: what is read, what is refused and with which words, and what is written.
#![expect(
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test may fail so, and looks for what it expects"
)]

mod generate;
mod refused;
mod shown;
mod tests_read;
mod trees;
mod written;
