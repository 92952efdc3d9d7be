//! Schemas: which types there are, and whether they fit together.
//!
//! The Java engine makes an executable schema without wiring, and that has no interfaces, no unions and no scalars
//! of one's own: a schema with one of these is refused there, and so here. What remains are objects, inputs, enums and
//! the five scalars.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::ast::{
    Directive, EnumValue, FieldDefinition, GraphqlDocument, InputValue, OperationKind, SystemDefinition,
    SystemKind, TypeRef,
};
use super::introspection::BUILT_IN;
use super::parser::{GraphqlLimits, parse};

/// The scalars of the specification, in the order of graphql-java.
pub(super) const SCALARS: [&str; 5] = ["Int", "Float", "String", "Boolean", "ID"];

/// A type that can be asked about.
#[derive(Debug)]
pub(super) enum GraphqlType<'s> {
    Scalar(&'s str),
    Object(HashMap<&'s str, &'s FieldDefinition<'s>>),
    Enum(HashSet<&'s str>),
    Input(Vec<&'s InputValue<'s>>),
}

impl GraphqlType<'_> {
    /// Whether answers may have it inside.
    pub(super) const fn is_leaf(&self) -> bool {
        matches!(self, GraphqlType::Scalar(_) | GraphqlType::Enum(_))
    }

    /// Whether arguments may be of it.
    pub(super) const fn is_input(&self) -> bool {
        matches!(self, GraphqlType::Scalar(_) | GraphqlType::Enum(_) | GraphqlType::Input(_))
    }
}

/// A directive that queries or schemas may use.
#[derive(Debug)]
pub(super) struct DirectiveType<'s> {
    pub(super) arguments: &'s [InputValue<'s>],
    pub(super) is_repeatable: bool,
    pub(super) locations: &'s [&'s str],
}

/// A schema that queries can be held against.
#[derive(Debug)]
pub(super) struct GraphqlSchema<'s> {
    pub(super) types: HashMap<&'s str, GraphqlType<'s>>,
    pub(super) directives: HashMap<&'s str, DirectiveType<'s>>,
    roots: Vec<(OperationKind, &'s str)>,
}

