//! From a schema as a value to its nodes. Nothing here recurses: subschemas wait in a queue.

use std::collections::HashMap;

use durward_ir::fault::{Evaluated, Fault};
use durward_ir::value::{Object, Value};
use smol_str::SmolStr;

use super::keyword::{
    If, Keyword, OfArray, OfObject, RemainingItems, ResourceId, Subschema, SubschemaId, Types,
};
use super::reference::{push, split};
use super::scan::{RECURSIVE_ANCHOR, SchemaCatalog, SchemaDialect, SchemaLocation};
use super::{Flaws, Schema};

mod array;
mod object;
mod scalar;

/// The most subschemas a schema may have, with all it refers to: the largest schemas in public catalogues have some
/// thousands.
pub const SCHEMA_NODES_MAX: usize = 20_000;

pub(super) fn compile(schema: &Value, others: &Value) -> Evaluated<Schema> {
    if !matches!(schema, Value::Object(_)) {
        return Err(Fault::processing("a schema must be an object"));
    }
    let mut compiler = SchemaCompiler {
        catalog: SchemaCatalog::new(others),
        nodes: Vec::new(),
        known: HashMap::new(),
        waiting: Vec::new(),
        flaws: Flaws::default(),
    };
    let place = compiler.catalog.add_document(schema)?;
    let root = compiler.node(place)?;
    compiler.finish(root)
}

struct SchemaCompiler {
    catalog: SchemaCatalog,
    /// `None` while it waits.
    nodes: Vec<Option<Subschema>>,
    known: HashMap<(ResourceId, String), SubschemaId>,
    waiting: Vec<(SubschemaId, SchemaLocation)>,
    flaws: Flaws,
}

impl SchemaCompiler {
    fn finish(mut self, root: SubschemaId) -> Evaluated<Schema> {
        let mut dynamic_anchors = HashMap::new();
        loop {
            while let Some((SubschemaId(id), place)) = self.waiting.pop() {
                let node = self.compiled(&place)?;
                if let Some(slot) = usize::try_from(id).ok().and_then(|id| self.nodes.get_mut(id)) {
                    *slot = Some(node);
                }
            }
            // References may have brought in documents with further anchors.
            for (key, place) in self.catalog.dynamic_anchors() {
                dynamic_anchors.insert(key, self.node(place)?);
            }
            if self.waiting.is_empty() {
                let nodes = self.nodes.into_iter().flatten().collect();
                return Ok(Schema { nodes, root, dynamic_anchors, flaws: self.flaws });
            }
        }
    }

    /// A reference that leads nowhere does no harm as long as no value is held against it, as in the Java engine.
    fn unresolved(&mut self, fault: Box<Fault>) -> Keyword {
        self.flaws.is_any = true;
        Keyword::Unresolved(fault)
    }

