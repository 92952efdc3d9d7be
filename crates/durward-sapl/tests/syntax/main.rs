//! SAPL as text: what is read, what is refused and with which words, and what is written.
#![expect(clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod refused;
mod shown;
mod trees;
