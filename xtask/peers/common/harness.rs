//! Drives one engine from outside: reads commands on standard input, one a line, and answers each with one line.
//!
//! ```text
//! decisions FILE   decides every request once and writes the decisions, one a line; answers `ok COUNT`
//! parsed SECONDS   read request to decision, for that long; answers `ok DECISIONS_PER_SECOND`
//! text SECONDS     text of a request to text of the decision, for that long; answers the same
//! ```
//!
//! As `Harness.java` in `crates/durward-lab/peers`, with the same rounds and the same median.

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

/// What any of this may fail with.
pub type Failure = Box<dyn std::error::Error>;

/// One engine, loaded with the policies of one scenario.
pub trait Engine {
    /// A request as the engine wants it.
    type Request;

    /// Reads a line of the requests.
    fn parse(&self, line: &str) -> Result<Self::Request, Failure>;

    /// `Permit` or `Deny`.
    fn decide(&self, request: &Self::Request) -> Result<&'static str, Failure>;
}

/// How long a round takes, as in `durward bench`.
const ROUND: Duration = Duration::from_millis(100);

/// How many decisions are made between two readings of the clock.
const BATCH: usize = 20;

/// Takes over the process: `lines` are the requests.
pub fn run<E: Engine>(engine: &E, lines: &str) -> Result<(), Failure> {
    let lines: Vec<&str> = lines.lines().collect();
    let requests = lines.iter().map(|line| engine.parse(line)).collect::<Result<Vec<_>, _>>()?;
    say(&format!("ok {}", requests.len()))?;
    for command in std::io::stdin().lock().lines() {
        let command = command?;
        let answer = match command.split_once(' ') {
            Some(("decisions", file)) => decisions(engine, &requests, file)?,
            Some(("parsed", seconds)) => {
                measure(seconds.parse()?, requests.len(), |at| engine.decide(black_box(&requests[at])))?
            }
            Some(("text", seconds)) => measure(seconds.parse()?, lines.len(), |at| {
                let decision = engine.decide(&engine.parse(black_box(lines[at]))?)?;
                Ok(format!("{{\"decision\":\"{decision}\"}}"))
            })?,
            _ => format!("error unknown command {command}"),
        };
        say(&answer)?;
    }
    Ok(())
}

fn say(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

fn decisions<E: Engine>(engine: &E, requests: &[E::Request], file: &str) -> Result<String, Failure> {
    let mut text = String::new();
    for request in requests {
        text.push_str(engine.decide(request)?);
        text.push('\n');
    }
    std::fs::write(file, text)?;
    Ok(format!("ok {}", requests.len()))
}

/// Goes through all requests again and again. The answer is the median over rounds.
fn measure<T>(
    seconds: f64,
    requests: usize,
    mut step: impl FnMut(usize) -> Result<T, Failure>,
) -> Result<String, Failure> {
    let start = Instant::now();
    let mut rates = Vec::new();
    let mut at = 0;
    while start.elapsed().as_secs_f64() < seconds {
        let begin = Instant::now();
        let mut count = 0u32;
        let mut took = Duration::ZERO;
        while took < ROUND {
            for _ in 0..BATCH {
                black_box(step(at)?);
                at = if at + 1 == requests { 0 } else { at + 1 };
            }
            count += BATCH as u32;
            took = begin.elapsed();
        }
        rates.push(f64::from(count) / took.as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    let median = rates.get(rates.len() / 2).ok_or("no time to measure in")?;
    Ok(format!("ok {median}"))
}
