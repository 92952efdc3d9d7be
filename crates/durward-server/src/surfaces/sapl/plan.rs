//! `POST /v1/plan`: which rows are permitted. A subscription whose resource is what is known of all rows, with the name of
//! columns and a dialect beside it.

use std::sync::Arc;
use std::time::Instant;

use durward_common::base::long_work::LongWork;
use durward_common::decider::{NoPlan, TOO_MANY_PLANS};
use durward_common::decision_log::PlanKind;
use durward_common::surfaces::http::events::Body;
use durward_pdp::plan::dialect::Dialect;
use durward_pdp::plan::{Columns, Filter, Kind, Plan};
use durward_pdp::record::{Failure, Record};
use durward_wire::sapl::json;
use hyper::{Response, StatusCode};
use serde::Deserialize;

use super::refusal::Refusal;
use super::{AuthenticatedRequest, json_answer};

/// How many plans are written at once.
const WRITTEN_AT_ONCE_MAX: usize = 2;

/// How many plans may wait until they are written: more than are made meanwhile.
const WRITTEN_WAITING_MAX: usize = 64;

/// The places of plans that are written.
pub(super) fn writing() -> LongWork {
    LongWork::new(WRITTEN_AT_ONCE_MAX, WRITTEN_WAITING_MAX)
}

/// What a question has beside the subscription.
#[derive(Deserialize)]
struct PlanQuestion {
    columns: Option<String>,
    dialect: Option<String>,
}

impl AuthenticatedRequest<'_> {
    pub(super) async fn plan(self) -> Result<Response<Body>, Refusal> {
        let question: PlanQuestion =
            serde_json::from_slice(self.text).map_err(|error| self.unreadable(&error))?;
        let subscription =
            json::read_subscription(self.text, |_| {}).map_err(|error| self.unreadable(&error))?;
        self.fenced(&subscription)?;
        let columns = question.columns.as_deref().and_then(|name| self.surface.columns.get(name));
        let Some(columns) = columns else {
            let names: Vec<&str> = self.surface.columns.keys().map(String::as_str).collect();
            return Err(self.bad(format!("`columns` must be one of these: {}", names.join(", "))));
        };
        let dialect = question.dialect.as_deref().unwrap_or("postgres");
        let Some(dialect) = Dialect::named(dialect) else {
            let names = Dialect::ALL.map(|(name, _)| name).join(", ");
            return Err(self.bad(format!("`dialect` must be one of these: {names}")));
        };
        let account = self.account().map(|account| account.asks_once(&subscription, self.text.len()));
        let tenant = &self.identity.tenant;
        let (begun, snapshot) = (Instant::now(), self.decider.snapshot(tenant));
        let made = match self.decider.plan(tenant, subscription, Arc::clone(columns)).await {
            Ok(plan) => self.written(plan, columns, dialect).await,
            Err(no_plan) => self.without_plan(no_plan, dialect),
        };
        if let Some(account) = account {
            let failures = made.reason.map(Failure::outside).into_iter().collect();
            let record = Record { snapshot, failures, ..Record::default() };
            let names = (question.columns.as_deref().unwrap_or_default(), dialect_name(dialect));
            account.planned((made.kind, made.is_exact), names, record, begun.elapsed());
        }
        made.answer
    }

    /// The plan in the words of a dialect, which takes long where it is long.
    async fn written(&self, plan: Plan, columns: &Arc<Columns>, dialect: Dialect) -> Made {
        let columns = Arc::clone(columns);
        let written = self.surface.writing_plans.run(move || {
            let plan = plan.within(&columns, dialect);
            let json = plan.to_json(&columns, dialect).map(|json| json.to_string());
            (plan.kind, plan.exact, json)
        });
        let Ok((kind, is_exact, json)) = written.await else { return self.busy() };
        match json {
            Ok(json) => Made {
                answer: Ok(json_answer(json)),
                kind: match kind {
                    Kind::All => PlanKind::All,
                    Kind::None => PlanKind::None,
                    Kind::Filter => PlanKind::Filter,
                },
                is_exact,
                reason: None,
            },
            Err(error) => Made::failed(self.bad(error.to_string()), error.to_string()),
        }
    }

    fn without_plan(&self, no_plan: NoPlan, dialect: Dialect) -> Made {
        match no_plan {
            NoPlan::NotPermitted => Made {
                answer: Ok(nothing(dialect)),
                kind: PlanKind::None,
                is_exact: true,
                reason: Some("the token is not accepted, or there are no policies in force".to_owned()),
            },
            NoPlan::Unknown => {
                let reason = "who the subject is cannot be said at the moment".to_owned();
                Made::failed(Refusal::new(StatusCode::SERVICE_UNAVAILABLE), reason)
            }
            NoPlan::Busy => self.busy(),
            NoPlan::Unplannable(error) => Made::failed(self.bad(error.to_string()), error.to_string()),
        }
    }

    fn busy(&self) -> Made {
        self.surface.metrics.limit_hit("sapl.plans");
        let (status, message) = (StatusCode::SERVICE_UNAVAILABLE, Some(TOO_MANY_PLANS.to_owned()));
        Made::failed(Refusal { message, ..Refusal::new(status) }, TOO_MANY_PLANS.to_owned())
    }
}

/// The answer, and what is recorded of it.
struct Made {
    answer: Result<Response<Body>, Refusal>,
    kind: PlanKind,
    is_exact: bool,
    /// Why nothing is permitted, or there is no plan.
    reason: Option<String>,
}

impl Made {
    fn failed(answer: Refusal, reason: String) -> Made {
        Made { answer: Err(answer), kind: PlanKind::Failed, is_exact: false, reason: Some(reason) }
    }
}

fn dialect_name(dialect: Dialect) -> &'static str {
    Dialect::ALL.into_iter().find(|(_, known)| *known == dialect).map_or("", |(name, _)| name)
}

/// The plan of which no row is permitted.
fn nothing(dialect: Dialect) -> Response<Body> {
    let mut json = serde_json::json!({"kind": "none", "exact": true});
    if dialect == Dialect::Cerbos
        && let Some(object) = json.as_object_mut()
        && let Ok(filter) = Filter::Constant(false).to_cerbos(&durward_pdp::plan::Columns::default())
    {
        object.insert("filter".to_owned(), filter);
    }
    json_answer(json.to_string())
}
