//! What is odd in the policies in force, kept by document.

use std::collections::HashMap;

use durward_ir::finding::{Finding, Severity};

use crate::documents::Document;
use crate::documents::sapl::{self, CheckSettings, Configuration};

/// Warnings about the documents in force, by the name of the document; those without any are not there.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    by_document: HashMap<String, Vec<Finding>>,
}

impl Warnings {
    /// Notes what there is to say of a document; of XACML, nothing is.
    pub(crate) fn add(
        &mut self,
        document: &Document,
        configuration: Option<&Configuration>,
        settings: Option<&CheckSettings>,
    ) {
        let (Some(settings), Document::Sapl(document)) = (settings, document) else { return };
        let mut found = sapl::findings(document, configuration, settings);
        found.retain(|finding| finding.severity >= Severity::Warning);
        if let Some(first) = found.first() {
            self.by_document.insert(first.source.to_string(), found);
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
