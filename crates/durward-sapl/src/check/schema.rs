//! What JSON Schemas say of the parts of subscriptions: which keys there are, and what their values can be.
//!
//! Only what is certain for every value that complies. Where a schema leaves it open (`additionalProperties`,
//! `patternProperties`, references elsewhere, too many alternatives), nothing is said.

use durward_ir::Value;
use durward_ir::path::Element;
use durward_ir::value::Object;
use smol_str::SmolStr;

use super::kinds::Kinds;

/// Schemas looked at for one path at most; more are not certain any more.
const SCHEMAS_MAX: usize = 256;

/// How deep references and alternatives are followed.
const DEPTH_MAX: usize = 16;

/// The schemas of each part of subscriptions; a value complies with one of them.
#[derive(Clone, Debug, Default)]
pub struct Schemas {
    of: [Vec<Value>; 4],
}

/// What schemas say of a path.
#[derive(Debug)]
pub(super) enum Looked<'s> {
    /// Nothing that is certain.
    Open,
    /// It is there.
    Known(Property<'s>),
    /// A step leads to a key that no schema has.
    Unknown {
        /// The number of the step.
        step: usize,
        /// The keys that there are.
        keys: Vec<&'s str>,
    },
}

/// What a property can be.
#[derive(Debug)]
pub(super) struct Property<'s> {
    pub(super) kinds: Kinds,
    /// The only values that there are, if the schemas name them.
    pub(super) values: Option<Vec<&'s Value>>,
    /// Whether the schemas ask for it, at every step.
    pub(super) is_required: bool,
}

impl Schemas {
    /// Adds a schema for a part of subscriptions.
    pub fn add(&mut self, element: Element, schema: Value) {
        self.list(element).push(schema);
    }

    /// Whether nothing is known of any part.
    pub fn is_empty(&self) -> bool {
        self.of.iter().all(Vec::is_empty)
    }

    /// Puts the schemas of each part that others have in the place of those known.
    pub fn replace(&mut self, others: Schemas) {
        for (known, others) in self.of.iter_mut().zip(others.of) {
            if !others.is_empty() {
                *known = others;
            }
        }
    }

    /// Forgets what was known of a part.
    pub(super) fn clear(&mut self, element: Element) {
        self.list(element).clear();
    }

    fn list(&mut self, element: Element) -> &mut Vec<Value> {
        let [subject, action, resource, environment] = &mut self.of;
        match element {
            Element::Subject => subject,
            Element::Action => action,
            Element::Resource => resource,
            Element::Environment => environment,
        }
    }

    /// Whether anything is known of a part.
    pub(super) fn has(&self, element: Element) -> bool {
        !self.of_part(element).is_empty()
    }

    fn of_part(&self, element: Element) -> &[Value] {
        let [subject, action, resource, environment] = &self.of;
        match element {
            Element::Subject => subject,
            Element::Action => action,
            Element::Resource => resource,
            Element::Environment => environment,
        }
    }

    /// What is known of the value at these keys of a part.
    pub(super) fn look<'s, 'k>(
        &'s self,
        element: Element,
        keys: impl Iterator<Item = &'k SmolStr>,
    ) -> Looked<'s> {
        let roots = self.of_part(element);
        let mut view = View { nodes: Vec::new(), is_open: roots.is_empty() };
        for root in roots {
            view.add(root, root, DEPTH_MAX);
        }
        let mut is_required = true;
        for (step, key) in keys.enumerate() {
            if view.is_open {
                return Looked::Open;
            }
            is_required &= view.requires(key);
            match view.step(key) {
                Some(next) => view = next,
                None => return Looked::Unknown { step, keys: view.keys() },
            }
        }
        if view.is_open {
            return Looked::Open;
        }
        let kinds = view.kinds();
        let kinds = if is_required { kinds } else { kinds.or(Kinds::UNDEFINED) };
        Looked::Known(Property { kinds, values: view.values(), is_required })
    }
}

/// Schemas of one value, of which it complies with one.
struct View<'s> {
    /// Each with the document that its references are about.
    nodes: Vec<(&'s Object, &'s Value)>,
    /// Whether the value may be anything.
    is_open: bool,
}

