//! What a decision costs in Rust, for `cargo xtask bench-packages`, which measures packages for other languages beside it: `bench QUESTIONS POLICIES`;
//! `xtask/bench-packages/README.md` says how it is driven.
#![expect(clippy::print_stdout, reason = "it answers on standard output")]

use std::error::Error;
use std::hint::black_box;
use std::io::BufRead as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use durward_embed::{DecisionPoint, Outcome};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(questions), Some(policies)) = (arguments.next(), arguments.next()) else {
        return Err("bench QUESTIONS POLICIES".into());
    };
    #[expect(clippy::disallowed_methods, reason = "a program of its own: nobody else hands a clock to it")]
    let pdp = DecisionPoint::open(&policies.join("doctors.sapl"), Arc::new(SystemTime::now))?;
    let lines = std::fs::read_to_string(questions)?;
    let mut questions = Vec::new();
    for line in lines.lines() {
        let (rest, text) = line.rsplit_once('\t').ok_or("a line of several fields is wanted")?;
        if permits(&pdp, text)? != rest.starts_with("true") {
            return Err(format!("durward-embed answers otherwise: {text}").into());
        }
        questions.push(text);
    }
    println!("ok\tdurward, text");
    for command in std::io::stdin().lock().lines() {
        let command = command?;
        let ms = command.rsplit(' ').next().unwrap_or_default().parse()?;
        println!("ok {}", measure(&pdp, &questions, Duration::from_millis(ms))?);
    }
    Ok(())
}

fn permits(pdp: &DecisionPoint, text: &str) -> Result<bool, Box<dyn Error>> {
    Ok(pdp.decide(black_box(text).as_bytes())?.outcome == Outcome::Permit)
}

/// Nanoseconds for a decision.
fn measure(pdp: &DecisionPoint, questions: &[&str], limit: Duration) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let (mut calls, mut permitted, mut took) = (0_u32, 0_u32, Duration::ZERO);
    while took < limit {
        for text in questions {
            permitted += u32::from(permits(pdp, text)?);
            calls += 1;
        }
        took = start.elapsed();
    }
    if permitted == 0 {
        return Err("nothing was permitted".into());
    }
    Ok(took.as_secs_f64() * 1e9 / f64::from(calls))
}