impl<'s> GraphqlSchema<'s> {
    /// The name of the type that operations of a kind start from.
    pub(super) fn root(&self, kind: OperationKind) -> Option<&'s str> {
        self.roots.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&GraphqlType<'s>> {
        self.types.get(name)
    }

    /// Builds a schema from the definitions of a document.
    ///
    /// # Errors
    /// What does not fit together, a message each.
    pub(super) fn build(document: &'s GraphqlDocument<'s>) -> Result<GraphqlSchema<'s>, Vec<String>> {
        let mut errors = redefinitions(document);
        if !errors.is_empty() {
            return Err(errors);
        }
        let built_in: &'static GraphqlDocument<'static> = &BUILT_INS;
        let mut schema =
            GraphqlSchema { types: HashMap::new(), directives: HashMap::new(), roots: Vec::new() };
        for scalar in SCALARS {
            schema.types.insert(scalar, GraphqlType::Scalar(scalar));
        }
        let own = || document.system.iter().filter(|definition| !definition.is_extension);
        for definition in built_in.system.iter().chain(own()) {
            schema.add(definition, &mut errors);
        }
        for definition in document.system.iter().filter(|definition| definition.is_extension) {
            schema.extend(definition, &mut errors);
        }
        schema.find_roots(document, &mut errors);
        let names = document.system.iter().map(|definition| definition.name).collect();
        SchemaChecker { schema: &schema, names, errors: &mut errors }.check(document);
        if errors.is_empty() { Ok(schema) } else { Err(errors) }
    }

    fn add(&mut self, definition: &'s SystemDefinition<'s>, errors: &mut Vec<String>) {
        let name = definition.name;
        let added = match &definition.kind {
            SystemKind::Object { fields, .. } => GraphqlType::Object(by_name(fields)),
            SystemKind::Enum(values) => GraphqlType::Enum(values.iter().map(|value| value.name).collect()),
            SystemKind::Input(fields) => GraphqlType::Input(fields.iter().collect()),
            SystemKind::Directive { arguments, is_repeatable, locations } => {
                let directive = DirectiveType { arguments, is_repeatable: *is_repeatable, locations };
                self.directives.insert(name, directive);
                return;
            }
            SystemKind::Interface { .. } | SystemKind::Union => {
                errors.push(format!("There is no type resolver defined for interface / union '{name}' type"));
                return;
            }
            SystemKind::Scalar => {
                if !SCALARS.contains(&name) {
                    errors.push(format!(
                        "There is no scalar implementation for the named '{name}' scalar type"
                    ));
                }
                return;
            }
            SystemKind::Schema(_) => return,
        };
        self.types.insert(name, added);
    }

    fn extend(&mut self, definition: &'s SystemDefinition<'s>, errors: &mut Vec<String>) {
        let name = definition.name;
        match (&definition.kind, self.types.get_mut(name)) {
            (SystemKind::Object { fields, .. }, Some(GraphqlType::Object(known))) => {
                for field in fields {
                    if known.insert(field.name, field).is_some() {
                        errors.push(format!(
                            "'{name}' extension type tried to redefine field '{}'",
                            field.name
                        ));
                    }
                }
            }
            (SystemKind::Enum(values), Some(GraphqlType::Enum(known))) => {
                known.extend(values.iter().map(|value| value.name));
            }
            (SystemKind::Input(fields), Some(GraphqlType::Input(known))) => known.extend(fields),
            (SystemKind::Schema(_), _) => {}
            (SystemKind::Scalar, Some(GraphqlType::Scalar(_))) => {}
            _ => errors.push(format!("The extension '{name}' type is missing its base underlying type")),
        }
    }

    /// Those of `schema { .. }`, or the types named `Query`, `Mutation` and `Subscription`.
    fn find_roots(&mut self, document: &'s GraphqlDocument<'s>, errors: &mut Vec<String>) {
        let mut is_declared = false;
        for definition in &document.system {
            if let SystemKind::Schema(operations) = &definition.kind {
                is_declared |= !definition.is_extension;
                self.roots.extend(operations);
            }
        }
        if !is_declared {
            for (kind, name) in OperationKind::ALL.into_iter().zip(["Query", "Mutation", "Subscription"]) {
                if matches!(self.types.get(name), Some(GraphqlType::Object(_))) {
                    self.roots.push((kind, name));
                }
            }
        }
        for (kind, name) in &self.roots {
            if !matches!(self.types.get(name), Some(GraphqlType::Object(_))) {
                let kind = kind.as_str();
                errors.push(format!("There is no object type '{name}' for the '{kind}' operation"));
            }
        }
        if self.root(OperationKind::Query).is_none() {
            errors.push("A schema MUST have a 'query' operation defined".to_owned());
        }
    }
}

