//! What schemas know: keys that there are not, and values that cannot be.

use durward_ir::path::Element;
use durward_sapl::check::{Schemas, Settings};

use super::{json, lines_with, settings};

const SUBJECT: &str = r##"{
  "type": "object",
  "properties": {
    "role": { "$ref": "#/$defs/role" },
    "age": { "type": "integer" },
    "ward": { "type": ["string", "null"] },
    "address": { "type": "object", "properties": { "city": { "type": "string" } }, "additionalProperties": false },
    "tags": { "type": "object", "additionalProperties": { "type": "string" } },
    "teams": { "type": "array", "items": { "type": "object", "properties": { "name": { "type": "string" } } } },
    "anything": true
  },
  "required": ["role"],
  "$defs": { "role": { "enum": ["doctor", "nurse"] } }
}"##;

fn with_schema() -> Settings {
    let mut schemas = Schemas::default();
    schemas.add(Element::Subject, json(SUBJECT));
    schemas.add(Element::Action, json(r#"{ "type": "string", "enum": ["read", "write"] }"#));
    Settings { schemas, ..settings() }
}

#[track_caller]
fn expect(body: &str, findings: &[&str]) {
    assert_eq!(lines_with(&format!("policy \"p\" deny\n{body}"), &with_schema()), findings, "{body}");
}

#[test]
fn keys_that_the_schema_does_not_have_are_told() {
    expect(
        "subject.rol == \"nurse\";",
        &["2:8 unknown-key: the schema of `subject` has no `rol`, so it is undefined; did you mean `role`?"],
    );
    expect(
        "subject.address.town == \"Ulm\";",
        &[
            "2:16 unknown-key: the schema of `subject.address` has no `town`, so it is undefined; there are `city`",
        ],
    );
    expect(
        "subject.teams.nam == \"x\";",
        &[
            "2:14 unknown-key: the schema of `subject.teams` has no `nam`, so it is undefined; did you mean `name`?",
        ],
    );
    expect(
        "subject.age.years > 3;",
        &["2:12 unknown-key: the schema of `subject.age` has no `years`, so it is undefined"],
    );
}

#[test]
fn what_the_schema_leaves_open_is_no_finding() {
    for body in [
        "subject.tags.whatever == \"x\";",
        "subject.anything.at.last == 1;",
        "subject.teams[0].name == \"x\";",
        "subject.teams.name == [\"x\"];",
        "resource.rol == 1;",
        "subject.ward == null;",
        "subject[(action)] == 1;",
        "subject.address.city == resource.city;",
    ] {
        let found = lines_with(&format!("policy \"p\" deny {body}"), &with_schema());
        assert!(found.iter().all(|line| line.contains('?')), "{body}: {found:?}");
    }
}

#[test]
fn values_that_the_schema_does_not_allow_are_told() {
    expect(
        "action == \"raed\";",
        &["2:11 value-not-in-schema: `action` is never `raed` by its schema; did you mean `read`?"],
    );
    expect(
        "action in [\"read\", \"delete\"];",
        &[
            "2:20 value-not-in-schema: `action` is never `delete` by its schema; the schema allows `read`, `write`",
        ],
    );
    expect(
        "\"admin\" != subject.role;",
        &[
            "2:1 value-not-in-schema: `subject.role` is never `admin` by its schema; the schema allows `doctor`, `nurse`",
        ],
    );
    expect(
        "action == 1;",
        &["2:1 unlike-types: `==` of a text and a number never holds; compare values of one type"],
    );
    expect(
        "subject.age > \"18\";",
        &["2:15 wrong-type: what `>` compares must be a number, not a text: this is an error"],
    );
    expect(
        "subject.age =~ \"1.\";",
        &[
            "2:1 never-true: `=~` is false for anything but a text, and this is undefined or a number; correct it, or remove it",
        ],
    );
}

#[test]
fn a_document_can_have_schemas_of_its_own() {
    let text = |kind: &str| {
        format!(
            "subject {kind} {{ \"type\": \"object\", \"properties\": {{ \"rank\": {{ \"type\": \"integer\" }} }}, \"required\": [\"rank\"] }}\n"
        ) + "policy \"p\" permit subject.role == \"x\" || subject.rank != 5;"
    };
    for kind in ["schema", "enforced schema"] {
        assert_eq!(
            lines_with(&text(kind), &with_schema()),
            ["2:26 unknown-key: the schema of `subject` has no `role`, so it is undefined; there are `rank`"],
            "{kind}"
        );
    }
    let required = |kind: &str| text(kind).replace("subject.role == \"x\" || ", "");
    assert!(lines_with(&required("enforced schema"), &settings()).is_empty());
    assert_eq!(lines_with(&required("schema"), &settings()).len(), 1);
}

#[test]
fn of_several_schemas_for_one_part_any_may_know_a_key() {
    let text = "subject schema {\"properties\": {\"a\": {}}} subject schema {\"properties\": {\"b\": {}}}\n\
                policy \"p\" deny subject.a == 1; subject.b == 1; subject.c == 1;";
    assert_eq!(
        lines_with(text, &settings()),
        ["2:56 unknown-key: the schema of `subject` has no `c`, so it is undefined; there are `a`, `b`"]
    );
    let any = "subject schema {\"anyOf\": [{\"properties\": {\"a\": {}}}, {\"properties\": {\"b\": {}}}]}\n\
               policy \"p\" deny subject.a == 1; subject.c == 1;";
    assert_eq!(lines_with(any, &settings()).len(), 1);
}

#[test]
fn schemas_that_lead_round_in_circles_or_nowhere_say_nothing() {
    for schema in [
        r##"{"$ref": "#"}"##,
        r##"{"$ref": "#/$defs/none"}"##,
        r##"{"$ref": "other.json"}"##,
        r##"{"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}"##,
        r##"{"properties": {"a": {"$ref": "#"}}}"##,
        "{}",
        "true",
        "[]",
        r#"{"properties": 5}"#,
        r#"{"type": 7}"#,
    ] {
        let mut schemas = Schemas::default();
        schemas.add(Element::Subject, json(schema));
        let settings = Settings { schemas, ..settings() };
        let found = lines_with("policy \"p\" deny subject.a.a.a.a == 1;", &settings);
        assert!(found.is_empty(), "{schema}: {found:?}");
    }
}
