//! The attribute source that the configuration file is: attributes that hold for every request.

use durward_pdp::{AttributeName, AttributeSource, Request, SourceError, Value};

use crate::settings::{AttributeSettings, SettingError};

/// The attributes of `[[attributes]]`.
#[derive(Debug)]
pub struct Constants(Vec<(AttributeName, Vec<Value>)>);

impl Constants {
    /// Those of `settings` that have values.
    ///
    /// # Errors
    /// A value that is not of its data type.
    pub fn new(settings: &[AttributeSettings]) -> Result<Constants, SettingError> {
        let fixed = settings.iter().filter(|attribute| !attribute.is_asked_for());
        Ok(Constants(fixed.map(AttributeSettings::value_list).collect::<Result<_, _>>()?))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl AttributeSource for Constants {
    #[inline]
    fn provides(&self, name: &AttributeName) -> bool {
        self.0.iter().any(|(own, _)| is_meant(own, name))
    }

    #[inline]
    fn values(&self, name: &AttributeName, _: &Request) -> Result<Vec<Value>, SourceError> {
        let found = self.0.iter().filter(|(own, _)| is_meant(own, name));
        Ok(found.flat_map(|(_, values)| values.iter().cloned()).collect())
    }
}

/// Whether a name that policies ask for means this attribute: without an issuer, every issuer's (XACML 3.0, 7.3.5).
#[inline]
pub(crate) fn is_meant(own: &AttributeName, name: &AttributeName) -> bool {
    own.id == name.id
        && own.category == name.category
        && own.data_type == name.data_type
        && (name.issuer.is_none() || name.issuer == own.issuer)
}
