//! Expressions: values with their exact text, what is undefined, what fails and when.

use durward_pdp::IndexKind;

use super::{configuration, decide, get, lines, subscription, text};

const ALGORITHM: [&str; 3] = ["PRIORITY_DENY", "ABSTAIN", "PROPAGATE"];

#[test]
fn expressions_have_the_recorded_values() {
    let Some(folder) = durward_testdata::recorded("sapl/expressions") else { return };
    let lines = lines(&folder.join("expressions.jsonl"));
    let (head, cases) = lines.split_first().unwrap();
    let subscription = subscription(get(head, "subscription"));
    let configuration = configuration(ALGORITHM, &get(head, "variables").to_json());
    let ask = |document: &str| decide(&configuration, &[document], IndexKind::Auto, &subscription);
    let mut differences = Vec::new();
    for case in cases {
        let expression = text(case, "expr");
        let kind = text(case, "kind");
        let transformed = ask(&format!("policy \"p\" permit transform {expression}"));
        let is_as_recorded = match kind {
            "value" => {
                let expected = get(case, "value").to_json();
                transformed == Ok(format!(r#"{{"decision":"PERMIT","resource":{expected}}}"#))
            }
            "undefined" => {
                let is_undefined = ask(&format!("policy \"p\" permit ({expression}) == undefined;"));
                is_undefined.as_deref() == Ok(r#"{"decision":"PERMIT"}"#)
            }
            "error" if text(case, "stratum") == "constant" => transformed.is_err(),
            "error" | "unserializable" => transformed.as_deref() == Ok(r#"{"decision":"INDETERMINATE"}"#),
            "parse-error" | "compile-error" => transformed.is_err(),
            "stream" => transformed.is_ok(),
            other => panic!("no kind of outcome: {other}"),
        };
        if !is_as_recorded {
            let message = text(case, "message");
            let expected = get(case, "value").to_json();
            differences.push(format!("{expression}: {kind} {expected} {message}, found {transformed:?}"));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {} differ:\n{}",
        differences.len(),
        cases.len(),
        differences.join("\n")
    );
}
