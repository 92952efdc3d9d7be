//! Every keyword by cases, and what hostile schemas and values do.

use super::*;
use durward_functions::fixture::{call, call_with, json};

mod keywords;
mod limits;
mod suite;

/// Whether the value complies with the schema, told by both ways of telling.
fn complies(schema: &str, value: &str) -> bool {
    let schema = Schema::compile(&json(schema), &Value::Undefined).unwrap();
    let value = json(value);
    let answer = schema.is_compliant(&value).unwrap();
    assert_eq!(answer, schema.violations(&value).unwrap().is_empty(), "{value:?}");
    answer
}

/// The violations as lines of path, keyword, place in the schema and message.
fn violations(schema: &str, value: &str) -> Vec<String> {
    let schema = Schema::compile(&json(schema), &Value::Undefined).unwrap();
    let violations = schema.violations(&json(value)).unwrap();
    let line = |v: Violation| format!("{} {} {}: {}", v.path, v.keyword, v.schema_path, v.message);
    violations.into_iter().map(line).collect()
}

fn refusal(schema: &str) -> String {
    Schema::compile(&json(schema), &Value::Undefined).expect_err(schema).message
}
