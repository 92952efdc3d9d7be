//! Which schemas have names: resources by their `$id`, and anchors within them.

use std::collections::HashMap;

use durward_ir::fault::{Evaluated, Fault};
use durward_ir::value::{Object, Value};
use smol_str::SmolStr;

use super::keyword::ResourceId;
use super::reference::{child, percent_decoded, push, resolve, split, tokens};

/// The URI of a schema that has no `$id`, as the Java engine has it.
const INLINE: &str = "mem://inline";

/// The draft a resource is written in: `$schema`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SchemaDialect {
    Draft4,
    Draft6,
    Draft7,
    Draft201909,
    Draft202012,
}

/// Says of a resource of 2019-09 that it is meant by the `$recursiveRef` of those that extend it. Dynamic anchors of 2020-12
/// cannot have this name.
pub(super) const RECURSIVE_ANCHOR: &str = "$recursiveAnchor";

impl SchemaDialect {
    /// The keyword that names a schema.
    fn identifier(self) -> &'static str {
        if self == SchemaDialect::Draft4 { "id" } else { "$id" }
    }
}

const DIALECTS: [(&str, SchemaDialect); 5] = [
    ("json-schema.org/draft-04/schema", SchemaDialect::Draft4),
    ("json-schema.org/draft-06/schema", SchemaDialect::Draft6),
    ("json-schema.org/draft-07/schema", SchemaDialect::Draft7),
    ("json-schema.org/draft/2019-09/schema", SchemaDialect::Draft201909),
    ("json-schema.org/draft/2020-12/schema", SchemaDialect::Draft202012),
];

/// A subschema and where it stands.
#[derive(Clone, Debug)]
pub(super) struct SchemaLocation {
    pub(super) resource: ResourceId,
    /// A JSON pointer within the resource.
    pub(super) pointer: String,
    pub(super) value: Value,
}

#[derive(Debug)]
struct SchemaResource {
    uri: String,
    value: Value,
    dialect: SchemaDialect,
}

/// All named schemas within reach.
#[derive(Debug)]
pub(super) struct SchemaCatalog {
    resources: Vec<SchemaResource>,
    by_uri: HashMap<String, ResourceId>,
    anchors: HashMap<(ResourceId, SmolStr), SchemaLocation>,
    dynamic_anchors: HashMap<(ResourceId, SmolStr), SchemaLocation>,
    /// Schemas that are looked at when a reference names them.
    others: HashMap<SmolStr, Value>,
}

/// Whether a reference can lead to a schema from outside with this `$id`. As in the engine, one without a scheme cannot be
/// reached (a relative reference has no base there to be resolved against), nor one of Java's class path.
fn can_be_referred_to(id: &str) -> bool {
    id.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|it| it.is_ascii_alphanumeric() || "+-.".contains(it))
            && !scheme.eq_ignore_ascii_case("classpath")
    })
}

impl SchemaCatalog {
    pub(super) fn new(others: &Value) -> SchemaCatalog {
        let mut by_id = HashMap::new();
        if let Value::Array(others) = others {
            for other in others.iter() {
                if let Value::Object(object) = other
                    && let Some(Value::Text(id)) = object.get("$id")
                    && can_be_referred_to(id)
                {
                    by_id.insert(id.clone(), other.clone());
                }
            }
        }
        SchemaCatalog {
            resources: Vec::new(),
            by_uri: HashMap::new(),
            anchors: HashMap::new(),
            dynamic_anchors: HashMap::new(),
            others: by_id,
        }
    }

    pub(super) fn dialect(&self, resource: ResourceId) -> SchemaDialect {
        self.resource(resource).map_or(SchemaDialect::Draft202012, |resource| resource.dialect)
    }

    fn resource(&self, id: ResourceId) -> Option<&SchemaResource> {
        self.resources.get(usize::try_from(id.0).ok()?)
    }

    fn uri(&self, id: ResourceId) -> &str {
        self.resource(id).map_or("", |resource| resource.uri.as_str())
    }

