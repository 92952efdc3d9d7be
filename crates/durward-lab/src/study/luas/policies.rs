//! The policies and questions that all engines get.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::conference::Conference;

const NAMESPACE: &str = "urn:oasis:names:tc:xacml:3.0:core:schema:wd-17";
/// Which conference, and which questions about it.
const SEED: u64 = 2020;
/// As many as were recorded of CONTINUE with one value an attribute.
const QUESTIONS: usize = 4000;

/// Policies, and questions about them.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyPolicies {
    /// Where they come from, in words.
    pub about: String,
    /// The policy set, as text of XACML 3.0.
    pub xml: String,
    /// Questions, at least one.
    pub questions: Vec<StudyQuestion>,
}

/// One question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyQuestion {
    /// Its name.
    pub id: String,
    /// The request, as text of XACML 3.0.
    pub xml: String,
    /// The right decision; `None` where that is not known.
    #[serde(default)]
    pub decision: Option<String>,
}

/// Why policies or questions cannot be used.
#[derive(Debug)]
pub enum PoliciesError {
    /// A file or directory cannot be read.
    Read(PathBuf, io::Error),
    /// Not exactly one policy file of XACML 3.0: those found.
    Policies(PathBuf, Vec<String>),
    /// No file with questions.
    NoQuestions(PathBuf),
    /// A line of a file is no question, or no decision: file, line from 1, and why.
    Line(PathBuf, usize, String),
}

impl fmt::Display for PoliciesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoliciesError::Read(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            PoliciesError::Policies(path, found) if found.is_empty() => {
                write!(f, "{}: no `.xml` file with a policy or policy set of XACML 3.0", path.display())
            }
            PoliciesError::Policies(path, found) => {
                let found = found.join("`, `");
                write!(f, "{}: several policy files of XACML 3.0 (`{found}`); leave one", path.display())
            }
            PoliciesError::NoQuestions(path) => write!(
                f,
                "{}: no questions: a file `requests*.jsonl` with lines {{\"id\": .., \"xml\": ..}}",
                path.display()
            ),
            PoliciesError::Line(path, line, why) => write!(f, "{}: line {line}: {why}", path.display()),
        }
    }
}

impl std::error::Error for PoliciesError {}

impl StudyPolicies {
    /// What is at hand without any file: another conference of the same size as CONTINUE.
    pub fn stand_in() -> StudyPolicies {
        let conference = Conference::new(SEED);
        StudyPolicies {
            about: "a stand-in for CONTINUE: another conference with the same number of policy sets (111), policies (266) and \
                    rules (298) in the same arrangement, and 4,000 questions. CONTINUE itself is not ours to ship: `--policies DIR`"
                .to_owned(),
            xml: conference.xml(),
            questions: conference.questions(SEED, QUESTIONS),
        }
    }

    /// Those of a directory: the one `.xml` file that is a policy set (or policy) of XACML 3.0, questions in `requests*.jsonl`, a
    /// line each: `{"id": "1", "xml": "<Request .."}`, and, where there is such a file, right decisions in `decisions.jsonl`:
    /// `{"id": "1", "decision": "Permit"}`.
    ///
    /// # Errors
    /// See [`PoliciesError`].
    pub fn read(directory: &Path) -> Result<StudyPolicies, PoliciesError> {
        let files = files(directory)?;
        let (name, xml) = policy(directory, &files)?;
        let known = decisions(directory)?;
        let mut questions = Vec::new();
        for file in &files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("requests") && name.ends_with(".jsonl") {
                questions.extend(lines::<StudyQuestion>(file)?);
            }
        }
        for question in &mut questions {
            question.decision = question.decision.take().or_else(|| known.get(&question.id).cloned());
        }
        if questions.is_empty() {
            return Err(PoliciesError::NoQuestions(directory.to_owned()));
        }
        let right = questions.iter().filter(|question| question.decision.is_some()).count();
        let about = format!(
            "`{name}` ({} policy sets, {} policies, {} rules), {} questions, of {right} of which the right decision was recorded",
            count(&xml, "PolicySet"),
            count(&xml, "Policy"),
            count(&xml, "Rule"),
            questions.len()
        );
        Ok(StudyPolicies { about, xml, questions })
    }

    /// Changes with any change of policies or questions.
    pub(super) fn fingerprint(&self) -> String {
        let questions =
            self.questions.iter().flat_map(|one| [one.xml.as_str(), one.decision.as_deref().unwrap_or("?")]);
        super::fingerprint(std::iter::once(self.xml.as_str()).chain(questions))
    }
}

