//! What a source is told of a request: `{subject-id}`, `{resource-id}`, `{action-id}`, or `{CATEGORY/ID}`.

use durward_pdp::ir::{DataType, Fault};
use durward_pdp::xacml::request::identifiers::{
    ACCESS_SUBJECT, ACTION, ACTION_ID, ENVIRONMENT, RESOURCE, RESOURCE_ID, SUBJECT_ID,
};
use durward_pdp::{AttributeName, Request, SourceError, Value};
use smol_str::SmolStr;

use crate::settings::{SettingError, SettingName};
use crate::template::{Template, write_segment};

/// An attribute of the request that a source needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Input {
    category: &'static str,
    id: SmolStr,
}

impl Input {
    /// The input of this name, if it is one.
    pub(super) fn read(name: &str) -> Option<Input> {
        let (category, id) = match name {
            "subject-id" => (ACCESS_SUBJECT, SUBJECT_ID),
            "resource-id" => (RESOURCE, RESOURCE_ID),
            "action-id" => (ACTION, ACTION_ID),
            _ => {
                let (category, id) = name.split_once('/')?;
                let category = match category {
                    "subject" => ACCESS_SUBJECT,
                    "resource" => RESOURCE,
                    "action" => ACTION,
                    "environment" => ENVIRONMENT,
                    _ => return None,
                };
                (category, id)
            }
        };
        (!id.is_empty()).then(|| Input { category, id: SmolStr::new(id) })
    }

    /// Its value in a request.
    ///
    /// # Errors
    /// The request has none, or several: the source cannot be asked.
    fn value<'r>(&self, request: &'r Request) -> Result<&'r Value, SourceError> {
        let categories = request.categories.iter().filter(|category| category.category == self.category);
        let mut values =
            categories.flat_map(|category| category.named(&self.id)).flat_map(|found| found.values());
        let Some(first) = values.next() else {
            let name = AttributeName {
                category: self.category.into(),
                id: self.id.clone(),
                data_type: DataType::Text,
                issuer: None,
            };
            return Err(SourceError::missing(
                name,
                format!("it needs `{}`, which the request lacks", self.id),
            ));
        };
        match values.find(|other| other.lexical() != first.lexical()) {
            None => Ok(first),
            Some(_) => {
                Err(SourceError::new(format!("it needs `{}`, of which the request has several", self.id)))
            }
        }
    }

    /// Its value as text.
    ///
    /// # Errors
    /// As the request has none, or several.
    pub(super) fn text(&self, request: &Request) -> Result<String, SourceError> {
        self.value(request).map(|value| value.lexical().into_owned())
    }
}

/// An address, every value in it one segment or part of one.
///
/// # Errors
/// What the request lacks, or what cannot be part of an address.
pub(super) fn address(template: &Template<Input>, request: &Request) -> Result<String, SourceError> {
    let wrong = |fault: Box<Fault>| SourceError::new(fault.message);
    template.filled(|input, out| write_segment(&input.text(request)?, out).map_err(wrong))
}

/// A text of JSON: integers and truth values as such, everything else a string.
///
/// # Errors
/// What the request lacks.
pub(super) fn json(template: &Template<Input>, request: &Request) -> Result<String, SourceError> {
    template.filled(|input, out| {
        let value = input.value(request)?;
        if matches!(value.data_type(), DataType::Integer | DataType::Boolean) {
            out.push_str(&value.lexical());
        } else {
            Value::Text(value.lexical().as_ref().into()).write_json(out);
        }
        Ok(())
    })
}

/// Reads what `key` of a setting says, a text in which braces mean inputs and nothing else.
///
/// # Errors
/// Braces around what is none.
pub(super) fn strict(
    setting: &SettingName,
    key: &'static str,
    text: &str,
) -> Result<Template<Input>, SettingError> {
    let template = Template::of(text, Input::read);
    if template.texts().any(|text| text.contains(['{', '}'])) {
        return Err(setting.wrong(format!(
            "has braces in `{key}` around what is no attribute; write `{{subject-id}}`, `{{resource-id}}`, \
             `{{action-id}}` or `{{CATEGORY/ID}}` with the category `subject`, `resource`, `action` or `environment`"
        )));
    }
    Ok(template)
}
