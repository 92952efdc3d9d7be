//! SAPL texts of the real engine: what it reads is read, what it refuses for its syntax is refused, and both print and
//! layout keep what was read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use durward_pdp::sapl::syntax::{
    Diagnostic, Names, format, parse, parse_expression, print, print_expression,
};
use serde_json::Value;
use serde_json::value::RawValue;

/// What is wrong with the syntax of a document, and with the names in it.
fn problems(text: &str) -> Vec<Diagnostic> {
    let parsed = parse(text);
    if parsed.has_errors() {
        return parsed.diagnostics;
    }
    Names::resolve(&parsed.tree).1
}

/// Print and layout give texts that read as the same tree.
fn check_written(text: &str) {
    let tree = parse(text).tree.without_places();
    let printed = parse(&print(&tree));
    assert!(printed.diagnostics.is_empty(), "{text}: {:?}", printed.diagnostics);
    let mut printed = printed.tree.without_places();
    printed.span = tree.span;
    assert_eq!(printed, tree, "{text}");
    let laid_out = format(text).unwrap();
    assert_eq!(parse(&laid_out).tree.without_places(), tree, "{text}");
    assert_eq!(format(&laid_out).unwrap(), laid_out, "{text}");
}

/// One line of a file: its fields, not read yet, for some hold numbers beyond what `serde_json` reads.
type Row = BTreeMap<String, Box<RawValue>>;

fn rows(path: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn field(row: &Row, name: &str) -> Value {
    row.get(name).map_or(Value::Null, |value| serde_json::from_str(value.get()).unwrap())
}

fn text(row: &Row, name: &str) -> String {
    field(row, name).as_str().unwrap_or_default().to_owned()
}

#[test]
fn expressions_are_read_and_refused_as_by_the_engine() {
    let Some(folder) = durward_testdata::recorded("sapl/expressions") else { return };
    let rows = rows(&folder.join("expressions.jsonl"));
    let expressions: Vec<&Row> = rows.iter().filter(|row| row.contains_key("expr")).collect();
    assert!(expressions.len() > 300);
    for row in expressions {
        let expr = text(row, "expr");
        let document = format!("policy \"e\" permit transform {expr}");
        let refused = text(row, "kind") == "parse-error";
        let problems = problems(&document);
        assert_eq!(!problems.is_empty(), refused, "{expr}: {problems:?}");
        if refused {
            continue;
        }
        check_written(&document);
        let parsed = parse_expression(&expr);
        assert!(parsed.diagnostics.is_empty(), "{expr}: {:?}", parsed.diagnostics);
        let printed = parse_expression(&print_expression(&parsed.tree));
        assert_eq!(printed.tree.without_places(), parsed.tree.without_places(), "{expr}");
    }
}

#[test]
fn documents_are_read_and_refused_as_by_the_engine() {
    let Some(folder) = durward_testdata::recorded("sapl/documents") else { return };
    for row in rows(&folder.join("documents.jsonl")) {
        let decision = field(&row, "decision");
        let error = decision.get("compileError").and_then(Value::as_str).unwrap_or_default();
        let refused = error.starts_with("Parsing of SAPL document failed");
        let texts = field(&row, "docs");
        let texts: Vec<&str> = texts.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let wrong: Vec<Vec<Diagnostic>> =
            texts.iter().map(|text| problems(text)).filter(|found| !found.is_empty()).collect();
        assert_eq!(!wrong.is_empty(), refused, "{texts:?}: {wrong:?}");
        if !refused {
            texts.iter().for_each(|text| check_written(text));
        }
    }
}

#[test]
fn combined_policies_are_read() {
    let Some(folder) = durward_testdata::recorded("sapl/combining") else { return };
    let rows = rows(&folder.join("combining.jsonl"));
    let kinds = field(rows.first().unwrap(), "kinds");
    for kind in kinds.as_object().unwrap().values().filter_map(Value::as_str) {
        let policy = format!("policy \"p\" {kind}");
        assert!(problems(&policy).is_empty(), "{policy}: {:?}", problems(&policy));
        check_written(&policy);
        check_written(&format!("set \"s\" unanimous strict or deny errors propagate {policy}"));
    }
}

/// All files of a folder, at any depth, whose name ends so.
fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|of| of == extension) {
            found.push(path);
        }
    }
}

#[test]
fn policy_files_are_read() {
    let Some(folder) = durward_testdata::recorded("sapl") else { return };
    let mut paths = Vec::new();
    files(&folder, "sapl", &mut paths);
    assert!(paths.len() > 100, "{}", paths.len());
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let problems = problems(&text);
        assert!(problems.is_empty(), "{}: {problems:?}", path.display());
        check_written(&text);
    }
}
