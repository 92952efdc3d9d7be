//! A question about many entities at once: a plan in the place of a decision of each.

use durward_pdp::ir::Value;
use durward_pdp::ir::path::Element;
use durward_pdp::plan::{Columns, Plan, about};

use super::{Asked, Asker, Question, SubjectBy};
use crate::decider::{Decision, Outcome};

impl Asker {
    /// Counts a permit that a plan foretold, as a decision is counted.
    pub(crate) fn told_permit(&self) {
        self.metrics.told(&Decision::plain(Outcome::Permit), None);
    }

    /// Which rows are permitted, where rows stand in the place of the question's subject or resource, of which `known` is the same for
    /// all. `None` where it takes a decision of each to say that: the tenant's policies are asked in XACML, templates make other things
    /// of entities than columns are, or this caller, or anybody, cannot be answered at the moment.
    pub(crate) async fn plan(
        &self,
        asked: &Asked<'_>,
        question: &Question,
        by: &SubjectBy,
        known: Value,
        columns: &Columns,
    ) -> Option<Plan> {
        let tenant = &asked.caller.tenant;
        if !self.settings.sapl.is_default() || self.is_asked_in_xacml(tenant) {
            return None;
        }
        let subscription = self.subscription(question, by);
        let subscription = about(&subscription, columns.element(), known);
        self.check_subject(asked, subscription.element(Element::Subject), by).ok()?;
        self.decider.get()?.plan(tenant, subscription, columns).await.ok()
    }
}
