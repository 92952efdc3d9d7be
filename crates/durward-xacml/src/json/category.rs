//! Categories and attributes, as they stand in requests and, echoed, in responses.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use durward_ir::Value;
use serde::Deserialize;
use smol_str::SmolStr;

use super::shorthand::category_of_shorthand;
use super::value::{RawJson, data_type_of, read_values};
use super::{List, Text, error_at, located, or_absent};
use crate::request::identifiers::{data_type_uri, shared};
use crate::request::{Categories, Limits, RawContent, RequestErrorKind, Written};
use crate::xml::{Read, XmlReader};

/// Section 4.2.2 of the profile.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CategoryJson<'a> {
    #[serde(rename = "CategoryId", borrow)]
    pub(crate) category: Option<Text<'a>>,
    #[serde(rename = "Id")]
    pub(crate) id: Option<Text<'a>>,
    #[serde(rename = "Content")]
    pub(crate) content: Option<Text<'a>>,
    #[serde(rename = "Attribute", default)]
    pub(crate) attributes: List<AttributeJson<'a>>,
}

/// Section 4.2.3.1 of the profile.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttributeJson<'a> {
    #[serde(rename = "AttributeId", borrow)]
    id: Text<'a>,
    #[serde(rename = "Issuer")]
    issuer: Option<Text<'a>>,
    #[serde(rename = "IncludeInResult", default, deserialize_with = "or_absent")]
    include_in_result: bool,
    #[serde(rename = "DataType")]
    data_type: Option<Text<'a>>,
    #[serde(rename = "Value")]
    value: RawJson<'a>,
}

/// Adds a category. `implied` is the one its member name stands for; `path` is where it is.
pub(crate) fn read_category(
    given: &CategoryJson<'_>,
    implied: Option<&'static str>,
    path: &dyn Fn() -> String,
    categories: &mut Categories,
    limits: &Limits,
) -> Read<()> {
    let structure = |message: &str| error_at(RequestErrorKind::Structure, path(), message);
    let named = given.category.as_ref().map(|name| category_of_shorthand(name).unwrap_or(name));
    let name = match (named, implied) {
        (Some(named), Some(implied)) if named != implied => {
            return Err(structure(&format!("`CategoryId` must be `{implied}` here, or be left out")));
        }
        (Some(named), _) => named,
        (None, Some(implied)) => implied,
        (None, None) => return Err(structure("a category needs `CategoryId`")),
    };
    categories.begin_category(shared(name), given.id.as_ref().map(|id| SmolStr::new(&**id)));
    if categories.len() > limits.categories_max {
        return Err(error_at(RequestErrorKind::Limit, path(), "too many categories in one request"));
    }
    if let Some(content) = &given.content {
        let content = content_of(content, limits)
            .map_err(|message| error_at(RequestErrorKind::Value, format!("{}.Content", path()), message))?;
        let content = RawContent { xml: SmolStr::new(content), namespaces: Vec::new() };
        categories.set_content(Arc::new(content));
    }
    for (number, attribute) in given.attributes.0.iter().enumerate() {
        read_attribute(attribute, &|| format!("{}.Attribute[{number}]", path()), categories, limits)?;
    }
    Ok(())
}

fn read_attribute(
    given: &AttributeJson<'_>,
    path: &dyn Fn() -> String,
    categories: &mut Categories,
    limits: &Limits,
) -> Read<()> {
    let issuer = given.issuer.as_ref().map(|issuer| SmolStr::new(&**issuer));
    categories.begin_attribute(shared(&given.id), issuer, given.include_in_result);
    let data_type = given.data_type.as_deref().map(data_type_of).transpose();
    let data_type = data_type.map_err(|error| located(error, format!("{}.DataType", path())))?;
    // Short names have one meaning; only another URI for a type is worth echoing.
    let named = given.data_type.as_deref().filter(|name| name.contains(':'));
    let mut take = |value: Value, text: &str| {
        categories.push_as_written(value, |value| {
            Written::of(value, text, named.unwrap_or_else(|| data_type_uri(value)))
        });
    };
    read_values(given.value, data_type.as_ref(), &mut take)
        .map_err(|error| located(error, format!("{}.Value", path())))?;
    if categories.attribute_count() > limits.attributes_max || categories.value_count() > limits.values_max {
        return Err(error_at(
            RequestErrorKind::Limit,
            path(),
            "too many attributes or values in one request",
        ));
    }
    Ok(())
}

/// Section 4.2.3.4: content is XML, as text or in base64. Without its prolog, and checked as that of an XML request.
fn content_of<'a>(given: &'a str, limits: &Limits) -> Result<Cow<'a, str>, String> {
    let given = given.trim();
    let xml = if given.starts_with('<') { Cow::Borrowed(given) } else { Cow::Owned(decoded(given)?) };
    let inner = match xml.strip_prefix("<?xml").and_then(|rest| rest.split_once("?>")) {
        Some((_, inner)) => Cow::Owned(inner.to_owned()),
        None => xml.clone(),
    };
    let check = || -> Read<()> {
        let mut reader = XmlReader::new(&xml, limits.depth_max)?;
        reader.root()?;
        reader.raw()?;
        reader.finish()
    };
    match check() {
        Ok(()) => Ok(inner),
        Err(error) => Err(format!("the content is not XML: {error}")),
    }
}

fn decoded(given: &str) -> Result<String, String> {
    let octets: Vec<u8> = given.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let xml = STANDARD.decode(octets).map_err(|_| "the content is neither XML nor base64".to_owned())?;
    let xml = String::from_utf8(xml).map_err(|_| "the content is not UTF-8".to_owned())?;
    Ok(xml.trim_start_matches('\u{FEFF}').trim().to_owned())
}
