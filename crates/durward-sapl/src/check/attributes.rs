//! Attributes that something has values for.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use foldhash::fast::RandomState;
use smol_str::SmolStr;

/// An attribute that an attribute finder serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The full name: `time.now`.
    pub name: SmolStr,
    /// Whether it is asked of a value, `value.<x509.isExpired>`, or of the environment, `<time.now>`.
    pub of_value: bool,
    /// How many arguments it takes.
    pub arguments: RangeInclusive<usize>,
}

/// Whether there may be attributes beside those that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Others {
    /// No: any other is always undefined.
    None,
    /// Nobody said.
    #[default]
    Unknown,
    /// Yes: something serves any name.
    Any,
}

/// The attributes there are.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    known: HashMap<SmolStr, Vec<Attribute>, RandomState>,
    others: Others,
}

impl Attributes {
    /// These attributes, and perhaps others.
    pub fn new(known: impl IntoIterator<Item = Attribute>, others: Others) -> Attributes {
        let mut attributes = Attributes { known: HashMap::default(), others };
        for attribute in known {
            attributes.known.entry(attribute.name.clone()).or_default().push(attribute);
        }
        attributes
    }

    /// The attributes of this name.
    pub(super) fn named(&self, name: &str) -> &[Attribute] {
        self.known.get(name).map_or(&[], Vec::as_slice)
    }

    /// All names, in their order.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.known.keys().map(SmolStr::as_str).collect();
        names.sort_unstable();
        names
    }

    pub(super) fn others(&self) -> Others {
        self.others
    }

    /// Whether any attribute of this library is known.
    pub(super) fn has_library(&self, library: &str) -> bool {
        self.known.keys().any(|name| name.split('.').next() == Some(library))
    }
}
