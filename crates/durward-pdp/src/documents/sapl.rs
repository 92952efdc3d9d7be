//! Reads, configures, lowers and checks documents of SAPL. Without the feature `sapl`, `no_sapl.rs` replaces this file.

use durward_ir::combine::Voting;
use durward_ir::evaluate::Everything;
use durward_ir::finding::Finding;
use durward_ir::program::{Builder, Expr, NodeId, Program, Structured};
use durward_ir::question::{NoAttributes, NoContent, Question, UNENCODED};
use durward_sapl::Problem;
use durward_sapl::lower::Stratum;
use durward_xacml_policies::policy::PolicyError;

pub(crate) use durward_sapl::check::Settings as CheckSettings;
pub(crate) use durward_sapl::lower::{Lowered, in_order};
pub(crate) use durward_sapl::{Configuration, Decision, Document, Subscription};

pub(crate) use crate::secrets::{Secrets, check_extensions};

use crate::PolicyText;
use crate::class::Class;
use crate::subscription::vote;

/// # Errors
/// Everything that is wrong with the document by itself.
pub(crate) fn read(text: &PolicyText) -> Result<Document, Vec<PolicyError>> {
    Document::read(&text.name, &text.text).map_err(to_errors)
}

/// # Errors
/// Everything that is wrong with a `pdp.json`.
pub(crate) fn read_configuration(text: &PolicyText) -> Result<Configuration, Vec<PolicyError>> {
    let Ok(json) = std::str::from_utf8(&text.text) else {
        return Err(vec![to_error(Problem::of(&text.name, "the text is not UTF-8".to_owned()))]);
    };
    Configuration::read(&text.name, json).map_err(to_errors)
}

/// Documents that come without a configuration get the one that says nothing.
///
/// # Errors
/// There is more than it allows.
pub(crate) fn configure(
    configuration: &mut Option<Configuration>,
    documents: usize,
    bytes: usize,
) -> Result<(), PolicyError> {
    configuration.get_or_insert_default().check_size(documents, bytes).map_err(to_error)
}

/// How documents are combined.
pub(crate) fn voting(configuration: &Configuration) -> Voting {
    configuration.voting
}

/// Whether there may be so much.
pub(crate) fn allows(configuration: &Configuration, documents: usize, bytes: usize) -> bool {
    configuration.check_size(documents, bytes).is_ok()
}

/// What became of each document; `None` for one that can never apply.
///
/// # Errors
/// Everything that is wrong with any of them.
pub(crate) fn lower_each(
    documents: &[Document],
    configuration: &Configuration,
    builder: &mut Builder,
) -> Result<Vec<Option<Lowered>>, Vec<PolicyError>> {
    durward_sapl::lower::lower_each(documents, configuration, builder).map_err(to_errors)
}

/// The element that a document became, and with which others it stands.
pub(crate) fn placed(lowered: Lowered) -> (NodeId, Class) {
    let class = match lowered.stratum {
        Stratum::Constant => Class::SaplConstant,
        Stratum::Pure => Class::Sapl,
        Stratum::Streaming => Class::SaplStreaming,
    };
    (lowered.node, class)
}

/// What is odd in a document.
pub(crate) fn findings(
    document: &Document,
    configuration: Option<&Configuration>,
    settings: &CheckSettings,
) -> Vec<Finding> {
    let nothing = Configuration::default();
    durward_sapl::check::check(document, configuration.unwrap_or(&nothing), settings)
}

/// What a program says to everything, if that does not depend on what is asked.
pub(crate) fn always(program: &Program) -> Option<Decision> {
    let depends = |expr: &Expr| {
        expr.looks_at_content()
            || matches!(expr, Expr::Structured(Structured::Finder(_) | Structured::StandIn(..)))
    };
    if !program.slots.is_empty() || program.exprs().any(depends) {
        return None;
    }
    let question = Question::new(&program.slots, &NoAttributes, &NoContent, &[], &UNENCODED);
    Some(vote(program, &question, &Everything).into())
}

pub(crate) fn to_errors(problems: Vec<Problem>) -> Vec<PolicyError> {
    problems.into_iter().map(to_error).collect()
}

fn to_error(problem: Problem) -> PolicyError {
    let Problem { source, line, column, message, help } = problem;
    PolicyError { source, line, column, message, help }
}
