//! Variables: what they may be, and where they are used (section 5.8).

use std::collections::{HashMap, HashSet};

use super::QueryValidator;
use super::values::{fits, is_allowed, shown};
use crate::graphql::ast::{
    Directive, GraphqlArgument, GraphqlLiteral, GraphqlOperation, GraphqlVariable, InputValue, Selection,
    TypeRef,
};
use crate::graphql::schema::GraphqlType;

/// One use of a variable: where it stands, and what is wanted there when that is known.
struct VariableUse<'t> {
    name: &'t str,
    wanted: Option<(&'t TypeRef<'t>, bool)>,
}

impl<'t> QueryValidator<'t> {
    pub(super) fn variable_definitions(&mut self, operation: &'t GraphqlOperation<'t>) {
        let mut names = HashSet::new();
        for variable in &operation.variables {
            let name = variable.name;
            if !names.insert(name) {
                self.error("DuplicateVariableName", format!("There can be only one variable named '{name}'"));
            }
            self.directives(&variable.directives, "VARIABLE_DEFINITION");
            let of = variable.of.name();
            match self.schema.get(of) {
                None => self.error("UnknownType", format!("Unknown type '{of}'")),
                Some(known) if !known.is_input() => {
                    let message = format!("Input variable '{name}' type '{of}' is not an input type");
                    self.error("NonInputTypeOnVariable", message);
                }
                Some(_) => self.default(variable),
            }
        }
    }

    fn default(&mut self, variable: &'t GraphqlVariable<'t>) {
        let Some(default) = &variable.default else { return };
        self.unique_keys(default);
        if fits(self.schema, default, &variable.of).is_err() {
            let message = format!("Bad default value '{}' for type '{}'", shown(default), variable.of);
            self.error("BadValueForDefaultArg", message);
        }
    }

    /// Every variable that is used is defined, fits there, and every one that is defined is used.
    pub(super) fn variable_uses(&mut self, operation: &'t GraphqlOperation<'t>) {
        let mut uses = Vec::new();
        self.uses_in_directives(&operation.directives, &mut uses);
        let root = self.schema.root(operation.kind).unwrap_or_default();
        let mut visited = HashSet::new();
        // Fragments wait until all around them is done: they may be nested thousands deep.
        let mut open = vec![(operation.selections.as_slice(), root)];
        while let Some((selections, parent)) = open.pop() {
            let mut spread = Vec::new();
            self.uses_in_selections(selections, parent, &mut spread, &mut uses);
            for fragment in spread.into_iter().filter_map(|name| self.fragments.get(name)) {
                if visited.insert(fragment.name) {
                    self.uses_in_directives(&fragment.directives, &mut uses);
                    open.push((&fragment.selections, fragment.condition));
                }
            }
        }
        let defined: HashMap<&str, &GraphqlVariable<'t>> =
            operation.variables.iter().map(|variable| (variable.name, variable)).collect();
        let mut used = HashSet::new();
        for VariableUse { name, wanted } in uses {
            used.insert(name);
            let Some(variable) = defined.get(name) else {
                self.error("UndefinedVariable", format!("Undefined variable '{name}'"));
                continue;
            };
            let has_default =
                variable.default.as_ref().is_some_and(|default| *default != GraphqlLiteral::Null);
            if let Some((wanted, wanted_default)) = wanted
                && !is_allowed(&variable.of, has_default, wanted, wanted_default)
            {
                let of = &variable.of;
                let message =
                    format!("Variable '{name}' of type '{of}' used in position expecting type '{wanted}'");
                self.error("VariableTypeMismatch", message);
            }
        }
        for variable in operation.variables.iter().filter(|variable| !used.contains(variable.name)) {
            self.error("UnusedVariable", format!("Unused variable '{}'", variable.name));
        }
    }

    /// In all selections on a type; fragments are only named.
    fn uses_in_selections(
        &self,
        selections: &'t [Selection<'t>],
        parent: &'t str,
        spread: &mut Vec<&'t str>,
        uses: &mut Vec<VariableUse<'t>>,
    ) {
        for selection in selections {
            match selection {
                Selection::Field(field) => {
                    let definition = self.definition(parent, field.name);
                    let known = definition.map_or(&[][..], |definition| &definition.arguments);
                    self.uses_in_arguments(&field.arguments, known, uses);
                    self.uses_in_directives(&field.directives, uses);
                    let of = definition.map_or("", |definition| definition.of.name());
                    self.uses_in_selections(&field.selections, of, spread, uses);
                }
                Selection::Spread { name, directives } => {
                    self.uses_in_directives(directives, uses);
                    spread.push(name);
                }
                Selection::Inline { condition, directives, selections } => {
                    self.uses_in_directives(directives, uses);
                    self.uses_in_selections(selections, condition.unwrap_or(parent), spread, uses);
                }
            }
        }
    }

    fn uses_in_directives(&self, directives: &'t [Directive<'t>], uses: &mut Vec<VariableUse<'t>>) {
        for directive in directives {
            let known = self.schema.directives.get(directive.name);
            self.uses_in_arguments(
                &directive.arguments,
                known.map_or(&[][..], |known| known.arguments),
                uses,
            );
        }
    }

    fn uses_in_arguments(
        &self,
        arguments: &'t [GraphqlArgument<'t>],
        known: &'t [InputValue<'t>],
        uses: &mut Vec<VariableUse<'t>>,
    ) {
        for argument in arguments {
            let known = known.iter().find(|known| known.name == argument.name);
            self.uses_in_value(
                &argument.value,
                known.map(|known| (&known.of, known.default.is_some())),
                uses,
            );
        }
    }

    fn uses_in_value(
        &self,
        value: &'t GraphqlLiteral<'t>,
        wanted: Option<(&'t TypeRef<'t>, bool)>,
        uses: &mut Vec<VariableUse<'t>>,
    ) {
        match value {
            GraphqlLiteral::Variable(name) => uses.push(VariableUse { name, wanted }),
            GraphqlLiteral::List(values) => {
                let inner = wanted.map(|(of, _)| (element(of), false));
                for value in values {
                    self.uses_in_value(value, inner, uses);
                }
            }
            GraphqlLiteral::Object(fields) => {
                for (name, value) in fields {
                    let of = wanted.and_then(|(of, _)| self.schema.types.get(of.name()));
                    let wanted = match of {
                        Some(GraphqlType::Input(inputs)) => inputs.iter().find(|input| input.name == *name),
                        Some(GraphqlType::Scalar(_) | GraphqlType::Object(_) | GraphqlType::Enum(_))
                        | None => None,
                    };
                    let wanted = wanted.map(|input| (&input.of, input.default.is_some()));
                    self.uses_in_value(value, wanted, uses);
                }
            }
            GraphqlLiteral::Int(_)
            | GraphqlLiteral::Float(_)
            | GraphqlLiteral::Text(_)
            | GraphqlLiteral::Boolean(_)
            | GraphqlLiteral::Null
            | GraphqlLiteral::Enum(_) => {}
        }
    }
}

/// The type of what is in a list.
fn element<'t>(of: &'t TypeRef<'t>) -> &'t TypeRef<'t> {
    match of {
        TypeRef::NonNull(inner) => element(inner),
        TypeRef::List(inner) => inner,
        TypeRef::Named(_) => of,
    }
}
