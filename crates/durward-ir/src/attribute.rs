//! How an attribute is named, and the number that stands for its name on the hot path.

mod names;

use smol_str::SmolStr;

pub use names::count as known_name_count;
pub(crate) use names::kept;
pub use names::{CategoryHash, NAMES_MAX, NameKey, Names};

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
