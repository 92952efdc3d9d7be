//! The check of SAPL's policies against recorded ones: no warning where policies are good, and an answer to any text.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use durward_pdp::check::{Attributes, Finding, Others, Settings, Severity, check_sapl};
use durward_pdp::sapl::Document;
use durward_pdp::stream::finders;
use durward_pdp::{PolicyText, read_policies};
use serde_json::value::RawValue;

fn settings() -> Settings {
    Settings { attributes: Attributes::new(finders::attributes(), Others::Unknown), ..Settings::default() }
}

fn warnings(findings: &[Finding]) -> Vec<String> {
    let warnings = findings.iter().filter(|finding| finding.severity >= Severity::Warning);
    warnings.map(ToString::to_string).collect()
}

#[test]
fn good_policies_have_no_warnings() {
    let Some(folder) = durward_testdata::recorded("sapl") else { return };
    let demo = durward_testdata::workspace().join("crates/durward/policies/demo");
    let mut counted = 0;
    let recorded = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for directory in recorded.filter(|path| path.join("pdp.json").is_file()).chain([demo]) {
        let texts = read_policies(&directory).unwrap();
        let findings = check_sapl(&texts, &settings());
        assert_eq!(warnings(&findings), [""; 0], "{}", directory.display());
        counted += texts.iter().filter(|text| text.is_sapl()).count();
    }
    assert!(counted > 3_000, "{counted}");
}

/// Everything the check says has a place in the text, and the same text gets the same answer. It ends soon: one text that
/// took long would be a way to hold up whoever loads it.
#[test]
fn any_recorded_text_is_checked() {
    let Some(folder) = durward_testdata::recorded("sapl/random") else { return };
    let begun = Instant::now();
    let (mut checked, mut odd) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for line in text.lines() {
            let texts = texts_of(line);
            let findings = check_sapl(&texts, &settings());
            assert_eq!(findings, check_sapl(&texts, &settings()));
            for finding in &findings {
                let text = texts.iter().find(|text| text.name == finding.source.as_str()).unwrap();
                let written = std::str::from_utf8(&text.text).unwrap();
                let line = written.split('\n').nth(finding.line as usize - 1).unwrap();
                assert!(finding.column as usize <= line.chars().count() + 1, "{finding}\n{written}");
            }
            checked += texts.iter().filter(|text| Document::read(&text.name, &text.text).is_ok()).count();
            odd += findings.len();
        }
    }
    assert!(checked > 15_000 && odd > 1_000, "{checked} documents, {odd} findings");
    assert!(begun.elapsed() < Duration::from_secs(300));
}

/// The documents of a row, with their `pdp.json`. Rows hold numbers beyond what `serde_json` reads: of those, only the
/// documents are read.
fn texts_of(line: &str) -> Vec<PolicyText> {
    let row: BTreeMap<String, Box<RawValue>> = serde_json::from_str(line).unwrap();
    // Half of a character cannot be in a text, nor in a file.
    let listed = row.get("documents").and_then(|list| serde_json::from_str::<Vec<String>>(list.get()).ok());
    let named =
        |(number, text): (usize, String)| PolicyText { name: format!("{number}.sapl"), text: text.into() };
    let documents = listed.unwrap_or_default().into_iter().enumerate().map(named);
    let configuration = row.get("pdp").map(|pdp| pdp.get().as_bytes().to_vec());
    let configuration = configuration.map(|text| PolicyText { name: "pdp.json".into(), text });
    documents.chain(configuration).collect()
}

/// What stands between an expression and its value, so that an error in it need not be one of the whole.
const DETOURS: [&str; 7] = [";", "|", "&", "::", "[?", "each", "{ @"];

/// Where the check says that something is an error, the real engine came to one, whatever it was asked.
#[test]
fn errors_that_are_told_happen() {
    let Some(folder) = durward_testdata::recorded("sapl/random") else { return };
    let mut told = 0;
    for name in ["expressions", "functions", "parsers"] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap();
        for line in text.lines() {
            let texts = texts_of(line);
            let documents: Vec<&PolicyText> =
                texts.iter().filter(|text| text.name.ends_with(".sapl")).collect();
            let [document] = documents.as_slice() else { continue };
            let written = std::str::from_utf8(&document.text).unwrap();
            if DETOURS.iter().any(|detour| written.contains(detour)) {
                continue;
            }
            let findings = check_sapl(&texts, &settings());
            let Some(error) = findings.iter().find(|finding| finding.message.ends_with("is an error")) else {
                continue;
            };
            told += 1;
            let row: BTreeMap<String, Box<RawValue>> = serde_json::from_str(line).unwrap();
            let is_loaded = row["load"].get() == "\"ok\"";
            let decisions: Vec<String> = match is_loaded {
                true => serde_json::from_str(row["decisions"].get()).unwrap(),
                false => Vec::new(),
            };
            for decision in decisions {
                assert!(decision.contains("INDETERMINATE"), "{error}\n{written}\n{decision}");
            }
        }
    }
    assert!(told > 100, "{told}");
}
