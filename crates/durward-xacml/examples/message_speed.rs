//! How long reading a request and writing a response takes: `cargo run --profile optimised --example message_speed`.
//! With a part of a line's name as argument, only such lines.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement for developers, not part of the library"
)]

use std::hint::black_box;
use std::time::Instant;

use durward_xacml::multiple::individual_requests;
use durward_xacml::request::{Request, Version};
use durward_xacml::response::{Assignment, Decision, Duty, Response, ResultOf};

fn main() {
    let path = durward_testdata::find("xacml/continue/requests-single.jsonl").unwrap();
    let lines = std::fs::read_to_string(path).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let xml: Vec<String> = lines.iter().map(|line| line["xml"].as_str().unwrap().to_owned()).collect();
    let bytes: usize = xml.iter().map(String::len).sum();
    let attributes: usize =
        xml.iter().map(|text| Request::from_xml(text.as_bytes()).unwrap().categories.attribute_count()).sum();
    println!("average request: {} bytes, {} attributes", bytes / xml.len(), attributes / xml.len());
    measure("read XML", &xml, |text| drop(black_box(Request::from_xml(text.as_bytes()).unwrap())));
    // A comment keeps a document off the short way.
    let commented: Vec<String> = xml.iter().map(|text| format!("{text}<!-- -->")).collect();
    measure("read XML, general reader", &commented, |text| {
        drop(black_box(Request::from_xml(text.as_bytes()).unwrap()));
    });
    let requests: Vec<Request> = xml.iter().map(|text| Request::from_xml(text.as_bytes()).unwrap()).collect();
    measure("tell that a request means one decision", &requests, |request| {
        drop(black_box(individual_requests(request, None).unwrap()));
    });
    let json: Vec<String> = lines.iter().map(|line| json_text(&line["json"])).collect();
    println!("average request in JSON: {} bytes", json.iter().map(String::len).sum::<usize>() / json.len());
    measure("read JSON", &json, |text| drop(black_box(Request::from_json(text.as_bytes()).unwrap())));
    measure_responses();
}

fn json_text(json: &serde_json::Value) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

fn measure_responses() {
    let plain = Response::of(ResultOf::new(Decision::Permit));
    let assignment = |id: &str| Assignment {
        id: id.into(),
        category: None,
        issuer: None,
        value: durward_ir::Value::Text("a text to be sent to somebody".into()),
    };
    let assignments = vec![assignment("urn:example:text"), assignment("urn:example:mailto")];
    let mut result = ResultOf::new(Decision::Permit);
    result.obligations.push(Duty { id: "urn:example:obligation:email".into(), assignments });
    let dutiful = Response::of(result);
    let many = vec![String::new(); 1000];
    for (name, response) in [("plain response", &plain), ("response with an obligation", &dutiful)] {
        measure(&format!("write {name}, XML"), &many, |_| {
            drop(black_box(black_box(response).to_xml(Version::V3)))
        });
        measure(&format!("write {name}, XML 2.0"), &many, |_| {
            drop(black_box(black_box(response).to_xml(Version::V2)));
        });
        measure(&format!("write {name}, JSON"), &many, |_| drop(black_box(black_box(response).to_json())));
    }
}

/// The best of many rounds, so that other load on the machine counts as little as possible.
fn measure<T>(name: &str, items: &[T], work: impl Fn(&T)) {
    if std::env::args().nth(1).is_some_and(|wanted| !name.contains(&wanted)) {
        return;
    }
    let mut best = f64::MAX;
    for _ in 0..40 {
        let start = Instant::now();
        items.iter().for_each(&work);
        best = best.min(start.elapsed().as_secs_f64());
    }
    let nanoseconds = best * 1e9 / items.len() as f64;
    println!("{name}: {nanoseconds:.0} ns");
}
