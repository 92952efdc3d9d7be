//! Policies that never have a say.

use durward_ir::finding::{Finding, Severity};

/// A policy or a set that never has a say: [`crate::Pdp::dead_policies`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadPolicy {
    /// The name of its document.
    pub source: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters, from 1.
    pub column: u32,
    /// Which it is, and why.
    pub message: String,
    /// A way out.
    pub help: &'static str,
}

impl From<DeadPolicy> for Finding {
    fn from(dead: DeadPolicy) -> Finding {
        let DeadPolicy { source, line, column, message, help } = dead;
        Finding {
            severity: Severity::Warning,
            code: "unreachable-policy",
            source: source.into(),
            line,
            column,
            message,
            help: Some(help.to_owned()),
        }
    }
}
