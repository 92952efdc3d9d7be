//! XACML policies, requests and responses: text to tree, and tree to the IR.

pub mod policy;
pub mod tree;
