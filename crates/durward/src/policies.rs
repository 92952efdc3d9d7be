//! The flags that say which policies are in force, shared by all commands that decide.

use std::path::PathBuf;

use durward_pdp::xacml::response::Response;
use durward_pdp::{Algorithm, Pdp, PdpBuilder, PolicyText, read_policies};

pub(crate) use crate::choices::{combining, index};

use crate::attributes::StaticSource;
use crate::bundle::{self, BundleArguments};
use crate::failure::{CommandError, without_number};
use crate::hierarchy::ChildrenByParent;

/// Which policies, and how they are combined.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyArguments {
    /// A policy file, or a directory: *.xml in and below it, *.sapl and pdp.json directly in it; may be given several times
    #[arg(long, value_name = "DIR|FILE", required_unless_present = "bundle")]
    pub(crate) policies: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) bundle: BundleArguments,
    /// Start at the policy or policy set with this identifier, instead of at all that no other refers to
    #[arg(long, value_name = "ID")]
    pub(crate) root: Option<String>,
    /// How several root policies are combined: a name such as permit-overrides, or an identifier
    #[arg(long, value_name = "ALGORITHM", default_value = "deny-overrides", value_parser = combining)]
    pub(crate) combining: Algorithm,
}

/// What else a decision may need to know.
#[derive(Debug, clap::Args)]
pub(crate) struct ContextArguments {
    /// Attributes to use where a request lacks them: a file like a request, XML or JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) attributes: Option<PathBuf>,
    /// Which resources lie below which, for requests with a scope: JSON, {"parent": ["child", ...]}
    #[arg(long, value_name = "FILE")]
    pub(crate) hierarchy: Option<PathBuf>,
}

impl PolicyArguments {
    /// The texts of all policies.
    pub(crate) fn read(&self) -> Result<Vec<PolicyText>, CommandError> {
        let mut texts = read_all(&self.policies)?;
        texts.append(&mut bundle::read_policies(&self.bundle)?);
        Ok(texts)
    }

    /// A decision point, but for building it.
    pub(crate) fn prepare(&self) -> PdpBuilder {
        let builder = Pdp::builder().combining(self.combining);
        // Time is the binary's to give.
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that hands the clock to the decision point"
        )]
        let builder = builder.clock(std::time::SystemTime::now);
        match &self.root {
            Some(root) => builder.root(root),
            None => builder,
        }
    }
}

impl ContextArguments {
    /// Adds what was given to a decision point.
    pub(crate) fn add_to(&self, mut builder: PdpBuilder) -> Result<PdpBuilder, CommandError> {
        if let Some(path) = &self.attributes {
            builder = builder.source(StaticSource::read(path)?);
        }
        if let Some(path) = &self.hierarchy {
            builder = builder.hierarchy(ChildrenByParent::read(path)?);
        }
        Ok(builder)
    }
}

/// The texts of all policies in these files and directories.
pub(crate) fn read_all(paths: &[PathBuf]) -> Result<Vec<PolicyText>, CommandError> {
    let mut texts = Vec::new();
    for path in paths {
        let failed = |error: durward_pdp::ReadError| {
            CommandError::new(without_number(&error.to_string()))
                .hint("give a policy file, or a directory with files `*.sapl` or `*.xml`; `durward init` writes a project")
        };
        texts.append(&mut read_policies(path).map_err(failed)?);
    }
    // No command asks attribute finders, and nobody else reads secrets.
    texts.retain(|text| !text.is_sealed());
    Ok(texts)
}

/// The decision of a response as one word: the decision of its only result, or those of all results in order,
/// joined by commas. `Permit,Permit` is not `Permit`, so whoever looks for that word does not take a part for all.
pub(crate) fn decision_of(response: &Response) -> String {
    let all: Vec<&str> = response.results.iter().map(|result| result.decision.as_str()).collect();
    all.join(",")
}
