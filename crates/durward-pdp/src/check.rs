//! What is odd in policies of SAPL, told when they are put in force: names that mean nothing, calls that always fail.
//!
//! Decisions stay what the language says; see [`durward_sapl::check`].

pub use durward_ir::finding::{Finding, Severity};
use durward_sapl::Configuration;
pub use durward_sapl::check::{Attribute, Attributes, Others, Schemas, Settings};

use crate::PolicyText;
use crate::language::Language;

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