impl<'s> View<'s> {
    fn add(&mut self, schema: &'s Value, root: &'s Value, depth: usize) {
        let Value::Object(object) = schema else {
            // `false` allows nothing; `true`, and what is no schema, allows anything.
            self.is_open |= !matches!(schema, Value::Boolean(false));
            return;
        };
        if depth == 0 || self.nodes.len() >= SCHEMAS_MAX {
            self.is_open = true;
            return;
        }
        if let Some(reference) = object.get("$ref") {
            match reference.as_text().and_then(|reference| resolve(root, reference)) {
                Some(meant) => self.add(meant, root, depth - 1),
                None => self.is_open = true,
            }
            return;
        }
        let alternatives: Vec<&Value> =
            ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| object.get(key)).collect();
        let says_more =
            ["type", "properties", "enum", "const", "items"].iter().any(|key| object.contains_key(key));
        for alternative in alternatives.iter().filter_map(|list| list.as_array()).flat_map(|list| list.iter())
        {
            // With `allOf`, a value has the keys of all: to the question which keys there are, that is the same.
            self.add(alternative, root, depth - 1);
        }
        if says_more || alternatives.is_empty() {
            self.nodes.push((object, root));
        }
        let is_conditional = ["if", "dependentSchemas", "unevaluatedProperties", "$dynamicRef", "not"];
        self.is_open |= is_conditional.iter().any(|key| object.contains_key(key)) || has_both(object);
    }

    /// The value of a key; `None` where no schema has it.
    fn step(&self, key: &str) -> Option<View<'s>> {
        let mut next = View { nodes: Vec::new(), is_open: false };
        let mut is_known = false;
        for (object, root) in &self.nodes {
            // A key of an array is that of its elements.
            if let (None, Some(items)) = (object.get("properties"), object.get("items")) {
                let mut of_items = View { nodes: Vec::new(), is_open: false };
                of_items.add(items, root, DEPTH_MAX);
                match of_items.is_open || of_items.step(key).is_some() {
                    true => return Some(View { nodes: Vec::new(), is_open: true }),
                    false => continue,
                }
            }
            let may_be_object = kinds_of(object).meets(Kinds::OBJECT);
            match object.get("properties").map(|all| all.as_object()) {
                Some(Some(properties)) => match properties.get(key) {
                    Some(schema) => {
                        next.add(schema, root, DEPTH_MAX);
                        is_known = true;
                    }
                    None if is_extensible(object) => return Some(View { nodes: Vec::new(), is_open: true }),
                    None => {}
                },
                None if !may_be_object || is_closed(object) => {}
                Some(None) | None => return Some(View { nodes: Vec::new(), is_open: true }),
            }
        }
        is_known.then_some(next)
    }

    fn keys(&self) -> Vec<&'s str> {
        let mut keys = Vec::new();
        for (object, root) in &self.nodes {
            let items = object.get("items").filter(|_| !object.contains_key("properties"));
            let mut of_items = View { nodes: Vec::new(), is_open: false };
            items.into_iter().for_each(|items| of_items.add(items, root, DEPTH_MAX));
            let nodes = of_items.nodes.iter().map(|(object, _)| object).chain([object]);
            let properties = nodes.filter_map(|object| object.get("properties")?.as_object());
            keys.extend(properties.flat_map(|properties| properties.keys()).map(SmolStr::as_str));
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    fn requires(&self, key: &str) -> bool {
        let requires = |(object, _): &(&Object, _)| {
            let required = object.get("required").and_then(Value::as_array);
            required.is_some_and(|names| names.iter().any(|name| name.as_text() == Some(key)))
        };
        !self.nodes.is_empty() && self.nodes.iter().all(requires)
    }

    fn kinds(&self) -> Kinds {
        self.nodes.iter().map(|(object, _)| kinds_of(object)).fold(Kinds::NONE, Kinds::or)
    }

    /// All values there are, where every schema lists them.
    fn values(&self) -> Option<Vec<&'s Value>> {
        let mut values = Vec::new();
        for (object, _) in &self.nodes {
            match (object.get("const"), object.get("enum").and_then(Value::as_array)) {
                (Some(only), _) => values.push(only),
                (None, Some(listed)) => values.extend(listed.iter()),
                (None, None) => return None,
            }
        }
        (!values.is_empty()).then_some(values)
    }
}

/// Whether alternatives and a description of its own stand side by side: then the value complies with both, and what
/// the one leaves open the other may close.
fn has_both(object: &Object) -> bool {
    let is_there = |keys: &[&str]| keys.iter().any(|key| object.contains_key(key));
    is_there(&["anyOf", "oneOf", "allOf"]) && is_there(&["enum", "const", "items"])
}

/// Whether a schema says that there may be other keys than it lists. One that says nothing of them is taken for a list
/// of all keys: that is what whoever writes a schema for subscriptions means.
fn is_extensible(object: &Object) -> bool {
    let allows = |key| object.get(key).is_some_and(|value| !matches!(value, Value::Boolean(false)));
    allows("additionalProperties") || allows("patternProperties")
}

fn is_closed(object: &Object) -> bool {
    matches!(object.get("additionalProperties"), Some(Value::Boolean(false)))
        && !object.contains_key("patternProperties")
}

fn kinds_of(object: &Object) -> Kinds {
    let listed = object.get("enum").and_then(Value::as_array);
    if let Some(only) = object.get("const") {
        return Kinds::of(only);
    }
    if let Some(listed) = listed {
        return listed.iter().map(Kinds::of).fold(Kinds::NONE, Kinds::or);
    }
    let named = |name: &Value| match name.as_text() {
        Some("null") => Kinds::NULL,
        Some("boolean") => Kinds::BOOLEAN,
        Some("number" | "integer") => Kinds::NUMBER,
        Some("string") => Kinds::TEXT,
        Some("array") => Kinds::ARRAY,
        Some("object") => Kinds::OBJECT,
        Some(_) | None => Kinds::ANY,
    };
    match object.get("type") {
        Some(Value::Array(names)) => names.iter().map(named).fold(Kinds::NONE, Kinds::or),
        Some(name) => named(name),
        None => Kinds::ANY.without(Kinds::UNDEFINED),
    }
}

/// The schema that a reference within a document names: `#/$defs/role`.
fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = reference.strip_prefix('#')?;
    let words = pointer.strip_prefix('/').into_iter().flat_map(|pointer| pointer.split('/'));
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    words.take(DEPTH_MAX + 1).try_fold(root, |value, word| {
        let word = word.replace("~1", "/").replace("~0", "~");
        match (value.as_object(), value.as_array()) {
            (Some(object), _) => object.get(&word),
            (None, list) => list?.get(word.parse::<usize>().ok()?),
        }
    })
}
