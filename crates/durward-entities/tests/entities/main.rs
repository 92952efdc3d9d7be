//! What entities are read from, and what is refused, with its place.

#![expect(clippy::unwrap_used, reason = "a test fails as loudly as what it asks")]

mod rows;

use durward_entities::{EntitiesBuilder, EntityErrorKind, Limits};

fn lines_error(text: &str) -> String {
    EntitiesBuilder::new(Limits::default()).add_json_lines("e.jsonl", text).unwrap_err().to_string()
}

fn csv_error(text: &str, kind: Option<&str>) -> String {
    EntitiesBuilder::new(Limits::default()).add_csv("e.csv", text, kind).unwrap_err().to_string()
}

#[test]
fn entities_stand_in_the_order_of_their_ids_and_go_on_behind_any() {
    let mut builder = EntitiesBuilder::new(Limits::default());
    let line = |id: &str| format!("{{\"type\":\"user\",\"id\":\"{id}\"}}\n");
    builder.add_json_lines("a", &(line("c") + "\n" + &line("a") + &line("e"))).unwrap();
    builder.add_json_lines("b", &line("d")).unwrap();
    let entities = builder.finish();
    let ids = |after| entities.after("user", after).map(|(id, _)| id.as_str()).collect::<Vec<_>>();
    assert_eq!(ids(None), ["a", "c", "d", "e"]);
    assert_eq!(ids(Some("b")), ["c", "d", "e"], "an id that is not there");
    assert_eq!(ids(Some("d")), ["e"]);
    assert!(ids(Some("e")).is_empty() && entities.after("record", None).next().is_none());
    assert_eq!((entities.len(), entities.has_type("user"), entities.has_type("x")), (4, true, false));
    assert!(entities.get("user", "b").is_none() && entities.get("user", "d").is_some());
}

#[test]
fn cells_are_texts_or_json_or_nothing() {
    let mut builder = EntitiesBuilder::new(Limits::default());
    let text = "\u{feff}type,id,owner,tags:json,level:json\r\npaper,p1,\"Ada, \"\"A\"\"\",\"[\"\"x\"\"]\",3\r\npaper,p2,,,\r\n";
    builder.add_csv("papers.csv", text, None).unwrap();
    let entities = builder.finish();
    let json =
        |id: &str| durward_ir::value::Value::Object(entities.get("paper", id).unwrap().clone()).to_json();
    assert_eq!(json("p1"), r#"{"owner":"Ada, \"A\"","tags":["x"],"level":3}"#);
    assert_eq!(json("p2"), "{}");
}

#[test]
fn mistakes_have_a_file_a_line_and_a_reason() {
    let good = "{\"type\":\"user\",\"id\":\"a\"}\n\n";
    for (line, words) in [
        ("{\"type\":\"user\"}", "e.jsonl:3: `id` is missing"),
        ("{\"id\":\"b\"}", "e.jsonl:3: `type` is missing"),
        ("{\"type\":\"user\",\"id\":7}", "e.jsonl:3: `id` must be a string"),
        ("{\"type\":\"user\",\"id\":\"\"}", "e.jsonl:3: `id` must have 1 to 1024 bytes"),
        ("{\"type\":\"user\",\"id\":\"b\",\"role\":\"x\"}", "e.jsonl:3: `role` means nothing"),
        ("{\"type\":\"user\",\"id\":\"b\",\"properties\":[]}", "e.jsonl:3: `properties` must be an object"),
        ("{\"type\":\"user\",\"id\":\"b\",\"id\":\"c\"}", "e.jsonl:3: the key `id` is there twice (column"),
        ("[]", "e.jsonl:3: an entity is an object"),
        ("{", "e.jsonl:3: "),
        ("{\"type\":\"user\",\"id\":\"a\"}", "e.jsonl:3: `a` of type `user` is there already: e.jsonl:1"),
    ] {
        let error = lines_error(&format!("{good}{line}"));
        assert!(error.starts_with(words), "{line}: {error}");
    }
    for (text, kind, words) in [
        ("name\nx\n", Some("user"), "e.csv:1: `id` is missing"),
        ("id\nx\n", None, "e.csv:1: `type` is missing"),
        ("id,id\nx,y\n", Some("user"), "e.csv:1: the column `id` is there twice"),
        ("id,role,role:json\nx,y,1\n", Some("user"), "e.csv:1: the column `role` is there twice"),
        ("id,\nx,y\n", Some("user"), "e.csv:1: a column has no name"),
        ("id,a\nx\n", Some("user"), "e.csv:2: this is no CSV: the row has 1 cells, and there are 2 columns"),
        ("id,a:json\nx,1\ny,{\n", Some("user"), "e.csv:3: "),
        ("id\nx\n\"\"\n", Some("user"), "e.csv:3: `id` must have"),
    ] {
        let error = csv_error(text, kind);
        assert!(error.starts_with(words), "{text:?}: {error}");
    }
}

#[test]
fn there_are_no_more_than_the_limits_allow() {
    let limits = Limits { entities_max: 1, bytes_max: 60 };
    let mut builder = EntitiesBuilder::new(limits);
    let line = |id: &str| format!("{{\"type\":\"u\",\"id\":\"{id}\"}}\n");
    let error = builder.add_json_lines("e", &(line("a") + &line("b"))).unwrap_err();
    assert_eq!((error.line, error.kind), (2, EntityErrorKind::TooMany { entities_max: 1 }));
    let error = EntitiesBuilder::new(limits).add_json_lines("e", &line(&"x".repeat(60))).unwrap_err();
    assert_eq!(error.kind, EntityErrorKind::TooManyBytes { bytes_max: 60 });
    let mut two = EntitiesBuilder::new(limits);
    two.add_json_lines("e", &" ".repeat(40)).unwrap();
    assert!(two.add_json_lines("f", &" ".repeat(40)).is_err(), "all texts together");
}
