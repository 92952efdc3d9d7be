//! Every request and response of the conformance data and of the recorded decisions.

use std::fs;
use std::path::Path;

use durward_testdata::recorded;
use durward_xacml::request::{Request, Version};
use durward_xacml::response::{Response, differences};

use super::{described, facts};

const SUITES: [&str; 4] =
    ["authzforce-ct-mandatory", "authzforce-ct-optional", "att-ct-0.4-deprecated", "balana-ct-xacml2"];

/// The cases of a suite: name, request, response.
fn cases(root: &Path, suite: &str) -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let mut cases = Vec::new();
    for entry in fs::read_dir(root.join("xacml/conformance").join(suite)).unwrap() {
        let folder = entry.unwrap().path();
        let (Ok(request), Ok(response)) =
            (fs::read(folder.join("Request.xml")), fs::read(folder.join("Response.xml")))
        else {
            continue;
        };
        cases.push((folder.display().to_string(), request, response));
    }
    assert!(!cases.is_empty());
    cases
}

#[test]
fn every_conformance_request_reads_and_survives_being_written() {
    let Some(root) = recorded("") else { return };
    for suite in SUITES {
        for (name, request, response) in cases(&root, suite) {
            let request = match Request::from_xml(&request) {
                Ok(request) => request,
                // Some cases are about requests that must be refused.
                Err(error) => {
                    let expected = Response::from_xml(&response).unwrap();
                    let refused = Response::indeterminate(error.status());
                    assert!(differences(&expected, &refused).is_empty(), "{name}: {error}");
                    continue;
                }
            };
            assert!(request.categories.attribute_count() > 0, "{name}");
            let again = Request::from_xml(request.to_xml().as_bytes()).unwrap();
            assert_eq!(facts(&request), facts(&again), "{name}");
            let json = Request::from_json(request.to_json().as_bytes());
            let json = json.unwrap_or_else(|error| panic!("{name}: {error}\n{}", request.to_json()));
            assert_eq!(facts(&request), facts(&json), "{name}");
        }
    }
}

#[test]
fn every_conformance_response_reads_and_survives_being_written() {
    let Some(root) = recorded("") else { return };
    for suite in SUITES {
        for (name, request, response) in cases(&root, suite) {
            let version = Request::from_xml(&request).map_or(Version::V2, |request| request.version);
            let response = Response::from_xml(&response).unwrap_or_else(|error| panic!("{name}: {error}"));
            let again = response.to_xml(version);
            let again = Response::from_xml(again.as_bytes())
                .unwrap_or_else(|error| panic!("{name}: {error}\n{again}"));
            assert!(
                differences(&response, &again).is_empty(),
                "{name}: {:#?}",
                differences(&response, &again)
            );
            let json = Response::from_json(response.to_json().as_bytes());
            let json = json.unwrap_or_else(|error| panic!("{name}: {error}\n{}", response.to_json()));
            assert!(differences(&response, &json).is_empty(), "{name}: {:#?}", differences(&response, &json));
        }
    }
}

#[test]
fn both_forms_of_one_request_mean_the_same() {
    let Some(root) = recorded("") else { return };
    for file in ["requests-core.jsonl", "requests-single.jsonl"] {
        for line in fs::read_to_string(root.join("xacml/continue").join(file)).unwrap().lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let xml = Request::from_xml(line["xml"].as_str().unwrap().as_bytes()).unwrap();
            let json = match &line["json"] {
                serde_json::Value::String(text) => text.clone(),
                object => object.to_string(),
            };
            let json = Request::from_json(json.as_bytes()).unwrap();
            assert_eq!(facts(&xml), facts(&json), "{}", line["id"]);
            assert_eq!(
                (xml.return_policy_ids, xml.combined_decision),
                (json.return_policy_ids, json.combined_decision)
            );
        }
    }
}

#[test]
fn a_request_before_3_0_has_the_categories_of_3_0() {
    let Some(root) = recorded("") else { return };
    let (_, request, _) =
        cases(&root, "balana-ct-xacml2").into_iter().find(|(name, ..)| name.ends_with("IIIF001")).unwrap();
    let request = Request::from_xml(&request).unwrap();
    assert_eq!(request.version, Version::V2);
    assert!(request.document.as_ref().unwrap().contains("<ResourceContent>"));
    assert_eq!(request.resource_id().as_deref(), Some("http://medico.com/record/patient/BartSimpson"));
    let lines = described(&request.categories);
    assert!(
        lines[0].starts_with("urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"),
        "{lines:#?}"
    );
    let resource =
        request.categories.find("urn:oasis:names:tc:xacml:3.0:attribute-category:resource").unwrap();
    let content = resource.content.as_ref().unwrap();
    assert!(content.xml.trim().starts_with("<md:record>"));
    assert!(
        content
            .namespaces
            .iter()
            .any(|(prefix, uri)| prefix == "md" && uri == "http://www.medico.com/schemas/record")
    );
}
