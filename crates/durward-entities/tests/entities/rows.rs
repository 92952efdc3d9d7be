//! Entities of rows: what columns become, what is refused, and what is told apart.

use durward_entities::{EntitiesBuilder, EntityRows, EntityRowsBuilder, Limits, RowColumns};
use durward_ir::value::Value;

fn read(columns: RowColumns, texts: &[&str]) -> Result<EntityRows, String> {
    let mut builder = EntityRowsBuilder::new("db", columns, Limits::default());
    texts.iter().try_for_each(|text| builder.add(text)).map_err(|error| error.to_string())?;
    Ok(builder.finish())
}

fn properties(rows: &EntityRows, kind: &str, id: &str) -> String {
    let mut builder = EntitiesBuilder::new(Limits::default());
    builder.add_rows(rows).unwrap();
    Value::Object(builder.finish().get(kind, id).unwrap().clone()).to_json()
}

#[test]
fn columns_are_properties_and_null_is_none() {
    let row = r#"{"type":"paper","id":"p1","pages":12.50,"tags":["a",null],"owner":null}"#;
    let rows = read(RowColumns::default(), &[row]).unwrap();
    assert_eq!(properties(&rows, "paper", "p1"), r#"{"pages":12.50,"tags":["a",null]}"#);
    let of_one_kind = RowColumns { kind: Some("paper".to_owned()), ..RowColumns::default() };
    let rows = read(of_one_kind, &[r#"{"id":"p1","type":"draft"}"#]).unwrap();
    assert_eq!(properties(&rows, "paper", "p1"), r#"{"type":"draft"}"#, "the type is said for all");
}

#[test]
fn a_column_of_properties_holds_them_all() {
    let columns = RowColumns { has_properties: true, ..RowColumns::default() };
    let rows = [
        r#"{"type":"user","id":"a","properties":{"role":"chair","note":null}}"#,
        r#"{"type":"user","id":"b","properties":null}"#,
    ];
    let rows = read(columns.clone(), &rows).unwrap();
    assert_eq!(properties(&rows, "user", "a"), r#"{"role":"chair","note":null}"#);
    assert_eq!(properties(&rows, "user", "b"), "{}");
    let error = read(columns, &[r#"{"type":"user","id":"a","properties":[]}"#]).unwrap_err();
    assert_eq!(error, "db:1: `properties` must be an object");
}

#[test]
fn mistakes_have_a_row() {
    let good = r#"{"type":"user","id":"a"}"#;
    let columns =
        RowColumns { numbers: ["age".to_owned(), "ages".to_owned()].into(), ..RowColumns::default() };
    for (text, words) in [
        (r#"{"type":"user","id":null}"#, "db:2: `id` must be a string"),
        (r#"{"type":null,"id":"b"}"#, "db:2: `type` must be a string"),
        (r#"{"type":"user","id":""}"#, "db:2: `id` must have 1 to 1024 bytes"),
        (r#"{"type":"user","id":"b","age":"NaN"}"#, "db:2: `age` holds NaN or an infinity"),
        (r#"{"type":"user","id":"b","ages":[1,"Infinity"]}"#, "db:2: `ages` holds NaN or an infinity"),
        (r#"{"type":"user","id":"b","x":{"a":1,"a":2}}"#, "db:2: the key `a` is there twice"),
        ("[]", "db:2: an entity is an object"),
    ] {
        let error = read(columns.clone(), &[good, text]).unwrap_err();
        assert!(error.starts_with(words), "{text}: {error}");
    }
    assert!(read(columns, &[r#"{"type":"user","id":"b","age":1,"ages":[1,null]}"#]).is_ok());
}

#[test]
fn an_entity_comes_once_whatever_it_is_read_from() {
    let row = r#"{"type":"user","id":"a"}"#;
    let rows = read(RowColumns::default(), &[row]).unwrap();
    let mut builder = EntitiesBuilder::new(Limits::default());
    builder.add_json_lines("e.jsonl", row).unwrap();
    let error = builder.clone().add_rows(&rows).unwrap_err().to_string();
    assert_eq!(error, "db:1: `a` of type `user` is there already: e.jsonl:1");
    let twice = read(RowColumns::default(), &[row, row]).unwrap();
    let error = EntitiesBuilder::new(Limits::default()).add_rows(&twice).unwrap_err().to_string();
    assert_eq!(error, "db:2: `a` of type `user` is there already: db:1");
}

#[test]
fn there_are_no_more_rows_than_the_limits_allow() {
    let row = r#"{"type":"u","id":"1"}"#;
    let try_limits = |limits: Limits| {
        let mut builder = EntityRowsBuilder::new("db", RowColumns::default(), limits);
        builder
            .add(row)
            .and_then(|()| builder.add(r#"{"type":"u","id":"2"}"#))
            .map_err(|error| error.to_string())
    };
    let (entities_max, bytes_max) = (2, 2 * row.len());
    assert_eq!(try_limits(Limits { entities_max, bytes_max }), Ok(()));
    let error = try_limits(Limits { entities_max: 1, bytes_max }).unwrap_err();
    assert_eq!(error, "db:2: there are more than 1 entities");
    let error = try_limits(Limits { entities_max, bytes_max: bytes_max - 1 }).unwrap_err();
    assert!(error.starts_with("db:2: the entities are longer than"), "{error}");
}

#[test]
fn the_same_rows_are_told_from_others() {
    let (one, other) = (r#"{"type":"u","id":"1"}"#, r#"{"type":"u","id":"2"}"#);
    let rows = |texts: &[&str]| read(RowColumns::default(), texts).unwrap();
    assert!(rows(&[one, other]).is_same(&rows(&[one, other])));
    assert!(!rows(&[one, other]).is_same(&rows(&[other, one])));
    assert!(!rows(&[one]).is_same(&rows(&[other])));
    assert!(!rows(&[one]).is_same(&rows(&[one, other])));
}
