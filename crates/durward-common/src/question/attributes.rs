//! From AuthZEN's words to attributes of an XACML request (`[authzen.xacml]`).

use std::collections::BTreeMap;

use durward_pdp::ir::Value;
use durward_pdp::ir::value::Object;
use durward_pdp::xacml::request::{Categories, identifiers};
use durward_pdp::{DataType, Request};
use durward_settings::AuthzenXacmlSettings;
use smol_str::SmolStr;

use super::{Question, Wrong};
use crate::access::subject::Shown;
use crate::access::subject::attributes::token_id;

/// What the attributes of a type are called that have no other name.
const TYPE: &str = "type";

/// What becomes of the parts of a question.
pub(super) struct Attributes {
    /// By paths.
    names: BTreeMap<String, SmolStr>,
    types: BTreeMap<String, DataType>,
}

impl Attributes {
    pub(super) fn new(settings: &AuthzenXacmlSettings) -> Attributes {
        let mut names: BTreeMap<String, SmolStr> = [
            ("subject.type", TYPE),
            ("subject.id", identifiers::SUBJECT_ID),
            ("action.name", identifiers::ACTION_ID),
            ("resource.type", TYPE),
            ("resource.id", identifiers::RESOURCE_ID),
        ]
        .map(|(path, id)| (path.to_owned(), SmolStr::new_static(id)))
        .into();
        names.extend(settings.names.iter().map(|(path, id)| (path.clone(), SmolStr::from(id.as_str()))));
        let types = settings.types.iter();
        let types =
            types.filter_map(|(path, name)| Some((path.clone(), DataType::from_short_name(name)?))).collect();
        Attributes { names, types }
    }

    /// The request of a question; a token is in the place of its subject.
    ///
    /// # Errors
    /// A text that is not of the data type that it is to have.
    pub(super) fn request(&self, question: &Question, token: Option<&Shown>) -> Result<Request, Wrong> {
        let mut into = Categories::default();
        let Question { subject, action, resource, context } = question;
        into.begin_category(SmolStr::new_static(identifiers::ACCESS_SUBJECT), None);
        if let Some(token) = token {
            let (id, text) = token_id(token);
            into.begin_attribute(SmolStr::new_static(id), None, false);
            into.push_value(Value::Text(text.clone()));
        } else {
            self.text(&mut into, "subject.type", &subject.kind)?;
            self.text(&mut into, "subject.id", &subject.id)?;
            self.all(&mut into, ("subject.properties.", SUBJECT), subject.properties.as_deref())?;
        }
        into.begin_category(SmolStr::new_static(identifiers::ACTION), None);
        self.text(&mut into, "action.name", &action.name)?;
        self.all(&mut into, ("action.properties.", ACTION), action.properties.as_deref())?;
        into.begin_category(SmolStr::new_static(identifiers::RESOURCE), None);
        self.text(&mut into, "resource.type", &resource.kind)?;
        self.text(&mut into, "resource.id", &resource.id)?;
        self.all(&mut into, ("resource.properties.", RESOURCE), resource.properties.as_deref())?;
        if let Some(context) = context.as_deref().filter(|context| !context.is_empty()) {
            into.begin_category(SmolStr::new_static(identifiers::ENVIRONMENT), None);
            self.all(&mut into, ("context.", &[]), Some(context))?;
        }
        Ok(Request { categories: into, ..Request::builder().build() })
    }

    fn text(&self, into: &mut Categories, path: &str, text: &SmolStr) -> Result<(), Wrong> {
        self.add(into, (path, TYPE), &Value::Text(text.clone()))
    }

    /// Each member of an object. What identifies is said by these parts of the question, and not by a member of the same name.
    fn all(
        &self,
        into: &mut Categories,
        (prefix, parts): (&str, &[&str]),
        object: Option<&Object>,
    ) -> Result<(), Wrong> {
        for (name, value) in object.into_iter().flat_map(Object::iter) {
            let path = format!("{prefix}{name}");
            let is_of_part = |part: &&str| self.names.get(*part).is_some_and(|id| id == name);
            if self.names.contains_key(&path) || !parts.iter().any(is_of_part) {
                self.add(into, (&path, name), value)?;
            }
        }
        Ok(())
    }

