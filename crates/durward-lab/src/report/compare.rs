//! What changed from one record to another, with how sure that is.

use serde::Serialize;

use crate::record::Record;

/// What is asked of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareOptions {
    /// It fails where a percentile or the rate is worse by more than this share, surely: 0.05 is 5 %.
    pub fail_if_slower: Option<f64>,
    /// Random choices of the bootstrap follow from it.
    pub seed: u64,
}

/// What changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// What differs in what was run or on what: where there is any, differences may come from it.
    pub warnings: Vec<String>,
    /// In words.
    pub verdict: String,
    /// Whether the second is worse than what was allowed.
    pub is_failed: bool,
}

/// Compares a record with the one before it.
pub fn compare(_before: &Record, _after: &Record, _options: &CompareOptions) -> Comparison {
    Comparison::default()
}
