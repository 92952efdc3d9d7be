//! All tests against all documents.

use std::collections::BTreeSet;
use std::time::Duration;

use durward_pdp::sapl::syntax::sapltest::parse_tests;
use durward_pdp::sapl::syntax::sapltest::tree::{Requirement, Scenario};
use durward_pdp::sapl::syntax::{DOCUMENT_BYTES_MAX, LineIndex, Severity, Span};

use crate::coverage::PolicyCoverage;
use crate::documents::{ScenarioFiles, TestDocuments};
use crate::error::TestError;
use crate::given::ScenarioSetup;
use crate::observe::LoweredCache;
use crate::play::{ExpectationFailure, play};

/// One file of tests, not yet read.
#[derive(Clone, Debug)]
pub struct TestText {
    /// How reports call it: usually its path.
    pub path: String,
    /// Its bytes.
    pub text: Vec<u8>,
}

/// The results of all tests.
#[derive(Clone, Debug, Default)]
pub struct TestReport {
    /// The files, in order.
    pub files: Vec<FileReport>,
    /// What of the documents was covered.
    pub coverage: PolicyCoverage,
}

/// The results of one file.
#[derive(Clone, Debug)]
pub struct FileReport {
    /// How it is called.
    pub path: String,
    /// What is wrong with the text, in lines for a terminal; then nothing of it was played.
    pub problems: Option<String>,
    /// Its requirements, in order.
    pub requirements: Vec<RequirementReport>,
}

/// The results of one requirement.
#[derive(Clone, Debug)]
pub struct RequirementReport {
    /// Its name.
    pub name: String,
    /// Its scenarios, in order.
    pub scenarios: Vec<ScenarioReport>,
}

/// The result of one scenario.
#[derive(Clone, Debug)]
pub struct ScenarioReport {
    /// Its name.
    pub name: String,
    /// What came of it.
    pub outcome: ScenarioOutcome,
    /// How long it took; nothing unless [`TestSuite::timed_by`] was given a clock.
    pub time: Duration,
}

/// The outcome of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScenarioOutcome {
    /// All came as expected.
    Passed,
    /// Something else came.
    Failed(TestFinding),
    /// It could not be played.
    Error(TestFinding),
}

/// Something to say about a place of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFinding {
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters, from 1.
    pub column: u32,
    /// What there is to say, in lines.
    pub message: String,
}

/// How many scenarios there were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ScenarioCount {
    /// As expected.
    pub passed: usize,
    /// Otherwise.
    pub failed: usize,
    /// Not played.
    pub errors: usize,
    /// Files that could not be read.
    pub unreadable: usize,
}

impl TestReport {
    /// How many scenarios passed, and how many did not.
    pub fn count(&self) -> ScenarioCount {
        let mut count = ScenarioCount::default();
        for file in &self.files {
            count.unreadable += usize::from(file.problems.is_some());
            for scenario in file.requirements.iter().flat_map(|requirement| &requirement.scenarios) {
                match scenario.outcome {
                    ScenarioOutcome::Passed => count.passed += 1,
                    ScenarioOutcome::Failed(_) => count.failed += 1,
                    ScenarioOutcome::Error(_) => count.errors += 1,
                }
            }
        }
        count
    }
}

/// Documents, and where scenarios find what they name by its path.
pub struct TestSuite<'f> {
    documents: TestDocuments,
    files: &'f dyn ScenarioFiles,
    coverage: PolicyCoverage,
    stages: LoweredCache,
    /// Says how much time has passed since some moment.
    clock: Option<&'f dyn Fn() -> Duration>,
}

impl<'f> TestSuite<'f> {
    /// Tests of these documents.
    pub fn new(documents: TestDocuments, files: &'f dyn ScenarioFiles) -> TestSuite<'f> {
        let mut coverage = PolicyCoverage::default();
        coverage.take_up(&documents);
        TestSuite { documents, files, coverage, stages: LoweredCache::default(), clock: None }
    }

    /// Measures scenarios by this clock, which says how much time has passed since whatever moment. No decision depends on it.
    pub fn timed_by(self, clock: &'f dyn Fn() -> Duration) -> TestSuite<'f> {
        TestSuite { clock: Some(clock), ..self }
    }

    /// Plays all scenarios of all files. Never fails: what cannot be read or played is in the report.
    pub fn run(mut self, tests: &[TestText]) -> TestReport {
        let files: Vec<FileReport> = tests.iter().map(|test| self.file(test)).collect();
        self.coverage.documents.sort_by(|one, other| one.path.cmp(&other.path));
        TestReport { files, coverage: self.coverage }
    }

    fn file(&mut self, test: &TestText) -> FileReport {
        let mut report = FileReport { path: test.path.clone(), problems: None, requirements: Vec::new() };
        let text = match text_of(test) {
            Ok(text) => text,
            Err(problem) => {
                report.problems = Some(problem);
                return report;
            }
        };
        let parsed = parse_tests(text);
        let lines = LineIndex::new(text);
        let errors = parsed.diagnostics.iter().filter(|problem| problem.severity == Severity::Error);
        let problems: String = errors.map(|problem| problem.render(&test.path, text, &lines)).collect();
        if !problems.is_empty() {
            report.problems = Some(problems);
            return report;
        }
        for requirement in &parsed.tree.requirements {
            let scenarios = requirement.scenarios.iter();
            let scenarios = scenarios.map(|scenario| self.scenario(text, &lines, requirement, scenario));
            let (name, scenarios) = (requirement.name.text.to_string(), scenarios.collect());
            report.requirements.push(RequirementReport { name, scenarios });
        }
        report
    }

    fn scenario(
        &mut self,
        text: &str,
        lines: &LineIndex,
        requirement: &Requirement,
        scenario: &Scenario,
    ) -> ScenarioReport {
        let finding = |span: Span, message: String| {
            let place = lines.place(text, span.start);
            TestFinding { line: place.line, column: place.column, message }
        };
        let begun = self.passed();
        let outcome = match self.played(text, requirement, scenario) {
            Ok(None) => ScenarioOutcome::Passed,
            Ok(Some(ExpectationFailure { span, message })) => ScenarioOutcome::Failed(finding(span, message)),
            Err(TestError { span, message }) => ScenarioOutcome::Error(finding(span, message)),
        };
        let time = self.passed().saturating_sub(begun);
        ScenarioReport { name: scenario.name.text.to_string(), outcome, time }
    }

    fn passed(&self) -> Duration {
        self.clock.map_or(Duration::ZERO, |clock| clock())
    }

    fn played(
        &mut self,
        text: &str,
        requirement: &Requirement,
        scenario: &Scenario,
    ) -> Result<Option<ExpectationFailure>, TestError> {
        let mut setting = ScenarioSetup::of(requirement, scenario, &mut self.documents, self.files)?;
        // A document named twice is in force once.
        let mut seen = BTreeSet::new();
        setting.documents.retain(|number| seen.insert(*number));
        self.coverage.take_up(&self.documents);
        play(text, scenario, setting, &self.documents, &mut self.stages, &mut self.coverage)
    }
}

fn text_of(test: &TestText) -> Result<&str, String> {
    if test.text.len() > DOCUMENT_BYTES_MAX {
        return Err(format!("{}: the text has more than {DOCUMENT_BYTES_MAX} bytes\n", test.path));
    }
    std::str::from_utf8(&test.text).map_err(|error| {
        let before = test.text.get(..error.valid_up_to()).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("{}:{line}: the text is not UTF-8\n", test.path)
    })
}
