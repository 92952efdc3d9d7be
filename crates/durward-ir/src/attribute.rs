//! How an attribute is named, and the number that stands for its name on the hot path.

use smol_str::SmolStr;

use crate::value::DataType;

/// The full name of an attribute: two names are the same attribute when all parts are equal code point by
/// code point (XACML 3.0, section 7.20). An `issuer` of `None` in a policy matches every issuer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AttributeName {
    /// The category, an URI.
    pub category: SmolStr,
    /// The attribute identifier, an URI.
    pub id: SmolStr,
    /// The type of the values meant.
    pub data_type: DataType,
    /// The issuer, if one is asked for.
    pub issuer: Option<SmolStr>,
}

/// A 64-bit digest of (category, id), computed once where a request is read, so that deciding compares numbers
/// first and strings only to confirm. Not secret and not collision free: a hit is always confirmed. Only names
/// out of policies are stored under such keys, so a caller cannot grow or skew a table with chosen names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NameKey(pub u64);

impl NameKey {
    /// Half of the key: enough to tell most names apart before their texts are compared.
    #[inline]
    pub const fn half(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The key of an attribute `id` in a `category`.
    pub fn of(category: &str, id: &str) -> NameKey {
        use std::hash::{BuildHasher, Hasher};
        let mut hasher = foldhash::fast::FixedState::with_seed(0x6475_7277_6172_6421).build_hasher();
        hasher.write(category.as_bytes());
        hasher.write_u8(0xff); // no UTF-8 text holds this byte: ("ab","c") and ("a","bc") differ
        hasher.write(id.as_bytes());
        NameKey(hasher.finish())
    }
}
