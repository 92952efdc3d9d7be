//! The attribute source that the configuration file is: attributes that hold for every request.

use durward_pdp::{AttributeName, AttributeSource, Request, SourceError, Value};

use crate::settings::{AttributeSettings, ConfigError};

/// The attributes of `[[attributes]]`.
#[derive(Debug)]
pub(crate) struct Constants(Vec<(AttributeName, Vec<Value>)>);

impl Constants {
    /// # Errors
    /// A value that is not of its data type.
    pub(crate) fn new(settings: &[AttributeSettings]) -> Result<Constants, ConfigError> {
        let constant = |one: &AttributeSettings| {
            let (data_type, values) = one.value_list()?;
            let name = AttributeName {
                category: one.category_uri().into(),
                id: one.id.as_str().into(),
                data_type,
                issuer: None,
            };
            Ok((name, values))
        };
        Ok(Constants(settings.iter().map(constant).collect::<Result<_, _>>()?))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl AttributeSource for Constants {
    fn provides(&self, name: &AttributeName) -> bool {
        self.0.iter().any(|(own, _)| own == name)
    }

    fn values(&self, name: &AttributeName, _: &Request) -> Result<Vec<Value>, SourceError> {
        let found = self.0.iter().filter(|(own, _)| own == name);
        Ok(found.flat_map(|(_, values)| values.iter().cloned()).collect())
    }
}
