//! What is odd in policies of SAPL, told when they are put in force: names that mean nothing, calls that always fail.
//!
//! Decisions stay what the language says; see [`durward_sapl::check`].

use std::collections::HashMap;

pub use durward_ir::finding::{Finding, Severity};
use durward_sapl::Configuration;
pub use durward_sapl::check::{Attribute, Attributes, Others, Schemas, Settings};

use crate::documents::Language;
use crate::{DeadPolicy, PolicyText};

/// Checks the documents of SAPL among texts, with the variables of the `pdp.json` among them. Documents with errors are
/// passed over: whoever puts them in force is told.
///
/// ```
/// use durward_pdp::PolicyText;
/// use durward_pdp::check::{Settings, check_sapl};
///
/// let text = br#"policy "p" permit string.lenght(subject.id) > 3;"#.to_vec();
/// let findings = check_sapl(&[PolicyText { name: "p.sapl".into(), text }], &Settings::default());
/// assert_eq!(findings[0].code, "unknown-function");
/// assert_eq!(findings[0].help.as_deref(), Some("did you mean `string.length`?"));
/// ```
pub fn check_sapl(texts: &[PolicyText], settings: &Settings) -> Vec<Finding> {
    let configuration = texts.iter().find(|text| Language::of(&text.name) == Language::SaplConfiguration);
    let configuration = configuration
        .and_then(|text| Configuration::read(&text.name, std::str::from_utf8(&text.text).ok()?).ok())
        .unwrap_or_default();
    let sapl = texts.iter().filter(|text| Language::of(&text.name) == Language::Sapl);
    let read = sapl.filter_map(|text| durward_sapl::Document::read(&text.name, &text.text).ok());
    durward_sapl::check::check_all(&read.collect::<Vec<_>>(), &configuration, settings)
}

/// Warnings about the documents in force, by the name of the document; those without any are not there.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    by_document: HashMap<String, Vec<Finding>>,
}

impl Warnings {
    /// Notes what there is to say of a document.
    pub(crate) fn add(
        &mut self,
        document: &durward_sapl::Document,
        configuration: Option<&Configuration>,
        settings: Option<&Settings>,
    ) {
        let Some(settings) = settings else { return };
        let nothing = Configuration::default();
        let configuration = configuration.unwrap_or(&nothing);
        let mut found = durward_sapl::check::check(document, configuration, settings);
        found.retain(|finding| finding.severity >= Severity::Warning);
        if !found.is_empty() {
            self.by_document.insert(document.source.to_string(), found);
        }
    }

    /// Some documents are not there any more.
    pub(crate) fn forget<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        if self.by_document.is_empty() {
            return;
        }
        names.into_iter().for_each(|name| drop(self.by_document.remove(name)));
    }

    /// Takes those of other documents.
    pub(crate) fn extend(&mut self, others: Warnings) {
        self.by_document.extend(others.by_document);
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Finding> {
        self.by_document.values().flatten()
    }
}

impl From<DeadPolicy> for Finding {
    fn from(dead: DeadPolicy) -> Finding {
        let DeadPolicy { source, line, column, message, help } = dead;
        Finding {
            severity: Severity::Warning,
            code: "unreachable-policy",
            source: source.into(),
            line,
            column,
            message,
            help: Some(help.to_owned()),
        }
    }
}
