//! Whether a query makes sense in a schema (specification, section 5), in graphql-java's words.

use std::collections::{HashMap, HashSet};

use super::ast::{
    Directive, FieldDefinition, Fragment, GraphqlArgument, GraphqlDocument, GraphqlField, GraphqlOperation,
    OperationKind, Selection, TypeRef,
};
use super::introspection::ROOT;
use super::schema::{GraphqlSchema, GraphqlType};

mod fragments;
mod overlap;
mod values;
mod variables;

/// The most errors that are reported, as in graphql-java.
const ERRORS_MAX: usize = 100;

/// Everything wrong with the query; empty when it is valid.
pub(super) fn validate<'t>(document: &'t GraphqlDocument<'t>, schema: &'t GraphqlSchema<'t>) -> Vec<String> {
    let mut validator = QueryValidator {
        document,
        schema,
        fragments: document.fragments.iter().map(|fragment| (fragment.name, fragment)).collect(),
        path: Vec::new(),
        errors: Vec::new(),
    };
    validator.document();
    validator.errors.truncate(ERRORS_MAX);
    validator.errors
}

struct QueryValidator<'t> {
    document: &'t GraphqlDocument<'t>,
    schema: &'t GraphqlSchema<'t>,
    fragments: HashMap<&'t str, &'t Fragment<'t>>,
    /// Names of operations are not in it, those of fragments and fields are.
    path: Vec<&'t str>,
    errors: Vec<String>,
}

impl<'t> QueryValidator<'t> {
    /// Notes an error of a kind at the present place.
    fn error(&mut self, kind: &str, message: impl AsRef<str>) {
        // One more than is reported, so that it can be seen that there were more.
        if self.errors.len() > ERRORS_MAX {
            return;
        }
        let place = if self.path.is_empty() { String::new() } else { format!("@[{}]", self.path.join("/")) };
        self.errors.push(format!("Validation error ({kind}{place}) : {}", message.as_ref()));
    }

    fn document(&mut self) {
        for definition in &self.document.system {
            let name = definition.name;
            self.error("NonExecutableDefinition", format!("Type '{name}' definition is not executable"));
        }
        self.names_of_definitions();
        for operation in &self.document.operations {
            self.operation(operation);
        }
        let cyclic = self.fragment_cycles();
        for (fragment, is_cyclic) in self.document.fragments.iter().zip(cyclic) {
            self.path.push(fragment.name);
            if is_cyclic {
                self.error("FragmentCycle", "Fragment cycles not allowed");
            }
            self.fragment(fragment);
            self.path.pop();
        }
        self.unused_fragments();
        self.overlaps();
    }

    fn names_of_definitions(&mut self) {
        let mut names = HashSet::new();
        let mut has_anonymous = false;
        for operation in &self.document.operations {
            match operation.name {
                None if self.document.operations.len() > 1 && !has_anonymous => {
                    has_anonymous = true;
                    self.error(
                        "LoneAnonymousOperationViolation",
                        "Anonymous operation with other operations",
                    );
                }
                Some(name) if !names.insert(name) => {
                    self.error(
                        "DuplicateOperationName",
                        format!("There can be only one operation named '{name}'"),
                    );
                }
                None | Some(_) => {}
            }
        }
        let mut names = HashSet::new();
        for fragment in &self.document.fragments {
            let name = fragment.name;
            if !names.insert(name) {
                self.error("DuplicateFragmentName", format!("There can be only one fragment named '{name}'"));
            }
        }
    }

    fn operation(&mut self, operation: &'t GraphqlOperation<'t>) {
        let kind = operation.kind;
        let Some(root) = self.schema.root(kind) else {
            let message = format!("The '{}' operation is not supported by the schema", kind.as_str());
            return self.error("UnknownOperation", message);
        };
        let location = match kind {
            OperationKind::Query => "QUERY",
            OperationKind::Mutation => "MUTATION",
            OperationKind::Subscription => "SUBSCRIPTION",
        };
        self.directives(&operation.directives, location);
        self.variable_definitions(operation);
        self.selections(&operation.selections, root);
        self.variable_uses(operation);
        if kind == OperationKind::Subscription {
            self.subscription(operation);
        }
    }

