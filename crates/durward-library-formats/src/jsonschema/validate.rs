//! Holding a value against a compiled schema.

use std::collections::{BTreeSet, HashSet};

use durward_ir::fault::{Evaluated, Fault};
use durward_ir::value::Value;
use smol_str::SmolStr;

use super::keyword::{If, Keyword, OfArray, RemainingItems, Subschema, SubschemaId, type_of};
use super::reference::push;
use super::{Schema, Violation};

mod array;
mod object;
mod scalar;

/// The most subschemas held against parts of one value, repeats included: a second or so at the very most.
pub const VALIDATION_STEPS_MAX: u64 = 2_000_000;
/// How deep subschemas may be within each other while they are evaluated: values nest up to 500 levels, and schemas
/// that go around in circles must end.
pub const VALIDATION_DEPTH_MAX: usize = 1_000;
/// The most violations of one value that are reported.
pub const VIOLATIONS_MAX: usize = 10_000;

pub(super) fn is_compliant(schema: &Schema, value: &Value) -> Evaluated<bool> {
    // Where a reference leads nowhere it matters which parts are looked at: as many as for a report.
    let mut run = SchemaEvaluation::new(schema, value, schema.flaws.is_any)?;
    run.apply(schema.root, value, None)
}

pub(super) fn violations(schema: &Schema, value: &Value) -> Evaluated<Vec<Violation>> {
    let mut run = SchemaEvaluation::new(schema, value, true)?;
    run.apply(schema.root, value, None)?;
    Ok(run.violations)
}

/// One step on the way into a value or a schema.
#[derive(Clone, Copy, Debug)]
enum LocationStep<'a> {
    Key(&'a str),
    Index(usize),
}

/// Which parts of a value some keyword has looked at: what the `unevaluated` keywords are about.
#[derive(Debug, Default)]
struct EvaluatedParts<'a> {
    properties: HashSet<&'a str>,
    /// All items before this one.
    items: usize,
    single_items: BTreeSet<usize>,
}

impl EvaluatedParts<'_> {
    fn all_items(&mut self) {
        self.items = usize::MAX;
    }
}

impl<'a> EvaluatedParts<'a> {
    fn merge(&mut self, other: EvaluatedParts<'a>) {
        self.properties.extend(other.properties);
        self.items = self.items.max(other.items);
        self.single_items.extend(other.single_items);
    }
}

/// One evaluation.
struct SchemaEvaluation<'a> {
    schema: &'a Schema,
    /// Whether violations are wanted, and not just whether there is one.
    is_reporting: bool,
    violations: Vec<Violation>,
    path: Vec<LocationStep<'a>>,
    schema_path: Vec<LocationStep<'a>>,
    /// The nodes evaluation is within, for `$dynamicRef`.
    scope: Vec<SubschemaId>,
    steps: u64,
}

impl<'a> SchemaEvaluation<'a> {
    fn new(schema: &'a Schema, value: &Value, is_reporting: bool) -> Evaluated<SchemaEvaluation<'a>> {
        if value.holds_undefined() {
            return Err(Fault::processing("`undefined` cannot be held against a schema"));
        }
        Ok(SchemaEvaluation {
            schema,
            is_reporting,
            violations: Vec::new(),
            path: Vec::new(),
            schema_path: Vec::new(),
            scope: Vec::new(),
            steps: 0,
        })
    }

    /// Spends steps.
    fn spend(&mut self, steps: usize) -> Evaluated<()> {
        self.steps = self.steps.saturating_add(u64::try_from(steps).unwrap_or(u64::MAX));
        if self.steps > VALIDATION_STEPS_MAX {
            return Err(Fault::processing(format!(
                "holding the value against the schema takes more than {VALIDATION_STEPS_MAX} steps"
            )));
        }
        Ok(())
    }

    fn node(&self, SubschemaId(id): SubschemaId) -> Evaluated<&'a Subschema> {
        let node = usize::try_from(id).ok().and_then(|id| self.schema.nodes.get(id));
        node.ok_or_else(|| Fault::processing("a schema lacks one of its parts"))
    }

