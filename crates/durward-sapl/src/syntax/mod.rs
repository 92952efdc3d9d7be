//! The language as text: from characters to a tree with places, and back.

mod span;
pub mod tree;

pub use span::Span;
