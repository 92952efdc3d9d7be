//! One policy document, read.

use durward_xacml_policies::policy::{PolicyError, read_policy};
use durward_xacml_policies::tree;

use super::sapl;
use crate::PolicyText;
use crate::language::Language;
use crate::recipe::Recipe;

/// One policy document, read.
pub(crate) enum Document {
    Xacml(tree::Document),
    Sapl(Box<sapl::Document>),
}

impl Document {
    /// By the name of its file; what is no SAPL is XACML.
    ///
    /// # Errors
    /// Everything that is wrong with it by itself.
    pub(crate) fn read(text: &PolicyText, recipe: &Recipe) -> Result<Document, Vec<PolicyError>> {
        match Language::of(&text.name) {
            Language::Sapl => sapl::read(text).map(Box::new).map(Document::Sapl),
            Language::Xacml
            | Language::SaplConfiguration
            | Language::Secrets
            | Language::SealedSecrets
            | Language::CriticalExtensions => read_xacml(text, recipe).map(Document::Xacml),
        }
    }
}

/// A document that another build could read.
pub(super) fn without(text: &PolicyText, what: &str, feature: &str) -> PolicyError {
    let help = format!("build `durward-pdp` with the feature `{feature}`");
    refusal(text, format!("this build does not read {what}"), Some(help))
}

pub(super) fn refusal(text: &PolicyText, message: String, help: Option<String>) -> PolicyError {
    PolicyError { source: text.name.as_str().into(), line: 1, column: 1, message, help }
}

fn read_xacml(text: &PolicyText, recipe: &Recipe) -> Result<tree::Document, Vec<PolicyError>> {
    match cfg!(feature = "xacml") {
        true => read_policy(&text.name, &text.text, &recipe.limits),
        false => Err(vec![without(text, "policies of XACML", "xacml")]),
    }
}
