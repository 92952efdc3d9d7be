//! Policies of XACML: as text, as trees, and as a program.
//!
//! [`policy`] reads text into a [`tree`], [`lower`] makes one program of all trees, [`check`] finds what is allowed in
//! policies but hardly meant. All of it happens when policies are loaded, and none of it on the way of a decision: so
//! `release` does not optimise this crate. What requests are read with is in `durward-xacml`.

pub mod check;
pub mod lower;
pub mod policy;
pub mod tree;
