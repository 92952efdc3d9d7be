//! SAPL, the Streaming Attribute Policy Language: its text and its trees.
//!
//! [`syntax`] reads text into a [`syntax::tree`] and writes trees as text.

pub mod syntax;
