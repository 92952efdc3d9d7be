//! Why a subscription is answered as it is.

use durward_ir::question::Attributes;
use durward_sapl::{Outcome, Subscription};

use super::near::Given;
use super::{Explanation, Recorder};
use crate::{Pdp, RequestLanguage};

impl Pdp {
    /// Explains the answer to a subscription, in SAPL's words where it is about SAPL. The decision is that of
    /// [`Pdp::decide_once`]. Of conditions there is something to tell only after [`crate::PdpBuilder::explaining`].
    pub fn explain_subscription(&self, subscription: &Subscription) -> Explanation {
        self.explain_known(subscription, subscription)
    }

    /// The same with what `known` has, the values of attribute finders included: of [`Pdp::decide_known`].
    pub fn explain_known(&self, subscription: &Subscription, known: &dyn Attributes) -> Explanation {
        let snapshot = self.snapshot.load();
        let recorder = Recorder::new(&snapshot.program, Given::Subscription(subscription));
        let vote = self.watched(&snapshot, known, &recorder);
        let mut top = recorder.finish(&vote);
        top.outcome = Outcome::from(vote.verdict).to_string();
        Explanation { results: vec![top], note: self.mismatch(RequestLanguage::Sapl) }
    }
}
