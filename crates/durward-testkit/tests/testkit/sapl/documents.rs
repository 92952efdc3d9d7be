//! Whole documents: schemas, targets, variables, imports, and what is refused.

use durward_pdp::IndexKind;

use super::{configuration, decide, get, lines, subscription};

pub(super) const VARIABLES: &str = r#"{"limit":10,"perms":{"doctor":["read","write"],"nurse":["read"]}}"#;

#[test]
fn documents_decide_or_are_refused_as_recorded() {
    let Some(folder) = durward_testdata::recorded("sapl/documents") else { return };
    let mut differences = Vec::new();
    for case in lines(&folder.join("documents.jsonl")) {
        let list = |key: &str| -> Vec<String> {
            let texts = get(&case, key).as_array().unwrap();
            texts.iter().map(|text| text.as_text().unwrap().to_owned()).collect()
        };
        let (documents, algorithm) = (list("docs"), list("alg"));
        let [mode, default, errors] = algorithm.as_slice() else { panic!("{algorithm:?}") };
        let configuration = configuration([mode, default, errors], VARIABLES);
        let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
        let expected = get(&case, "decision");
        let is_refused = !get(expected, "compileError").is_undefined();
        for index in IndexKind::ALL {
            let found = decide(&configuration, &documents, index, &subscription(get(&case, "sub")));
            let is_as_recorded = match &found {
                Ok(found) => !is_refused && *found == expected.to_json(),
                Err(_) => is_refused,
            };
            if !is_as_recorded {
                let expected = expected.to_json();
                differences.push(format!("{documents:?} with {index}: expected {expected}, found {found:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
