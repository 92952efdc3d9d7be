//! What `packaging/` tells Prometheus and Grafana: every metric and label that it names is one that the server writes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::support::{TestServer, workspace};

/// The names of samples, with the names of their labels.
fn written() -> BTreeMap<String, BTreeSet<String>> {
    let server = TestServer::start("decision_log.to = 'file'");
    server.decide("doctor");
    let mut samples: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in server.get("/metrics").text().lines().filter(|line| !line.starts_with('#')) {
        let end = line.find(|it: char| !is_of_name(it)).unwrap();
        let labels = samples.entry(line[..end].to_owned()).or_default();
        labels.extend(matchers(&line[end..]));
    }
    samples
}

fn is_of_name(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_'
}

/// The names of labels between braces at the beginning of a text.
fn matchers(text: &str) -> Vec<String> {
    let Some(inner) = text.strip_prefix('{').and_then(|text| text.split('}').next()) else {
        return Vec::new();
    };
    let labels = inner.split(',').filter_map(|label| label.find(['=', '!']).map(|end| &label[..end]));
    labels.map(|label| label.trim().to_owned()).collect()
}

/// The metrics that a text names, with the labels by which it chooses.
fn named(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("durward_") {
        let rest = &text[at..];
        let end = rest.find(|it: char| !is_of_name(it)).unwrap_or(rest.len());
        // Quotes in JSON are escaped.
        found.push((rest[..end].to_owned(), matchers(&rest[end..].replace("\\\"", "\""))));
    }
    found
}

#[test]
fn alerts_and_dashboard_name_metrics_that_there_are() {
    let written = written();
    for (file, least) in [("packaging/prometheus/alerts.yml", 18), ("packaging/grafana/durward.json", 30)] {
        let text = fs::read_to_string(workspace(file)).unwrap();
        let named = named(&text);
        assert!(named.len() >= least, "{file}: {}", named.len());
        for (metric, labels) in named {
            let known = written.get(&metric).unwrap_or_else(|| panic!("{file}: there is no `{metric}`"));
            for label in labels.iter().filter(|label| *label != "instance") {
                assert!(known.contains(label), "{file}: `{metric}` has no label `{label}`");
            }
        }
    }
}

#[test]
fn the_dashboard_is_json_with_panels() {
    let text = fs::read_to_string(workspace("packaging/grafana/durward.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        assert!(!panel["targets"].as_array().unwrap().is_empty(), "{}", panel["title"]);
    }
}

/// Each alert says who is meant and how bad it is, and each is explained in the manual.
#[test]
fn alerts_are_explained() {
    let text = fs::read_to_string(workspace("packaging/prometheus/alerts.yml")).unwrap();
    let manual = fs::read_to_string(workspace("docs/production.md")).unwrap();
    let mut count = 0;
    for alert in text.split("- alert: ").skip(1) {
        let name = alert.lines().next().unwrap();
        count += 1;
        assert!(alert.contains("expr: ") && alert.contains("severity: "), "{name}");
        assert!(alert.contains("summary: "), "{name}");
        assert!(manual.contains(&format!("`{name}`")), "docs/production.md does not explain `{name}`");
    }
    assert!(count > 10, "{count}");
}
