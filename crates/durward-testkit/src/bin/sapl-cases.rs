//! `sapl-cases FILE [WORD]`: the cases of a file of recorded ones that are answered otherwise than recorded, with their
//! documents; those with WORD in their line of cause, identifier or documents only. Exit code 1 where there is any.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its terminal")]

use std::path::Path;
use std::process::ExitCode;

use durward_pdp::IndexKind;
use durward_testkit::cases::{Case, read};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (path, word) = match words.as_slice() {
        [path] => (path, ""),
        [path, word] => (path, word.as_str()),
        _ => {
            eprintln!("sapl-cases FILE [WORD]");
            return ExitCode::from(2);
        }
    };
    let cases = match read(Path::new(path)) {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    let has_word = |case: &&Case| {
        case.id.contains(word)
            || case.about.contains(word)
            || case.documents.iter().any(|text| text.contains(word))
    };
    let asked: Vec<&Case> = cases.iter().filter(has_word).collect();
    let wrong = asked.iter().filter(|case| !is_as_recorded(case)).count();
    println!("{wrong} of {} cases differ", asked.len());
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn is_as_recorded(case: &Case) -> bool {
    let differences = case.differences(IndexKind::Auto);
    for difference in &differences {
        println!("{difference}");
    }
    if !differences.is_empty() {
        println!("    {} {:?}\n", case.about, case.documents);
    }
    differences.is_empty()
}
