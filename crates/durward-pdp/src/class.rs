//! Which documents stand together.

/// Documents of one class stand together, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Class {
    SaplConstant,
    Sapl,
    SaplStreaming,
    Xacml,
}

impl Class {
    pub(crate) const ALL: [Class; 4] = [Class::SaplConstant, Class::Sapl, Class::SaplStreaming, Class::Xacml];
}