    /// An attribute of a value, or of each element of an array. What is neither text, number nor boolean is left out.
    fn add(&self, into: &mut Categories, (path, name): (&str, &str), value: &Value) -> Result<(), Wrong> {
        let id = self.names.get(path).map_or(name, SmolStr::as_str);
        if id.is_empty() {
            return Ok(());
        }
        let data_type = self.types.get(path).copied();
        let elements = value.as_array().map_or(std::slice::from_ref(value), |elements| elements);
        let mut is_begun = false;
        for element in elements {
            let Some(value) = typed(element, data_type, path)? else { continue };
            if !is_begun {
                into.begin_attribute(SmolStr::new(id), None, false);
                is_begun = true;
            }
            into.push_value(value);
        }
        Ok(())
    }
}

/// The parts that say who, what and which.
const SUBJECT: &[&str] = &["subject.type", "subject.id"];
const ACTION: &[&str] = &["action.name"];
const RESOURCE: &[&str] = &["resource.type", "resource.id"];

fn typed(value: &Value, data_type: Option<DataType>, path: &str) -> Result<Option<Value>, Wrong> {
    match (value, data_type) {
        (Value::Text(text), Some(data_type)) => Value::parse(data_type, text)
            .map(Some)
            .map_err(|_| Wrong::request(format!("`{path}` must be of the type {}", data_type.short_name()))),
        (Value::Text(_) | Value::Boolean(_), _) => Ok(Some(value.clone())),
        (Value::Number(number), _) if number.is_integer() => {
            // More digits than an integer may have are no value of any type.
            Ok(Value::parse(DataType::Integer, &number.to_plain()).ok())
        }
        (Value::Number(number), _) => Ok(Some(Value::Double(number.to_f64()))),
        (_, _) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_settings::Settings;

    fn request(settings: &str, question: &str) -> Result<Vec<String>, Wrong> {
        let settings = Settings::from_toml(settings, "t").unwrap();
        let question = Question::of_test(question);
        let request = Attributes::new(&settings.authzen.xacml).request(&question, None)?;
        let attributes = request.categories.attributes().map(|attribute| {
            let category = attribute.category().rsplit(':').next().unwrap_or_default().to_owned();
            let values: Vec<String> = attribute
                .values()
                .iter()
                .map(|value| format!("{} {}", value.data_type().short_name(), value.lexical()))
                .collect();
            format!(
                "{category} {}: {}",
                attribute.id.rsplit(':').next().unwrap_or_default(),
                values.join(", ")
            )
        });
        Ok(attributes.collect())
    }

    const QUESTION: &str = r#"{"subject":{"type":"user","id":"ada","properties":{"role":["chair","x"],"type":"god",
        "urn:oasis:names:tc:xacml:1.0:subject:subject-id":"eve"}},
        "action":{"name":"read"},"resource":{"type":"paper","id":"7","properties":{"pages":12,"weight":1.5,"open":true,"o":{"x":1},
        "no":null}},"context":{"at":"2026-01-31T12:00:00Z"}}"#;

    #[test]
    fn parts_become_attributes_and_no_property_says_who_it_is() {
        assert_eq!(
            request("", QUESTION).unwrap(),
            [
                "access-subject type: string user",
                "access-subject subject-id: string ada",
                "access-subject role: string chair, string x",
                "action action-id: string read",
                "resource type: string paper",
                "resource resource-id: string 7",
                "resource pages: integer 12",
                "resource weight: double 1.5E0",
                "resource open: boolean true",
                "environment at: string 2026-01-31T12:00:00Z",
            ]
        );
    }

    #[test]
    fn names_and_types_are_settable() {
        let settings = "[authzen.xacml]\nnames = { 'subject.properties.role' = 'urn:oasis:names:tc:xacml:2.0:subject:role', \
                        'subject.type' = '', 'context.at' = 'urn:oasis:names:tc:xacml:1.0:environment:current-dateTime' }\n\
                        types = { 'context.at' = 'dateTime' }";
        let attributes = request(settings, QUESTION).unwrap();
        assert!(
            attributes.contains(&"environment current-dateTime: dateTime 2026-01-31T12:00:00Z".to_owned())
        );
        assert!(attributes.iter().any(|one| one.starts_with("access-subject role: string chair")));
        let error = request(settings, &QUESTION.replace("2026-01-31T", "no ")).unwrap_err();
        assert_eq!(error.message, "`context.at` must be of the type dateTime");
    }
}
