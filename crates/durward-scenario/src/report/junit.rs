//! Reports in JUnit's form, for servers that build and test (Jenkins, GitLab, GitHub and others). The elements and attributes are
//! those of the schema of Jenkins: <https://github.com/jenkinsci/xunit-plugin>, `junit-10.xsd`.

use std::fmt::Write;
use std::time::Duration;

use super::escaped;
use crate::suite::{FileReport, RequirementReport, ScenarioOutcome, ScenarioReport, TestFinding, TestReport};

/// What was asked of one file, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JunitSuite {
    /// The file.
    pub name: String,
    /// Each question to it, with its answer.
    pub cases: Vec<JunitCase>,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JunitCase {
    /// What it is called.
    pub name: String,
    /// What it belongs to: servers list tests by this.
    pub class_name: String,
    /// What came of it.
    pub outcome: JunitOutcome,
    /// How long it took.
    pub time: Duration,
}

/// What came of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JunitOutcome {
    /// All is as it should be.
    Passed,
    /// So it is; and there is something to know all the same.
    Noted(String),
    /// It is not.
    Failed(JunitProblem),
    /// That cannot be told.
    Error(JunitProblem),
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JunitProblem {
    /// What sort of problem it is, for programs.
    pub kind: String,
    /// What is wrong, in one line.
    pub message: String,
    /// The whole of it, with the place, in lines.
    pub text: String,
}

/// The report as a document: the suites of what `name` did in this time.
///
/// ```
/// use std::time::Duration;
/// use durward_scenario::report::{JunitCase, JunitOutcome, JunitSuite, junit};
///
/// let (name, class_name) = ("a doctor reads".to_owned(), "records".to_owned());
/// let case = JunitCase { name, class_name, outcome: JunitOutcome::Passed, time: Duration::from_millis(2) };
/// let suite = JunitSuite { name: "records.sapltest".to_owned(), cases: vec![case] };
/// let text = junit("durward test", &[suite], Duration::from_millis(3));
/// assert!(text.contains("<testcase name=\"a doctor reads\" classname=\"records\" time=\"0.002\"/>"));
/// ```
pub fn junit(name: &str, suites: &[JunitSuite], time: Duration) -> String {
    let cases: Vec<&JunitCase> = suites.iter().flat_map(|suite| &suite.cases).collect();
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    // Writing to a `String` cannot fail.
    let _ = writeln!(
        out,
        "<testsuites name=\"{}\" {} time=\"{}\">",
        value(name),
        JunitCount::of(&cases),
        seconds(time)
    );
    for suite in suites {
        self::suite(&mut out, suite);
    }
    out + "</testsuites>\n"
}

/// The results of tests as suites: one for each file.
pub fn junit_suites(report: &TestReport) -> Vec<JunitSuite> {
    report.files.iter().map(of_file).collect()
}

/// How many tests there are, and how many are not as they should be.
struct JunitCount {
    tests: usize,
    failures: usize,
    errors: usize,
}

impl JunitCount {
    fn of(cases: &[&JunitCase]) -> JunitCount {
        let count =
            |is_one: fn(&JunitOutcome) -> bool| cases.iter().filter(|case| is_one(&case.outcome)).count();
        JunitCount {
            tests: cases.len(),
            failures: count(|outcome| matches!(outcome, JunitOutcome::Failed(_))),
            errors: count(|outcome| matches!(outcome, JunitOutcome::Error(_))),
        }
    }
}

/// As attributes.
impl std::fmt::Display for JunitCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let JunitCount { tests, failures, errors } = self;
        write!(f, "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"")
    }
}

fn suite(out: &mut String, suite: &JunitSuite) {
    let cases: Vec<&JunitCase> = suite.cases.iter().collect();
    let time: Duration = cases.iter().map(|case| case.time).sum();
    let _ = writeln!(
        out,
        "  <testsuite name=\"{}\" {} skipped=\"0\" time=\"{}\">",
        value(&suite.name),
        JunitCount::of(&cases),
        seconds(time)
    );
    for case in cases {
        self::case(out, case);
    }
    out.push_str("  </testsuite>\n");
}

fn case(out: &mut String, case: &JunitCase) {
    let _ = write!(
        out,
        "    <testcase name=\"{}\" classname=\"{}\" time=\"{}\"",
        value(&case.name),
        value(&case.class_name),
        seconds(case.time)
    );
    match &case.outcome {
        JunitOutcome::Passed => return out.push_str("/>\n"),
        JunitOutcome::Noted(text) => {
            let _ = writeln!(out, ">\n      <system-out>{}</system-out>", escaped(text));
        }
        JunitOutcome::Failed(problem) => self::problem(out, "failure", problem),
        JunitOutcome::Error(problem) => self::problem(out, "error", problem),
    }
    out.push_str("    </testcase>\n");
}

fn problem(out: &mut String, element: &str, problem: &JunitProblem) {
    let JunitProblem { kind, message, text } = problem;
    let _ = writeln!(
        out,
        ">\n      <{element} type=\"{}\" message=\"{}\">{}</{element}>",
        value(kind),
        value(message),
        escaped(text)
    );
}

/// A text as the value of an attribute, in which the end of a line would be read as a blank.
fn value(text: &str) -> String {
    escaped(text).replace('\n', "&#10;").replace('\t', "&#9;")
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

fn of_file(file: &FileReport) -> JunitSuite {
    let mut cases = Vec::new();
    if let Some(problems) = &file.problems {
        let message = problems.lines().next().unwrap_or_default().to_owned();
        cases.push(JunitCase {
            name: "the file can be read".to_owned(),
            class_name: file.path.clone(),
            outcome: JunitOutcome::Error(JunitProblem {
                kind: "unreadable".to_owned(),
                message,
                text: problems.clone(),
            }),
            time: Duration::ZERO,
        });
    }
    for requirement in &file.requirements {
        cases.extend(requirement.scenarios.iter().map(|scenario| of_scenario(file, requirement, scenario)));
    }
    JunitSuite { name: file.path.clone(), cases }
}

fn of_scenario(file: &FileReport, requirement: &RequirementReport, scenario: &ScenarioReport) -> JunitCase {
    let problem = |kind: &str, finding: &TestFinding| JunitProblem {
        kind: kind.to_owned(),
        message: finding.message.lines().collect::<Vec<_>>().join("; "),
        text: format!("{}:{}:{}\n{}", file.path, finding.line, finding.column, finding.message),
    };
    JunitCase {
        name: scenario.name.clone(),
        class_name: requirement.name.clone(),
        outcome: match &scenario.outcome {
            ScenarioOutcome::Passed => JunitOutcome::Passed,
            ScenarioOutcome::Failed(finding) => JunitOutcome::Failed(problem("unexpected", finding)),
            ScenarioOutcome::Error(finding) => JunitOutcome::Error(problem("not-played", finding)),
        },
        time: scenario.time,
    }
}