    /// Holds a value against a subschema. What that looks at in the value is added to `seen` when the value complies.
    fn apply(
        &mut self,
        id: SubschemaId,
        value: &'a Value,
        seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let node = self.node(id)?;
        self.spend(1 + node.keywords.len())?;
        if self.scope.len() >= VALIDATION_DEPTH_MAX {
            return Err(Fault::processing(format!(
                "the schema goes into the value, or around in circles, for more than {VALIDATION_DEPTH_MAX} levels"
            )));
        }
        let mut inner = (seen.is_some() || node.is_closing).then(EvaluatedParts::default);
        let mut complies = true;
        self.scope.push(id);
        for keyword in &node.keywords {
            self.schema_path.push(LocationStep::Key(keyword.name()));
            let result = self.evaluate(keyword, node, value, inner.as_mut());
            self.schema_path.pop();
            complies &= result?;
            if !complies && !self.is_reporting {
                break;
            }
        }
        self.scope.pop();
        if let (true, Some(seen), Some(inner)) = (complies, seen, inner) {
            seen.merge(inner);
        }
        Ok(complies)
    }

    /// As [`SchemaEvaluation::apply`], one step further into the schema.
    fn apply_at(
        &mut self,
        step: LocationStep<'a>,
        id: SubschemaId,
        value: &'a Value,
        seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        self.schema_path.push(step);
        let result = self.apply(id, value, seen);
        self.schema_path.pop();
        result
    }

    /// Holds a part of the value against a subschema.
    fn apply_to_part(
        &mut self,
        part: LocationStep<'a>,
        id: SubschemaId,
        value: &'a Value,
    ) -> Evaluated<bool> {
        self.path.push(part);
        let result = self.apply(id, value, None);
        self.path.pop();
        result
    }

    /// Whether the value complies, without a word about it if not.
    fn quietly(
        &mut self,
        id: SubschemaId,
        value: &'a Value,
        seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let is_reporting = std::mem::replace(&mut self.is_reporting, false);
        let result = self.apply(id, value, seen);
        self.is_reporting = is_reporting;
        result
    }

    /// Notes that the value does not comply with the keyword the schema path ends in.
    fn violated(&mut self, message: impl FnOnce() -> String) -> Evaluated<bool> {
        let keyword = match self.schema_path.last() {
            Some(LocationStep::Key(keyword)) => *keyword,
            Some(LocationStep::Index(_)) | None => "",
        };
        self.violated_as(keyword, message)
    }

    fn violated_as(&mut self, keyword: &str, message: impl FnOnce() -> String) -> Evaluated<bool> {
        if self.is_reporting {
            if self.violations.len() >= VIOLATIONS_MAX {
                return Err(Fault::processing(format!(
                    "the value has more than {VIOLATIONS_MAX} violations"
                )));
            }
            self.violations.push(Violation {
                path: pointer(&self.path),
                message: message(),
                keyword: keyword.to_owned(),
                schema_path: pointer(&self.schema_path),
            });
        }
        Ok(false)
    }

    fn evaluate(
        &mut self,
        keyword: &'a Keyword,
        node: &'a Subschema,
        value: &'a Value,
        seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        match keyword {
            Keyword::False => self.refused(),
            Keyword::Unresolved(fault) => Err(fault.clone()),
            Keyword::Type(types) => self.type_is(types, value),
            Keyword::Enum(values) => self.one_of_values(values, value),
            Keyword::Const(constant) => self.constant(constant, value),
            Keyword::Ref(target) => self.apply(*target, value, seen),
            Keyword::DynamicRef { initial, anchor, .. } => {
                let target = self.dynamic_target(*initial, anchor.as_ref())?;
                self.apply(target, value, seen)
            }
            Keyword::AllOf(schemas) => self.all_of(schemas, value, seen),
            Keyword::AnyOf(schemas) => self.any_of(schemas, node, value, seen),
            Keyword::OneOf(schemas) => self.one_of(schemas, node, value, seen),
            Keyword::Not { node, schema } => {
                if self.quietly(*node, value, None)? {
                    return self.violated(|| format!("must not be valid to the schema {}", schema.to_json()));
                }
                Ok(true)
            }
            Keyword::If(branches) => self.branch(branches, value, seen),
            Keyword::ImpossibleContains { problem, schema, .. } => self.impossible_contains(problem, schema),
            Keyword::OfNumber(keyword) => self.number(keyword, value),
            Keyword::OfText(keyword) => self.text(keyword, value),
            Keyword::OfArray(OfArray::UniqueItems) if matches!(value, Value::Object(_)) => {
                let values = value.as_object().into_iter().flat_map(|object| object.values());
                self.unique_items(values)
            }
            Keyword::OfArray(keyword) => {
                let Value::Array(items) = value else { return Ok(true) };
                self.array(keyword, items, seen)
            }
            Keyword::OfObject(keyword) => {
                let Value::Object(object) = value else { return Ok(true) };
                self.object(keyword, object, value, seen)
            }
        }
    }

