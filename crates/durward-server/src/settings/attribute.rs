//! `[[attributes]]`: attributes that hold for every request of this decision point, such as the site it stands at.

use durward_pdp::{DataType, Value};
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// One attribute that every request has unless it brings its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttributeSettings {
    /// The category: `subject`, `resource`, `action`, `environment`, or an URI. Default: `environment`.
    #[serde(default = "environment")]
    pub category: String,
    /// The attribute identifier.
    pub id: String,
    /// The data type by its short name (`string`, `integer`, `dateTime`, ...) or its URI. Default: `string`.
    #[serde(default = "string", rename = "type")]
    pub data_type: String,
    /// The values, in the lexical form of the data type.
    pub values: Vec<String>,
}

fn environment() -> String {
    "environment".into()
}

fn string() -> String {
    "string".into()
}

impl AttributeSettings {
    /// The category as an URI.
    pub(crate) fn category_uri(&self) -> &str {
        match self.category.as_str() {
            "subject" => "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject",
            "resource" => "urn:oasis:names:tc:xacml:3.0:attribute-category:resource",
            "action" => "urn:oasis:names:tc:xacml:3.0:attribute-category:action",
            "environment" => "urn:oasis:names:tc:xacml:3.0:attribute-category:environment",
            uri => uri,
        }
    }

    /// The data type and the values.
    ///
    /// # Errors
    /// A data type that does not exist, or a value that is not of it.
    pub(crate) fn value_list(&self) -> Result<(DataType, Vec<Value>), ConfigError> {
        let name = format!("attributes.{}", self.id);
        let data_type = DataType::from_short_name(&self.data_type)
            .or_else(|| DataType::from_uri(&self.data_type))
            .ok_or_else(|| {
                let message =
                    format!("has the unknown type `{}`; use a name such as `string`", self.data_type);
                ConfigError::of_setting(&name, message)
            })?;
        let parse = |text: &String| {
            Value::parse(data_type, text).map_err(|error| ConfigError::of_setting(&name, error.to_string()))
        };
        Ok((data_type, self.values.iter().map(parse).collect::<Result<_, _>>()?))
    }
}
