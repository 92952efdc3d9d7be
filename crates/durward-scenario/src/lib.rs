//! Tests of policies: the scenarios of `.sapltest` files, played against documents, and what of the documents they covered.
//!
//! A scenario says which documents are in force, what stands in for functions and attributes, a question, and the decisions
//! that are to come. Everything is decided by the plain evaluator, without an index; what of a document was covered is
//! found by evaluating its conditions once more, one by one, after each decision. So no other decision point pays for it.
//! No file is read and none is written here: texts come in, reports go out.
//!
//! ```
//! use durward_scenario::{TestDocuments, NoFiles, TestSuite, TestText};
//!
//! let mut documents = TestDocuments::default();
//! documents.add("doctors.sapl", "doctors", b"policy \"doctors\" permit subject == \"doctor\";");
//! let test = "requirement \"doctors\" {
//!     given - document \"doctors\"
//!     scenario \"a doctor reads\" when \"doctor\" attempts \"read\" on \"record\" expect permit;
//! }";
//! let tests = [TestText { path: "doctors.sapltest".into(), text: test.as_bytes().to_vec() }];
//! let report = TestSuite::new(documents, &NoFiles).run(&tests);
//! assert_eq!((report.count().passed, report.count().failed), (1, 0));
//! assert_eq!(report.coverage.policies().to_string(), "100 % (1 of 1)");
//! ```

mod coverage;
mod documents;
mod error;
mod expected;
mod given;
mod hits;
mod literal;
mod matcher;
mod mocks;
mod observe;
mod play;
pub mod report;
mod suite;
mod world;

pub use coverage::{
    ConditionBranch, CoverageRatio, CoveredElement, DocumentCoverage, ElementKind, PolicyCoverage,
};
pub use documents::{FolderContents, NoFiles, ScenarioFiles, TestDocuments};
pub use error::PlayError;
pub use given::SCENARIO_DOCUMENTS_MAX;
pub use hits::GateRatios;
pub use mocks::{ATTRIBUTES_MAX, CALLS_MAX, STAND_INS_MAX};
pub use suite::{
    FileReport, RequirementReport, ScenarioCount, ScenarioOutcome, ScenarioReport, TestFinding, TestReport,
    TestSuite, TestText,
};
