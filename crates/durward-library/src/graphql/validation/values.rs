//! Whether values are of the types they are given for (section 5.6).

use std::collections::HashSet;

use super::{Validator, nullable};
use crate::graphql::ast::{Argument, InputValue, Literal, TypeRef};
use crate::graphql::schema::{Schema, Type};

impl<'t> Validator<'t> {
    pub(super) fn argument(&mut self, argument: &'t Argument<'t>, known: &InputValue<'t>) {
        if argument.value == Literal::Null && known.of.is_required() {
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

    pub(super) fn unique_keys(&mut self, value: &'t Literal<'t>) {
        match value {
            Literal::List(values) => values.iter().for_each(|value| self.unique_keys(value)),
            Literal::Object(fields) => {
                let mut names = HashSet::new();
                for (name, value) in fields {
                    if !names.insert(*name) {
                        let message = format!("There can be only one field named '{name}'");
                        self.error("UniqueObjectFieldName", message);
                    }
                    self.unique_keys(value);
                }
            }
            Literal::Variable(_)
            | Literal::Int(_)
            | Literal::Float(_)
            | Literal::Text(_)
            | Literal::Boolean(_)
            | Literal::Null
            | Literal::Enum(_) => {}
        }
    }
}

/// Whether a value is one of a type; if not, why. Variables are looked at elsewhere.
pub(super) fn fits(schema: &Schema<'_>, value: &Literal<'_>, of: &TypeRef<'_>) -> Result<(), String> {
    match (value, of) {
        (Literal::Variable(_), _) => Ok(()),
        (Literal::Null, TypeRef::NonNull(_)) => Err("must not be null".to_owned()),
        (Literal::Null, _) => Ok(()),
        (value, TypeRef::NonNull(inner)) => fits(schema, value, inner),
        (Literal::List(values), TypeRef::List(inner)) => {
            values.iter().try_for_each(|value| fits(schema, value, inner))
        }
        // A single value stands for a list of it.
        (value, TypeRef::List(inner)) => fits(schema, value, inner),
        (value, TypeRef::Named(name)) => fits_named(schema, value, name),
    }
}

fn fits_named(schema: &Schema<'_>, value: &Literal<'_>, name: &str) -> Result<(), String> {
    let is_one = match (schema.get(name), value) {
        (Some(Type::Scalar(scalar)), value) => is_scalar(scalar, value),
        (Some(Type::Enum(names)), Literal::Enum(name)) => names.contains(name),
        (Some(Type::Input(fields)), Literal::Object(given)) => {
            return fits_input(schema, given, fields, name);
        }
        (Some(Type::Input(_)), _) => return Err("must be an object type".to_owned()),
        (Some(Type::Enum(_) | Type::Object(_)), _) => false,
        // A type that is not there is an error of its own.
        (None, _) => true,
    };
    if is_one { Ok(()) } else { Err(format!("is not a valid '{name}'")) }
}

fn is_scalar(name: &str, value: &Literal<'_>) -> bool {
    match name {
        "Int" => matches!(value, Literal::Int(digits) if digits.parse::<i32>().is_ok()),
        "Float" => matches!(value, Literal::Int(text) | Literal::Float(text)
            if text.parse::<f64>().is_ok_and(f64::is_finite)),
        "String" => matches!(value, Literal::Text(_)),
        "Boolean" => matches!(value, Literal::Boolean(_)),
        _ => matches!(value, Literal::Text(_) | Literal::Int(_)),
    }
}

fn fits_input(
    schema: &Schema<'_>,
    given: &[(&str, Literal<'_>)],
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
pub(super) fn shown(value: &Literal<'_>) -> String {
    const CHARS_MAX: usize = 80;
    let mut out = String::new();
    write(value, &mut out);
    if out.chars().count() > CHARS_MAX {
        out = out.chars().take(CHARS_MAX).chain(['…']).collect();
    }
    out
}

fn write(value: &Literal<'_>, out: &mut String) {
    match value {
        Literal::Variable(name) => {
            out.push('$');
            out.push_str(name);
        }
        Literal::Int(text) | Literal::Float(text) | Literal::Enum(text) => out.push_str(text),
        Literal::Text(text) => durward_ir::value::write_json_text(text, out),
        Literal::Boolean(boolean) => out.push_str(if *boolean { "true" } else { "false" }),
        Literal::Null => out.push_str("null"),
        Literal::List(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write(value, out);
            }
            out.push(']');
        }
        Literal::Object(fields) => {
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
