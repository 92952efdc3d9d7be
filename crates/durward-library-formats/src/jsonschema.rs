//! The library `jsonschema`, and JSON Schema 2020-12 for `enforced schema`.
//!
//! A [`Schema`] is compiled once and then holds any number of values against itself, directly on [`Value`]s. Written
//! here and not taken from a crate for four reasons: the result of `jsonschema.validate` has the words, the places and
//! the order of networknt's validator, which the Java engine uses; numbers are decimals of any precision; both time and
//! depth must be bounded; and no reference may ever reach for a file or the network.
//!
//! As in that validator `contentEncoding` and `contentMediaType` are notes, not conditions, and so is `format` from 2019-09 on.

use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::{LibraryFunction, Parameter};
use durward_ir::value::Value;

mod compile;
mod format;
mod keyword;
mod message;
mod pattern;
mod recent;
mod reference;
mod scan;
#[cfg(test)]
mod tests;
mod validate;

pub use compile::SCHEMA_NODES_MAX;
pub(crate) use message::length as formatted_count;
pub use validate::{VALIDATION_DEPTH_MAX, VALIDATION_STEPS_MAX, VIOLATIONS_MAX};

use keyword::Subschema;

/// A compiled JSON Schema. Cloning copies it; share it behind an `Arc`.
#[derive(Clone, Debug)]
pub struct Schema {
    nodes: Box<[Subschema]>,
    root: keyword::SubschemaId,
    /// Where each `$dynamicAnchor` of each resource leads.
    dynamic_anchors:
        std::collections::HashMap<(keyword::ResourceId, smol_str::SmolStr), keyword::SubschemaId>,
    /// References that lead nowhere, if there are any.
    flaws: Flaws,
}

/// The first references that lead nowhere.
#[derive(Clone, Debug, Default)]
struct Flaws {
    /// Of those that are known when the schema is read.
    fixed: Option<Box<Fault>>,
    /// Whether there is any, those included whose meaning is only known when a value is held against them.
    is_any: bool,
}

/// One way in which a value does not comply with a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where in the value, as a JSON pointer: empty for the value itself.
    pub path: String,
    /// What is wrong, in English.
    pub message: String,
    /// The keyword of JSON Schema that is not fulfilled.
    pub keyword: String,
    /// Where in the schema, as the JSON pointer of the way taken there, through every `$ref`.
    pub schema_path: String,
}

impl Schema {
    /// Compiles a schema. References are looked up in the schema itself and, by their `$id`, among `others`: an array of
    /// schemas; any other value holds none.
    ///
    /// # Errors
    /// The schema is no object, a reference leads nowhere, a keyword has a value that makes no sense, or the schema goes
    /// beyond [`SCHEMA_NODES_MAX`].
    pub fn compile(schema: &Value, others: &Value) -> Evaluated<Schema> {
        let mut compiled = compile::compile(schema, others)?;
        compiled.flaws.fixed.take().map_or(Ok(compiled), Err)
    }

    /// The same, but a reference that leads nowhere is an error only for values that are held against it: what functions of
    /// policies do.
    ///
    /// # Errors
    /// As [`Schema::compile`], but for references.
    pub(crate) fn compile_in_part(schema: &Value, others: &Value) -> Evaluated<Schema> {
        compile::compile(schema, others)
    }

    /// Whether the value complies.
    ///
    /// # Errors
    /// The value is or holds `undefined`, or telling takes more than [`VALIDATION_STEPS_MAX`] steps or
    /// [`VALIDATION_DEPTH_MAX`] levels.
    pub fn is_compliant(&self, value: &Value) -> Evaluated<bool> {
        validate::is_compliant(self, value)
    }

    /// Everything in which the value does not comply, in the order of the keywords; empty when it complies.
    ///
    /// # Errors
    /// As [`Schema::is_compliant`], or there are more than [`VIOLATIONS_MAX`] violations.
    pub fn violations(&self, value: &Value) -> Evaluated<Vec<Violation>> {
        validate::violations(self, value)
    }
}

/// The functions of the library `jsonschema`, overloads one by one.
pub const FUNCTIONS: &[LibraryFunction] = &[
    LibraryFunction {
        name: "jsonschema.isCompliant",
        parameters: &[Parameter::Any, Parameter::Object],
        rest: None,
        run: is_compliant,
        doc: "Whether the value complies with the JSON Schema; `undefined` never does. A schema that cannot be \
              compiled is an error.",
    },
    LibraryFunction {
        name: "jsonschema.isCompliantWithExternalSchemas",
        parameters: &[Parameter::Any, Parameter::Object, Parameter::Any],
        rest: None,
        run: is_compliant,
        doc: "As `isCompliant`; references are also looked up by `$id` in the array of schemas.",
    },
    LibraryFunction {
        name: "jsonschema.validate",
        parameters: &[Parameter::Any, Parameter::Object],
        rest: None,
        run: validate_value,
        doc: "`{valid, errors}`, where each error has `path`, `message`, `type` and `schemaPath`. A schema that cannot \
              be compiled is an error.",
    },
    LibraryFunction {
        name: "jsonschema.validateWithExternalSchemas",
        parameters: &[Parameter::Any, Parameter::Object, Parameter::Any],
        rest: None,
        run: validate_value,
        doc: "As `validate`; references are also looked up by `$id` in the array of schemas.",
    },
];

fn is_compliant(arguments: &[Value]) -> Evaluated<Value> {
    let (value, schema, others) = operands(arguments)?;
    if matches!(value, Value::Undefined) {
        return Ok(Value::Boolean(false));
    }
    recent::compiled(schema, others)?.is_compliant(value).map(Value::Boolean)
}

fn validate_value(arguments: &[Value]) -> Evaluated<Value> {
    let (value, schema, others) = operands(arguments)?;
    if matches!(value, Value::Undefined) {
        return Ok(result(false, Vec::new()));
    }
    let violations = recent::compiled(schema, others)?.violations(value)?;
    Ok(result(violations.is_empty(), violations))
}

fn operands(arguments: &[Value]) -> Evaluated<(&Value, &Value, &Value)> {
    match arguments {
        [value, schema] => Ok((value, schema, &Value::Undefined)),
        [value, schema, others] => Ok((value, schema, others)),
        _ => Err(Fault::processing("a value and a schema are needed")),
    }
}

fn result(valid: bool, violations: Vec<Violation>) -> Value {
    let errors = violations.into_iter().map(|violation| {
        Value::object([
            ("path", Value::Text(violation.path.into())),
            ("message", Value::Text(violation.message.into())),
            ("type", Value::Text(violation.keyword.into())),
            ("schemaPath", Value::Text(violation.schema_path.into())),
        ])
    });
    Value::object([("valid", Value::Boolean(valid)), ("errors", Value::array(errors))])
}
