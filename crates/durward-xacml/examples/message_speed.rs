//! How long reading a request and writing a response takes: `cargo run --release --example message_speed`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement for developers, not part of the library"
)]

use std::hint::black_box;
use std::time::Instant;

use durward_xacml::request::Request;

fn main() {
    let root = std::env::var("DURWARD_DATA").unwrap_or_else(|_| "../shared/data".to_owned());
    let path = format!("{root}/xacml/continue/requests-single.jsonl");
    let lines = std::fs::read_to_string(path).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let xml: Vec<String> = lines.iter().map(|line| line["xml"].as_str().unwrap().to_owned()).collect();
    let bytes: usize = xml.iter().map(String::len).sum();
    let attributes: usize =
        xml.iter().map(|text| Request::from_xml(text.as_bytes()).unwrap().categories.attribute_count()).sum();
    println!("average request: {} bytes, {} attributes", bytes / xml.len(), attributes / xml.len());
    measure("read XML", &xml, |text| drop(black_box(Request::from_xml(text.as_bytes()).unwrap())));
}

/// The best of many rounds, so that other load on the machine counts as little as possible.
fn measure(name: &str, texts: &[String], work: impl Fn(&str)) {
    let mut best = f64::MAX;
    for _ in 0..40 {
        let start = Instant::now();
        texts.iter().for_each(|text| work(text));
        best = best.min(start.elapsed().as_secs_f64());
    }
    let nanoseconds = best * 1e9 / texts.len() as f64;
    println!("{name}: {nanoseconds:.0} ns");
}
