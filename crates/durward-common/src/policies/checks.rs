//! What checking the policies in force found.

use durward_pdp::check::Finding;

use super::{PROBLEMS_MAX, PolicyWarning};

/// What is odd in the policies in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warned {
    /// How many warnings there are.
    pub count: usize,
    /// The first of them, at most `PROBLEMS_MAX`.
    pub first: Vec<PolicyWarning>,
}

impl Warned {
    pub(super) fn of(findings: Vec<Finding>) -> Warned {
        let count = findings.len();
        Warned { count, first: findings.into_iter().take(PROBLEMS_MAX).map(PolicyWarning::from).collect() }
    }

    /// Says in the log what was not there before.
    pub(super) fn report(&self, before: &Warned, tenant: Option<&str>) {
        const HARDLY: &str = "policies are in force, and hardly say what was meant";
        let new = self.first.iter().filter(|warning| !before.first.contains(warning));
        for PolicyWarning { code, file, line, column, reason, help } in new {
            let help = help.as_deref().unwrap_or_default();
            match tenant {
                Some(tenant) => tracing::warn!(tenant, file, line, column, code, reason, help, "{HARDLY}"),
                None => tracing::warn!(file, line, column, code, reason, help, "{HARDLY}"),
            }
        }
        if self.count > self.first.len() && self.count != before.count {
            let more = self.count - self.first.len();
            tracing::warn!(more, "there are more such warnings: `durward check` lists all");
        }
    }
}