    /// Adds a whole document with every resource and anchor in it, and gives its root.
    pub(super) fn add_document(&mut self, value: &Value) -> Evaluated<SchemaLocation> {
        let root = self.open(value, INLINE, SchemaDialect::Draft202012)?;
        let mut open = vec![root.clone()];
        while let Some(place) = open.pop() {
            self.note_anchors(&place);
            let Value::Object(object) = &place.value else { continue };
            let mut inner = Vec::new();
            subschemas(object, &mut |path, value| inner.push((path, value.clone())));
            for (path, value) in inner {
                let child = self.enter(&place, &path, value)?;
                open.push(child);
            }
        }
        Ok(root)
    }

    /// The place of a schema below `place`, which may be a resource of its own; that is added when it is new.
    fn enter(&mut self, place: &SchemaLocation, path: &str, value: Value) -> Evaluated<SchemaLocation> {
        let dialect = self.dialect(place.resource);
        if identifier(&value, dialect).is_some() {
            let base = self.uri(place.resource).to_owned();
            return self.open(&value, &base, dialect);
        }
        Ok(SchemaLocation { resource: place.resource, pointer: format!("{}{path}", place.pointer), value })
    }

    /// A new resource; of several with one URI the first counts.
    fn open(&mut self, value: &Value, base: &str, inherited: SchemaDialect) -> Evaluated<SchemaLocation> {
        let dialect = declared(value)?.unwrap_or(inherited);
        let uri = identifier(value, dialect).map_or_else(|| base.to_owned(), |id| resolve(base, id));
        let id = ResourceId(u32::try_from(self.resources.len()).unwrap_or(u32::MAX));
        self.resources.push(SchemaResource { uri: uri.clone(), value: value.clone(), dialect });
        self.by_uri.entry(uri).or_insert(id);
        Ok(SchemaLocation { resource: id, pointer: String::new(), value: value.clone() })
    }

    fn note_anchors(&mut self, place: &SchemaLocation) {
        let Value::Object(object) = &place.value else { return };
        let dialect = self.dialect(place.resource);
        if dialect < SchemaDialect::Draft201909 {
            // Before 2019-09 an anchor was written `"$id": "#name"`.
            if let Some(Value::Text(id)) = object.get(dialect.identifier())
                && let Some(name) = id.strip_prefix('#')
            {
                self.anchors.entry((place.resource, name.into())).or_insert_with(|| place.clone());
            }
            return;
        }
        if let Some(Value::Text(name)) = object.get("$anchor") {
            self.anchors.entry((place.resource, name.clone())).or_insert_with(|| place.clone());
        }
        if dialect == SchemaDialect::Draft201909
            && place.pointer.is_empty()
            && matches!(object.get(RECURSIVE_ANCHOR), Some(Value::Boolean(true)))
        {
            let key = (place.resource, SmolStr::new_static(RECURSIVE_ANCHOR));
            self.dynamic_anchors.entry(key).or_insert_with(|| place.clone());
        }
        if let Some(Value::Text(name)) = object.get("$dynamicAnchor")
            && dialect == SchemaDialect::Draft202012
        {
            let key = (place.resource, name.clone());
            self.anchors.entry(key.clone()).or_insert_with(|| place.clone());
            self.dynamic_anchors.entry(key).or_insert_with(|| place.clone());
        }
    }

    /// Where a reference leads that stands in this resource.
    pub(super) fn find(&mut self, from: ResourceId, reference: &str) -> Evaluated<SchemaLocation> {
        let unresolved = || Fault::processing(format!("reference `{reference}` cannot be resolved"));
        let (uri, fragment) = split(reference);
        let resource = if uri.is_empty() { from } else { self.named(from, uri)?.ok_or_else(unresolved)? };
        let root = self.resource(resource).map(|resource| resource.value.clone()).ok_or_else(unresolved)?;
        let fragment = percent_decoded(fragment.unwrap_or_default());
        if fragment.is_empty() {
            return Ok(SchemaLocation { resource, pointer: String::new(), value: root });
        }
        if fragment.starts_with('/') {
            return self.pointed(resource, root, &fragment).ok_or_else(unresolved);
        }
        self.anchors.get(&(resource, fragment.into())).cloned().ok_or_else(unresolved)
    }

