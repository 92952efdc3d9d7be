//! `cargo xtask bench-packages`: what a small decision costs in each language, beside packages of others, in one run.
//!
//! The packages are built optimised and installed as their users install them; a program for each language (`xtask/bench-packages`) asks all
//! its contenders the same questions. In each round every contender of every language is measured for some milliseconds, in turns on one
//! processor, so that what else the machine does meets all of them. What a package adds is the median, over the rounds, of the difference to
//! Rust in the same round.

mod install;
mod table;

use crate::driven::Driven;
use crate::metadata::Metadata;
use install::{LANGUAGES, Language, Place};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use table::{Contender, Results};

const USAGE: &str = "`cargo xtask bench-packages [--rounds N] [--ms N] [--only LANGUAGE] [--json FILE]`: LANGUAGE is c, java, node, \
                     python or go";

/// How long each contender runs before anything counts: what is compiled while it runs is compiled then.
const WARM_UP_MS: u64 = 1_500;

/// How many questions: every fourth is permitted. Few enough to stay in the cache of the processor.
const QUESTIONS: usize = 64;

#[derive(Debug, PartialEq, Eq)]
struct Plan<'a> {
    rounds: usize,
    ms: u64,
    only: Option<&'a str>,
    json: Option<PathBuf>,
}

impl<'a> Plan<'a> {
    fn of(words: &[&'a str]) -> Result<Plan<'a>, String> {
        let mut plan = Plan { rounds: 41, ms: 30, only: None, json: None };
        for pair in words.chunks(2) {
            match pair {
                ["--rounds", number] => plan.rounds = number.parse().map_err(|_| USAGE.to_owned())?,
                ["--ms", number] => plan.ms = number.parse().map_err(|_| USAGE.to_owned())?,
                ["--only", name] => plan.only = Some(name),
                ["--json", file] => plan.json = Some(PathBuf::from(file)),
                _ => return Err(USAGE.to_owned()),
            }
        }
        let is_known = plan.only.is_none_or(|name| LANGUAGES.iter().any(|language| language.name == name));
        if plan.rounds > 0 && plan.ms > 0 && is_known { Ok(plan) } else { Err(USAGE.to_owned()) }
    }
}

/// Exit code 1: an aim was not reached.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode, String> {
    let plan = Plan::of(words)?;
    let folder = Metadata::read()?.target_directory.join("packages/bench");
    fs::create_dir_all(&folder).map_err(|error| format!("no folder `{}`: {error}", folder.display()))?;
    let place = Place { questions: folder.join("questions.tsv"), folder };
    fs::write(&place.questions, questions())
        .map_err(|error| format!("cannot write `{}`: {error}", place.questions.display()))?;
    let mut programs = programs(&plan, &place)?;
    let mut results = Results::default();
    for program in &mut programs {
        for (number, title) in program.titles.iter().enumerate() {
            program.driven.number(&format!("measure {number} {WARM_UP_MS}"))?;
            results.contenders.push(Contender::new(program.language, title));
        }
    }
    for _ in 0..plan.rounds {
        let mut contenders = results.contenders.iter_mut();
        for program in &mut programs {
            for (number, contender) in (0..program.titles.len()).zip(contenders.by_ref()) {
                let ns = program.driven.number(&format!("measure {number} {}", plan.ms))?;
                contender.rounds.push(ns);
            }
        }
    }
    println!("\n{}", results.table());
    let json = plan.json.unwrap_or_else(|| place.folder.join("results.json"));
    fs::write(&json, results.json(plan.rounds, plan.ms).to_string())
        .map_err(|error| format!("cannot write `{}`: {error}", json.display()))?;
    println!("written: {}", json.display());
    Ok(if results.are_aims_reached() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The program of a language at work.
struct Program {
    language: Language,
    titles: Vec<String>,
    driven: Driven,
}

/// Rust, and all languages that can be had here.
fn programs(plan: &Plan<'_>, place: &Place) -> Result<Vec<Program>, String> {
    let mut programs = Vec::new();
    for language in LANGUAGES {
        let is_rust = language.name == install::RUST;
        if !is_rust && plan.only.is_some_and(|only| only != language.name) {
            continue;
        }
        match started(language, place) {
            Ok(program) => programs.push(program),
            Err(why) if is_rust => return Err(why),
            Err(why) => println!("left out: {}: {why}", language.title),
        }
    }
    Ok(programs)
}

fn started(language: Language, place: &Place) -> Result<Program, String> {
    let mut command = language.install(place)?;
    let errors = place.folder.join(format!("{}.errors", language.name));
    let (driven, said) = Driven::start(&mut command, language.title, errors)?;
    let aside = driven.said_aside();
    if !aside.is_empty() {
        println!("{}: {}", language.title, aside.trim_end());
    }
    Ok(Program { language, titles: said.split('\t').map(str::to_owned).collect(), driven })
}

/// See `xtask/bench-packages/README.md`.
fn questions() -> String {
    let line = |number: usize| {
        let role = if number % 4 < 2 { "doctor" } else { "nurse" };
        let kind = if number.is_multiple_of(2) { "record" } else { "invoice" };
        let permitted = role == "doctor" && kind == "record";
        let (user, record) = (format!("user-{number}"), format!("record-{number}"));
        let subscription = serde_json::json!({
            "subject": { "id": user, "role": role },
            "action": "read",
            "resource": { "id": record, "type": kind },
        });
        format!("{permitted}\t{user}\t{role}\tread\t{record}\t{kind}\t{subscription}\n")
    };
    (0..QUESTIONS).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_read_from_words() {
        let plan = Plan::of(&["--only", "node", "--rounds", "3"]).unwrap();
        assert_eq!(plan, Plan { rounds: 3, ms: 30, only: Some("node"), json: None });
        for wrong in [["--rounds", "0"].as_slice(), &["--ms"], &["--only", "cobol"]] {
            assert!(Plan::of(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn some_questions_are_permitted_and_most_are_not() {
        let text = questions();
        assert_eq!(text.lines().count(), QUESTIONS);
        assert_eq!(text.lines().filter(|line| line.starts_with("true\t")).count(), QUESTIONS / 4);
        assert!(text.lines().all(|line| line.split('\t').count() == 7));
    }
}
