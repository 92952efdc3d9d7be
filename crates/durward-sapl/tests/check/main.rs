//! Findings about documents that can be put in force: each with its place, its code and its way out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod hostile;
mod names;
mod operators;
mod schemas;
mod usage;

use durward_ir::Value;
use durward_ir::finding::{Finding, Severity};
use durward_sapl::check::{Attribute, Attributes, Others, Settings, check};
use durward_sapl::{Configuration, Document};

const CONFIGURATION: &str = r#"{"variables": {"limit": 7, "admins": ["alice"], "shift": {"night": true}}}"#;

fn attributes(others: Others) -> Attributes {
    let attribute = |name: &str, of_value, arguments| Attribute { name: name.into(), of_value, arguments };
    let known = [
        attribute("time.now", false, 0..=1),
        attribute("time.nowIsAfter", false, 1..=1),
        attribute("x509.isExpired", true, 0..=0),
    ];
    Attributes::new(known, others)
}

fn settings() -> Settings {
    Settings { attributes: attributes(Others::None), ..Settings::default() }
}

fn found_with(text: &str, settings: &Settings) -> Vec<Finding> {
    let document = Document::read("d", text.as_bytes()).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    let configuration = Configuration::read("pdp.json", CONFIGURATION).unwrap();
    check(&document, &configuration, settings)
}

/// Findings as `line:column code: message; help`, hints with a `?` before the code.
fn lines_with(text: &str, settings: &Settings) -> Vec<String> {
    let line = |finding: Finding| {
        let Finding { severity, code, line, column, message, help, .. } = finding;
        let mark = if severity == Severity::Hint { "?" } else { "" };
        let help = help.map(|help| format!("; {help}")).unwrap_or_default();
        format!("{line}:{column} {mark}{code}: {message}{help}")
    };
    found_with(text, settings).into_iter().map(line).collect()
}

/// What is found in a policy that permits with this body.
#[track_caller]
fn expect(body: &str, findings: &[&str]) {
    assert_eq!(lines_with(&format!("policy \"p\" permit\n{body}"), &settings()), findings, "{body}");
}

/// The codes found in a policy that permits with this body.
#[track_caller]
fn expect_codes(body: &str, codes: &[&str]) {
    let found = found_with(&format!("policy \"p\" permit\n{body}"), &settings());
    assert_eq!(found.iter().map(|finding| finding.code).collect::<Vec<_>>(), codes, "{body}: {found:?}");
}

fn json(text: &str) -> Value {
    durward_ir::json::read(text).unwrap()
}

/// The codes that the check gives, as its source has them: what is first in a call that reports.
fn codes_in_source() -> Vec<String> {
    let folder = durward_testdata::workspace().join("crates/durward-sapl/src/check");
    let mut codes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let calls = text.split(".warn(").skip(1).chain(text.split(".hint(").skip(1));
        let first = calls.filter_map(|call| call.trim_start().strip_prefix('"')?.split('"').next());
        codes.extend(first.map(str::to_owned));
    }
    codes
}

#[test]
fn every_code_is_documented_and_tested() {
    let root = durward_testdata::workspace();
    let manual = std::fs::read_to_string(root.join("docs/sapl.md")).unwrap();
    let folder = root.join("crates/durward-sapl/tests/check");
    let tests: String = ["names", "operators", "schemas", "usage"]
        .map(|name| std::fs::read_to_string(folder.join(format!("{name}.rs"))).unwrap())
        .concat();
    let codes = codes_in_source();
    assert!(codes.len() > 25, "{codes:?}");
    for code in codes {
        assert!(manual.contains(&format!("\n| `{code}` | ")), "{code} is not in docs/sapl.md");
        assert!(tests.contains(&code), "{code} has no test");
    }
}
