//! The library `graphql`: what a query asks for, and whether it makes sense in a schema.
//!
//! What surprises is as in the Java engine: `validateQuery` gives up on schemas with interfaces, unions or scalars of their
//! own (`valid` is false), because the Java engine makes them executable without anything behind; `fields`, `depth` and
//! the like do not look into spread fragments; and `valid` of `analyzeQuery` is about syntax alone.

use durward_functions::jvm::int;
use durward_functions::table::{row, unchecked};
use durward_ir::fault::Evaluated;
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::{Object as AnObject, Text};
use durward_ir::value::{Object, ObjectBuilder, Value};

use analysis::{DEPTH_WEIGHT, QueryMetrics, write_nothing};
use ast::{GraphqlDocument, SystemKind};
use parser::{GraphqlLimits, parse};
use schema::{GraphqlSchema, SCALARS, redefinitions};

mod analysis;
mod ast;
mod introspection;
mod lexer;
mod parser;
mod schema;
#[cfg(test)]
mod tests;
mod validation;

/// The longest query and the longest schema, in bytes of UTF-8, as the Java engine has it.
const BYTES_MAX: usize = 512 * 1024;

/// The functions of the library `graphql`, overloads one by one.
#[rustfmt::skip]
pub const FUNCTIONS: &[LibraryFunction] = &[
    row("graphql.validateQuery", &[Text, Text], validate_query,
        "`{valid, errors?, operation, fields, fieldCount, depth, complexity, security, ast}` of a query in a schema."),
    row("graphql.analyzeQuery", &[Text], analyze_query,
        "As `validateQuery`, without a schema: `valid` tells whether the syntax is right."),
    row("graphql.complexity", &[AnObject, AnObject], complexity,
        "The weights of all fields of an analysis, 1 where none is given, and twice its depth."),
    row("graphql.parseSchema", &[Text], parse_schema, "`{valid, ast: {types, directives}, errors?}` of a schema."),
];

fn text(text: impl AsRef<str>) -> Value {
    Value::Text(text.as_ref().into())
}

fn analyze_query(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(query)] = arguments else { return unchecked() };
    Ok(match parse_query(query) {
        Ok(document) => analyzed(&document),
        Err(reason) => failed([query_failure(&reason)]),
    })
}

fn parse_query(query: &str) -> Result<GraphqlDocument<'_>, String> {
    check_size("Query", query)?;
    parse(query, GraphqlLimits::QUERY).map_err(|error| error.message)
}

fn check_size(what: &str, text: &str) -> Result<(), String> {
    if text.len() > BYTES_MAX {
        return Err(format!("{what} exceeds maximum size of {BYTES_MAX} bytes."));
    }
    Ok(())
}

fn validate_query(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(query), Value::Text(schema_text)] = arguments else { return unchecked() };
    let document = parse_query(query).and_then(|document| {
        check_size("Schema", schema_text)?;
        Ok(document)
    });
    let document = match document {
        Ok(document) => document,
        Err(reason) => return Ok(failed([query_failure(&reason)])),
    };
    let schema_document = match parse(schema_text, GraphqlLimits::SCHEMA) {
        Ok(document) => document,
        Err(error) => return Ok(failed([schema_failure(&[error.in_full(schema_text)])])),
    };
    Ok(match GraphqlSchema::build(&schema_document) {
        Err(errors) => failed([schema_failure(&errors)]),
        Ok(schema) => match validation::validate(&document, &schema) {
            errors if errors.is_empty() => analyzed(&document),
            errors => failed(errors),
        },
    })
}

fn query_failure(reason: &str) -> String {
    format!("Failed to parse GraphQL query: {reason}")
}

fn schema_failure(errors: &[String]) -> String {
    format!("Schema parsing failed: {}", schema_errors(errors))
}

fn schema_errors(errors: &[String]) -> String {
    format!("errors=[{}]", errors.join(", "))
}

/// The result for a query that can be analyzed.
fn analyzed(document: &GraphqlDocument<'_>) -> Value {
    if document.operations.is_empty() {
        return failed([query_failure("No operation definition found.")]);
    }
    let Ok(metrics) = QueryMetrics::of(document) else {
        return failed([query_failure("a number is too large")]);
    };
    let mut result = ObjectBuilder::new();
    result.insert("valid", Value::Boolean(true));
    metrics.write(&mut result);
    Value::Object(result.finish().into())
}

/// The result for anything else.
fn failed(errors: impl IntoIterator<Item = String>) -> Value {
    let mut result = ObjectBuilder::new();
    result.insert("valid", Value::Boolean(false));
    result.insert("errors", Value::array(errors.into_iter().map(text)));
    write_nothing(&mut result);
    Value::Object(result.finish().into())
}

/// In 32 bits that overflow, like the Java engine.
fn complexity(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Object(parsed), Value::Object(weights)] = arguments else { return unchecked() };
    let Some(Value::Array(fields)) = parsed.get("fields") else { return Ok(Value::number(0)) };
    let weighed = fields.iter().fold(0_i32, |sum, field| sum.wrapping_add(weight(field, weights)));
    let depth = if let Some(Value::Number(depth)) = parsed.get("depth") { int(depth) } else { 1 };
    let of_depth = depth.wrapping_mul(i32::try_from(DEPTH_WEIGHT).unwrap_or(i32::MAX));
    Ok(Value::number(i64::from(weighed.wrapping_add(of_depth))))
}

fn weight(field: &Value, weights: &Object) -> i32 {
    let Value::Text(name) = field else { return 0 };
    if let Some(Value::Number(weight)) = weights.get(name) { int(weight) } else { 1 }
}

fn parse_schema(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(schema)] = arguments else { return unchecked() };
    let parsed = check_size("Schema", schema).and_then(|()| {
        let document =
            parse(schema, GraphqlLimits::SCHEMA).map_err(|error| schema_errors(&[error.in_full(schema)]))?;
        match redefinitions(&document) {
            errors if errors.is_empty() => Ok(listed(&document)),
            errors => Err(schema_errors(&errors)),
        }
    });
    Ok(parsed.unwrap_or_else(|error| {
        Value::object([
            ("valid", Value::Boolean(false)),
            ("ast", Value::object::<&str>([])),
            ("errors", Value::array([text(error)])),
        ])
    }))
}

/// The types and directives of a schema; the scalars come last, those of the specification first among them.
fn listed(document: &GraphqlDocument<'_>) -> Value {
    let entry = |kind: &str, name: &str| Value::object([("kind", text(kind)), ("name", text(name))]);
    let mut types = Vec::new();
    let mut scalars: Vec<Value> =
        SCALARS.iter().map(|name| entry(SystemKind::Scalar.class_name(), name)).collect();
    let mut directives = Vec::new();
    for definition in document.system.iter().filter(|definition| !definition.is_extension) {
        let (kind, name) = (definition.kind.class_name(), definition.name);
        match &definition.kind {
            SystemKind::Schema(_) => {}
            SystemKind::Directive { .. } => directives.push(Value::object([("name", text(name))])),
            SystemKind::Scalar if SCALARS.contains(&name) => {}
            SystemKind::Scalar => scalars.push(entry(kind, name)),
            SystemKind::Object { .. }
            | SystemKind::Interface { .. }
            | SystemKind::Union
            | SystemKind::Enum(_)
            | SystemKind::Input(_) => types.push(entry(kind, name)),
        }
    }
    types.extend(scalars);
    let ast = Value::object([("types", Value::array(types)), ("directives", Value::array(directives))]);
    Value::object([("valid", Value::Boolean(true)), ("ast", ast)])
}
