//! Keywords about arrays.

use std::collections::HashMap;

use durward_ir::fault::Evaluated;
use durward_ir::value::Value;

use super::{EvaluatedParts, LocationStep, RemainingItems, SchemaEvaluation, SubschemaId};
use crate::jsonschema::keyword::{Contains, OfArray};
use crate::jsonschema::message;

impl<'a> SchemaEvaluation<'a> {
    pub(super) fn array(
        &mut self,
        keyword: &'a OfArray,
        items: &'a [Value],
        seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        match keyword {
            OfArray::PrefixItems { schemas, .. } => self.prefix_items(schemas, items, seen),
            OfArray::Items { from, rest, .. } => self.items(*from, rest, items, seen),
            OfArray::Contains(contains) => self.contains(contains, items, seen),
            OfArray::UniqueItems => self.unique_items(items.iter()),
            OfArray::MinItems(least) if count(items) < *least => self.violated(|| {
                let (least, found) = (message::count(*least), message::length(items.len()));
                format!("must have at least {least} items but found {found}")
            }),
            OfArray::MaxItems(most) if count(items) > *most => self.violated(|| {
                let (most, found) = (message::count(*most), message::length(items.len()));
                format!("must have at most {most} items but found {found}")
            }),
            OfArray::UnevaluatedItems(rest) => self.unevaluated_items(rest, items, seen),
            OfArray::MinItems(_) | OfArray::MaxItems(_) => Ok(true),
        }
    }

    fn prefix_items(
        &mut self,
        schemas: &'a [SubschemaId],
        items: &'a [Value],
        seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let mut complies = true;
        for (at, (schema, item)) in schemas.iter().zip(items).enumerate() {
            self.schema_path.push(LocationStep::Index(at));
            let result = self.apply_to_part(LocationStep::Index(at), *schema, item);
            self.schema_path.pop();
            complies &= result?;
        }
        if let Some(seen) = seen {
            seen.items = seen.items.max(schemas.len());
        }
        Ok(complies)
    }

    fn items(
        &mut self,
        from: usize,
        rest: &'a RemainingItems,
        items: &'a [Value],
        seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let mut complies = true;
        for (at, item) in items.iter().enumerate().skip(from) {
            complies &= match rest {
                RemainingItems::Schema(schema) => self.apply_to_part(LocationStep::Index(at), *schema, item)?,
                RemainingItems::Refused => self.violated(|| {
                    let at = message::length(at);
                    format!(
                        "index '{at}' is not defined in the schema and the schema does not allow additional items"
                    )
                })?,
            };
            if !complies && !self.is_reporting {
                break;
            }
        }
        if let Some(seen) = seen.filter(|_| items.len() > from) {
            seen.all_items();
        }
        Ok(complies)
    }

    fn contains(
        &mut self,
        contains: &'a Contains,
        items: &'a [Value],
        mut seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let mut found: i64 = 0;
        for (at, item) in items.iter().enumerate() {
            if self.quietly(contains.node, item, None)? {
                found += 1;
                if let Some(seen) = seen.as_deref_mut() {
                    seen.single_items.insert(at);
                }
            }
        }
        let schema = || contains.schema.to_json();
        let mut complies = true;
        if found < contains.min {
            complies = if contains.is_unbounded {
                self.violated(|| {
                    format!("does not contain an element that passes these validations: {}", schema())
                })?
            } else {
                let least = contains.min;
                self.violated_as("minContains", || {
                    format!(
                        "must contain at least {least} element(s) that passes these validations: {}",
                        schema()
                    )
                })?
            };
        }
        if let Some(most) = contains.max.filter(|most| found > *most) {
            complies = self.violated_as("maxContains", || {
                format!("must contain at most {most} element(s) that passes these validations: {}", schema())
            })?;
        }
        Ok(complies)
    }

    /// Every repeat is a violation.
    /// Of an array; the Java engine holds the values of objects to it, too.
    pub(super) fn unique_items(&mut self, items: impl Iterator<Item = &'a Value>) -> Evaluated<bool> {
        let mut by_hash: HashMap<u64, Vec<&Value>> = HashMap::new();
        let mut complies = true;
        for item in items {
            let same_hash = by_hash.entry(item.content_hash()).or_default();
            // Hashes are not keyed, so somebody may find many values that share one.
            self.spend(1 + same_hash.len())?;
            if same_hash.iter().any(|other| other.equals(item)) {
                complies = self.violated(|| "must have only unique items in the array".to_owned())?;
            } else {
                same_hash.push(item);
            }
        }
        Ok(complies)
    }

    fn unevaluated_items(
        &mut self,
        rest: &'a RemainingItems,
        items: &'a [Value],
        seen: Option<&mut EvaluatedParts<'a>>,
    ) -> Evaluated<bool> {
        let Some(seen) = seen else { return Ok(true) };
        let mut complies = true;
        for (at, item) in items.iter().enumerate().skip(seen.items) {
            if seen.single_items.contains(&at) {
                continue;
            }
            complies &= match rest {
                RemainingItems::Schema(schema) => {
                    self.apply_to_part(LocationStep::Index(at), *schema, item)?
                }
                RemainingItems::Refused => self.violated(|| {
                    let at = message::length(at);
                    format!("index '{at}' is not evaluated and the schema does not allow unevaluated items")
                })?,
            };
            if !complies && !self.is_reporting {
                break;
            }
        }
        seen.all_items();
        Ok(complies)
    }
}

fn count(items: &[Value]) -> i64 {
    i64::try_from(items.len()).unwrap_or(i64::MAX)
}