    /// The node of a schema, to be compiled later when it is new.
    fn node(&mut self, place: SchemaLocation) -> Evaluated<SubschemaId> {
        let key = (place.resource, place.pointer.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let id = match u32::try_from(self.nodes.len()) {
            Ok(id) if self.nodes.len() < SCHEMA_NODES_MAX => SubschemaId(id),
            _ => {
                return Err(Fault::processing(format!(
                    "a schema has more than {SCHEMA_NODES_MAX} subschemas"
                )));
            }
        };
        self.nodes.push(None);
        self.known.insert(key, id);
        self.waiting.push((id, place));
        Ok(id)
    }

    fn child(&mut self, place: &SchemaLocation, path: &str, value: &Value) -> Evaluated<SubschemaId> {
        let below = self.catalog.below(place, path, value);
        self.node(below)
    }

    fn compiled(&mut self, place: &SchemaLocation) -> Evaluated<Subschema> {
        let mut keywords = Vec::new();
        if matches!(place.value, Value::Boolean(_)) && self.dialect(place) == SchemaDialect::Draft4 {
            return Err(Fault::processing("Draft 4 has no schemas `true` and `false`"));
        }
        if let Value::Object(object) = &place.value {
            let is_old = self.dialect(place) < SchemaDialect::Draft201909;
            if let Some(reference) = object.get("$ref").filter(|_| is_old) {
                // Before 2019-09 nothing beside a `$ref` counts.
                keywords.push(self.reference(place, reference)?);
            } else {
                for (name, value) in object.iter() {
                    keywords.extend(self.keyword(place, object, name, value)?);
                }
            }
        } else if matches!(place.value, Value::Boolean(false)) {
            keywords.push(Keyword::False);
        }
        keywords.sort_by_key(Keyword::rank);
        let is_closing = keywords.iter().any(|keyword| {
            matches!(
                keyword,
                Keyword::OfArray(OfArray::UnevaluatedItems(_))
                    | Keyword::OfObject(OfObject::UnevaluatedProperties(_))
            )
        });
        Ok(Subschema { resource: place.resource, keywords: keywords.into_boxed_slice(), is_closing })
    }

    fn dialect(&self, place: &SchemaLocation) -> SchemaDialect {
        self.catalog.dialect(place.resource)
    }

    /// What a keyword means; nothing when it is a note, is unknown, or has a value that the Java engine passes over.
    fn keyword(
        &mut self,
        place: &SchemaLocation,
        object: &Object,
        name: &str,
        value: &Value,
    ) -> Evaluated<Option<Keyword>> {
        if let Some(keyword) = self.general(place, object, name, value)? {
            return Ok(Some(keyword));
        }
        if let Some(keyword) = self.of_object(place, object, name, value)? {
            return Ok(Some(Keyword::OfObject(keyword)));
        }
        if let Some(keyword) = self.of_array(place, object, name, value)? {
            return Ok(Some(Keyword::OfArray(keyword)));
        }
        let dialect = self.dialect(place);
        if let Some(keyword) = scalar::of_text(name, value, dialect < SchemaDialect::Draft201909)? {
            return Ok(Some(Keyword::OfText(keyword)));
        }
        let is_old = dialect == SchemaDialect::Draft4;
        Ok(scalar::of_number(object, name, value, is_old)?.map(Keyword::OfNumber))
    }

    /// Keywords about values of any type.
    fn general(
        &mut self,
        place: &SchemaLocation,
        object: &Object,
        name: &str,
        value: &Value,
    ) -> Evaluated<Option<Keyword>> {
        let dialect = self.dialect(place);
        Ok(Some(match name {
            "$ref" => self.reference(place, value)?,
            "$dynamicRef" if dialect == SchemaDialect::Draft202012 => self.dynamic_reference(place, value)?,
            "$recursiveRef" if dialect == SchemaDialect::Draft201909 => {
                self.recursive_reference(place, value)?
            }
            "type" => Keyword::Type(Types::new(value)),
            "enum" => Keyword::Enum(values(value).iter().cloned().collect()),
            "const" if dialect > SchemaDialect::Draft4 => Keyword::Const(value.clone()),
            "allOf" => Keyword::AllOf(self.list(place, name, value)?),
            "anyOf" => Keyword::AnyOf(self.list(place, name, value)?),
            "oneOf" => Keyword::OneOf(self.list(place, name, value)?),
            "not" => Keyword::Not { node: self.child(place, "/not", value)?, schema: value.clone() },
            "if" if dialect > SchemaDialect::Draft6 => self.condition(place, object, value)?,
            "minContains" | "maxContains" if dialect > SchemaDialect::Draft7 => {
                return Ok(array::impossible_contains(object, name));
            }
            _ => return Ok(None),
        }))
    }

    fn reference(&mut self, place: &SchemaLocation, value: &Value) -> Evaluated<Keyword> {
        let Value::Text(reference) = value else { return Err(nonsense("$ref", "a text")) };
        match self.catalog.find(place.resource, reference) {
            Ok(target) => self.node(target).map(Keyword::Ref),
            Err(fault) => {
                self.flaws.fixed.get_or_insert_with(|| fault.clone());
                Ok(self.unresolved(fault))
            }
        }
    }

    fn dynamic_reference(&mut self, place: &SchemaLocation, value: &Value) -> Evaluated<Keyword> {
        let Value::Text(reference) = value else { return Err(nonsense("$dynamicRef", "a text")) };
        let target = match self.catalog.find(place.resource, reference) {
            Ok(target) => target,
            Err(fault) => return Ok(self.unresolved(fault)),
        };
        let name = split(reference).1.unwrap_or_default();
        let anchor = self.catalog.has_dynamic_anchor(target.resource, name).then(|| name.into());
        Ok(Keyword::DynamicRef { name: "$dynamicRef", initial: self.node(target)?, anchor })
    }

    /// `$recursiveRef` of 2019-09, which can only mean the resource as a whole, or the outermost that extends it.
    fn recursive_reference(&mut self, place: &SchemaLocation, value: &Value) -> Evaluated<Keyword> {
        if value.as_text() != Some("#") {
            return Err(nonsense("$recursiveRef", "`#`"));
        }
        let target = self.catalog.find(place.resource, "#")?;
        let is_anchor = self.catalog.has_dynamic_anchor(target.resource, RECURSIVE_ANCHOR);
        let anchor = is_anchor.then(|| SmolStr::new_static(RECURSIVE_ANCHOR));
        Ok(Keyword::DynamicRef { name: "$recursiveRef", initial: self.node(target)?, anchor })
    }

    fn list(&mut self, place: &SchemaLocation, name: &str, value: &Value) -> Evaluated<Box<[SubschemaId]>> {
        let Value::Array(schemas) = value else { return Err(nonsense(name, "an array of schemas")) };
        let nodes = schemas.iter().enumerate();
        nodes.map(|(at, schema)| self.child(place, &format!("/{name}/{at}"), schema)).collect()
    }

    fn named(
        &mut self,
        place: &SchemaLocation,
        name: &str,
        value: &Value,
    ) -> Evaluated<Box<[(SmolStr, SubschemaId)]>> {
        let Value::Object(schemas) = value else { return Ok(Box::default()) };
        let nodes = schemas.iter().map(|(key, schema)| {
            let mut path = format!("/{name}");
            push(&mut path, key);
            Ok((key.clone(), self.child(place, &path, schema)?))
        });
        nodes.collect()
    }

    fn condition(&mut self, place: &SchemaLocation, object: &Object, value: &Value) -> Evaluated<Keyword> {
        let mut branch = |name: &str| {
            object.get(name).map(|schema| self.child(place, &format!("/{name}"), schema)).transpose()
        };
        let (then, otherwise) = (branch("then")?, branch("else")?);
        let condition = self.child(place, "/if", value)?;
        Ok(Keyword::If(Box::new(If { condition, then, otherwise })))
    }

    /// A schema for all that is left; `false` is told apart because its violations have words of their own.
    fn rest(&mut self, place: &SchemaLocation, name: &str, value: &Value) -> Evaluated<RemainingItems> {
        // A boolean schema that Draft 4 does not have; `additionalItems` may be a boolean there, too.
        let is_unknown = name == "items" && self.dialect(place) == SchemaDialect::Draft4;
        if matches!(value, Value::Boolean(false)) && !is_unknown {
            return Ok(RemainingItems::Refused);
        }
        if !matches!(value, Value::Boolean(true) | Value::Object(_)) {
            return Err(nonsense(name, "a schema"));
        }
        self.child(place, &format!("/{name}"), value).map(RemainingItems::Schema)
    }
}

/// The elements of an array; nothing for anything else.
fn values(value: &Value) -> &[Value] {
    if let Value::Array(values) = value { values } else { &[] }
}

/// The texts in an array.
fn texts(value: &Value) -> Box<[SmolStr]> {
    let texts = values(value).iter().filter_map(|value| {
        let Value::Text(text) = value else { return None };
        Some(text.clone())
    });
    texts.collect()
}

/// A whole number, whichever way it is written; beyond 64 bits the nearest that fits.
fn integer(value: &Value) -> Option<i64> {
    let Value::Number(number) = value else { return None };
    if !number.is_integer() {
        return None;
    }
    Some(number.to_i64().unwrap_or(if number.signum() < 0 { i64::MIN } else { i64::MAX }))
}

fn nonsense(keyword: &str, wanted: &str) -> Box<Fault> {
    Fault::processing(format!("`{keyword}` in a schema must be {wanted}"))
}
