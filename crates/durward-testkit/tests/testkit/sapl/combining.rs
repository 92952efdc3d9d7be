//! Every mode, default and handling of errors over tuples of policies, written as policies.

use std::collections::HashMap;

use durward_pdp::IndexKind;

use super::{configuration, decide, get, lines, subscription, text};

/// The body of a policy of this kind.
fn policy(kind: &str, number: usize) -> String {
    let body = match kind {
        "P" => format!("permit true; obligation \"o{number}\""),
        "D" => format!("deny true; obligation \"o{number}\""),
        "S" => format!("suspend true; obligation \"o{number}\" advice \"a{number}\""),
        "N" => "permit subject == 1;".to_owned(),
        "EP" => "permit (1/subject.zero) > 0;".to_owned(),
        "ED" => "deny 1/0 > 0;".to_owned(),
        "ES" => "suspend (1/subject.zero) > 0;".to_owned(),
        "PT1" => "permit transform 1".to_owned(),
        "PT2" => "permit transform 2".to_owned(),
        "DT1" => "deny subject == {\"zero\":0}; transform 1".to_owned(),
        "POE" => "permit obligation 1/subject.zero".to_owned(),
        other => panic!("no kind of policy: {other}"),
    };
    format!("policy \"p{number}\" {body}\n")
}

fn words(mode: &str) -> String {
    mode.to_lowercase().replace('_', " ")
}

#[test]
fn policies_are_combined_as_recorded() {
    let Some(folder) = durward_testdata::recorded("sapl/combining") else { return };
    let lines = lines(&folder.join("combining.jsonl"));
    let (head, rows) = lines.split_first().unwrap();
    let subscription = subscription(get(head, "subscription"));
    let mut differences = Vec::new();
    let mut found_before: HashMap<String, Result<String, String>> = HashMap::new();
    for row in rows {
        let [mode, default, errors] = ["mode", "default", "errors"].map(|key| text(row, key));
        let kinds = get(row, "policies").as_array().unwrap();
        let policies: Vec<String> =
            kinds.iter().enumerate().map(|(at, kind)| policy(kind.as_text().unwrap(), at)).collect();
        let separate: Vec<&str> = policies.iter().map(String::as_str).collect();
        let set = format!(
            "set \"s\" {} or {} errors {}\n{}",
            words(mode),
            words(default),
            words(errors),
            policies.concat()
        );
        let above = configuration(["PRIORITY_DENY", "ABSTAIN", "PROPAGATE"], "{}");
        let levels = [
            ("pdp", configuration([mode, default, errors], "{}"), separate),
            ("set", above, vec![set.as_str()]),
        ];
        for (level, configuration, documents) in levels {
            let expected = get(row, level);
            if matches!(expected, durward_pdp::Value::Null) {
                continue;
            }
            let key = format!("{configuration}{documents:?}");
            let found = found_before
                .entry(key)
                .or_insert_with(|| decide(&configuration, &documents, IndexKind::Auto, &subscription));
            if *found != Ok(expected.to_json()) {
                differences.push(format!("{level} {}: found {found:?}", row.to_json()));
            }
        }
    }
    differences.truncate(20);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// An error in one condition is no constant while another condition can make the policy not apply: it votes after the sets
/// that apply and abstain, which would otherwise take it back. Answers of the engine, 4.2.
#[test]
fn an_error_beside_a_condition_depends_on_what_is_asked() {
    let policy = "policy \"1\" suspend\n  (1 / 0) == resource.list;\n  resource.list == \"v2\";\n";
    let turned = "policy \"1\" suspend\n  resource.list == \"v2\";\n  (1 / 0) == resource.list;\n";
    let alone = "policy \"1\" suspend\n  (1 / 0) == resource.list;\n";
    let failing =
        "set \"s3\" unanimous or suspend errors abstain\npolicy \"3-2\" permit\nadvice resource.list / 0\n";
    let contested = "set \"s3\" unanimous or suspend errors abstain\npolicy \"3-0\" deny resource.list == \"v2\";\n\
                     policy \"3-2\" permit\n";
    let asked = br#"{"subject": {"_": 0}, "action": true, "resource": {"_": 0, "list": "v2"}}"#;
    let asked = durward_pdp::sapl::Subscription::from_json(asked).unwrap();
    let deny = ["PRIORITY_DENY", "DENY", "PROPAGATE"];
    let permit = ["PRIORITY_PERMIT", "SUSPEND", "PROPAGATE"];
    let abstain = ["PRIORITY_PERMIT", "SUSPEND", "ABSTAIN"];
    for (documents, expected) in [
        ([policy, failing], ["INDETERMINATE", "INDETERMINATE", "NOT_APPLICABLE"]),
        ([policy, contested], ["INDETERMINATE", "INDETERMINATE", "NOT_APPLICABLE"]),
        ([turned, failing], ["INDETERMINATE", "INDETERMINATE", "NOT_APPLICABLE"]),
        ([alone, failing], ["DENY", "SUSPEND", "SUSPEND"]),
    ] {
        for (algorithm, expected) in [deny, permit, abstain].into_iter().zip(expected) {
            for index in IndexKind::ALL {
                let found = decide(&configuration(algorithm, "{}"), &documents, index, &asked);
                let expected = format!("{{\"decision\":\"{expected}\"}}");
                assert_eq!(found, Ok(expected), "{algorithm:?}, {index}: {documents:?}");
            }
        }
    }
}
