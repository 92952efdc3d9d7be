//! Text forms, for the command line: node ids and paths, values, status codes, and what to do about them.

mod node;
mod status;
mod value;

pub use node::{NodeText, PathElement, node_text, parse_node, with_namespace};
pub use status::{advice, explain, parse_status, status_text};
pub use value::{data_value_text, parse_value, value_text};
