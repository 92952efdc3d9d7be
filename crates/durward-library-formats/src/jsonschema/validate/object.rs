//! Keywords about objects.

use durward_ir::fault::Evaluated;
use durward_ir::value::{Object, Value};
use smol_str::SmolStr;

use super::{EvaluatedParts, LocationStep, RemainingItems, SchemaEvaluation, SubschemaId};
use crate::jsonschema::keyword::{Additional, Dependency, OfObject};
use crate::jsonschema::message;
use crate::jsonschema::pattern::SchemaPattern;

impl<'a> SchemaEvaluation<'a> {
    /// `value` is the object as a value.
    pub(super) fn object(
        &mut self,
        keyword: &'a OfObject,
        object: &'a Object,
        value: &'a Value,
        seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        match keyword {
            OfObject::Properties(schemas) => self.properties(schemas, object, seen),
            OfObject::PatternProperties(schemas) => self.pattern_properties(schemas, object, seen),
            OfObject::AdditionalProperties(additional) => {
                self.additional_properties(additional, object, seen)
            }
            OfObject::PropertyNames(schema) => self.property_names(*schema, object),
            OfObject::Required(names) => self.required(names, object),
            OfObject::DependentRequired(dependencies) => self.dependent_required(dependencies, object),
            OfObject::DependentSchemas(schemas) => self.dependent_schemas(schemas, object, value, seen),
            OfObject::Dependencies(dependencies) => self.dependencies(dependencies, object, value, seen),
            OfObject::MinProperties(least) if count(object) < *least => {
                self.violated(|| format!("must have at least {} properties", message::count(*least)))
            }
            OfObject::MaxProperties(most) if count(object) > *most => {
                self.violated(|| format!("must have at most {} properties", message::count(*most)))
            }
            OfObject::UnevaluatedProperties(rest) => self.unevaluated_properties(rest, object, seen),
            OfObject::MinProperties(_) | OfObject::MaxProperties(_) => Ok(true),
        }
    }

    /// Holds the value of a property against a schema that the schema knows by the name `key`.
    fn property(
        &mut self,
        key: &'a str,
        name: &'a str,
        schema: SubschemaId,
        value: &'a Value,
    ) -> Evaluated<bool> {
        self.schema_path.push(LocationStep::Key(key));
        let result = self.apply_to_part(LocationStep::Key(name), schema, value);
        self.schema_path.pop();
        result
    }

    fn properties(
        &mut self,
        schemas: &'a [(SmolStr, SubschemaId)],
        object: &'a Object,
        mut seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let mut complies = true;
        for (name, schema) in schemas {
            let Some(value) = object.get(name) else { continue };
            complies &= self.property(name, name, *schema, value)?;
            if let Some(seen) = seen.as_deref_mut() {
                seen.properties.insert(name);
            }
            if !complies && !self.is_reporting {
                break;
            }
        }
        Ok(complies)
    }

    fn pattern_properties(
        &mut self,
        schemas: &'a [(SchemaPattern, SubschemaId)],
        object: &'a Object,
        mut seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let mut complies = true;
        for (name, value) in object.iter() {
            self.spend(schemas.len())?;
            for (pattern, schema) in schemas {
                if pattern.is_found(name)? {
                    complies &= self.property(pattern.as_str(), name, *schema, value)?;
                    if let Some(seen) = seen.as_deref_mut() {
                        seen.properties.insert(name);
                    }
                }
            }
        }
        Ok(complies)
    }

    fn additional_properties(
        &mut self,
        additional: &'a Additional,
        object: &'a Object,
        mut seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let mut complies = true;
        for (name, value) in object.iter() {
            if self.is_covered(additional, name)? {
                continue;
            }
            if let Some(seen) = seen.as_deref_mut() {
                seen.properties.insert(name);
            }
            complies &= match additional.rest {
                None => true,
                Some(RemainingItems::Schema(schema)) => self.apply_to_part(LocationStep::Key(name), schema, value)?,
                Some(RemainingItems::Refused) => self.violated(|| {
                    format!(
                        "property '{name}' is not defined in the schema and the schema does not allow additional \
                         properties"
                    )
                })?,
            };
            if !complies && !self.is_reporting {
                break;
            }
        }
        Ok(complies)
    }

