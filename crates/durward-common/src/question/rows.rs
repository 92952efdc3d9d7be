//! A question about many entities at once: a plan in the place of a decision of each.

use std::sync::Arc;

use durward_pdp::ir::Value;
use durward_pdp::ir::path::Element;
use durward_pdp::plan::{Columns, Plan, about};
use hyper::StatusCode;

use super::{Asked, Asker, Question, SubjectBy, Wrong};
use crate::decider::{Decision, NoPlan, Outcome, TOO_MANY_PLANS};

impl Asker {
    /// Counts a permit that a plan foretold, as a decision is counted.
    pub fn told_permit(&self) {
        self.metrics.told(&Decision::plain(Outcome::Permit), None);
    }

    /// Which rows are permitted, where rows stand in the place of the question's subject or resource, of which `known` is the same for
    /// all. `None` where it takes a decision of each to say that: the tenant's policies are asked in XACML, templates make other things
    /// of entities than columns are, or this caller, or anybody, cannot be answered at the moment.
    ///
    /// # Errors
    /// As many plans are being made as may be: to decide about each row instead would take longer still.
    pub async fn plan(
        &self,
        asked: &Asked<'_>,
        question: &Question,
        by: &SubjectBy,
        known: Value,
        columns: &Arc<Columns>,
    ) -> Result<Option<Plan>, Wrong> {
        let tenant = &asked.caller.tenant;
        if !self.settings.sapl.is_default() || self.is_asked_in_xacml(tenant) {
            return Ok(None);
        }
        let subscription = self.subscription(question, by);
        let subscription = about(&subscription, columns.element(), known);
        let is_taken = self.check_subject(asked, subscription.element(Element::Subject), by).is_ok();
        let Some(decider) = self.decider.get().filter(|_| is_taken) else { return Ok(None) };
        match decider.plan(tenant, subscription, Arc::clone(columns)).await {
            Ok(plan) => Ok(Some(plan)),
            Err(NoPlan::NotPermitted | NoPlan::Unknown | NoPlan::Unplannable(_)) => Ok(None),
            Err(NoPlan::Busy) => {
                self.metrics.limit_hit("sapl.plans");
                Err(Wrong::new(StatusCode::SERVICE_UNAVAILABLE, TOO_MANY_PLANS))
            }
        }
    }
}
