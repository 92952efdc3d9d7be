//! A search for what entries hold.

use durward_identity::IdentityError;

use super::settings::{LdapScope, is_attribute, is_dn, is_filter};

/// What is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdapSearch {
    /// Below which entry; that of the directory unless set. Values in it must have been escaped as well.
    pub base: Option<String>,
    /// How far below.
    pub scope: LdapScope,
    /// Which entries. Values in it must have been escaped: [`LdapPlace`](super::LdapPlace).
    pub filter: String,
    /// Whose values.
    pub attribute: String,
}

impl LdapSearch {
    /// Looks whether this can be searched at all.
    ///
    /// # Errors
    /// A name or a filter that is none, or an attribute that holds passwords.
    pub fn check(&self) -> Result<(), IdentityError> {
        self.base.as_ref().map_or(Ok(()), |base| is_dn("base", base))?;
        is_filter("filter", &self.filter)?;
        is_attribute(&self.attribute)
    }
}
