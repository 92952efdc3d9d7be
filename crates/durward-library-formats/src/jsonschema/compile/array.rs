//! Keywords about arrays.

use std::sync::Arc;

use durward_ir::fault::Evaluated;
use durward_ir::value::{Object, Value};

use super::{SchemaCompiler, integer, nonsense};
use crate::jsonschema::keyword::{Contains, Keyword, OfArray};
use crate::jsonschema::scan::{SchemaDialect, SchemaLocation};

impl SchemaCompiler {
    pub(super) fn of_array(
        &mut self,
        place: &SchemaLocation,
        object: &Object,
        name: &str,
        value: &Value,
    ) -> Evaluated<Option<OfArray>> {
        let dialect = self.dialect(place);
        Ok(match name {
            "prefixItems" if dialect == SchemaDialect::Draft202012 => {
                Some(OfArray::PrefixItems { name: "prefixItems", schemas: self.list(place, name, value)? })
            }
            "items" => Some(self.items(place, object, value)?),
            "additionalItems" if dialect < SchemaDialect::Draft202012 => {
                self.additional_items(place, object, value)?
            }
            "contains" if dialect > SchemaDialect::Draft4 => self.contains(place, object, value)?,
            "uniqueItems" => matches!(value, Value::Boolean(true)).then_some(OfArray::UniqueItems),
            "minItems" => integer(value).map(OfArray::MinItems),
            "maxItems" => Some(OfArray::MaxItems(integer(value).unwrap_or(0))),
            "unevaluatedItems" if dialect > SchemaDialect::Draft7 => {
                Some(OfArray::UnevaluatedItems(self.rest(place, name, value)?))
            }
            _ => None,
        })
    }

    fn items(&mut self, place: &SchemaLocation, object: &Object, value: &Value) -> Evaluated<OfArray> {
        let name = "items";
        if self.dialect(place) < SchemaDialect::Draft202012 {
            if matches!(value, Value::Array(_)) {
                return Ok(OfArray::PrefixItems { name, schemas: self.list(place, name, value)? });
            }
            return Ok(OfArray::Items { name, from: 0, rest: self.rest(place, name, value)? });
        }
        let from = match object.get("prefixItems") {
            Some(Value::Array(schemas)) => schemas.len(),
            Some(_) => return Err(nonsense("prefixItems", "an array of schemas")),
            None => 0,
        };
        Ok(OfArray::Items { name, from, rest: self.rest(place, name, value)? })
    }

    fn additional_items(
        &mut self,
        place: &SchemaLocation,
        object: &Object,
        value: &Value,
    ) -> Evaluated<Option<OfArray>> {
        let Some(Value::Array(schemas)) = object.get("items") else { return Ok(None) };
        let name = "additionalItems";
        let rest = self.rest(place, name, value)?;
        Ok(Some(OfArray::Items { name, from: schemas.len(), rest }))
    }

    fn contains(
        &mut self,
        place: &SchemaLocation,
        object: &Object,
        value: &Value,
    ) -> Evaluated<Option<OfArray>> {
        if !matches!(value, Value::Object(_) | Value::Boolean(_)) {
            return Ok(None);
        }
        let is_unbounded = self.dialect(place) < SchemaDialect::Draft201909;
        let bound = |name: &str| object.get(name).filter(|_| !is_unbounded).and_then(integer);
        let (min, max) = (bound("minContains").unwrap_or(1), bound("maxContains"));
        let node = self.child(place, "/contains", value)?;
        let contains = Contains { node, schema: value.clone(), min, max, is_unbounded };
        Ok(Some(OfArray::Contains(Box::new(contains))))
    }
}

/// networknt's validator reports bounds that make no sense with every value, once for each of the two keywords.
pub(super) fn impossible_contains(object: &Object, name: &str) -> Option<Keyword> {
    let bound = |name: &str, absent: i64| {
        object.get(name).map_or(Some(absent), |value| integer(value).filter(|bound| *bound >= 0))
    };
    let (min, max) = (bound("minContains", 1), bound("maxContains", i64::MAX));
    let problem = match (min, max) {
        (None, _) => "minContains",
        (_, None) => "maxContains",
        (Some(min), Some(max)) if max < min => "minContainsVsMaxContains",
        (Some(_), Some(_)) => return None,
    };
    let name = if name == "minContains" { "minContains" } else { "maxContains" };
    Some(Keyword::ImpossibleContains { name, problem, schema: Value::Object(Arc::new(object.clone())) })
}
