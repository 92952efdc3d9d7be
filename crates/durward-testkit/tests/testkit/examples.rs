//! The examples that the demo serves and the README tells about, against `expected.tsv`.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use durward_pdp::xacml::request::Request as XacmlRequest;
use durward_pdp::{IndexKind, Pdp, ResultOf, read_policies};

fn examples() -> PathBuf {
    durward_testdata::workspace().join("crates/durward/policies")
}

fn ask(pdp: &Pdp, file: &Path) -> ResultOf {
    let text = std::fs::read(file).unwrap();
    let is_json = file.extension().is_some_and(|ending| ending == "json");
    let request = if is_json { XacmlRequest::from_json(&text) } else { XacmlRequest::from_xml(&text) };
    pdp.decide(&request.unwrap()).results.remove(0)
}

/// Identifiers of obligations and advice, or `-`.
fn duties(result: &ResultOf) -> String {
    let ids: Vec<&str> =
        result.obligations.iter().chain(&result.advice).map(|duty| duty.id.as_str()).collect();
    if ids.is_empty() { "-".to_owned() } else { ids.join(" ") }
}

#[test]
fn every_example_is_answered_as_the_table_says() {
    let table = std::fs::read_to_string(examples().join("requests/expected.tsv")).unwrap();
    for index in IndexKind::ALL {
        let policies = read_policies(&examples().join("demo")).unwrap();
        let clock = || SystemTime::UNIX_EPOCH;
        let pdp = Pdp::builder().policies(policies).clock(clock).index(index).build().unwrap();
        for row in table.lines().filter(|row| !row.starts_with('#')) {
            let cells: Vec<&str> = row.split('\t').collect();
            let [file, decision, wanted] = cells.as_slice() else { panic!("`{row}` has not three cells") };
            let result = ask(&pdp, &examples().join("requests").join(file));
            assert_eq!(
                (result.decision.as_str(), duties(&result).as_str()),
                (*decision, *wanted),
                "{file}, {index}"
            );
        }
    }
}

#[test]
fn every_request_stands_in_the_table() {
    let table = std::fs::read_to_string(examples().join("requests/expected.tsv")).unwrap();
    for entry in std::fs::read_dir(examples().join("requests")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            name == "expected.tsv" || table.lines().any(|row| row.starts_with(&format!("{name}\t"))),
            "{name}"
        );
    }
}