    fn fragment(&mut self, fragment: &'t Fragment<'t>) {
        let is_composite = self.is_composite(fragment.condition, "InvalidFragmentTypeCondition", "Fragment");
        self.directives(&fragment.directives, "FRAGMENT_DEFINITION");
        if is_composite {
            self.selections(&fragment.selections, fragment.condition);
        }
    }

    /// Whether a type condition names an object type; if not that is an error.
    fn is_composite(&mut self, name: &'t str, kind: &str, what: &str) -> bool {
        match self.schema.get(name) {
            Some(GraphqlType::Object(_)) if name != ROOT => return true,
            None => self.error("UnknownType", format!("Unknown type '{name}'")),
            Some(
                GraphqlType::Scalar(_)
                | GraphqlType::Object(_)
                | GraphqlType::Enum(_)
                | GraphqlType::Input(_),
            ) => {
                let message = format!("{what} type condition is invalid, must be on Object/Interface/Union");
                self.error(kind, message);
            }
        }
        false
    }

    /// Selections on the object type of this name.
    fn selections(&mut self, selections: &'t [Selection<'t>], parent: &'t str) {
        for selection in selections {
            match selection {
                Selection::Field(field) => {
                    self.path.push(field.name);
                    self.field(field, parent);
                    self.path.pop();
                }
                Selection::Spread { name, directives } => {
                    self.directives(directives, "FRAGMENT_SPREAD");
                    self.spread(name, parent);
                }
                Selection::Inline { condition, directives, selections } => {
                    self.directives(directives, "INLINE_FRAGMENT");
                    self.inline(*condition, selections, parent);
                }
            }
        }
    }

    fn spread(&mut self, name: &'t str, parent: &'t str) {
        let Some(fragment) = self.fragments.get(name) else {
            return self.error("UndefinedFragment", format!("Undefined fragment '{name}'"));
        };
        let condition = fragment.condition;
        if condition != parent && matches!(self.schema.get(condition), Some(GraphqlType::Object(_))) {
            let message = format!(
                "Fragment '{name}' cannot be spread here as objects of type '{parent}' can never be of type '{condition}'"
            );
            self.error("InvalidFragmentType", message);
        }
    }

    fn inline(&mut self, condition: Option<&'t str>, selections: &'t [Selection<'t>], parent: &'t str) {
        let Some(condition) = condition else { return self.selections(selections, parent) };
        if !self.is_composite(condition, "InlineFragmentTypeConditionInvalid", "Inline fragment") {
            return;
        }
        if condition != parent {
            let message = format!(
                "Fragment cannot be spread here as objects of type '{parent}' can never be of type '{condition}'"
            );
            self.error("InvalidFragmentType", message);
        }
        self.selections(selections, condition);
    }

    /// The definition of a field of an object type.
    fn definition(&self, parent: &str, name: &str) -> Option<&'t FieldDefinition<'t>> {
        let is_query = self.schema.root(OperationKind::Query) == Some(parent);
        let owner = if name == "__typename" || (is_query && matches!(name, "__schema" | "__type")) {
            ROOT
        } else {
            parent
        };
        let Some(GraphqlType::Object(fields)) = self.schema.types.get(owner) else { return None };
        fields.get(name).copied()
    }

    fn field(&mut self, field: &'t GraphqlField<'t>, parent: &'t str) {
        self.directives(&field.directives, "FIELD");
        let name = field.name;
        let Some(definition) = self.definition(parent, name) else {
            return self.error("FieldUndefined", format!("Field '{name}' in type '{parent}' is undefined"));
        };
        self.arguments(&field.arguments, &definition.arguments, ArgumentOwner::Field);
        let of = definition.of.name();
        let is_leaf = self.schema.get(of).is_none_or(GraphqlType::is_leaf);
        if is_leaf && !field.selections.is_empty() {
            let message =
                format!("Subselection not allowed on leaf type '{}' of field '{name}'", definition.of);
            return self.error("SubselectionNotAllowed", message);
        }
        if !is_leaf && field.selections.is_empty() {
            let message = format!("Subselection required for type '{}' of field '{name}'", definition.of);
            return self.error("SubselectionRequired", message);
        }
        if !is_leaf {
            self.selections(&field.selections, of);
        }
    }

    fn directives(&mut self, directives: &'t [Directive<'t>], location: &str) {
        let mut names = HashSet::new();
        for directive in directives {
            let name = directive.name;
            let Some(known) = self.schema.directives.get(name) else {
                self.error("UnknownDirective", format!("Unknown directive '{name}'"));
                continue;
            };
            if !known.locations.contains(&location) {
                self.error("MisplacedDirective", format!("Directive '{name}' not allowed here"));
            }
            if !names.insert(name) && !known.is_repeatable {
                let message = format!(
                    "Non repeatable directives must be uniquely named within a location. The directive '{name}' used on \
                     a '{location}' is not unique"
                );
                self.error("DuplicateDirectiveName", message);
            }
            self.arguments(&directive.arguments, known.arguments, ArgumentOwner::Directive(name));
        }
    }

    fn arguments(
        &mut self,
        given: &'t [GraphqlArgument<'t>],
        known: &'t [super::ast::InputValue<'t>],
        owner: ArgumentOwner<'t>,
    ) {
        let mut names = HashSet::new();
        for argument in given {
            let name = argument.name;
            if !names.insert(name) {
                let end =
                    owner.directive().map_or_else(String::new, |name| format!(" for directive '{name}'"));
                self.error(
                    "DuplicateArgumentNames",
                    format!("There can be only one argument named '{name}'{end}"),
                );
            }
            match known.iter().find(|known| known.name == name) {
                Some(known) => self.argument(argument, known),
                None => {
                    self.error("UnknownArgument", format!("Unknown {} argument '{name}'", owner.as_str()))
                }
            }
        }
        for missing in known.iter().filter(|known| known.is_needed() && !names.contains(known.name)) {
            let message = format!("Missing {} argument '{}'", owner.as_str(), missing.name);
            self.error(owner.missing(), message);
        }
    }

    /// Subscriptions watch one thing (section 5.2.3.1).
    fn subscription(&mut self, operation: &'t GraphqlOperation<'t>) {
        let name = operation.name.unwrap_or("null");
        let roots = self.root_fields(&operation.selections);
        let keys: HashSet<&str> = roots.iter().map(|field| field.key()).collect();
        if keys.len() > 1 {
            let message = format!("Subscription operation '{name}' must have exactly one root field");
            self.error("SubscriptionMultipleRootFields", message);
        }
        if let Some(field) = roots.iter().find(|field| field.name.starts_with("__")) {
            let message = format!(
                "Subscription operation '{name}' root field '{}' cannot be an introspection field",
                field.name
            );
            self.error("SubscriptionIntrospectionRootField", message);
        }
    }

    /// The fields of an operation itself, those in fragments included.
    fn root_fields(&self, selections: &'t [Selection<'t>]) -> Vec<&'t GraphqlField<'t>> {
        let (mut visited, mut found, mut open) = (HashSet::new(), Vec::new(), vec![selections]);
        while let Some(selections) = open.pop() {
            for selection in selections {
                match selection {
                    Selection::Field(field) => found.push(field),
                    Selection::Inline { selections, .. } => open.push(selections),
                    Selection::Spread { name, .. } => {
                        if let Some(fragment) = self.fragments.get(name).filter(|_| visited.insert(*name)) {
                            open.push(&fragment.selections);
                        }
                    }
                }
            }
        }
        found
    }
}

/// Whose arguments they are.
#[derive(Clone, Copy)]
enum ArgumentOwner<'t> {
    Field,
    Directive(&'t str),
}

impl<'t> ArgumentOwner<'t> {
    const fn as_str(self) -> &'static str {
        match self {
            ArgumentOwner::Field => "field",
            ArgumentOwner::Directive(_) => "directive",
        }
    }

    const fn missing(self) -> &'static str {
        match self {
            ArgumentOwner::Field => "MissingFieldArgument",
            ArgumentOwner::Directive(_) => "MissingDirectiveArgument",
        }
    }

    const fn directive(self) -> Option<&'t str> {
        match self {
            ArgumentOwner::Field => None,
            ArgumentOwner::Directive(name) => Some(name),
        }
    }
}

/// The type without `!` around it.
fn nullable<'r, 't>(of: &'r TypeRef<'t>) -> &'r TypeRef<'t> {
    if let TypeRef::NonNull(inner) = of { inner } else { of }
}
