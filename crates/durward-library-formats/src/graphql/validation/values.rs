//! Whether values are of the types they are given for (section 5.6).

use std::collections::HashSet;

use super::{QueryValidator, nullable};
use crate::graphql::ast::{GraphqlArgument, GraphqlLiteral, InputValue, TypeRef};
use crate::graphql::schema::{GraphqlSchema, GraphqlType};

impl<'t> QueryValidator<'t> {
    pub(super) fn argument(&mut self, argument: &'t GraphqlArgument<'t>, known: &InputValue<'t>) {
        if argument.value == GraphqlLiteral::Null && known.of.is_required() {
            let message = format!("Null value for non-null field argument '{}'", known.name);
            return self.error("NullValueForNonNullArgument", message);
        }
        self.unique_keys(&argument.value);
        if let Err(reason) = fits(self.schema, &argument.value, &known.of) {
            let message =
                format!("argument '{}' with value '{}' {reason}", argument.name, shown(&argument.value));
            self.error("WrongType", message);
        }
    }

    pub(super) fn unique_keys(&mut self, value: &'t GraphqlLiteral<'t>) {
        match value {
            GraphqlLiteral::List(values) => values.iter().for_each(|value| self.unique_keys(value)),
            GraphqlLiteral::Object(fields) => {
                let mut names = HashSet::new();
                for (name, value) in fields {
                    if !names.insert(*name) {
                        let message = format!("There can be only one field named '{name}'");
                        self.error("UniqueObjectFieldName", message);
                    }
                    self.unique_keys(value);
                }
            }
            GraphqlLiteral::Variable(_)
            | GraphqlLiteral::Int(_)
            | GraphqlLiteral::Float(_)
            | GraphqlLiteral::Text(_)
            | GraphqlLiteral::Boolean(_)
            | GraphqlLiteral::Null
            | GraphqlLiteral::Enum(_) => {}
        }
    }
}

/// Whether a value is one of a type; if not, why. Variables are looked at elsewhere.
pub(super) fn fits(
    schema: &GraphqlSchema<'_>,
    value: &GraphqlLiteral<'_>,
    of: &TypeRef<'_>,
) -> Result<(), String> {
    match (value, of) {
        (GraphqlLiteral::Variable(_), _) => Ok(()),
        (GraphqlLiteral::Null, TypeRef::NonNull(_)) => Err("must not be null".to_owned()),
        (GraphqlLiteral::Null, _) => Ok(()),
        (value, TypeRef::NonNull(inner)) => fits(schema, value, inner),
        (GraphqlLiteral::List(values), TypeRef::List(inner)) => {
            values.iter().try_for_each(|value| fits(schema, value, inner))
        }
        // A single value stands for a list of it.
        (value, TypeRef::List(inner)) => fits(schema, value, inner),
        (value, TypeRef::Named(name)) => fits_named(schema, value, name),
    }
}

fn fits_named(schema: &GraphqlSchema<'_>, value: &GraphqlLiteral<'_>, name: &str) -> Result<(), String> {
    let is_one = match (schema.get(name), value) {
        (Some(GraphqlType::Scalar(scalar)), value) => is_scalar(scalar, value),
        (Some(GraphqlType::Enum(names)), GraphqlLiteral::Enum(name)) => names.contains(name),
        (Some(GraphqlType::Input(fields)), GraphqlLiteral::Object(given)) => {
            return fits_input(schema, given, fields, name);
        }
        (Some(GraphqlType::Input(_)), _) => return Err("must be an object type".to_owned()),
        (Some(GraphqlType::Enum(_) | GraphqlType::Object(_)), _) => false,
        // A type that is not there is an error of its own.
        (None, _) => true,
    };
    if is_one { Ok(()) } else { Err(format!("is not a valid '{name}'")) }
}

fn is_scalar(name: &str, value: &GraphqlLiteral<'_>) -> bool {
    match name {
        "Int" => matches!(value, GraphqlLiteral::Int(digits) if digits.parse::<i32>().is_ok()),
        "Float" => matches!(value, GraphqlLiteral::Int(text) | GraphqlLiteral::Float(text)
            if text.parse::<f64>().is_ok_and(f64::is_finite)),
        "String" => matches!(value, GraphqlLiteral::Text(_)),
        "Boolean" => matches!(value, GraphqlLiteral::Boolean(_)),
        _ => matches!(value, GraphqlLiteral::Text(_) | GraphqlLiteral::Int(_)),
    }
}

fn fits_input(
    schema: &GraphqlSchema<'_>,
    given: &[(&str, GraphqlLiteral<'_>)],
    fields: &[&InputValue<'_>],
    name: &str,
) -> Result<(), String> {
    let missing: Vec<&str> = fields
        .iter()
        .filter(|field| field.is_needed() && !given.iter().any(|(name, _)| *name == field.name))
        .map(|field| field.name)
        .collect();
    if !missing.is_empty() {
        return Err(format!("is missing required fields '[{}]'", missing.join(", ")));
    }
    for (key, value) in given {
        let Some(field) = fields.iter().find(|field| field.name == *key) else {
            return Err(format!("contains a field not in '{name}': '{key}'"));
        };
        fits(schema, value, &field.of).map_err(|reason| format!("{reason} ('{key}')"))?;
    }
    Ok(())
}

/// Whether a variable of one type may stand where another is wanted (section 5.8.5).
pub(super) fn is_allowed(
    of: &TypeRef<'_>,
    has_default: bool,
    wanted: &TypeRef<'_>,
    wanted_default: bool,
) -> bool {
    if wanted.is_required() && !of.is_required() {
        return (has_default || wanted_default) && is_compatible(of, nullable(wanted));
    }
    is_compatible(of, wanted)
}

fn is_compatible(of: &TypeRef<'_>, wanted: &TypeRef<'_>) -> bool {
    match (of, wanted) {
        (TypeRef::NonNull(of), TypeRef::NonNull(wanted)) => is_compatible(of, wanted),
        (TypeRef::NonNull(of), wanted) => is_compatible(of, wanted),
        (TypeRef::List(of), TypeRef::List(wanted)) => is_compatible(of, wanted),
        (TypeRef::Named(of), TypeRef::Named(wanted)) => of == wanted,
        (TypeRef::List(_) | TypeRef::Named(_), _) => false,
    }
}

/// A value as it could be written, cut when it is long.
pub(super) fn shown(value: &GraphqlLiteral<'_>) -> String {
    const CHARS_MAX: usize = 80;
    let mut out = String::new();
    write(value, &mut out);
    if out.chars().count() > CHARS_MAX {
        out = out.chars().take(CHARS_MAX).chain(['…']).collect();
    }
    out
}

fn write(value: &GraphqlLiteral<'_>, out: &mut String) {
    match value {
        GraphqlLiteral::Variable(name) => {
            out.push('$');
            out.push_str(name);
        }
        GraphqlLiteral::Int(text) | GraphqlLiteral::Float(text) | GraphqlLiteral::Enum(text) => {
            out.push_str(text)
        }
        GraphqlLiteral::Text(text) => durward_ir::value::write_json_text(text, out),
        GraphqlLiteral::Boolean(boolean) => out.push_str(if *boolean { "true" } else { "false" }),
        GraphqlLiteral::Null => out.push_str("null"),
        GraphqlLiteral::List(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write(value, out);
            }
            out.push(']');
        }
        GraphqlLiteral::Object(fields) => {
            out.push('{');
            for (at, (name, value)) in fields.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                out.push_str(name);
                out.push_str(": ");
                write(value, out);
            }
            out.push('}');
        }
    }
}
