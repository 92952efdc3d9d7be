//! What is known of policies beside those in force: when they were read, what is wrong with newer ones, what is odd.

use std::fmt;
use std::time::SystemTime;

use durward_pdp::PolicyError;
use durward_pdp::check::Finding;

use super::Warned;

/// When policies were read last, and what came of it.
#[derive(Clone, Debug, Default)]
pub struct PolicyState {
    /// When the policies in force were read.
    pub loaded: Option<SystemTime>,
    /// When policies were read last, with whatever result.
    pub tried: Option<SystemTime>,
    /// What is wrong with the newest policies; empty while they are in force.
    pub problems: Vec<PolicyProblem>,
    /// What is odd in those in force.
    pub warned: Warned,
}

/// One thing that is wrong with policies that are not in force for that reason.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PolicyProblem {
    /// The document; empty where the problem is of none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// From 1; 0 where the problem has no place.
    #[serde(skip_serializing_if = "is_zero")]
    pub line: u32,
    /// From 1; 0 where the problem has no place.
    #[serde(skip_serializing_if = "is_zero")]
    pub column: u32,
    /// What is wrong.
    pub reason: String,
    /// A way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// One thing that is odd in policies in force.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PolicyWarning {
    /// The finding's code.
    pub code: &'static str,
    /// The document.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
    /// What is odd.
    pub reason: String,
    /// A way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl From<Finding> for PolicyWarning {
    fn from(finding: Finding) -> PolicyWarning {
        let Finding { severity: _, code, source, line, column, message, help } = finding;
        PolicyWarning { code, file: source.into(), line, column, reason: message, help }
    }
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.reason),
            line => write!(f, "{}:{line}:{}: {}", self.file, self.column, self.reason),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl From<PolicyError> for PolicyProblem {
    fn from(error: PolicyError) -> PolicyProblem {
        PolicyProblem {
            file: error.source.to_string(),
            line: error.line,
            column: error.column,
            reason: error.message,
            help: error.help,
        }
    }
}
