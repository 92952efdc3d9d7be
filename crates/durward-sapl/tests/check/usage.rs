//! Keys that are like those other documents use.

use durward_ir::path::Element;
use durward_sapl::check::{Schemas, Settings, check_all};
use durward_sapl::{Configuration, Document};

use super::{json, settings};

fn hints_with(paths: &[&str], settings: &Settings) -> Vec<String> {
    let read = |(number, path): (usize, &&str)| {
        let text = format!("policy \"{number}\" deny {path} == 1;");
        Document::read(&number.to_string(), text.as_bytes()).unwrap()
    };
    let documents: Vec<Document> = paths.iter().enumerate().map(read).collect();
    let found = check_all(&documents, &Configuration::default(), settings);
    found.iter().map(ToString::to_string).collect()
}

fn hints(paths: &[&str]) -> Vec<String> {
    hints_with(paths, &settings())
}

#[test]
fn a_key_that_stands_once_and_is_like_a_usual_one_is_a_hint() {
    assert_eq!(
        hints(&["subject.role", "subject.rloe", "subject.role", "subject.role.name"]),
        ["1:1:24: hint: `subject.rloe` stands nowhere else, and `subject.role` in 3 documents [rare-key]"]
    );
    assert_eq!(
        hints(&["resource.owner.id"; 3].iter().copied().chain(["resource.Owner.id"]).collect::<Vec<_>>())
            .len(),
        1
    );
}

#[test]
fn other_names_are_no_hint() {
    for (usual, other) in [
        ("subject.role", "subject.roles"),
        ("subject.line1", "subject.line2"),
        ("subject.id", "subject.ip"),
        ("subject.role", "resource.rloe"),
        ("subject.role", "subject.team.rloe"),
        ("subject.name", "subject.rank"),
    ] {
        assert!(hints(&[usual, usual, usual, other]).is_empty(), "{usual} {other}");
    }
    assert!(hints(&["subject.role", "subject.role", "subject.rloe"]).is_empty());
    assert!(
        hints(&["subject.role", "subject.role", "subject.role", "subject.rloe", "subject.rloe"]).is_empty()
    );
}

#[test]
fn where_there_is_a_schema_it_knows_better() {
    let mut schemas = Schemas::default();
    schemas.add(Element::Subject, json(r#"{"properties": {"role": {}, "rloe": {}}}"#));
    let settings = Settings { schemas, ..settings() };
    assert!(
        hints_with(&["subject.role", "subject.role", "subject.role", "subject.rloe"], &settings).is_empty()
    );
}
