//! The JSON Schema of scenarios, from the types that read them: editors complete and check `lab.toml` by it.
//!
//! It says what a scenario may be made of. What goes beyond one value, such as captures that no step makes, is checked when a
//! scenario is read.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::Scenario;
use super::builtin::BUILT_INS;
use super::load::{ThinkTime, WarmUp};
use super::search::ShareOfLimit;
use super::threshold::Thresholds;
use super::value::{DurationValue, NumberValue, OneOrMany};

/// Numbers with a unit behind them.
const TIME: &str = r"^\s*([0-9]+(\.[0-9]*)?|\.[0-9]+)\s*(us|ms|s|m|min|h)\s*$";
/// A share of 100.
const PERCENT: &str = r"^\s*[0-9]+(\.[0-9]+)?\s*%\s*$";
/// What has a time for a bound.
const WAITS: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];

/// The JSON Schema of a scenario: draft 7, which editors of TOML know.
pub fn schema() -> Value {
    let mut schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<Scenario>();
    schema.insert("title".to_owned(), "A scenario of `durward lab run`".into());
    schema.to_value()
}

/// The names of built-in steps.
pub(super) struct BuiltIn;

macro_rules! inline {
    ($name:ident, $generator:ident, $schema:expr) => {
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

inline!(
    DurationValue,
    _generator,
    json_schema!({ "type": "string", "pattern": TIME, "examples": ["250ms", "1.5s", "2m"] })
);

inline!(ShareOfLimit, _generator, json_schema!({ "type": "string", "pattern": PERCENT, "examples": ["5%"] }));

inline!(
    BuiltIn,
    _generator,
    json_schema!({ "type": "string", "enum": BUILT_INS.iter().map(|(name, _, _)| *name).collect::<Vec<_>>() })
);

inline!(
    NumberValue,
    _generator,
    json_schema!({ "anyOf": [{ "type": "number" }, { "type": "string", "pattern": r"\$\{" }] })
);

inline!(
    WarmUp,
    generator,
    json_schema!({ "anyOf": [{ "const": "auto" }, DurationValue::json_schema(generator)] })
);

inline!(
    ThinkTime,
    generator,
    json_schema!({
        "anyOf": [
            DurationValue::json_schema(generator),
            {
                "type": "object",
                "properties": {
                    "mean": DurationValue::json_schema(generator),
                    "distribution": { "enum": ["constant", "exponential"], "default": "exponential" }
                },
                "required": ["mean"],
                "additionalProperties": false
            }
        ]
    })
);

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
    }
}

impl JsonSchema for Thresholds {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Thresholds".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut bounds = serde_json::Map::new();
        for name in WAITS {
            bounds.insert(name.to_owned(), DurationValue::json_schema(generator).to_value());
        }
        bounds.insert("errors".to_owned(), serde_json::json!({ "type": "string", "pattern": PERCENT }));
        bounds.insert("rate".to_owned(), serde_json::json!({ "type": "number", "minimum": 0 }));
        let of_step =
            serde_json::json!({ "type": "object", "properties": bounds, "additionalProperties": false });
        bounds.insert(
            "steps".to_owned(),
            serde_json::json!({ "type": "object", "additionalProperties": of_step }),
        );
        json_schema!({ "type": "object", "properties": bounds, "additionalProperties": false })
    }
}
