//! SAPL as text: what is read, what is refused and with which words, and what is written.
#![expect(clippy::panic, reason = "tests")]

mod generate;
mod refused;
mod shown;
mod trees;
mod written;
