//! The table as a whole, and every function through [`find`], by cases written from the standard.

use super::*;

#[test]
fn every_identifier_of_the_standard_is_found() {
    let root = std::env::var("DURWARD_DATA")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data").to_owned());
    let path = format!("{root}/xacml/functions.tsv");
    let Ok(list) = std::fs::read_to_string(&path) else {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{path} is missing");
        println!("skipped: {path} is not there");
        return;
    };
    let missing: Vec<&str> =
        list.lines().filter_map(|line| line.split('\t').next()).filter(|id| find(id).is_none()).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn identifiers_are_unique() {
    let mut ids: Vec<&str> = all().map(|function| function.id).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}
