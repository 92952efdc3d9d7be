//! Requests with the decisions other engines gave.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use durward_pdp::{Pdp, Request};
use serde_json::Value as Json;

/// One recorded request, in the forms it was recorded in.
#[derive(Debug)]
pub struct RecordedRequest {
    /// Its identifier.
    pub id: String,
    /// As XML.
    pub xml: Option<String>,
    /// As JSON.
    pub json: Option<String>,
}

/// The requests of a file of JSON lines.
///
/// # Errors
/// The file cannot be read, or a line is no JSON.
pub fn requests(path: &Path) -> std::io::Result<Vec<RecordedRequest>> {
    let mut requests = Vec::new();
    for line in BufReader::new(File::open(path)?).lines() {
        let line: Json = serde_json::from_str(&line?)?;
        let text = |name: &str| line.get(name).and_then(Json::as_str).map(String::from);
        requests.push(RecordedRequest {
            id: text("id").unwrap_or_default(),
            xml: text("xml"),
            json: line.get("json").map(Json::to_string),
        });
    }
    Ok(requests)
}

/// The decisions of a file of JSON lines, by identifier.
///
/// # Errors
/// The file cannot be read, or a line is no JSON.
pub fn decisions(path: &Path) -> std::io::Result<HashMap<String, String>> {
    let mut decisions = HashMap::new();
    for line in BufReader::new(File::open(path)?).lines() {
        let line: Json = serde_json::from_str(&line?)?;
        let text = |name: &str| line.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        decisions.insert(text("id"), text("decision"));
    }
    Ok(decisions)
}

/// Decides every recorded request, as read and once more encoded, and lists what differs from the record:
/// `id: expected ..., found ...`.
pub fn differences(
    pdp: &Pdp,
    requests: &[RecordedRequest],
    decisions: &HashMap<String, String>,
) -> Vec<String> {
    let mut differences = Vec::new();
    for recorded in requests {
        let xml = recorded.xml.as_deref().map(|text| Request::from_xml(text.as_bytes()));
        let json = recorded.json.as_deref().map(|text| Request::from_json(text.as_bytes()));
        for request in [xml, json].into_iter().flatten() {
            let found = match request {
                Ok(mut request) => {
                    let response = pdp.decide(&request);
                    pdp.encode(&mut request);
                    let encoded = pdp.decide(&request);
                    if response.to_json() != encoded.to_json() {
                        differences.push(format!("{}: answered otherwise once encoded", recorded.id));
                    }
                    let decisions: Vec<_> =
                        response.results.iter().map(|result| result.decision.as_str()).collect();
                    decisions.join(",")
                }
                Err(error) => error.to_string(),
            };
            let expected = decisions.get(&recorded.id).map(String::as_str).unwrap_or("(none recorded)");
            if found != expected {
                differences.push(format!("{}: expected {expected}, found {found}", recorded.id));
            }
        }
    }
    differences
}
