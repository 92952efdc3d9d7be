//! Scenarios from outside: texts in, what came of them out.

#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test may fail so")]

mod coverage;
mod decisions;
mod documents;
mod hostile;
mod junit;
#[path = "../support/junit.rs"]
mod junit_reader;
mod matchers;
mod mocks;
mod pages;
mod streams;

use std::collections::BTreeMap;

use durward_scenario::{
    FolderContents, PlayError, ScenarioFiles, ScenarioOutcome, TestDocuments, TestFinding, TestReport,
    TestSuite, TestText,
};

/// Files by path.
#[derive(Default)]
struct Shelf(BTreeMap<&'static str, &'static str>);

impl ScenarioFiles for Shelf {
    fn folder(&self, path: &str) -> Result<FolderContents, PlayError> {
        let mut folder = FolderContents::default();
        for (file, text) in
            self.0.iter().filter(|(file, _)| file.rsplit_once('/').map(|it| it.0) == Some(path))
        {
            let entry = ((*file).to_owned(), text.as_bytes().to_vec());
            if file.ends_with("pdp.json") {
                folder.configuration = Some(entry)
            } else {
                folder.documents.push(entry)
            }
        }
        let missing = || PlayError::new(format!("no folder `{path}`"));
        if folder.documents.is_empty() { Err(missing()) } else { Ok(folder) }
    }

    fn configuration(&self, path: &str) -> Result<(String, Vec<u8>), PlayError> {
        let text = self.0.get(path).ok_or_else(|| PlayError::new(format!("no file `{path}`")))?;
        Ok((path.to_owned(), text.as_bytes().to_vec()))
    }
}

/// Documents by name, each `name.sapl`.
fn documents(texts: &[(&str, &str)]) -> TestDocuments {
    let mut documents = TestDocuments::default();
    for (name, text) in texts {
        documents.add(&format!("{name}.sapl"), name, text.as_bytes());
    }
    documents
}

/// Plays one file of tests.
fn run(texts: &[(&str, &str)], test: &str) -> TestReport {
    run_with(texts, &Shelf::default(), test)
}

fn run_with(texts: &[(&str, &str)], shelf: &Shelf, test: &str) -> TestReport {
    let tests = [TestText { path: "t.sapltest".into(), text: test.as_bytes().to_vec() }];
    let report = TestSuite::new(documents(texts), shelf).run(&tests);
    assert_eq!(report.files[0].problems, None, "{test}");
    report
}

/// What came of the only scenario of a report.
fn only(report: &TestReport) -> &ScenarioOutcome {
    let [requirement] = report.files[0].requirements.as_slice() else { panic!("{report:?}") };
    let [scenario] = requirement.scenarios.as_slice() else { panic!("{report:?}") };
    &scenario.outcome
}

/// Plays a scenario about the document `d`, from what stands between its name and its `;`. What is given to it stands in
/// the requirement.
fn scenario(document: &str, given: &str, parts: &str) -> ScenarioOutcome {
    let given: String = given.lines().map(|line| format!("\n{line}")).collect();
    let test = format!("requirement \"r\" {{ given - document \"d\" {given} scenario \"s\" {parts}; }}");
    only(&run(&[("d", document)], &test)).clone()
}

#[track_caller]
fn passes(document: &str, given: &str, parts: &str) {
    assert_eq!(scenario(document, given, parts), ScenarioOutcome::Passed);
}

/// Asserts that a scenario fails, and gives what it says.
#[track_caller]
fn fails(document: &str, given: &str, parts: &str) -> String {
    match scenario(document, given, parts) {
        ScenarioOutcome::Failed(TestFinding { message, .. }) => message,
        other @ (ScenarioOutcome::Passed | ScenarioOutcome::Error(_)) => panic!("{other:?}"),
    }
}

/// Asserts that a scenario makes no sense, and gives what it says.
#[track_caller]
fn errs(document: &str, given: &str, parts: &str) -> String {
    match scenario(document, given, parts) {
        ScenarioOutcome::Error(TestFinding { message, .. }) => message,
        other @ (ScenarioOutcome::Passed | ScenarioOutcome::Failed(_)) => panic!("{other:?}"),
    }
}
