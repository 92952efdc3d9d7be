//! What changing one of many policies takes, and what decisions take afterwards.
//!
//! ```text
//! durward bench generate hospital-3000 --out DIR
//! cargo run --profile optimised -p durward-pdp --example changes -- DIR [COUNT]
//! ```
//!
//! The policies are those of a directory, each in a document of its own; beside them lie questions, one in a line of
//! `subscriptions.jsonl` under `subscription`, or one XACML request in a line of `requests.jsonl` under `xml`. With a
//! count, so many changes follow one another in the end, while another thread settles them as a server does.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "an example that measures, and stops at what it does not expect"
)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use durward_pdp::sapl::Subscription;
use durward_pdp::xacml::request::Request;
use durward_pdp::{Pdp, PolicyChange, PolicyText, read_policies};
use serde_json::Value as Json;

fn main() {
    let directory = std::env::args().nth(1).unwrap();
    let directory = Path::new(&directory);
    let texts = read_policies(directory).unwrap();
    let asked = questions(directory);
    let begun = Instant::now();
    let pdp =
        Pdp::builder().changing().policies(texts.clone()).build().map_err(|errors| errors[0].to_string());
    let pdp = pdp.unwrap();
    println!("{} documents in {:.2?}; {}", pdp.snapshot().documents, begun.elapsed(), pdp.snapshot().index);
    println!("{} MiB resident", resident());
    println!("no change yet: {:.0} ns a decision", decide(&pdp, &asked));
    let is_policy = |text: &&PolicyText| text.name.ends_with(".sapl") || text.name.ends_with(".xml");
    let policies: Vec<&PolicyText> = texts.iter().filter(is_policy).collect();
    let copies = |numbers: std::ops::Range<usize>| -> Vec<PolicyChange> {
        numbers
            .map(|number| PolicyChange::Put(copy(policies[number * 7919 % policies.len()], number)))
            .collect()
    };
    let gone = |numbers: std::ops::Range<usize>| -> Vec<PolicyChange> {
        copies(numbers).iter().map(|change| PolicyChange::Remove(change.name().to_owned())).collect()
    };
    for change in copies(0..1) {
        println!("the first change: {:.2?}", timed(&pdp, &change));
    }
    println!("one document more: {:.0} ns a decision", decide(&pdp, &asked));
    tell("added", &pdp, &copies(1..201));
    let others: Vec<PolicyChange> = (0..200)
        .map(|number| PolicyChange::Put(modified(policies[number * 104_729 % policies.len()])))
        .collect();
    tell("modified", &pdp, &others);
    tell("removed", &pdp, &gone(1..201));
    println!("{} MiB resident; {}", resident(), pdp.snapshot().index);
    let begun = Instant::now();
    pdp.settle().unwrap();
    println!("settled in {:.2?}; {}", begun.elapsed(), pdp.snapshot().index);
    for count in [1, 100, 1000] {
        let begun = Instant::now();
        pdp.change(&copies(1000..1000 + count)).unwrap();
        println!(
            "{count} more at once: {:.2?}, then {:.0} ns a decision",
            begun.elapsed(),
            decide(&pdp, &asked)
        );
        println!("  removed again: {:.2?}", {
            let begun = Instant::now();
            pdp.change(&gone(1000..1000 + count)).unwrap();
            begun.elapsed()
        });
        pdp.settle().unwrap();
    }
    println!("{} MiB resident", resident());
    if let Some(count) = std::env::args().nth(2) {
        go_on(&pdp, &policies, count.parse().unwrap());
    }
}

/// So many changes, one after the other.
fn go_on(pdp: &Pdp, policies: &[&PolicyText], count: usize) {
    let some = count.div_ceil(10);
    for first in (0..count).step_by(some) {
        let changes: Vec<PolicyChange> = (first..first + some)
            .map(|number| {
                let policy = policies[number / 3 * 7919 % policies.len()];
                match number % 3 {
                    0 => PolicyChange::Put(copy(policy, number / 3)),
                    1 => PolicyChange::Put(modified(policy)),
                    _ => PolicyChange::Remove(copy(policy, number / 3).name),
                }
            })
            .collect();
        let mut times = Vec::with_capacity(some);
        std::thread::scope(|scope| {
            let mut settling = None;
            for change in &changes {
                times.push(timed(pdp, change));
                let is_idle = settling.as_ref().is_none_or(std::thread::ScopedJoinHandle::is_finished);
                if is_idle && pdp.is_worth_settling() {
                    settling = Some(scope.spawn(|| pdp.settle().unwrap()));
                }
            }
        });
        println!("{} changes in all: {}; {} MiB resident", first + some, summary(times), resident());
    }
}

fn modified(text: &PolicyText) -> PolicyText {
    let PolicyText { name, text } = text.clone();
    PolicyText { name, text: [text, b"\n".to_vec()].concat() }
}

/// The same policy under another name.
fn copy(text: &PolicyText, number: usize) -> PolicyText {
    let source = String::from_utf8(text.text.clone()).unwrap();
    let named = |before: &str| source.replacen(before, &format!("{before}copy {number} of "), 1);
    match text.name.strip_suffix(".sapl") {
        Some(name) => {
            PolicyText { name: format!("{name}-copy-{number}.sapl"), text: named("policy \"").into() }
        }
        None => {
            let name = text.name.replace(".xml", &format!("-copy-{number}.xml"));
            PolicyText { name, text: named("PolicyId=\"").into() }
        }
    }
}

fn timed(pdp: &Pdp, change: &PolicyChange) -> Duration {
    let begun = Instant::now();
    pdp.change(std::slice::from_ref(change)).map_err(|errors| errors[0].to_string()).unwrap();
    begun.elapsed()
}

fn tell(what: &str, pdp: &Pdp, changes: &[PolicyChange]) {
    let times: Vec<Duration> = changes.iter().map(|change| timed(pdp, change)).collect();
    println!("{} {what} one by one: {}", changes.len(), summary(times));
}

fn summary(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    format!("median {:.2?}, p99 {:.2?}, most {:.2?}", at(50), at(99), at(100))
}

/// What policies are asked.
enum AnyRequest {
    Subscription(Box<Subscription>),
    Request(Box<Request>),
}

fn questions(directory: &Path) -> Vec<AnyRequest> {
    let lines = |name: &str| fs::read_to_string(directory.join(name)).unwrap_or_default();
    let json = |line: &str| -> Json { serde_json::from_str(line).unwrap() };
    let subscription = |line: &str| {
        let asked = json(line)["subscription"].to_string();
        AnyRequest::Subscription(Box::new(Subscription::from_json(asked.as_bytes()).unwrap()))
    };
    let request = |line: &str| {
        let xml = json(line)["xml"].as_str().unwrap().to_owned();
        AnyRequest::Request(Box::new(Request::from_xml(xml.as_bytes()).unwrap()))
    };
    let mut asked: Vec<AnyRequest> = lines("subscriptions.jsonl").lines().map(subscription).collect();
    asked.extend(lines("requests.jsonl").lines().map(request));
    asked
}

/// The median of some rounds.
fn decide(pdp: &Pdp, asked: &[AnyRequest]) -> f64 {
    let mut times: Vec<f64> = (0..200)
        .map(|_| {
            let begun = Instant::now();
            for asked in asked {
                match asked {
                    AnyRequest::Subscription(asked) => drop(std::hint::black_box(pdp.decide_once(asked))),
                    AnyRequest::Request(asked) => drop(std::hint::black_box(pdp.decide(asked))),
                }
            }
            begun.elapsed().as_nanos() as f64 / asked.len() as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default() / 1024
}
