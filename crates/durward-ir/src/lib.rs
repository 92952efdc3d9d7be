//! What a policy means: values, attributes, functions, combining, and the plain evaluator that defines truth.
//!
//! No clock, no I/O, no async, no policy language: XACML (and every later language) is lowered into a
//! [`program::Program`] of this crate, and everything faster is held to what [`evaluate`] says.
//!
//! Features, both on unless left out: `json` is the module `json`; `backtracking` is regular expressions with look-around,
//! back-references and the like, which are refused without it.

pub mod attribute;
pub mod combine;
pub mod datatype;
pub mod direction;
mod effect;
pub mod evaluate;
pub mod fault;
pub mod finding;
pub mod function;
#[cfg(feature = "json")]
pub mod json;
pub mod library;
pub mod near;
pub mod path;
pub mod program;
pub mod question;
pub mod structure;
pub mod value;

pub use attribute::AttributeName;
pub use fault::{Fault, FaultCode};
pub use value::{DataType, Operand, Value};
