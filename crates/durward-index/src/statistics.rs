//! What an index consists of and did, for people and measurements.

use std::fmt;

/// See [`crate::Index::statistics`].
#[derive(Clone, PartialEq, Debug)]
pub enum Statistics {
    /// There is nothing.
    Scan,
    /// Of Bloom filters.
    Bloom(BloomStatistics),
    /// Of sieves.
    Canonical(CanonicalStatistics),
    /// Of diagrams.
    Diagram(DiagramStatistics),
}

/// What Bloom filters consist of and did. The counts stay 0 unless [`crate::Counting::On`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BloomStatistics {
    /// How many filters there are.
    pub filters: usize,
    /// The memory of the index.
    pub bytes: usize,
    /// The length of a filter in bits.
    pub bits: usize,
    /// How many bits a value sets.
    pub hashes: u32,
    /// The share of values not in a filter that it should take for being in it, from bits, hashes and the number
    /// of values; the mean over all filters.
    pub false_positive_rate_expected: f64,
    /// How many targets were asked about.
    pub tested: u64,
    /// How many of them a filter rejected.
    pub rejected: u64,
    /// How many passed and had to be evaluated.
    pub passed: u64,
    /// How many passed although they do not match.
    pub false_positives: u64,
}

impl BloomStatistics {
    /// The share of targets that passed among those that do not match; `None` before there was one.
    pub fn false_positive_rate(&self) -> Option<f64> {
        let negatives = self.rejected + self.false_positives;
        (negatives > 0).then(|| self.false_positives as f64 / negatives as f64)
    }
}

/// What the sieves of count-and-eliminate consist of.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CanonicalStatistics {
    /// How many sets have a sieve.
    pub sets: usize,
    /// How many ways of applying their children have.
    pub conjunctions: usize,
    /// How many slots are looked at, set by set.
    pub slots: usize,
    /// How many children have a target that would come to too many conjunctions: only what must hold for it is used.
    pub abridged: usize,
    /// The memory of the index.
    pub bytes: usize,
    /// Whether a limit of [`crate::Settings`] kept children from being sifted.
    pub is_cut: bool,
}

/// What diagrams consist of.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DiagramStatistics {
    /// How many nodes there are.
    pub nodes: usize,
    /// How many of them are forks, of which both ways are gone.
    pub forks: usize,
    /// How many sieves of children that cannot be divided without copying them over and over.
    pub sieves: usize,
    /// How many different lists of children.
    pub lists: usize,
    /// The memory of the index.
    pub bytes: usize,
    /// How many sets have a diagram.
    pub sets: usize,
    /// Whether a limit kept children undivided: of [`crate::Settings`], or of how often children may be copied.
    pub is_cut: bool,
    /// Whether it was one of [`crate::Settings`].
    pub is_full: bool,
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistics::Scan => f.write_str("scan"),
            Statistics::Bloom(bloom) => bloom.fmt(f),
            Statistics::Canonical(canonical) => canonical.fmt(f),
            Statistics::Diagram(diagram) => diagram.fmt(f),
        }
    }
}

impl fmt::Display for BloomStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "bloom: {} filters of {} bits with {} hashes, {} bytes, {:.4} % false positives expected",
            self.filters,
            self.bits,
            self.hashes,
            self.bytes,
            self.false_positive_rate_expected * 100.0
        )?;
        let Some(rate) = self.false_positive_rate() else { return Ok(()) };
        write!(
            f,
            "; {} targets tested, {} rejected, {} passed, {} of them falsely ({:.4} %)",
            self.tested,
            self.rejected,
            self.passed,
            self.false_positives,
            rate * 100.0
        )
    }
}

impl fmt::Display for CanonicalStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CanonicalStatistics { sets, conjunctions, slots, abridged, bytes, is_cut } = self;
        write!(
            f,
            "canonical: {conjunctions} conjunctions over {slots} attributes of {sets} sets, {bytes} bytes"
        )?;
        if *abridged > 0 {
            write!(f, ", {abridged} targets of too many alternatives")?;
        }
        if *is_cut { f.write_str(", cut at a limit") } else { Ok(()) }
    }
}

impl fmt::Display for DiagramStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DiagramStatistics { nodes, forks, sieves, lists, bytes, sets, is_cut, is_full } = self;
        write!(f, "diagram: {nodes} nodes and {lists} lists for {sets} sets, {bytes} bytes")?;
        if forks + sieves > 0 {
            write!(f, ", {forks} forks and {sieves} sieves")?;
        }
        f.write_str(match (is_full, is_cut) {
            (true, _) => ", cut at a limit of the settings",
            (false, true) => ", cut where dividing would copy too much",
            (false, false) => "",
        })
    }
}
