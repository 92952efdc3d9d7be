//! What requests of XACML cost, one by one or several at once: `requests POLICIES.xml REQUESTS.jsonl MODE [ROUNDS]`.
//!
//! A line of the second file has a request as `xml` and, perhaps, as `json`. With ROUNDS all of them are asked so many times, for
//! tools that count (`valgrind`, `perf stat`); without, for two seconds, and the median of rounds of 100 ms is printed.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its terminal")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use durward_pdp::xacml::request::Limits;
use durward_pdp::{Pdp, Request, Response};
use serde_json::Value;

type Failed = Box<dyn std::error::Error>;

/// So many requests are asked at once in the mode `batch`.
const BATCH: usize = 64;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<(), Failed> {
    let [policies, requests, mode, rounds @ ..] = words else {
        return Err(
            "requests POLICIES.xml REQUESTS.jsonl decide|encoded|batch|xml|json|read|read-json [ROUNDS]"
                .into(),
        );
    };
    let text = std::fs::read(policies)?;
    let pdp = Pdp::builder().policy("policies.xml", text).clock(|| std::time::SystemTime::UNIX_EPOCH).build();
    let pdp = pdp.map_err(|errors| errors.first().map(ToString::to_string).unwrap_or_default())?;
    let lines = std::fs::read_to_string(requests)?;
    let lines: Vec<Value> = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let (count, ask) = asking(pdp, &lines, mode)?;
    ask(0);
    match rounds {
        [] => println!("{mode}: {:.0} decisions/s", rate(count, &ask)),
        [rounds, ..] => {
            walk(rounds.parse()?, &ask);
            println!("{count}");
        }
    }
    Ok(())
}

/// How many requests there are, and what asks all of them.
type All = (usize, Box<dyn Fn(usize)>);

fn asking(pdp: Pdp, lines: &[Value], mode: &str) -> Result<All, Failed> {
    let xml: Vec<String> =
        lines.iter().filter_map(|line| Some(line.get("xml")?.as_str()?.to_owned())).collect();
    let json: Vec<String> = lines.iter().filter_map(|line| Some(line.get("json")?.to_string())).collect();
    let mut requests = Vec::new();
    for text in &xml {
        requests.push(Request::from_xml(text.as_bytes())?);
    }
    let (count, limits) = (lines.len(), Limits::default());
    let ask: Box<dyn Fn(usize)> = match mode {
        "decide" | "encoded" => {
            if mode == "encoded" {
                requests.iter_mut().for_each(|request| pdp.encode(request));
            }
            Box::new(move |_| {
                let mut decider = pdp.decider();
                requests.iter().for_each(|request| drop(black_box(decider.decide(black_box(request)))));
            })
        }
        "batch" => Box::new(move |_| {
            let mut responses = vec![Response { results: Default::default() }; BATCH];
            for requests in requests.chunks(BATCH) {
                pdp.decide_requests(black_box(requests), &mut responses);
                black_box(&responses);
            }
        }),
        "read" => Box::new(move |_| {
            xml.iter().for_each(|text| drop(black_box(Request::from_xml(black_box(text).as_bytes()))));
        }),
        "read-json" => Box::new(move |_| {
            json.iter().for_each(|text| drop(black_box(Request::from_json(black_box(text).as_bytes()))));
        }),
        "xml" => Box::new(move |_| {
            for text in &xml {
                if let Ok((response, version)) = pdp.decide_xml(black_box(text).as_bytes(), &limits) {
                    drop(black_box(response.to_xml(version)));
                }
            }
        }),
        "json" => Box::new(move |_| {
            for text in &json {
                if let Ok(response) = pdp.decide_request_json(black_box(text).as_bytes(), &limits) {
                    drop(black_box(response.to_json()));
                }
            }
        }),
        mode => return Err(format!("`{mode}` is no mode").into()),
    };
    Ok((count, ask))
}

#[inline(never)]
fn walk(rounds: usize, ask: &dyn Fn(usize)) {
    (0..rounds).for_each(ask);
}

fn rate(count: usize, ask: &dyn Fn(usize)) -> f64 {
    let (start, mut rates) = (Instant::now(), Vec::new());
    while start.elapsed() < Duration::from_secs(2) {
        let (begun, mut times) = (Instant::now(), 0_usize);
        while begun.elapsed() < Duration::from_millis(100) {
            ask(times);
            times += 1;
        }
        #[expect(clippy::cast_precision_loss, reason = "nobody decides 2^52 times")]
        rates.push((times * count) as f64 / begun.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}
