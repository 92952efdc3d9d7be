//! Schemas that make no sense, and schemas and values made to take time, depth or memory.

use super::*;

#[test]
fn what_is_no_schema_is_refused_with_a_reason() {
    for (schema, expected) in [
        (r#""x""#, "a schema must be an object"),
        ("true", "a schema must be an object"),
        (r##"{"$ref":"#/$defs/missing"}"##, "reference `#/$defs/missing` cannot be resolved"),
        (r##"{"properties":{"a":{"$ref":"#nowhere"}}}"##, "reference `#nowhere` cannot be resolved"),
        (r#"{"$ref":"https://e.org/a"}"#, "reference `https://e.org/a` cannot be resolved"),
        (r#"{"$ref":"file:///etc/passwd"}"#, "reference `file:///etc/passwd` cannot be resolved"),
        (r#"{"$ref":1}"#, "`$ref` in a schema must be a text"),
        (r#"{"anyOf":{}}"#, "`anyOf` in a schema must be an array of schemas"),
        (r#"{"items":1}"#, "`items` in a schema must be a schema"),
        (r#"{"items":[{}]}"#, "`items` in a schema must be a schema"),
        (r#"{"prefixItems":1,"items":{}}"#, "`prefixItems` in a schema must be an array of schemas"),
        (r#"{"unevaluatedItems":1}"#, "`unevaluatedItems` in a schema must be a schema"),
        (r#"{"minimum":"1"}"#, "`minimum` in a schema must be a number"),
        (r#"{"patternProperties":1}"#, "`patternProperties` in a schema must be an object"),
        (
            r#"{"$schema":"http://json-schema.org/draft-03/schema#"}"#,
            "`$schema` is `http://json-schema.org/draft-03/schema#`, which is not known: use \
             `https://json-schema.org/draft/2020-12/schema`",
        ),
        (
            r##"{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"#a"}"##,
            "`$recursiveRef` in a schema must be `#`",
        ),
    ] {
        assert_eq!(refusal(schema), expected, "{schema}");
    }
    assert!(refusal(r#"{"pattern":"("}"#).starts_with("`(` is no regular expression"));
}

#[test]
fn values_of_keywords_that_the_java_engine_passes_over_are_passed_over() {
    for schema in [
        r#"{"properties":1}"#,
        r#"{"required":"a"}"#,
        r#"{"minLength":"1"}"#,
        r#"{"minItems":1.5}"#,
        r#"{"pattern":1}"#,
        r#"{"uniqueItems":1}"#,
        r#"{"contains":1}"#,
        r#"{"not":{"not":1}}"#,
        r#"{"dependentRequired":1,"dependentSchemas":1,"dependencies":1}"#,
        r#"{"$defs":{"a":{"$ref":"no problem until used"}}}"#,
        r#"{"unknown":{"$ref":"nowhere"}}"#,
    ] {
        assert!(complies(schema, r#"{"a":1}"#), "{schema}");
    }
}

#[test]
fn schemas_that_go_around_in_circles_end_in_an_error() {
    for schema in [
        r##"{"$ref":"#"}"##,
        r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##,
        r##"{"allOf":[{"$ref":"#"}]}"##,
        r##"{"not":{"$ref":"#"}}"##,
        r##"{"$dynamicAnchor":"a","anyOf":[{"$dynamicRef":"#a"}]}"##,
    ] {
        let compiled = Schema::compile(&json(schema), &Value::Undefined).unwrap();
        let fault = compiled.is_compliant(&json("1")).expect_err(schema);
        assert!(fault.message.contains("1000 levels"), "{}", fault.message);
        compiled.violations(&json("1")).unwrap_err();
    }
}

/// Runs on a thread with the stack that servers give theirs.
#[test]
fn values_nest_as_deep_as_values_may_and_no_deeper() {
    let nested = |depth: usize| (0..depth).fold(Value::Null, |inner, _| Value::array([inner]));
    let schema = json(r##"{"items":{"$ref":"#"},"unevaluatedItems":false}"##);
    let compiled = Schema::compile(&schema, &Value::Undefined).unwrap();
    let answers = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(move || {
            (
                compiled.is_compliant(&nested(490)),
                compiled.violations(&nested(490)),
                compiled.is_compliant(&nested(600)),
            )
        })
        .unwrap()
        .join()
        .unwrap();
    assert!(answers.0.unwrap());
    assert_eq!(answers.1.unwrap(), []);
    assert!(answers.2.unwrap_err().message.contains("1000 levels"));
}

#[test]
fn doubling_at_every_level_runs_out_of_steps() {
    let doubled =
        |to: usize| format!(r##"{{"allOf":[{{"$ref":"#/$defs/{to}"}},{{"$ref":"#/$defs/{to}"}}]}}"##);
    let levels: Vec<String> = (0..64).map(|level| format!(r#""{level}":{}"#, doubled(level + 1))).collect();
    let schema = format!(r##"{{"$ref":"#/$defs/0","$defs":{{{},"64":true}}}}"##, levels.join(","));
    let compiled = Schema::compile(&json(&schema), &Value::Undefined).unwrap();
    let fault = compiled.is_compliant(&Value::Null).unwrap_err();
    assert!(fault.message.contains("2000000 steps"), "{}", fault.message);
}

#[test]
fn a_catastrophic_pattern_runs_out_of_time() {
    let schema = json(r#"{"type":"string","pattern":"(.*a){30}\\b(?!x)$"}"#);
    let compiled = Schema::compile(&schema, &Value::Undefined).unwrap();
    let fault = compiled.is_compliant(&Value::Text("a".repeat(50).into())).unwrap_err();
    assert!(fault.message.contains("takes too long"), "{}", fault.message);
}

#[test]
fn there_are_not_too_many_subschemas_and_violations() {
    let many = format!(r#"{{"allOf":[{}true]}}"#, "true,".repeat(SCHEMA_NODES_MAX));
    assert!(refusal(&many).contains("more than 20000 subschemas"));
    let compiled = Schema::compile(&json(r#"{"items":false}"#), &Value::Undefined).unwrap();
    let list = Value::array(std::iter::repeat_n(Value::Null, VIOLATIONS_MAX + 1));
    assert!(compiled.violations(&list).unwrap_err().message.contains("10000 violations"));
    assert!(!compiled.is_compliant(&list).unwrap());
}

#[test]
fn numbers_are_exact() {
    assert!(complies(r#"{"maximum":9007199254740993}"#, "9007199254740993"));
    assert!(!complies(r#"{"maximum":9007199254740992}"#, "9007199254740993"));
    let schema = Value::object([(
        "multipleOf",
        Value::number(durward_ir::datatype::Decimal::parse("1e-1000").unwrap()),
    )]);
    let compiled = Schema::compile(&schema, &Value::Undefined).unwrap();
    let number = Value::number(durward_ir::datatype::Decimal::parse("1e1000").unwrap());
    assert!(compiled.is_compliant(&number).unwrap());
}
