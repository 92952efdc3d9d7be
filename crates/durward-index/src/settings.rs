//! The sizes of indexes. All have a default that suits most policies.

/// Whether an index counts what it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Counting {
    /// It does, at the price of a few nanoseconds per target; for measurements.
    On,
    /// It does not.
    #[default]
    Off,
}

/// How large an index may be. A limit that is reached makes an index leave out less, never answer differently.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The length in bits of one Bloom filter; rounded up to a multiple of 64. A target asks for few values: with
    /// 8 values and 4 hashes, 128 bits mistake one value in 400.
    pub bloom_bits: usize,
    /// How many bits of a Bloom filter one value sets, 1 to 16.
    pub bloom_hashes: u32,
    /// Whether Bloom filters count how often they were asked, and mistaken.
    pub counting: Counting,
    /// How many conjunctions a target may come to where it is multiplied out; past it, only what must hold for it
    /// is used.
    pub canonical_ways_max: usize,
    /// With how many conjunctions sets are no longer sifted; a set that was begun is finished. Each takes about 100
    /// bytes.
    pub canonical_conjunctions_max: usize,
    /// How many nodes all diagrams together may have, of about 40 bytes each. Policies come to about one for each
    /// rule. Past it, sets list their children undivided.
    pub diagram_nodes_max: usize,
    /// How many branches and list entries, of about 8 bytes, all diagrams together may have.
    pub diagram_entries_max: usize,
    /// How many values an attribute may be limited to and still count for the set above: unions of values are
    /// kept for every set while building, so this bounds the time and memory of that.
    pub necessary_atoms_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            bloom_bits: 128,
            bloom_hashes: 4,
            counting: Counting::Off,
            canonical_ways_max: 16,
            canonical_conjunctions_max: 1 << 24,
            diagram_nodes_max: 1 << 22,
            diagram_entries_max: 1 << 26,
            necessary_atoms_max: 1 << 12,
        }
    }
}
