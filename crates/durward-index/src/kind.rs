//! The indexes by name, as settings spell them.

use std::fmt;
use std::str::FromStr;

/// Which index to use. No choice changes any answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum IndexKind {
    /// None: every element is evaluated, in order.
    Scan,
    /// A Bloom filter per target over the values it asks for.
    Bloom,
    /// Count-and-eliminate: bit sets over targets in disjunctive normal form.
    Canonical,
    /// A decision diagram per set: one look at an attribute leaves the children that can still apply.
    Diagram,
    /// Whichever suits the policies.
    #[default]
    Auto,
}

impl IndexKind {
    /// All of them.
    pub const ALL: [IndexKind; 5] =
        [IndexKind::Scan, IndexKind::Bloom, IndexKind::Canonical, IndexKind::Diagram, IndexKind::Auto];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            IndexKind::Scan => "scan",
            IndexKind::Bloom => "bloom",
            IndexKind::Canonical => "canonical",
            IndexKind::Diagram => "diagram",
            IndexKind::Auto => "auto",
        }
    }
}

impl fmt::Display for IndexKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownIndex(String);

impl fmt::Display for UnknownIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not an index; there are `scan`, `bloom`, `canonical`, `diagram` and `auto`",
            self.0
        )
    }
}

impl std::error::Error for UnknownIndex {}

impl FromStr for IndexKind {
    type Err = UnknownIndex;

    fn from_str(name: &str) -> Result<IndexKind, UnknownIndex> {
        let kind = IndexKind::ALL.into_iter().find(|kind| kind.name() == name);
        kind.ok_or_else(|| UnknownIndex(name.to_owned()))
    }
}
