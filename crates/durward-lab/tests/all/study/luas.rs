//! The Luas study: the paper's numbers held to the recorded ones, and the page of the manual to the figures it is made of.

use std::fs;

use durward_lab::study::luas::{document, paper};
use durward_lab::study::{StudyDigest, markdown};
use serde_json::Value;

/// What was typed out of the paper.
fn recorded() -> Option<Value> {
    let text = fs::read_to_string(durward_testdata::recorded("usl/luas-testbed.json")?).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn the_papers_numbers_are_those_that_were_recorded() {
    let Some(data) = recorded() else { return };
    let load = &data["load"];
    assert_eq!(load["users"], paper::USERS);
    assert_eq!(load["send_s"], paper::BURSTS);
    assert_eq!(load["response_timeout_s"], paper::TIMEOUT_S);
    assert_eq!(load["response_timeout_s_att_at_1500_and_2000"], paper::TIMEOUT_ATT_S);
    let sent: Vec<f64> = paper::SENT.iter().map(|sent| *sent as f64).collect();
    assert_eq!(numbers(&data["table_1_completed"]["sent"]), sent);
    let each = numbers(&load["requests_per_user"]);
    assert_eq!(each.iter().map(|each| each * paper::USERS as f64).collect::<Vec<_>>(), sent);
    assert_eq!(data["resources"]["sampled_every_s"].as_f64(), Some(paper::SAMPLED_S));
    for pdp in &paper::PDPS {
        let completed: Vec<f64> = pdp.completed.iter().map(|count| *count as f64).collect();
        assert_eq!(numbers(&data["table_1_completed"][pdp.name]), completed, "{}", pdp.name);
        let rows = data["table_2_latency_ms_p95_p99"][pdp.name].as_array().unwrap();
        let latency: Vec<(f64, f64)> = rows.iter().map(|row| (numbers(row)[0], numbers(row)[1])).collect();
        assert_eq!(latency, pdp.latency_ms, "{}", pdp.name);
        assert_eq!(data["sizes"]["docker_image_MB"][pdp.name], pdp.image_mb);
        assert_eq!(data["sizes"]["bundle_kB"][pdp.name], pdp.bundle_kb);
    }
}

#[test]
fn the_page_of_the_manual_is_made_of_its_figures() {
    let docs = durward_testdata::workspace().join("docs");
    let text = fs::read_to_string(docs.join("study-luas.json")).unwrap();
    let digest = StudyDigest::read(&text).unwrap();
    let document = document(&digest);
    let page = fs::read_to_string(docs.join("study-luas.md")).unwrap();
    assert_eq!(markdown(&document, "pictures"), page, "make it anew: durward lab study luas --page docs");
    for figure in document.figures() {
        let file = docs.join(format!("pictures/{}.svg", figure.name));
        let kept = fs::read_to_string(&file).unwrap();
        assert_eq!(durward_lab::draw::svg_file(&figure.scene), kept, "{}", file.display());
    }
    // What four engines really did.
    for name in ["durward", "balana", "att", "authzforce"] {
        assert!(digest.run(&format!("{name}-cold")).is_some(), "{name} was not measured");
    }
    assert!(
        !text.contains("/home") && !text.contains("/root") && !text.contains("/tmp"),
        "a path of a machine"
    );
}
