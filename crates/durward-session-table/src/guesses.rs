//! Failures of logins, as a record carries them from one node to the others. What counts them is the throttle of `durward-identity`.

use crate::Moment;

/// How many changes one record holds.
pub const COUNT_CHANGES_MAX: usize = 1024;

/// Changes of counts on one node. Nothing in it names a user or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuessNews {
    /// Which node tells: a number that it has drawn when it started.
    pub from: u64,
    /// When, by its clock.
    pub at: Moment,
    /// What changed. At most [`COUNT_CHANGES_MAX`].
    pub changes: Vec<CountChange>,
}

/// One failure in one count, or that its failures are forgiven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountChange {
    /// Which table counts, and whether it forgives.
    pub table: u8,
    /// Which count of the table: a digest under the cluster's secret.
    pub key: u64,
}
