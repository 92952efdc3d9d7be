//! What was recorded, told as tests of policies: the runner of tests sees the same decisions as the real engine.

use std::fs;
use std::path::Path;

use durward_pdp::Value;
use durward_scenario::{
    FolderContents, NoFiles, PlayError, ScenarioFiles, ScenarioOutcome, TestDocuments, TestReport, TestSuite,
    TestText,
};

use super::{get, lines, text};

/// The one folder that tests can name.
struct Only<'p>(&'p Path);

impl ScenarioFiles for Only<'_> {
    fn folder(&self, _: &str) -> Result<FolderContents, PlayError> {
        let mut folder = FolderContents::default();
        for entry in fs::read_dir(self.0).unwrap() {
            let path = entry.unwrap().path();
            let file = || (path.display().to_string(), fs::read(&path).unwrap());
            if path.extension().is_some_and(|extension| extension == "sapl") {
                folder.documents.push(file());
            } else if path.file_name().is_some_and(|name| name == "pdp.json") {
                folder.configuration = Some(file());
            }
        }
        Ok(folder)
    }

    fn configuration(&self, _: &str) -> Result<(String, Vec<u8>), PlayError> {
        Err(PlayError::new("none is named"))
    }
}

/// `when ... expect ...` of a question and its decision; `None` for an environment that tests cannot have.
fn asked(subscription: &Value, decision: &Value) -> Option<String> {
    let json = |key: &str| get(subscription, key).to_json();
    let environment = get(subscription, "environment");
    let environment = match environment.as_object() {
        Some(_) => format!(" in {}", environment.to_json()),
        None if environment.is_undefined() => String::new(),
        None => return None,
    };
    let word = text(decision, "decision").to_lowercase().replace('_', "-");
    let list = |key: &str| {
        let values = get(decision, key).as_array().cloned().unwrap_or_default();
        values.iter().map(Value::to_json).collect::<Vec<_>>().join(", ")
    };
    let mut with = String::new();
    if !list("obligations").is_empty() {
        with.push_str(&format!(" with obligations {}", list("obligations")));
    }
    if !get(decision, "resource").is_undefined() {
        with.push_str(&format!(" with resource {}", get(decision, "resource").to_json()));
    }
    if !list("advice").is_empty() {
        with.push_str(&format!(" with advice {}", list("advice")));
    }
    let (subject, action, resource) = (json("subject"), json("action"), json("resource"));
    Some(format!("when {subject} attempts {action} on {resource}{environment} expect {word}{with}"))
}

fn play(documents: TestDocuments, files: &dyn ScenarioFiles, test: &str) -> TestReport {
    let report = TestSuite::new(documents, files).run(&[TestText { path: "t".into(), text: test.into() }]);
    assert_eq!(report.files[0].problems, None, "{test}");
    report
}

fn outcomes(report: &TestReport) -> impl Iterator<Item = (&str, &ScenarioOutcome)> {
    let scenarios = report.files.iter().flat_map(|file| &file.requirements).flat_map(|one| &one.scenarios);
    scenarios.map(|scenario| (scenario.name.as_str(), &scenario.outcome))
}

/// Every so many questions of a folder.
fn check(scenario: &str, step: usize) {
    let Some(folder) = durward_testdata::recorded(&format!("sapl/{scenario}")) else { return };
    let cases = ["decisions.jsonl", "decisions-extra.jsonl"].map(|file| lines(&folder.join(file))).concat();
    let mut test = "requirement \"r\" { given - configuration \"it\"\n".to_owned();
    for (at, case) in cases.iter().enumerate().step_by(step) {
        if let Some(asked) = asked(get(case, "subscription"), get(case, "decision")) {
            test.push_str(&format!("scenario \"{at}\" {asked};\n"));
        }
    }
    let report = play(TestDocuments::default(), &Only(&folder), &(test + "}"));
    for (name, outcome) in outcomes(&report) {
        assert_eq!(outcome, &ScenarioOutcome::Passed, "{scenario}: {name}");
    }
    assert!(report.count().passed >= cases.len() / step / 2);
    assert!(report.coverage.policies().covered > 0, "{scenario}: {}", report.coverage.policies());
}

#[test]
fn recorded_scenarios_pass_as_tests() {
    for (scenario, step) in [
        ("baseline", 1),
        ("rbac", 1),
        ("hospital-5", 10),
        ("hospital-100", 50),
        ("github-10", 25),
        ("tinytodo-10", 25),
    ] {
        check(scenario, step);
    }
}

#[test]
fn recorded_documents_pass_as_tests() {
    let Some(folder) = durward_testdata::recorded("sapl/documents") else { return };
    for case in lines(&folder.join("documents.jsonl")) {
        let list = |key: &str| -> Vec<&str> {
            get(&case, key).as_array().unwrap().iter().filter_map(Value::as_text).collect()
        };
        let [mode, default, errors] = list("alg")[..] else { panic!("{case:?}") };
        let mut documents = TestDocuments::default();
        let mut names = Vec::new();
        for (number, text) in list("docs").iter().enumerate() {
            documents.add(&format!("{number}.sapl"), &number.to_string(), text.as_bytes());
            names.push(format!("\"{number}\""));
        }
        let expected = get(&case, "decision");
        let is_refused = !get(expected, "compileError").is_undefined();
        let any = Value::object([("decision", Value::text("DENY"))]);
        let asked = asked(get(&case, "sub"), if is_refused { &any } else { expected });
        let Some(asked) = asked else { continue };
        let words = |text: &str| text.to_lowercase().replace('_', " ");
        let test = format!(
            "requirement \"r\" {{ given - documents {} - {} or {} errors {}\n- variables {}\nscenario \"s\" {asked}; }}",
            names.join(", "),
            words(mode),
            words(default),
            words(errors),
            super::documents::VARIABLES,
        );
        let report = play(documents, &NoFiles, &test);
        for (_, outcome) in outcomes(&report) {
            match outcome {
                ScenarioOutcome::Passed => assert!(!is_refused, "{test}"),
                ScenarioOutcome::Error(_) => assert!(is_refused, "{test}: {outcome:?}"),
                ScenarioOutcome::Failed(_) => panic!("{test}: {outcome:?}"),
            }
        }
    }
}
