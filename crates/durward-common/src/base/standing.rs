//! How a tenant's policies stand.

/// How a tenant stands; the words of SAPL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// There are no policies, because those found are wrong, or because nothing was heard for too long.
    Error,
    /// The newest policies are wrong, or may not be the newest; older ones are in force.
    Stale,
    /// Nothing was heard yet.
    Waiting,
    /// The newest policies are in force.
    Loaded,
}

impl Standing {
    /// All of them, in the order of metrics.
    pub const ALL: [Standing; 4] = [Standing::Error, Standing::Stale, Standing::Waiting, Standing::Loaded];

    /// Its name in metrics and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Standing::Error => "error",
            Standing::Stale => "stale",
            Standing::Waiting => "waiting",
            Standing::Loaded => "loaded",
        }
    }
}