fn by_name<'s>(fields: &'s [FieldDefinition<'s>]) -> HashMap<&'s str, &'s FieldDefinition<'s>> {
    fields.iter().map(|field| (field.name, field)).collect()
}

static BUILT_INS: LazyLock<GraphqlDocument<'static>> =
    LazyLock::new(|| parse(BUILT_IN, GraphqlLimits::SCHEMA).unwrap_or_default());

/// What is defined a second time, and what is no definition of a schema at all: the errors that reading alone has.
pub(super) fn redefinitions(document: &GraphqlDocument<'_>) -> Vec<String> {
    let mut errors = Vec::new();
    for name in document
        .operations
        .iter()
        .map(|operation| operation.name.unwrap_or_default())
        .chain(document.fragments.iter().map(|fragment| fragment.name))
    {
        errors.push(format!(
            "The schema definition text contains a non schema definition language (SDL) element '{name}'"
        ));
    }
    let mut types = HashSet::new();
    let mut directives = HashSet::new();
    let mut has_schema = false;
    for definition in document.system.iter().filter(|definition| !definition.is_extension) {
        let name = definition.name;
        let is_new = match &definition.kind {
            SystemKind::Schema(_) => !std::mem::replace(&mut has_schema, true),
            SystemKind::Directive { .. } => directives.insert(name),
            SystemKind::Scalar
            | SystemKind::Object { .. }
            | SystemKind::Interface { .. }
            | SystemKind::Union
            | SystemKind::Enum(_)
            | SystemKind::Input(_) => types.insert(name),
        };
        if !is_new {
            let name = if name.is_empty() { "schema" } else { name };
            errors.push(format!("'{name}' type tried to redefine existing '{name}' type"));
        }
    }
    errors
}

/// Looks for names that lead nowhere.
struct SchemaChecker<'c, 's> {
    schema: &'c GraphqlSchema<'s>,
    /// Of all definitions, interfaces among them.
    names: HashSet<&'s str>,
    errors: &'c mut Vec<String>,
}

impl<'s> SchemaChecker<'_, 's> {
    fn check(&mut self, document: &'s GraphqlDocument<'s>) {
        for definition in &document.system {
            let name = definition.name;
            self.directives(name, &definition.directives);
            match &definition.kind {
                SystemKind::Object { interfaces, fields } | SystemKind::Interface { interfaces, fields } => {
                    for interface in interfaces.iter().filter(|name| !self.names.contains(*name)) {
                        self.errors.push(format!(
                            "The interface type '{interface}' is not present when resolving type '{name}'"
                        ));
                    }
                    self.fields(name, definition.is_extension, fields);
                }
                SystemKind::Enum(values) => self.enum_values(name, values),
                SystemKind::Input(fields) => self.inputs(name, fields),
                SystemKind::Directive { arguments, .. } => self.inputs(name, arguments),
                SystemKind::Schema(_) | SystemKind::Scalar | SystemKind::Union => {}
            }
        }
    }

    fn fields(&mut self, name: &str, is_extension: bool, fields: &'s [FieldDefinition<'s>]) {
        let is_empty = match self.schema.get(name) {
            Some(GraphqlType::Object(fields)) => fields.is_empty(),
            Some(GraphqlType::Scalar(_) | GraphqlType::Enum(_) | GraphqlType::Input(_)) | None => {
                fields.is_empty()
            }
        };
        if is_empty && !is_extension {
            self.errors.push(format!("\"{name}\" must define one or more fields."));
        }
        self.unique(name, "field", fields.iter().map(|field| field.name));
        for field in fields {
            self.directives(name, &field.directives);
            self.inputs(name, &field.arguments);
            match self.resolve(name, &field.of) {
                Some(GraphqlType::Input(_)) => {
                    let of = field.of.name();
                    self.errors.push(format!(
                        "The type '{of}' of field '{}' in '{name}' is an input type",
                        field.name
                    ));
                }
                Some(GraphqlType::Scalar(_) | GraphqlType::Object(_) | GraphqlType::Enum(_)) | None => {}
            }
        }
    }

    fn inputs(&mut self, name: &str, inputs: &'s [InputValue<'s>]) {
        self.unique(name, "argument", inputs.iter().map(|input| input.name));
        for input in inputs {
            self.directives(name, &input.directives);
            if self.resolve(name, &input.of).is_some_and(|of| !of.is_input()) {
                let of = input.of.name();
                self.errors
                    .push(format!("The type '{of}' of '{}' in '{name}' is not an input type", input.name));
            }
        }
    }

    fn enum_values(&mut self, name: &str, values: &'s [EnumValue<'s>]) {
        self.unique(name, "enum value", values.iter().map(|value| value.name));
        for value in values {
            self.directives(name, &value.directives);
        }
    }

    fn unique(&mut self, name: &str, what: &str, names: impl Iterator<Item = &'s str>) {
        let mut seen = HashSet::new();
        for repeated in names.filter(|name| !seen.insert(*name)) {
            self.errors
                .push(format!("The type '{name}' has declared a {what} with a non unique name '{repeated}'"));
        }
    }

    fn resolve(&mut self, within: &str, of: &TypeRef<'s>) -> Option<&GraphqlType<'s>> {
        let name = of.name();
        let found = self.schema.get(name);
        if found.is_none() {
            self.errors
                .push(format!("The field type '{name}' is not present when resolving type '{within}'"));
        }
        found
    }

    fn directives(&mut self, name: &str, directives: &[Directive<'s>]) {
        for directive in directives {
            if !self.schema.directives.contains_key(directive.name) {
                self.errors
                    .push(format!("'{name}' tried to use an undeclared directive '{}'", directive.name));
            }
        }
    }
}