    fn refused(&mut self) -> Evaluated<bool> {
        let above = self.schema_path.len().checked_sub(2).and_then(|at| self.schema_path.get(at).copied());
        self.violated(|| match above {
            Some(LocationStep::Key(key)) => format!("schema for '{key}' is false"),
            Some(LocationStep::Index(at)) => format!("schema for '{at}' is false"),
            None => "schema for 'null' is false".to_owned(),
        })
    }

    /// The outermost resource in scope that has the dynamic anchor says what it means (JSON Schema Core, 8.2.3.2).
    fn dynamic_target(&self, initial: SubschemaId, anchor: Option<&SmolStr>) -> Evaluated<SubschemaId> {
        let Some(anchor) = anchor else { return Ok(initial) };
        for id in &self.scope {
            let resource = self.node(*id)?.resource;
            if let Some(target) = self.schema.dynamic_anchors.get(&(resource, anchor.clone())) {
                return Ok(*target);
            }
        }
        Ok(initial)
    }

    fn all_of(
        &mut self,
        schemas: &'a [SubschemaId],
        value: &'a Value,
        mut seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let mut complies = true;
        for (at, schema) in schemas.iter().enumerate() {
            complies &= self.apply_at(LocationStep::Index(at), *schema, value, seen.as_deref_mut())?;
            if !complies && !self.is_reporting {
                break;
            }
        }
        Ok(complies)
    }

    fn any_of(
        &mut self,
        schemas: &'a [SubschemaId],
        node: &'a Subschema,
        value: &'a Value,
        mut seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let before = self.violations.len();
        let mut complies = false;
        for (at, schema) in schemas.iter().enumerate() {
            if self.is_of_other_type(at, *schema, value)? {
                continue;
            }
            complies |= self.apply_at(LocationStep::Index(at), *schema, value, seen.as_deref_mut())?;
            if complies && seen.is_none() && !node.is_closing {
                break;
            }
        }
        if complies {
            self.violations.truncate(before);
        }
        Ok(complies)
    }

    /// When a schema wants another type than the value has, that alone is reported.
    fn is_of_other_type(&mut self, at: usize, schema: SubschemaId, value: &'a Value) -> Evaluated<bool> {
        let Some(Keyword::Type(types)) = self.node(schema)?.keywords.first() else { return Ok(false) };
        if types.is_union || types.allows(value) {
            return Ok(false);
        }
        self.schema_path.extend([LocationStep::Index(at), LocationStep::Key("type")]);
        let result = self.type_is(types, value);
        self.schema_path.truncate(self.schema_path.len().saturating_sub(2));
        result.map(|_| true)
    }

    fn one_of(
        &mut self,
        schemas: &'a [SubschemaId],
        node: &'a Subschema,
        value: &'a Value,
        mut seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let before = self.violations.len();
        let mut valid = Vec::new();
        for (at, schema) in schemas.iter().enumerate() {
            if self.apply_at(LocationStep::Index(at), *schema, value, seen.as_deref_mut())? {
                valid.push(at.to_string());
            }
            if valid.len() > 1 && !node.is_closing {
                break;
            }
        }
        let below = self.violations.split_off(before);
        if valid.len() == 1 {
            return Ok(true);
        }
        self.violated(|| match valid.as_slice() {
            [] => "must be valid to one and only one schema, but 0 are valid".to_owned(),
            some => {
                let (count, indexes) = (some.len(), some.join(", "));
                format!(
                    "must be valid to one and only one schema, but {count} are valid with indexes '{indexes}'"
                )
            }
        })?;
        self.violations.extend(below);
        Ok(false)
    }

    fn branch(
        &mut self,
        branches: &'a If,
        value: &'a Value,
        mut seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let (branch, name) = if self.quietly(branches.condition, value, seen.as_deref_mut())? {
            (branches.then, "then")
        } else {
            (branches.otherwise, "else")
        };
        let Some(branch) = branch else { return Ok(true) };
        let condition = self.schema_path.pop();
        let result = self.apply_at(LocationStep::Key(name), branch, value, seen);
        self.schema_path.extend(condition);
        result
    }

    fn impossible_contains(&mut self, problem: &'static str, schema: &Value) -> Evaluated<bool> {
        let schema = || schema.to_json();
        self.violated_as(problem, || match problem {
            "minContainsVsMaxContains" => {
                format!("minContains must less than or equal to maxContains in {}", schema())
            }
            _ => format!("must be a non-negative integer in {}", schema()),
        })
    }
}

fn pointer(steps: &[LocationStep<'_>]) -> String {
    let mut out = String::new();
    for step in steps {
        match step {
            LocationStep::Key(key) => push(&mut out, key),
            LocationStep::Index(at) => push(&mut out, &at.to_string()),
        }
    }
    out
}
