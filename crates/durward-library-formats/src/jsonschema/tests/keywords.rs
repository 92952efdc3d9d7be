//! Keywords: what complies, and the words, places and order of what does not.

use super::*;

/// Schema, values that comply, values that do not.
const CASES: [(&str, &[&str], &[&str]); 44] = [
    (r#"{}"#, &["null", "1", r#"{"a":[]}"#], &[]),
    (r#"{"type":"string"}"#, &[r#""""#], &["1", "null", "{}", "[]", "true"]),
    (r#"{"type":"integer"}"#, &["1", "1.0", "-0", "1e3"], &["1.5", r#""1""#]),
    (r#"{"type":"number"}"#, &["1", "1.5"], &[r#""1""#]),
    (r#"{"type":["string","null"]}"#, &["null", r#""a""#], &["1"]),
    (r#"{"type":[]}"#, &[], &["null"]),
    (r#"{"type":"any"}"#, &["null", "1"], &[]),
    (r#"{"type":"text"}"#, &[], &[r#""a""#]),
    (r#"{"enum":[1,"a",null,{"k":[1]}]}"#, &["1.0", r#""a""#, "null", r#"{"k":[1.0]}"#], &["2", "{}"]),
    (r#"{"enum":"a"}"#, &[], &[r#""a""#]),
    (r#"{"const":{"a":1,"b":2}}"#, &[r#"{"b":2,"a":1.0}"#], &["{}", "1"]),
    (r#"{"minimum":1.5}"#, &["1.5", "2", r#""a""#], &["1.4"]),
    (r#"{"maximum":1}"#, &["1", "-5"], &["1.0001"]),
    (r#"{"exclusiveMinimum":0}"#, &["0.1"], &["0", "-1"]),
    (r#"{"exclusiveMaximum":0}"#, &["-0.1"], &["0", "1"]),
    (r#"{"multipleOf":0.01}"#, &["19.99", "0", "-0.05", "1e2"], &["19.995"]),
    (r#"{"multipleOf":0}"#, &["1"], &[]),
    (r#"{"minLength":2}"#, &[r#""ab""#, r#""😀😀""#, "1"], &[r#""😀""#]),
    (r#"{"maxLength":1}"#, &[r#""😀""#, r#""""#], &[r#""ab""#]),
    (r#"{"pattern":"b+"}"#, &[r#""abc""#, "1"], &[r#""ac""#]),
    (r#"{"pattern":"^(?!x)a\\b"}"#, &[r#""a b""#], &[r#""ab""#]),
    (r#"{"format":"email"}"#, &[r#""no address""#], &[]),
    (r#"{"required":["a","b"]}"#, &[r#"{"a":null,"b":1}"#, "[]"], &[r#"{"a":1}"#]),
    (
        r#"{"properties":{"a":{"type":"string"},"b":false}}"#,
        &[r#"{"a":""}"#, "{}", "1"],
        &[r#"{"a":1}"#, r#"{"b":1}"#],
    ),
    (
        r#"{"properties":{"a":true},"patternProperties":{"^x":{"type":"number"}},"additionalProperties":false}"#,
        &[r#"{"a":1,"x1":1}"#, r##"{"#note":1}"##],
        &[r#"{"b":1}"#, r#"{"x":"1"}"#],
    ),
    (r#"{"additionalProperties":{"type":"number"}}"#, &[r#"{"a":1}"#], &[r#"{"a":"1"}"#]),
    (r#"{"propertyNames":{"maxLength":2}}"#, &[r#"{"ab":1}"#, "1"], &[r#"{"abc":1}"#]),
    (r#"{"dependentRequired":{"a":["b"]}}"#, &["{}", r#"{"b":1}"#, r#"{"a":1,"b":1}"#], &[r#"{"a":1}"#]),
    (r#"{"dependentSchemas":{"a":{"required":["b"]}}}"#, &["{}", r#"{"a":1,"b":1}"#], &[r#"{"a":1}"#]),
    (r#"{"minProperties":1,"maxProperties":2}"#, &[r#"{"a":1}"#], &["{}", r#"{"a":1,"b":1,"c":1}"#]),
    (r#"{"prefixItems":[{"type":"string"}],"items":false}"#, &["[]", r#"["a"]"#], &["[1]", r#"["a",1]"#]),
    (r#"{"items":{"type":"number"}}"#, &["[]", "[1,2]", "{}"], &[r#"[1,"a"]"#]),
    (
        r#"{"contains":{"const":1},"minContains":2,"maxContains":3}"#,
        &["[1,1]", "[1,2,1,1]"],
        &["[1]", "[1,1,1,1]"],
    ),
    (r#"{"contains":{"const":1},"minContains":0}"#, &["[]"], &[]),
    (r#"{"minContains":3,"maxContains":1}"#, &[], &["1"]),
    (
        r#"{"uniqueItems":true}"#,
        &[r#"[1,"1",[1],{"a":1}]"#],
        &["[1,1.0]", r#"[{"a":1,"b":2},{"b":2,"a":1}]"#],
    ),
    (r#"{"minItems":1,"maxItems":2}"#, &["[1]"], &["[]", "[1,2,3]"]),
    (r#"{"allOf":[{"minimum":1},{"maximum":2}]}"#, &["1.5"], &["0", "3"]),
    (r#"{"anyOf":[{"type":"string"},{"minimum":2}]}"#, &[r#""a""#, "2"], &["1"]),
    (r#"{"oneOf":[{"minimum":1},{"maximum":2}]}"#, &["0", "3"], &["1.5"]),
    (r#"{"not":{"type":"string"}}"#, &["1"], &[r#""a""#]),
    (
        r#"{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]},"else":{"required":["c"]}}"#,
        &[r#"{"a":1,"b":1}"#, r#"{"a":2,"c":1}"#],
        &[r#"{"a":1}"#, r#"{"a":2}"#],
    ),
    (
        r#"{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}"#,
        &[r#"{"a":1}"#],
        &[r#"{"a":1,"b":1}"#],
    ),
    (
        r#"{"anyOf":[{"prefixItems":[true]},{"prefixItems":[true,{"const":2}]}],"unevaluatedItems":false}"#,
        &["[1]", "[1,2]"],
        &["[1,3]", "[1,2,3]"],
    ),
];

#[test]
fn values_comply_or_do_not() {
    for (schema, good, bad) in CASES {
        for value in good {
            assert!(complies(schema, value), "{value} complies with {schema}");
        }
        for value in bad {
            assert!(!complies(schema, value), "{value} does not comply with {schema}");
        }
    }
}

#[test]
fn references_lead_to_definitions_anchors_and_other_documents() {
    let others = json(
        r##"[{"$id":"https://e.org/xyz","type":"object","properties":{"x":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}},
            {"$id":"https://e.org/dir/list","$defs":{"item":{"$anchor":"item","$ref":"../xyz"}}},
            {"no":"id"}, 1, {"$id": 5}]"##,
    );
    for (schema, good, bad) in [
        (r##"{"$defs":{"a/b":{"type":"string"}},"$ref":"#/$defs/a~1b"}"##, r#""a""#, "1"),
        (r##"{"$defs":{"a b":{"type":"string"}},"$ref":"#/$defs/a%20b"}"##, r#""a""#, "1"),
        (r##"{"$defs":{"x":{"$anchor":"here","type":"string"}},"$ref":"#here"}"##, r#""a""#, "1"),
        (r#"{"$ref":"https://e.org/xyz"}"#, r#"{"x":1}"#, r#"{"x":"1"}"#),
        (r##"{"$ref":"https://e.org/xyz#/$defs/n"}"##, "1", r#""1""#),
        (
            r#"{"$id":"https://e.org/a/b","properties":{"A":{"$ref":"../xyz"}}}"#,
            r#"{"A":{"x":1}}"#,
            r#"{"A":{"x":"1"}}"#,
        ),
        (r#"{"$ref":"https://e.org/dir/list#item"}"#, r#"{"x":1}"#, r#"{"x":"1"}"#),
        (
            r##"{"type":"object","additionalProperties":{"$ref":"#"}}"##,
            r#"{"a":{"b":{}}}"#,
            r#"{"a":{"b":1}}"#,
        ),
        (
            r##"{"$id":"tree","$dynamicAnchor":"node","properties":{"children":{"items":{"$dynamicRef":"#node"}}},"type":"object"}"##,
            r#"{"children":[{"children":[]}]}"#,
            r#"{"children":[{"children":[1]}]}"#,
        ),
    ] {
        let compiled = Schema::compile(&json(schema), &others).unwrap();
        assert!(compiled.is_compliant(&json(good)).unwrap(), "{good} complies with {schema}");
        assert!(!compiled.is_compliant(&json(bad)).unwrap(), "{bad} does not comply with {schema}");
    }
}

#[test]
fn older_drafts_have_their_own_items_and_references() {
    for (schema, good, bad) in [
        (
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}"#,
            r#"["a"]"#,
            r#"["a",1]"#,
        ),
        (
            r##"{"$schema":"http://json-schema.org/draft-07/schema","definitions":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/definitions/a","minLength":9}}}"##,
            r#"{"x":"a"}"#,
            r#"{"x":1}"#,
        ),
        (r#"{"dependencies":{"a":["b"],"c":{"required":["d"]}}}"#, r#"{"a":1,"b":1}"#, r#"{"c":1}"#),
        (
            r#"{"$schema":"https://json-schema.org/draft/2019-09/schema","items":[true],"unevaluatedItems":false}"#,
            "[1]",
            "[1,2]",
        ),
    ] {
        assert!(complies(schema, good), "{good} complies with {schema}");
        assert!(!complies(schema, bad), "{bad} does not comply with {schema}");
    }
}

/// The words are those of networknt's validator; the first is a recorded answer of the Java engine.
#[test]
fn violations_have_the_words_the_places_and_the_order_of_the_java_engine() {
    for (schema, value, expected) in [
        (r#"{"type":"number"}"#, r#""x""#, &[" type /type: string found, number expected"][..]),
        (
            r#"{"type":["string","integer"]}"#,
            "1.5",
            &[" type /type: number found, [string, integer] expected"],
        ),
        (
            r#"{"required":["a","b"],"minProperties":1000,"properties":{"c":{"type":"null"}},"type":"object"}"#,
            r#"{"c":true}"#,
            &[
                "/c type /properties/c/type: boolean found, null expected",
                " required /required: required property 'a' not found",
                " required /required: required property 'b' not found",
                " minProperties /minProperties: must have at least 1,000 properties",
            ],
        ),
        (
            r#"{"properties":{"a/b":{"enum":["x",1.5,null,{"k":"v"}]}}}"#,
            r#"{"a/b":"y"}"#,
            &[
                r#"/a~1b enum /properties/a~1b/enum: does not have a value in the enumeration ["x", 1.5, , {"k":"v"}]"#,
            ],
        ),
        (r#"{"const":"x"}"#, "1", &[" const /const: must be the constant value 'x'"]),
        (
            r#"{"items":{"minimum":0.5},"maxItems":1,"uniqueItems":true}"#,
            "[0,0]",
            &[
                "/0 minimum /items/minimum: must have a minimum value of 0.5",
                "/1 minimum /items/minimum: must have a minimum value of 0.5",
                " maxItems /maxItems: must have at most 1 items but found 2",
                " uniqueItems /uniqueItems: must have only unique items in the array",
            ],
        ),
        (
            r#"{"prefixItems":[{"maximum":0}],"items":false}"#,
            "[1,2]",
            &[
                "/0 maximum /prefixItems/0/maximum: must have a maximum value of 0",
                " items /items: index '1' is not defined in the schema and the schema does not allow additional items",
            ],
        ),
        (
            r#"{"additionalProperties":false,"properties":{"a":true}}"#,
            r#"{"b":1,"a":1}"#,
            &[
                " additionalProperties /additionalProperties: property 'b' is not defined in the schema and the schema does not allow additional properties",
            ],
        ),
        (
            r#"{"patternProperties":{"^x/":{"minLength":2}}}"#,
            r#"{"x/1":"a"}"#,
            &["/x~11 minLength /patternProperties/^x~1/minLength: must be at least 2 characters long"],
        ),
        (
            r#"{"propertyNames":{"pattern":"^[a-z]+$","maxLength":1}}"#,
            r#"{"Bad":1}"#,
            &[
                " propertyNames /propertyNames: property 'Bad' name is not valid: does not match the regex pattern ^[a-z]+$",
                " propertyNames /propertyNames: property 'Bad' name is not valid: must be at most 1 characters long",
            ],
        ),
        (
            r#"{"anyOf":[{"type":"string","minLength":3},{"type":"number","minimum":2,"multipleOf":2}]}"#,
            "1",
            &[
                " type /anyOf/0/type: number found, string expected",
                " minimum /anyOf/1/minimum: must have a minimum value of 2",
                " multipleOf /anyOf/1/multipleOf: must be multiple of 2",
            ],
        ),
        (
            r#"{"oneOf":[{"type":"number"},{"minimum":0},{"type":"string"}]}"#,
            "1",
            &[" oneOf /oneOf: must be valid to one and only one schema, but 2 are valid with indexes '0, 1'"],
        ),
        (
            r#"{"oneOf":[{"type":"string"},{"type":"null"}]}"#,
            "1",
            &[
                " oneOf /oneOf: must be valid to one and only one schema, but 0 are valid",
                " type /oneOf/0/type: number found, string expected",
                " type /oneOf/1/type: number found, null expected",
            ],
        ),
        (
            r#"{"allOf":[{"exclusiveMinimum":1},{"exclusiveMaximum":1}]}"#,
            "1",
            &[
                " exclusiveMinimum /allOf/0/exclusiveMinimum: must have an exclusive minimum value of 1",
                " exclusiveMaximum /allOf/1/exclusiveMaximum: must have an exclusive maximum value of 1",
            ],
        ),
        (
            r#"{"not":{"type":"number"}}"#,
            "1",
            &[r#" not /not: must not be valid to the schema {"type":"number"}"#],
        ),
        (
            r#"{"if":{"type":"number"},"then":{"minimum":5},"else":false}"#,
            "1",
            &[" minimum /then/minimum: must have a minimum value of 5"],
        ),
        (
            r#"{"if":{"type":"number"},"else":false}"#,
            "null",
            &[" false /else/false: schema for 'else' is false"],
        ),
        (
            r#"{"contains":{"const":1}}"#,
            "[2]",
            &[
                r#" minContains /contains: must contain at least 1 element(s) that passes these validations: {"const":1}"#,
            ],
        ),
        (
            r#"{"dependentRequired":{"a":["b"]},"dependentSchemas":{"a":{"required":["c"]}}}"#,
            r#"{"a":1}"#,
            &[
                " dependentRequired /dependentRequired: has a missing property 'b' which is dependent required because 'a' is present",
                " required /dependentSchemas/a/required: required property 'c' not found",
            ],
        ),
        (
            r##"{"$ref":"#/$defs/p","$defs":{"p":{"properties":{"n":{"$ref":"#/$defs/q"}}},"q":{"type":"string"}}}"##,
            r#"{"n":1}"#,
            &["/n type /$ref/properties/n/$ref/type: number found, string expected"],
        ),
        (
            r#"{"unevaluatedProperties":false,"properties":{"a":{"type":"string"}},"required":["z"]}"#,
            r#"{"a":1,"b":2}"#,
            &[
                "/a type /properties/a/type: number found, string expected",
                " required /required: required property 'z' not found",
                " unevaluatedProperties /unevaluatedProperties: property 'b' is not evaluated and the schema does not allow unevaluated properties",
            ],
        ),
        (
            r#"{"unevaluatedItems":false,"prefixItems":[true]}"#,
            "[1,2]",
            &[
                " unevaluatedItems /unevaluatedItems: index '1' is not evaluated and the schema does not allow unevaluated items",
            ],
        ),
    ] {
        assert_eq!(violations(schema, value), expected, "{value} against {schema}");
    }
}

#[test]
fn functions_give_an_answer_or_a_list() {
    for (name, arguments, expected) in [
        ("jsonschema.isCompliant", r#"[{"a":1},{"type":"object","required":["a"]}]"#, "true"),
        ("jsonschema.isCompliant", r#"[123,{"type":"boolean"}]"#, "false"),
        (
            "jsonschema.validate",
            r#"["x",{"type":"number"}]"#,
            r#"{"valid":false,"errors":[{"path":"","message":"string found, number expected","type":"type","schemaPath":"/type"}]}"#,
        ),
        ("jsonschema.validate", r#"[1,{}]"#, r#"{"valid":true,"errors":[]}"#),
        (
            "jsonschema.isCompliantWithExternalSchemas",
            r#"[{"A":{"x":"free man"}},{"properties":{"A":{"$ref":"https://example.com/c"}}},[{"$id":"https://example.com/c","properties":{"x":{"type":"integer"}}}]]"#,
            "false",
        ),
        ("jsonschema.isCompliantWithExternalSchemas", r#"[1,{"type":"number"},"no array"]"#, "true"),
        (
            "jsonschema.validateWithExternalSchemas",
            r#"[1,{"$ref":"https://e.org/a"},[{"$id":"https://e.org/a","maximum":0}]]"#,
            r#"{"valid":false,"errors":[{"path":"","message":"must have a maximum value of 0","type":"maximum","schemaPath":"/$ref/maximum"}]}"#,
        ),
    ] {
        assert_eq!(call(FUNCTIONS, name, arguments).unwrap().to_json(), expected, "{name}{arguments}");
    }
}

#[test]
fn undefined_never_complies() {
    let schema = json(r#"{"type":"string"}"#);
    let answer = call_with(FUNCTIONS, "jsonschema.isCompliant", &[Value::Undefined, schema.clone()]).unwrap();
    assert_eq!(answer.to_json(), "false");
    let result = call_with(FUNCTIONS, "jsonschema.validate", &[Value::Undefined, schema.clone()]).unwrap();
    assert_eq!(result.to_json(), r#"{"valid":false,"errors":[]}"#);
    call_with(FUNCTIONS, "jsonschema.validate", &[Value::array([Value::Undefined]), schema]).unwrap_err();
}

/// Where functions of policies hold values against a schema, a reference that leads nowhere is an error only for values that
/// get there; everything else that makes no sense is one for all.
#[test]
fn a_reference_that_leads_nowhere_matters_where_it_is_looked_at() {
    let schema = json(r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/missing"}}}"##);
    let complies =
        |value: &str| call_with(FUNCTIONS, "jsonschema.isCompliant", &[json(value), schema.clone()]);
    let answer = |value: &str| complies(value).unwrap().to_json();
    assert_eq!([answer(r#"{"b":1}"#), answer("5")], ["true", "false"]);
    assert!(complies(r#"{"a":1}"#).is_err());
    let schema = json(r#"{"properties":{"a":{"minimum":"x"}}}"#);
    assert!(call_with(FUNCTIONS, "jsonschema.isCompliant", &[json("5"), schema]).is_err());
}

/// Up to Draft 7; from 2019-09 on a format is a note.
#[test]
fn old_drafts_hold_texts_to_formats() {
    let of = |draft: &str, format: &str, text: &str| {
        let schema = format!(r#"{{"$schema":"http://json-schema.org/{draft}/schema#","format":"{format}"}}"#);
        complies(&schema, &format!("\"{text}\""))
    };
    for draft in ["draft-04", "draft-06", "draft-07"] {
        assert!(of(draft, "date", "2024-02-29") && !of(draft, "date", "2023-02-29"), "{draft}");
    }
    assert!(of("draft/2020-12", "date", "never"));
    for (format, good, bad) in [
        ("time", "23:59:60Z", "22:59:60Z"),
        ("date-time", "2021-01-01T00:00:00.5+01:00", "2021-01-01"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("ipv6", "::1", "::g"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
        ("email", "a.b@example.org", "a b@example.org"),
        ("uri", "https://example.org/a?b", "no uri"),
        ("json-pointer", "/a~1b", "a"),
        ("duration", "P1DT2H", "P"),
        ("hostname", "a.example", "-a"),
        ("phone", "+4912345678", "12"),
    ] {
        assert!(of("draft-07", format, good), "{format} {good}");
        assert!(!of("draft-07", format, bad), "{format} {bad}");
    }
}

/// Draft 4: limits are excluded by a boolean, names are `id`, and there are no boolean schemas.
#[test]
fn draft_4_is_read() {
    let schema = r##"{"$schema":"http://json-schema.org/draft-04/schema#","maximum":5,"exclusiveMaximum":true,"const":7}"##;
    assert!(complies(schema, "4") && !complies(schema, "5"));
    let named = r##"{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"$ref":"#x"}},"definitions":{"q":{"id":"#x","type":"string"}}}"##;
    assert!(complies(named, r#"{"a":"x"}"#) && !complies(named, r#"{"a":1}"#));
    let boolean = r##"{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":true}}"##;
    assert_eq!(refusal(boolean), "Draft 4 has no schemas `true` and `false`");
}

/// As in the engine: what has no scheme cannot be referred to from another schema.
#[test]
fn schemas_from_outside_are_found_by_absolute_names() {
    let asked = |reference: &str, id: &str| {
        let schema = json(&format!(r#"{{"$ref":"{reference}"}}"#));
        let others = json(&format!(r#"[{{"$id":"{id}","type":"number"}}]"#));
        let answer =
            call_with(FUNCTIONS, "jsonschema.isCompliantWithExternalSchemas", &[json("5"), schema, others]);
        answer.map(|value| value.to_json()).ok()
    };
    for name in ["https://a.example/other", "urn:x:other"] {
        assert_eq!(asked(name, name).as_deref(), Some("true"), "{name}");
    }
    for name in ["other", "/other", "other.json", "classpath:other"] {
        assert_eq!(asked(name, name), None, "{name}");
    }
}
