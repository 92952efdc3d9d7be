//! Conformance cases: one folder each, with policies, a request and the response it must get.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use durward_pdp::ir::Fault;
use durward_pdp::xacml::multiple::ResourceHierarchy;
use durward_pdp::xacml::policy::{RootKind, root_kind};
use durward_pdp::xacml::response::differences;
use durward_pdp::{
    Algorithm, AttributeName, AttributeSource, IndexKind, Pdp, PdpBuilder, PolicyError, PolicyText, Request,
    Response, SourceError, Value,
};

/// One case.
#[derive(Clone, Debug)]
pub struct ConformanceCase {
    /// The suite's folder name and the case's: `att-ct-0.4-deprecated/IIC102d`.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
}

/// The cases of a suite, in order.
///
/// # Errors
/// The folder cannot be read.
pub fn cases(suite: &Path) -> std::io::Result<Vec<ConformanceCase>> {
    let suite_name = suite.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut cases = Vec::new();
    for entry in fs::read_dir(suite)? {
        let folder = entry?.path();
        if folder.is_dir() {
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            cases.push(ConformanceCase { name: format!("{suite_name}/{name}"), folder });
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

/// Why a case fails, in words: how the answer differs from the expected one, or what of the case cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConformanceFailure(String);

impl<T: Into<String>> From<T> for ConformanceFailure {
    fn from(problem: T) -> ConformanceFailure {
        ConformanceFailure(problem.into())
    }
}

impl fmt::Display for ConformanceFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConformanceFailure {}

/// Runs one case with one index.
///
/// # Errors
/// How what happened differs from what the case asks for.
pub fn run(case: &ConformanceCase, index: IndexKind) -> Result<(), ConformanceFailure> {
    let file = |name: &str| fs::read(case.folder.join(name)).ok();
    let request = file("Request.xml").or_else(|| file("Request.xml.ignore")).ok_or("no request")?;
    // A policy that can never be evaluated may be refused (7.19.2), or be Indeterminate when it is evaluated.
    let may_be_refused = file("Request.xml.ignore").is_some() && file("Response.xml.ignore").is_some();
    if may_be_refused && build(case, index).is_err() {
        return Ok(());
    }
    let expected = file("Response.xml").or_else(|| file("Response.xml.ignore")).ok_or("no response")?;
    let expected = Response::from_xml(&expected)
        .map_err(|error| format!("cannot read the expected response: {error}"))?;
    let found = match (build(case, index), Request::from_xml(&request)) {
        (Ok(pdp), Ok(mut request)) => {
            let response = pdp.decide(&request);
            pdp.encode(&mut request);
            if pdp.decide(&request).to_json() != response.to_json() {
                return Err("answered otherwise once encoded".into());
            }
            response
        }
        (Ok(_), Err(error)) => Response::indeterminate(error.status()),
        (Err(errors), _) => return Err(format!("the policy was refused: {}", errors.join("\n  ")).into()),
    };
    let differences = differences(&expected, &found);
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n  ").into()) }
}

fn build(case: &ConformanceCase, index: IndexKind) -> Result<Pdp, Vec<String>> {
    let builder = builder(case).map_err(|error| vec![error.to_string()])?;
    builder.index(index).build().map_err(|errors| errors.iter().map(PolicyError::to_string).collect())
}

/// A decision point for a case.
///
/// # Errors
/// Its policies cannot be read.
pub(crate) fn builder(case: &ConformanceCase) -> std::io::Result<PdpBuilder> {
    let texts = policies(&case.folder)?;
    // Cases with `Policy1.xml` and `Policy2.xml` only are about several policies to start from.
    let root = texts.iter().find(|text| text.name.ends_with("/Policy.xml")).and_then(root_id);
    let mut builder = Pdp::builder()
        .policies(texts.clone())
        .clock(|| std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000))
        .hierarchy(ExampleHierarchy);
    builder = match root {
        Some(root) => builder.root(&root),
        // IID029 and IID030: "an error if more than one initial policy is applicable".
        None => builder.combining(Algorithm::OnlyOneApplicable),
    };
    if case.name.ends_with("/IIA002") {
        builder = builder.source(Physicians);
    }
    Ok(builder)
}

/// All policies of a case's folder and of `Policies` in it.
fn policies(folder: &Path) -> std::io::Result<Vec<PolicyText>> {
    let mut texts = Vec::new();
    for directory in [folder.to_path_buf(), folder.join("Policies")] {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "xml") {
                let text = fs::read(&path)?;
                if matches!(root_kind(&text), RootKind::Policy | RootKind::PolicySet) {
                    texts.push(PolicyText { name: path.display().to_string(), text });
                }
            }
        }
    }
    texts.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(texts)
}

/// The identifier of a policy document.
fn root_id(text: &PolicyText) -> Option<String> {
    let document =
        durward_pdp::xacml::policy::read_policy(&text.name, &text.text, &durward_pdp::Limits::default())
            .ok()?;
    Some(document.root.id().to_string())
}

/// The source case IIA002 asks for: everybody is a physician.
struct Physicians;

impl AttributeSource for Physicians {
    fn provides(&self, name: &AttributeName) -> bool {
        name.id == "urn:oasis:names:tc:xacml:1.0:example:attribute:role"
    }

    fn values(&self, _: &AttributeName, _: &Request) -> Result<Vec<Value>, SourceError> {
        Ok(vec![Value::text("Physician")])
    }
}

/// The resources cases IIIC001 to IIIC003 speak about.
struct ExampleHierarchy;

impl ResourceHierarchy for ExampleHierarchy {
    fn children(&self, resource: &Value) -> Result<Vec<Value>, Box<Fault>> {
        let names: &[&str] = match &*resource.lexical() {
            "urn:root" => &["urn:root:child1", "urn:root:child2"],
            "urn:root:child1" => &["urn:root:child1:descendant1", "urn:root:child1:descendant2"],
            "urn:root:child2" => &["urn:root:child2:descendant1", "urn:root:child2:descendant2"],
            _ => &[],
        };
        Ok(names.iter().map(|name| Value::AnyUri((*name).into())).collect())
    }
}