    fn named(&mut self, from: ResourceId, uri: &str) -> Evaluated<Option<ResourceId>> {
        let absolute = resolve(self.uri(from), uri);
        if let Some(known) = self.by_uri.get(&absolute) {
            return Ok(Some(*known));
        }
        let other = self.others.get(absolute.as_str()).or_else(|| self.others.get(uri)).cloned();
        let Some(other) = other else { return Ok(None) };
        let resource = self.add_document(&other)?.resource;
        self.by_uri.insert(absolute, resource);
        Ok(Some(resource))
    }

    fn pointed(&self, mut resource: ResourceId, root: Value, fragment: &str) -> Option<SchemaLocation> {
        let (mut value, mut pointer) = (root, String::new());
        for token in tokens(fragment) {
            value = child(&value, &token)?.clone();
            push(&mut pointer, &token);
            if let Some(inner) = self.own_resource(resource, &value) {
                resource = inner;
                pointer.clear();
            }
        }
        Some(SchemaLocation { resource, pointer, value })
    }

    /// The place of a schema below another one.
    pub(super) fn below(&self, place: &SchemaLocation, path: &str, value: &Value) -> SchemaLocation {
        if let Some(resource) = self.own_resource(place.resource, value) {
            return SchemaLocation { resource, pointer: String::new(), value: value.clone() };
        }
        SchemaLocation {
            resource: place.resource,
            pointer: format!("{}{path}", place.pointer),
            value: value.clone(),
        }
    }

    fn own_resource(&self, within: ResourceId, value: &Value) -> Option<ResourceId> {
        let id = identifier(value, self.dialect(within))?;
        self.by_uri.get(&resolve(self.uri(within), id)).copied()
    }

    /// The dynamic anchor of this name in this resource, when there is one.
    pub(super) fn has_dynamic_anchor(&self, resource: ResourceId, name: &str) -> bool {
        self.dynamic_anchors.contains_key(&(resource, name.into()))
    }

    pub(super) fn dynamic_anchors(&self) -> Vec<((ResourceId, SmolStr), SchemaLocation)> {
        self.dynamic_anchors.iter().map(|(key, place)| (key.clone(), place.clone())).collect()
    }
}

/// The `$id` that makes a schema a resource.
fn identifier(value: &Value, dialect: SchemaDialect) -> Option<&str> {
    let Value::Object(object) = value else { return None };
    let Some(Value::Text(id)) = object.get(dialect.identifier()) else { return None };
    // Before 2019-09 nothing beside a `$ref` counts.
    let is_hidden = dialect < SchemaDialect::Draft201909 && object.contains_key("$ref");
    (!is_hidden && !split(id).0.is_empty()).then_some(id.as_str())
}

/// The dialect that `$schema` declares.
fn declared(value: &Value) -> Evaluated<Option<SchemaDialect>> {
    let Value::Object(object) = value else { return Ok(None) };
    let Some(Value::Text(uri)) = object.get("$schema") else { return Ok(None) };
    let bare = uri.strip_suffix('#').unwrap_or(uri);
    let bare = bare.strip_prefix("https://").or_else(|| bare.strip_prefix("http://")).unwrap_or(bare);
    match DIALECTS.into_iter().find(|(known, _)| *known == bare) {
        Some((_, dialect)) => Ok(Some(dialect)),
        None => Err(Fault::processing(format!(
            "`$schema` is `{uri}`, which is not known: use `https://json-schema.org/draft/2020-12/schema`"
        ))),
    }
}

/// Keywords that hold one schema, or an array of them.
const ONE: [&str; 11] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const SEVERAL: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/// Keywords that hold schemas by name.
const BY_NAME: [&str; 6] =
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// Every schema directly within another one, with the JSON pointer that leads to it.
fn subschemas<'v>(object: &'v Object, visit: &mut dyn FnMut(String, &'v Value)) {
    for (keyword, value) in object.iter() {
        let path = format!("/{keyword}");
        if ONE.contains(&keyword.as_str()) && matches!(value, Value::Object(_)) {
            visit(path, value);
        } else if let Value::Array(values) = value
            && SEVERAL.contains(&keyword.as_str())
        {
            for (at, value) in values.iter().enumerate() {
                visit(format!("{path}/{at}"), value);
            }
        } else if let Value::Object(schemas) = value
            && BY_NAME.contains(&keyword.as_str())
        {
            for (name, value) in schemas.iter() {
                let mut path = path.clone();
                push(&mut path, name);
                visit(path, value);
            }
        }
    }
}
