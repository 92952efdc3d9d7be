//! `POST /v1/plan`: which rows are permitted. A subscription whose resource is what is known of all rows, with the name of
//! columns and a dialect beside it.

use durward_pdp::plan::Filter;
use durward_pdp::plan::dialect::Dialect;
use durward_wire::sapl::json;
use hyper::{Response, StatusCode};
use serde::Deserialize;

use super::refusal::Refusal;
use super::{AuthenticatedRequest, json_answer};
use crate::decider::NoPlan;
use crate::surfaces::http::events::Body;

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
        let planned = self.decider.plan(&self.identity.tenant, subscription, columns).await;
        let plan = match planned {
            Ok(plan) => plan.within(columns, dialect),
            Err(NoPlan::NotPermitted) => return Ok(nothing(dialect)),
            Err(NoPlan::Unknown) => return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE)),
            Err(NoPlan::Unplannable(error)) => return Err(self.bad(error.to_string())),
        };
        match plan.to_json(columns, dialect) {
            Ok(json) => Ok(json_answer(json.to_string())),
            Err(error) => Err(self.bad(error.to_string())),
        }
    }
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
