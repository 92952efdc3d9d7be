//! Entities of JSON, one a line.

use durward_ir::json;
use durward_ir::value::{Object, Value};

use super::{EntitiesBuilder, EntityError, EntityErrorKind, Names, Place};

pub(super) fn read(builder: &mut EntitiesBuilder, source: &str, text: &str) -> Result<(), EntityError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (line, text) in (1..).zip(text.lines()) {
        let place = Place { source, line };
        if !text.trim().is_empty() {
            read_line(builder, text, place)?;
        }
    }
    Ok(())
}

fn read_line(builder: &mut EntitiesBuilder, text: &str, place: Place<'_>) -> Result<(), EntityError> {
    let value = json_value(text).map_err(|kind| place.error(kind))?;
    let object = value.as_object().ok_or_else(|| place.error(EntityErrorKind::NoObject))?;
    if let Some(name) = object.keys().find(|name| !matches!(name.as_str(), "type" | "id" | "properties")) {
        return Err(place.error(EntityErrorKind::Unknown(name.to_string())));
    }
    let properties = match object.get("properties") {
        None => Object::default(),
        Some(Value::Object(properties)) => shared(&mut builder.names, properties),
        Some(_) => {
            let kind = EntityErrorKind::Type { member: "properties", expected: "an object" };
            return Err(place.error(kind));
        }
    };
    let kind = text_of(object, "type").map_err(|kind| place.error(kind))?;
    let id = text_of(object, "id").map_err(|kind| place.error(kind))?;
    builder.add(kind, id, properties, place)
}

/// The same with names that are kept once.
pub(super) fn shared(names: &mut Names, properties: &Object) -> Object {
    properties.iter().map(|(name, value)| (names.shared(name), value.clone())).collect()
}

pub(super) fn text_of<'o>(object: &'o Object, member: &'static str) -> Result<&'o str, EntityErrorKind> {
    match object.get(member) {
        Some(Value::Text(text)) => Ok(text),
        Some(_) => Err(EntityErrorKind::Type { member, expected: "a string" }),
        None => Err(EntityErrorKind::Missing(member)),
    }
}

/// One value, in which no object has a key twice.
pub(super) fn json_value(text: &str) -> Result<Value, EntityErrorKind> {
    json::read_unique(text)
        .map_err(|error| EntityErrorKind::Json { column: error.column, reason: error.reason.into_owned() })
}