fn files(directory: &Path) -> Result<Vec<PathBuf>, PoliciesError> {
    let unreadable = |error| PoliciesError::Read(directory.to_owned(), error);
    let entries = fs::read_dir(directory).map_err(unreadable)?;
    let mut files =
        entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>().map_err(unreadable)?;
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<String, PoliciesError> {
    fs::read_to_string(path).map_err(|error| PoliciesError::Read(path.to_owned(), error))
}

/// Name and text of the one policy file.
fn policy(directory: &Path, files: &[PathBuf]) -> Result<(String, String), PoliciesError> {
    let mut found = Vec::new();
    for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "xml")) {
        let text = read(path)?;
        if is_policy(&text) {
            found.push((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), text));
        }
    }
    let names = || found.iter().map(|(name, _)| name.clone()).collect();
    if found.len() > 1 {
        return Err(PoliciesError::Policies(directory.to_owned(), names()));
    }
    found.pop().ok_or_else(|| PoliciesError::Policies(directory.to_owned(), Vec::new()))
}

/// Whether the root of this text is a policy or policy set of XACML 3.0.
fn is_policy(text: &str) -> bool {
    let Some(start) = ["<PolicySet", "<Policy"].iter().filter_map(|name| text.find(name)).min() else {
        return false;
    };
    let root = text.get(start..).and_then(|rest| rest.split('>').next()).unwrap_or_default();
    root.contains(NAMESPACE)
}

/// How many elements of this name there are.
fn count(xml: &str, name: &str) -> usize {
    let begin = format!("<{name}");
    let ends = |rest: &&str| rest.starts_with([' ', '>', '/', '\n', '\t', '\r']);
    xml.split(&begin).skip(1).filter(ends).count()
}

fn decisions(directory: &Path) -> Result<BTreeMap<String, String>, PoliciesError> {
    #[derive(Deserialize)]
    struct QuestionLine {
        id: String,
        decision: String,
    }
    let path = directory.join("decisions.jsonl");
    if !path.is_file() {
        return Ok(BTreeMap::new());
    }
    Ok(lines::<QuestionLine>(&path)?.into_iter().map(|line| (line.id, line.decision)).collect())
}

fn lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>, PoliciesError> {
    let text = read(path)?;
    let one = |(number, line): (usize, &str)| {
        serde_json::from_str(line)
            .map_err(|error| PoliciesError::Line(path.to_owned(), number + 1, error.to_string()))
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("durward-luas-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn put(&self, name: &str, text: &str) {
            fs::write(self.0.join(name), text).unwrap();
        }

        fn error(&self) -> String {
            StudyPolicies::read(&self.0).unwrap_err().to_string().replace(&*self.0.to_string_lossy(), "DIR")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_directory_has_one_policy_and_questions() {
        let folder = Folder::new("policies");
        assert_eq!(folder.error(), "DIR: no `.xml` file with a policy or policy set of XACML 3.0");
        let xml = format!(
            "<?xml version='1.0'?>\n<Policy xmlns=\"{NAMESPACE}\">\n<Rule />\n<Rule></Rule></Policy>"
        );
        folder.put("policy.xml", &xml);
        folder.put("old.xml", "<PolicySet xmlns=\"urn:oasis:names:tc:xacml:2.0:policy:schema:os\"/>");
        assert!(folder.error().starts_with("DIR: no questions"));
        folder.put(
            "requests-a.jsonl",
            "{\"id\":\"1\",\"xml\":\"<Request/>\",\"json\":{}}\n{\"id\":\"2\",\"xml\":\"<R/>\"}\n",
        );
        folder.put("decisions.jsonl", "{\"id\":\"2\",\"decision\":\"Deny\"}\n");
        let read = StudyPolicies::read(&folder.0).unwrap();
        assert_eq!(read.xml, xml);
        let decisions: Vec<_> = read.questions.iter().map(|one| one.decision.as_deref()).collect();
        assert_eq!(decisions, [None, Some("Deny")]);
        assert!(
            read.about.contains("(0 policy sets, 1 policies, 2 rules), 2 questions, of 1 of which"),
            "{}",
            read.about
        );
        folder.put("decisions.jsonl", "{\"id\":\"2\"}\n");
        assert!(folder.error().starts_with("DIR/decisions.jsonl: line 1: missing field `decision`"));
        folder.put("other.xml", &xml);
        assert_eq!(
            folder.error(),
            "DIR: several policy files of XACML 3.0 (`other.xml`, `policy.xml`); leave one"
        );
    }

    #[test]
    fn the_stand_in_knows_what_is_right() {
        let policies = StudyPolicies::stand_in();
        assert!(is_policy(&policies.xml));
        assert_eq!(policies.questions.iter().filter(|one| one.decision.is_some()).count(), QUESTIONS);
        let other = StudyPolicies { xml: policies.xml.clone() + " ", ..policies.clone() };
        assert_ne!(policies.fingerprint(), other.fingerprint());
    }
}
