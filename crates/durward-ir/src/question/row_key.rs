//! What slots ask rows of requests for.

use crate::attribute::NameKey;
use crate::value::DataType;

/// A name's number, and in the lower eight bits a data type: what a slot asks for, and what a row has. 0 is neither.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct RowKey(pub(super) u32);

impl RowKey {
    pub(crate) const NONE: RowKey = RowKey(0);
    /// In the place of a data type: there are several values, or several attributes of the name.
    pub(super) const SEVERAL: u32 = 0xff;
    /// In the place of a data type: there is no value yet.
    pub(super) const EMPTY: u32 = 0xfe;
    pub(super) const BITS: u32 = 8;

    #[inline]
    pub(crate) fn of(name: NameKey, data_type: DataType) -> RowKey {
        RowKey::with(name, data_type as u32)
    }

    #[inline]
    pub(super) fn with(name: NameKey, low: u32) -> RowKey {
        if name == NameKey::NONE { RowKey::NONE } else { RowKey(name.number() << RowKey::BITS | low) }
    }

    #[inline]
    pub(super) fn several(self) -> RowKey {
        RowKey(self.0 | RowKey::SEVERAL)
    }

    /// The name's number.
    #[inline]
    pub(super) fn name(self) -> u32 {
        self.0 >> RowKey::BITS
    }

    #[inline]
    pub(super) fn is_of(self, name: NameKey) -> bool {
        self.name() == name.number()
    }

    #[inline]
    pub(super) fn is_text(self) -> bool {
        self.0 & RowKey::SEVERAL == DataType::Text as u32
    }
}
