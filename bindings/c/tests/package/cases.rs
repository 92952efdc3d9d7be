//! The table of cases that every package must hold, in lines that a program in C can read.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value as Json;

fn table() -> PathBuf {
    durward_testdata::workspace().join("crates/durward-embed/tests/cases.json")
}

/// `VERB LENGTH LENGTH`, and the texts.
fn row(rows: &mut String, verb: &str, first: &str, second: &str) {
    write!(rows, "{verb} {} {}\n{first}{second}\n", first.len(), second.len()).unwrap();
}

fn list<'c>(case: &'c Json, name: &str) -> &'c [Json] {
    case[name].as_array().map_or(&[], Vec::as_slice)
}

fn policies(rows: &mut String, policies: &Json) {
    for (name, text) in policies.as_object().unwrap() {
        row(rows, "policy", name, text.as_str().unwrap());
    }
}

/// Texts stand as they are, everything else as JSON without spaces.
fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What a list of the table is for the program.
const VERBS: [(&str, &str); 5] = [
    ("decide", "decide"),
    ("requests", "request"),
    ("xml_requests", "request"),
    ("refused", "refuse"),
    ("refused_requests", "refuse_request"),
];

/// All rows, and how many questions and broken policies are among them.
pub(crate) fn rows() -> (String, u32) {
    let cases: Vec<Json> = serde_json::from_slice(&std::fs::read(table()).unwrap()).unwrap();
    let (mut rows, mut count) = (String::new(), 0);
    for case in &cases {
        if !case["policies"].is_null() {
            policies(&mut rows, &case["policies"]);
            row(&mut rows, "open", "", "");
        }
        for (name, verb) in VERBS {
            for pair in list(case, name) {
                // A subscription is JSON whatever it is; what is refused and requests stand as texts.
                let question = if name == "decide" { pair[0].to_string() } else { text(&pair[0]) };
                row(&mut rows, verb, &question, &text(&pair[1]));
                count += 1;
            }
        }
        for pair in list(case, "broken") {
            policies(&mut rows, &pair[0]);
            row(&mut rows, "broken", &text(&pair[1]), "");
            count += 1;
        }
    }
    (rows, count)
}
