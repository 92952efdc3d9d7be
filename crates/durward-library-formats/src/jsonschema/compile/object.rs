//! Keywords about objects.

use durward_ir::fault::Evaluated;
use durward_ir::value::{Object, Value};
use smol_str::SmolStr;

use super::{SchemaCompiler, integer, nonsense, texts};
use crate::jsonschema::keyword::{Additional, Dependency, OfObject, RemainingItems};
use crate::jsonschema::pattern::SchemaPattern;
use crate::jsonschema::reference::push;
use crate::jsonschema::scan::{SchemaDialect, SchemaLocation};

impl SchemaCompiler {
    pub(super) fn of_object(
        &mut self,
        place: &SchemaLocation,
        object: &Object,
        name: &str,
        value: &Value,
    ) -> Evaluated<Option<OfObject>> {
        let dialect = self.dialect(place);
        Ok(match name {
            "properties" => Some(OfObject::Properties(self.named(place, name, value)?)),
            "patternProperties" => Some(self.pattern_properties(place, value)?),
            "additionalProperties" => Some(self.additional_properties(place, object, value)?),
            "unevaluatedProperties" if dialect > SchemaDialect::Draft7 => {
                Some(OfObject::UnevaluatedProperties(self.rest(place, name, value)?))
            }
            "propertyNames" if dialect > SchemaDialect::Draft4 => {
                Some(OfObject::PropertyNames(self.child(place, "/propertyNames", value)?))
            }
            "required" => Some(OfObject::Required(texts(value))),
            "dependentRequired" if dialect > SchemaDialect::Draft7 => {
                Some(OfObject::DependentRequired(dependent_required(value)))
            }
            "dependentSchemas" if dialect > SchemaDialect::Draft7 => {
                Some(OfObject::DependentSchemas(self.named(place, name, value)?))
            }
            "dependencies" => Some(self.dependencies(place, value)?),
            "minProperties" => integer(value).map(OfObject::MinProperties),
            "maxProperties" => integer(value).map(OfObject::MaxProperties),
            _ => None,
        })
    }

    fn pattern_properties(&mut self, place: &SchemaLocation, value: &Value) -> Evaluated<OfObject> {
        if !matches!(value, Value::Object(_)) {
            return Err(nonsense("patternProperties", "an object"));
        }
        let schemas = self.named(place, "patternProperties", value)?;
        let compiled = schemas.iter().map(|(pattern, node)| Ok((SchemaPattern::compile(pattern)?, *node)));
        Ok(OfObject::PatternProperties(compiled.collect::<Evaluated<_>>()?))
    }

    fn additional_properties(
        &mut self,
        place: &SchemaLocation,
        object: &Object,
        value: &Value,
    ) -> Evaluated<OfObject> {
        let mut known = keys(object.get("properties"));
        known.sort_unstable();
        let patterns = keys(object.get("patternProperties"));
        let patterns = patterns.iter().map(|text| SchemaPattern::compile(text)).collect::<Evaluated<_>>()?;
        let rest = if matches!(value, Value::Boolean(true)) {
            None
        } else if matches!(value, Value::Object(_)) {
            Some(RemainingItems::Schema(self.child(place, "/additionalProperties", value)?))
        } else {
            Some(RemainingItems::Refused)
        };
        Ok(OfObject::AdditionalProperties(Box::new(Additional { known: known.into(), patterns, rest })))
    }

    fn dependencies(&mut self, place: &SchemaLocation, value: &Value) -> Evaluated<OfObject> {
        let Value::Object(dependencies) = value else { return Ok(OfObject::Dependencies(Box::default())) };
        let mut compiled = Vec::with_capacity(dependencies.len());
        for (key, dependency) in dependencies.iter() {
            if matches!(dependency, Value::Array(_)) {
                compiled.push((key.clone(), Dependency::Required(texts(dependency))));
            } else if matches!(dependency, Value::Object(_) | Value::Boolean(_)) {
                let mut path = String::from("/dependencies");
                push(&mut path, key);
                compiled.push((key.clone(), Dependency::Schema(self.child(place, &path, dependency)?)));
            }
        }
        Ok(OfObject::Dependencies(compiled.into_boxed_slice()))
    }
}

fn keys(value: Option<&Value>) -> Vec<SmolStr> {
    if let Some(Value::Object(object)) = value { object.keys().cloned().collect() } else { Vec::new() }
}

fn dependent_required(value: &Value) -> Box<[(SmolStr, Box<[SmolStr]>)]> {
    let Value::Object(dependencies) = value else { return Box::default() };
    let lists = dependencies.iter().filter(|(_, names)| matches!(names, Value::Array(_)));
    lists.map(|(key, names)| (key.clone(), texts(names))).collect()
}