    fn is_covered(&mut self, additional: &Additional, name: &SmolStr) -> Evaluated<bool> {
        // The Java engine's validator skips keys that begin with `#`, whatever they are.
        if name.starts_with('#') || additional.known.binary_search(name).is_ok() {
            return Ok(true);
        }
        self.spend(additional.patterns.len())?;
        for pattern in &additional.patterns {
            if pattern.is_found(name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Each violation of a name is one of the object.
    fn property_names(&mut self, schema: SubschemaId, object: &'a Object) -> Evaluated<bool> {
        let mut complies = true;
        for name in object.keys() {
            let Some(messages) = self.faults_of_name(schema, &Value::Text(name.clone()))? else { continue };
            complies = false;
            if !self.is_reporting {
                break;
            }
            for message in messages {
                self.violated(|| format!("property '{name}' name is not valid: {message}"))?;
            }
        }
        Ok(complies)
    }

    /// What is wrong with a name, if anything.
    fn faults_of_name(&mut self, schema: SubschemaId, name: &Value) -> Evaluated<Option<Vec<String>>> {
        let mut run = SchemaEvaluation {
            schema: self.schema,
            is_reporting: self.is_reporting,
            violations: Vec::new(),
            path: Vec::new(),
            schema_path: self.schema_path.clone(),
            scope: std::mem::take(&mut self.scope),
            steps: self.steps,
        };
        let complies = run.apply(schema, name, None)?;
        self.steps = run.steps;
        self.scope = run.scope;
        Ok((!complies).then(|| run.violations.into_iter().map(|violation| violation.message).collect()))
    }

    fn required(&mut self, names: &'a [SmolStr], object: &'a Object) -> Evaluated<bool> {
        let mut complies = true;
        for name in names {
            if !object.contains_key(name) {
                complies = self.violated(|| format!("required property '{name}' not found"))?;
            }
        }
        Ok(complies)
    }

    fn dependent_required(
        &mut self,
        dependencies: &'a [(SmolStr, Box<[SmolStr]>)],
        object: &'a Object,
    ) -> Evaluated<bool> {
        let mut complies = true;
        for present in object.keys() {
            self.spend(dependencies.len())?;
            let Some((_, names)) = dependencies.iter().find(|(key, _)| key == present) else { continue };
            for name in names {
                if !object.contains_key(name) {
                    complies = self.violated(|| {
                        format!(
                            "has a missing property '{name}' which is dependent required because '{present}' is present"
                        )
                    })?;
                }
            }
        }
        Ok(complies)
    }

    fn dependent_schemas(
        &mut self,
        schemas: &'a [(SmolStr, SubschemaId)],
        object: &'a Object,
        value: &'a Value,
        mut seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let mut complies = true;
        for present in object.keys() {
            self.spend(schemas.len())?;
            let Some((key, schema)) = schemas.iter().find(|(key, _)| key == present) else { continue };
            complies &= self.apply_at(LocationStep::Key(key), *schema, value, seen.as_deref_mut())?;
        }
        Ok(complies)
    }

    fn dependencies(
        &mut self,
        dependencies: &'a [(SmolStr, Dependency)],
        object: &'a Object,
        value: &'a Value,
        mut seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let mut complies = true;
        for present in object.keys() {
            self.spend(dependencies.len())?;
            let Some((key, dependency)) = dependencies.iter().find(|(key, _)| key == present) else {
                continue;
            };
            match dependency {
                Dependency::Schema(schema) => {
                    complies &= self.apply_at(LocationStep::Key(key), *schema, value, seen.as_deref_mut())?;
                }
                Dependency::Required(names) => {
                    for _ in names.iter().filter(|name| !object.contains_key(name)) {
                        let list = || names.join(", ");
                        complies = self
                            .violated(|| format!("has an error with dependencies {{{key}=[{}]}}", list()))?;
                    }
                }
            }
        }
        Ok(complies)
    }

    fn unevaluated_properties(
        &mut self,
        rest: &'a RemainingItems,
        object: &'a Object,
        seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let Some(seen) = seen else { return Ok(true) };
        let mut complies = true;
        for (name, value) in object.iter() {
            if !seen.properties.insert(name) {
                continue;
            }
            complies &= match rest {
                RemainingItems::Schema(schema) => self.apply_to_part(LocationStep::Key(name), *schema, value)?,
                RemainingItems::Refused => self.violated(|| {
                    format!("property '{name}' is not evaluated and the schema does not allow unevaluated properties")
                })?,
            };
            if !complies && !self.is_reporting {
                break;
            }
        }
        Ok(complies)
    }
}

fn count(object: &Object) -> i64 {
    i64::try_from(object.len()).unwrap_or(i64::MAX)
}
