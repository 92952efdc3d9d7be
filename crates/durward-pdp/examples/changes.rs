//! What changing one of many policies takes, and what decisions take afterwards.
//!
//! ```text
//! durward bench generate hospital-3000 --out DIR
//! cargo run --profile quick -p durward-pdp --example changes -- DIR
//! ```
//!
//! The policies are those of a directory; beside them lie questions, one in a line of `subscriptions.jsonl` under
//! `subscription`, or XACML requests in XML in files `*.request`.
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
use durward_pdp::{Pdp, PolicyChange, PolicyText, read_policies};
use serde_json::Value as Json;

fn main() {
    let directory = std::env::args().nth(1).unwrap();
    let directory = Path::new(&directory);
    let texts = read_policies(directory).unwrap();
    let asked = subscriptions(directory);
    let begun = Instant::now();
    let pdp =
        Pdp::builder().changing().policies(texts.clone()).build().map_err(|errors| errors[0].to_string());
    let pdp = pdp.unwrap();
    println!("{} documents in {:.2?}; {}", pdp.snapshot().documents, begun.elapsed(), pdp.snapshot().index);
    println!("{} MiB resident", resident());
    println!("no change yet: {:.0} ns a decision", decide(&pdp, &asked));
    let policies: Vec<&PolicyText> = texts.iter().filter(|text| text.name.ends_with(".sapl")).collect();
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
    let modified: Vec<PolicyChange> = (0..200)
        .map(|number| {
            let PolicyText { name, text } = policies[number * 104_729 % policies.len()].clone();
            PolicyChange::Put(PolicyText { name, text: [text, b"\n".to_vec()].concat() })
        })
        .collect();
    tell("modified", &pdp, &modified);
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
}

/// The same policy under another name.
fn copy(text: &PolicyText, number: usize) -> PolicyText {
    let source = String::from_utf8(text.text.clone()).unwrap();
    let source = source.replacen("policy \"", &format!("policy \"copy {number} of "), 1);
    PolicyText { name: text.name.replace(".sapl", &format!("-copy-{number}.sapl")), text: source.into() }
}

fn timed(pdp: &Pdp, change: &PolicyChange) -> Duration {
    let begun = Instant::now();
    pdp.change(std::slice::from_ref(change)).map_err(|errors| errors[0].to_string()).unwrap();
    begun.elapsed()
}

fn tell(what: &str, pdp: &Pdp, changes: &[PolicyChange]) {
    let mut times: Vec<Duration> = changes.iter().map(|change| timed(pdp, change)).collect();
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!(
        "{} {what} one by one: median {:.2?}, p99 {:.2?}, most {:.2?}",
        times.len(),
        at(50),
        at(99),
        at(100)
    );
}

fn subscriptions(directory: &Path) -> Vec<Subscription> {
    let text = fs::read_to_string(directory.join("subscriptions.jsonl")).unwrap();
    let read = |line: &str| {
        let line: Json = serde_json::from_str(line).unwrap();
        Subscription::from_json(line["subscription"].to_string().as_bytes()).unwrap()
    };
    text.lines().map(read).collect()
}

/// The median of some rounds.
fn decide(pdp: &Pdp, asked: &[Subscription]) -> f64 {
    let mut times: Vec<f64> = (0..200)
        .map(|_| {
            let begun = Instant::now();
            asked.iter().for_each(|asked| {
                std::hint::black_box(pdp.decide_once(asked));
            });
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
