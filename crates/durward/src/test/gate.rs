//! How much must be covered.

use durward_scenario::{CoverageRatio, PolicyCoverage};

/// The least that must be covered, in percent.
#[derive(Debug, clap::Args)]
pub(super) struct CoverageGate {
    /// How many of the policy sets that scenarios reached must have applied, in percent
    #[arg(long, value_name = "0-100", default_value_t = 0.0, value_parser = percent)]
    policy_set_hit_ratio: f64,
    /// How many of the policies outside of sets that scenarios reached must have decided, in percent
    #[arg(long, value_name = "0-100", default_value_t = 0.0, value_parser = percent)]
    policy_hit_ratio: f64,
    /// How many of the conditions, targets and policies that scenarios reached must have had every outcome, in percent
    #[arg(long, value_name = "0-100", default_value_t = 0.0, value_parser = percent)]
    condition_hit_ratio: f64,
    /// How many of the possible outcomes of these must have occurred, in percent
    #[arg(long, value_name = "0-100", default_value_t = 0.0, value_parser = percent)]
    branch_coverage_ratio: f64,
}

fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "a number from 0 to 100".to_owned())?;
    if (0.0..=100.0).contains(&number) { Ok(number) } else { Err("a number from 0 to 100".to_owned()) }
}

impl CoverageGate {
    /// What is covered less than asked for, in lines; empty where there is nothing.
    pub(super) fn missed(&self, coverage: &PolicyCoverage) -> String {
        let came = coverage.gates();
        let checks: [(&str, CoverageRatio, f64); 4] = [
            ("policy sets", came.policy_sets, self.policy_set_hit_ratio),
            ("policies", came.policies, self.policy_hit_ratio),
            ("conditions", came.conditions, self.condition_hit_ratio),
            ("branches", came.branches, self.branch_coverage_ratio),
        ];
        let missed = checks.into_iter().filter(|(_, ratio, wanted)| ratio.percent() < *wanted);
        missed
            .map(|(what, ratio, wanted)| format!("too few {what}: {ratio}, asked for {wanted} %\n"))
            .collect()
    }
}
