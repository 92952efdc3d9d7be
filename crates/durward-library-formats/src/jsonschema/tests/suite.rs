//! The official test suite of JSON Schema: `JSON_SCHEMA_TEST_SUITE` names its directory, and `cargo xtask test` fetches it.

use std::path::Path;

use super::*;

const META: &str = "the meta-schemas cannot be referred to";
const OWN_META: &str = "meta-schemas of one's own are refused, as they may take keywords away";
const DRAFT: &str = "schemas without `$schema` are of 2020-12, also when an older one refers to them";

/// Cases, by the start of their names, that do not pass, and why.
const SKIPPED: [(&str, &str); 12] = [
    ("draft6/definitions: \"validate definition against metaschema\"", META),
    ("draft6/ref: \"remote ref, containing refs itself\"", META),
    ("draft6/refRemote: \"Location-independent identifier in remote ref\"", DRAFT),
    ("draft7/definitions: \"validate definition against metaschema\"", META),
    ("draft7/ref: \"remote ref, containing refs itself\"", META),
    ("draft7/refRemote: \"Location-independent identifier in remote ref\"", DRAFT),
    ("draft2019-09/defs: \"validate definition against metaschema\"", META),
    ("draft2019-09/ref: \"remote ref, containing refs itself\"", META),
    ("draft2019-09/vocabulary: ", OWN_META),
    ("draft2020-12/defs: \"validate definition against metaschema\"", META),
    ("draft2020-12/ref: \"remote ref, containing refs itself\"", META),
    ("draft2020-12/vocabulary: ", OWN_META),
];

#[test]
fn the_official_suite_passes() {
    let Ok(root) = std::env::var("JSON_SCHEMA_TEST_SUITE") else {
        return durward_testdata::skip("JSON_SCHEMA_TEST_SUITE is not set");
    };
    let mut failed = Vec::new();
    for draft in ["draft6", "draft7", "draft2019-09", "draft2020-12"] {
        let remotes = remotes(Path::new(&root), draft);
        for entry in std::fs::read_dir(Path::new(&root).join("tests").join(draft)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                run(&path, draft, &remotes, &mut failed);
            }
        }
    }
    let passes = |start: &str| !failed.iter().any(|case| case.starts_with(start));
    let surprises: Vec<&str> =
        SKIPPED.iter().map(|(start, _)| *start).filter(|start| passes(start)).collect();
    assert_eq!(surprises, Vec::<&str>::new(), "these pass: skip them no longer");
    failed.retain(|case| !SKIPPED.iter().any(|(start, _)| case.starts_with(start)));
    failed.sort();
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

fn run(path: &Path, draft: &str, remotes: &Value, failed: &mut Vec<String>) {
    for case in values(&json(&std::fs::read_to_string(path).unwrap())) {
        let schema = field(case, "schema");
        let Value::Object(_) = schema else { continue };
        let name = format!(
            "{draft}/{}: {}",
            path.file_stem().unwrap().display(),
            field(case, "description").to_json()
        );
        let schema = match Schema::compile(&with_default(schema, "$schema", dialect(draft)), remotes) {
            Ok(schema) => schema,
            Err(fault) => {
                failed.push(format!("{name}: {fault}"));
                continue;
            }
        };
        for test in values(field(case, "tests")) {
            let data = field(test, "data");
            let answer = schema.is_compliant(data).map(Value::Boolean);
            let reported = schema.violations(data).map(|violations| Value::Boolean(violations.is_empty()));
            let expected = field(test, "valid");
            if [&answer, &reported]
                .iter()
                .any(|given| !given.as_ref().is_ok_and(|given| given.equals(expected)))
            {
                failed.push(format!("{name}: {}: {answer:?}", field(test, "description").to_json()));
            }
        }
    }
}

fn dialect(draft: &str) -> &'static str {
    match draft {
        "draft6" => "http://json-schema.org/draft-06/schema#",
        "draft7" => "http://json-schema.org/draft-07/schema#",
        "draft2019-09" => "https://json-schema.org/draft/2019-09/schema",
        _ => "https://json-schema.org/draft/2020-12/schema",
    }
}

fn values(value: &Value) -> &[Value] {
    let Value::Array(values) = value else { panic!("{value:?} is no array") };
    values
}

fn field<'v>(value: &'v Value, name: &str) -> &'v Value {
    let Value::Object(object) = value else { panic!("{value:?} is no object") };
    object.get(name).unwrap()
}

/// The object with this text under this key, unless it has one.
fn with_default(value: &Value, key: &str, text: &str) -> Value {
    let Value::Object(object) = value else { return value.clone() };
    let own = object.iter().map(|(key, value)| (key.clone(), value.clone()));
    Value::object([(key.into(), Value::Text(text.into()))].into_iter().chain(own))
}

/// The schemas that cases refer to, named as the suite's server would serve them.
fn remotes(root: &Path, draft: &str) -> Value {
    let mut found = Vec::new();
    let mut open = vec![root.join("remotes")];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                let name = path.file_name().unwrap().to_string_lossy();
                if !name.starts_with("draft") || name == draft {
                    open.push(path);
                }
                continue;
            }
            let schema = json(&std::fs::read_to_string(&path).unwrap());
            let Value::Object(object) = &schema else { continue };
            let uri = format!(
                "http://localhost:1234/{}",
                path.strip_prefix(root.join("remotes")).unwrap().display()
            );
            if !object.get("$id").is_some_and(|id| id.equals(&Value::Text(uri.as_str().into()))) {
                let others = object.iter().filter(|(key, _)| *key != "$id");
                let others = others.map(|(key, value)| (key.clone(), value.clone()));
                let named = [("$id".into(), Value::Text(uri.into()))].into_iter().chain(others);
                found.push(Value::object(named));
            }
            found.push(schema);
        }
    }
    Value::array(found)
}
