//! Warns of requests in one policy language where all policies are in the other one: the answer is hardly what the caller expects.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Pdp;
use crate::language::Languages;

/// The policy language that a request is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestLanguage {
    /// A request of XACML.
    Xacml,
    /// A subscription of SAPL.
    Sapl,
}

/// The number of the snapshot that [`Pdp::first_mismatch`] warned of last, for each language of a request. 0 is none: numbers
/// of snapshots count from 1.
#[derive(Debug, Default)]
pub(crate) struct WarnedSnapshots {
    xacml: AtomicU64,
    sapl: AtomicU64,
}

impl Pdp {
    /// What to tell of questions in this language where all policies in force are of the other one; nothing else.
    ///
    /// ```
    /// use durward_pdp::{Pdp, RequestLanguage};
    ///
    /// let pdp = Pdp::builder().policy("p.sapl", "policy \"p\" permit").build().map_err(|errors| errors[0].to_string())?;
    /// assert!(pdp.mismatch(RequestLanguage::Xacml).is_some_and(|note| note.contains("all policies in force are of SAPL")));
    /// assert_eq!(pdp.mismatch(RequestLanguage::Sapl), None);
    /// # Ok::<(), String>(())
    /// ```
    pub fn mismatch(&self, language: RequestLanguage) -> Option<&'static str> {
        match (language, self.snapshot.load().info.languages) {
            (RequestLanguage::Xacml, Languages { xacml: false, sapl: true }) => Some(
                "all policies in force are of SAPL, which sees nothing of an XACML request; ask with a subscription",
            ),
            (RequestLanguage::Sapl, Languages { xacml: true, sapl: false }) => Some(
                "all policies in force are of XACML, which sees of a subscription its values and their keys as \
                 attributes: subject-id, action-id, resource-id where they are no objects",
            ),
            (RequestLanguage::Xacml | RequestLanguage::Sapl, _) => None,
        }
    }

    /// [`Pdp::mismatch`] the first time for each snapshot, for logs.
    pub fn first_mismatch(&self, language: RequestLanguage) -> Option<&'static str> {
        let note = self.mismatch(language)?;
        let warned = match language {
            RequestLanguage::Xacml => &self.warned.xacml,
            RequestLanguage::Sapl => &self.warned.sapl,
        };
        let id = self.snapshot.load().info.id;
        (warned.swap(id, Ordering::Relaxed) != id).then_some(note)
    }
}

#[cfg(test)]
#[cfg(all(feature = "sapl", feature = "xacml"))]
mod tests {
    use super::*;
    use crate::{PolicyChange, PolicyText};

    const SAPL: &str = "policy \"p\" permit";
    const XACML: &str = r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1"
        RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-overrides"><Target/></Policy>"#;

    fn pdp(documents: &[(&str, &str)]) -> Pdp {
        let builder = Pdp::builder().changing();
        documents.iter().fold(builder, |builder, (name, text)| builder.policy(name, *text)).build().unwrap()
    }

    fn told(pdp: &Pdp) -> [bool; 2] {
        [RequestLanguage::Xacml, RequestLanguage::Sapl].map(|language| pdp.mismatch(language).is_some())
    }

    #[test]
    fn only_policies_of_one_language_are_told_of() {
        assert_eq!(told(&pdp(&[])), [false, false]);
        assert_eq!(told(&pdp(&[("p.sapl", SAPL)])), [true, false]);
        assert_eq!(told(&pdp(&[("p.xml", XACML)])), [false, true]);
        assert_eq!(told(&pdp(&[("p.xml", XACML), ("p.sapl", SAPL)])), [false, false]);
    }

    #[test]
    fn it_is_told_once_for_each_snapshot() {
        let pdp = pdp(&[("p.sapl", SAPL)]);
        let first = || pdp.first_mismatch(RequestLanguage::Xacml).is_some();
        assert_eq!([first(), first()], [true, false]);
        assert_eq!(pdp.first_mismatch(RequestLanguage::Sapl), None);
        let text = |name: &str, text: &str| PolicyText { name: name.into(), text: text.into() };
        pdp.change(&[PolicyChange::Put(text("q.sapl", "policy \"q\" deny"))]).unwrap();
        assert_eq!([first(), first()], [true, false]);
        pdp.change(&[PolicyChange::Put(text("p.xml", XACML))]).unwrap();
        assert_eq!([first(), first()], [false, false]);
    }
}
