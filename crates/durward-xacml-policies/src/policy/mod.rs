//! Policy text to tree: reads XACML 3.0, 2.0, 1.1 and 1.0 policies into one [`tree`](crate::tree).
//!
//! What the schema of the version says is checked here: order and number of elements, required attributes,
//! unknown names. What identifiers and values mean is not: that is for the lowering. All problems of a document
//! are reported, up to a hundred, unless it is not even well-formed XML; then reading stops there.
//!
//! Documents are input from outside: size, depth and number of elements are bounded ([`Limits`]), a document
//! type definition is refused, and nothing outside the document is ever fetched.

mod cursor;
mod decode;
mod document;
mod error;
mod expressions;
mod grammar;
mod limits;
mod names;
mod notices;
mod reader;
mod root;
mod sets;
mod targets;

pub use document::read_policy;
pub use error::PolicyError;
pub use limits::{DEPTH_CAP, Limits};
pub use root::{RootKind, root_kind};
