//! What a test of policies wants to know beside the program: which expression each condition became, since a program
//! keeps of all conditions of a policy only one conjunction.

use std::collections::HashSet;

use durward_ir::program::{ExprId, SourceLocation};
use smol_str::SmolStr;

/// A policy or a set as it was lowered.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The document it stands in: its number among those that were lowered.
    pub document: usize,
    /// Where it is written: that of its element in the program, if it became one.
    pub place: SourceLocation,
    /// What must hold for it to be looked at: enforced schemas of the document.
    pub gates: Vec<ExprId>,
    /// The target of a set that has one.
    pub target: Option<ExprId>,
    /// The conditions of a policy, in order.
    pub conditions: Vec<ExprId>,
}

/// Lowering as a test of policies wants it.
#[derive(Debug)]
pub(super) struct Rehearsal<'r> {
    /// The functions that something stands in for, by their full names.
    pub(super) stand_ins: &'r HashSet<SmolStr>,
    /// What was lowered so far, in the order of the documents; a set comes before its policies.
    pub(super) outlines: Vec<Outline>,
}
