//! What policies of SAPL are checked for when they are put in force.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use durward_pdp::check::{Attributes, Others, Schemas, Settings as CheckSettings};
use durward_pdp::ir::json;
use durward_pdp::ir::path::Element;

use super::{ConfigError, SchemaSettings, Settings};

/// Longest file with a schema.
const SCHEMA_BYTES_MAX: u64 = 4 << 20;

impl Settings {
    /// What policies are checked for: the attributes that these settings have sources for, and the schemas they name.
    ///
    /// # Errors
    /// A schema that cannot be read.
    pub fn checks(&self) -> Result<CheckSettings, ConfigError> {
        let has_subjects = self.identity.is_on() || self.oauth.is_on();
        let others = if self.sources.published.is_some() { Others::Any } else { Others::None };
        let known = durward_sources::attributes(&self.sources, has_subjects);
        Ok(CheckSettings {
            attributes: Attributes::new(known, others),
            schemas: self.policies.schemas.read("policies.schemas.")?,
        })
    }
}

impl SchemaSettings {
    /// Reads the files. What they are called to whoever named them begins with `called`.
    ///
    /// # Errors
    /// A file that cannot be read, or that holds no schema.
    pub fn read(&self, called: &str) -> Result<Schemas, ConfigError> {
        let files = [
            (Element::Subject, &self.subject),
            (Element::Action, &self.action),
            (Element::Resource, &self.resource),
            (Element::Environment, &self.environment),
        ];
        let mut schemas = Schemas::default();
        for (element, path) in files {
            let Some(path) = path else { continue };
            let failed = |reason: String| {
                let setting = format!("{called}{}", element.as_str());
                ConfigError::of_setting(&setting, format!("cannot be used: {}: {reason}", path.display()))
            };
            let text = schema_text(path).map_err(|error| failed(error.to_string()))?;
            let schema = json::read(&text).map_err(|error| {
                failed(format!("line {}, column {}: {}", error.line, error.column, error.reason))
            })?;
            if schema.as_object().is_none() {
                return Err(failed("a schema is an object".into()));
            }
            schemas.add(element, schema);
        }
        Ok(schemas)
    }
}

fn schema_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(SCHEMA_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use durward_pdp::check::Attribute;

    use super::*;

    #[test]
    fn schemas_that_cannot_be_read_are_mistakes_of_the_settings() {
        let path = std::env::temp_dir().join(format!("durward-schema-{}.json", std::process::id()));
        for (text, message) in [("[]", "a schema is an object"), ("{", "line 1, column 2: ")] {
            std::fs::write(&path, text).unwrap();
            let settings = SchemaSettings { action: Some(path.clone()), ..SchemaSettings::default() };
            let error = settings.read("policies.schemas.").unwrap_err().to_string();
            assert!(
                error.starts_with("`policies.schemas.action` cannot be used: ") && error.contains(message),
                "{error}"
            );
        }
        std::fs::remove_file(&path).unwrap();
        assert!(SchemaSettings { subject: Some(path), ..SchemaSettings::default() }.read("").is_err());
    }

    #[test]
    fn what_the_settings_have_sources_for_is_known() {
        let toml = "[sources.attributes.\"hr.department\"]\nurl = 'https://hr/{entity}'";
        let settings = Settings::from_toml(toml, "t").unwrap();
        let known: Vec<Attribute> = durward_sources::attributes(&settings.sources, false);
        let custom = known.iter().find(|attribute| attribute.name == "hr.department").unwrap();
        assert!(custom.of_value && custom.arguments == (0..=0));
        assert!(settings.checks().unwrap().schemas.is_empty());
    }
}
