//! Filters and masks of Trino, from obligations of a permit.
//!
//! To Trino an empty list is no filter, and an undefined result no mask: it shows everything. So whatever is no permit, or is not understood,
//! is a filter that no row passes, and a mask of `NULL`.

use std::sync::Arc;

use durward_common::question::{Question, Verdict, Wrong};
use durward_pdp::ir::Value;
use durward_pdp::ir::value::Object;
use serde_json::{Value as Json, json};

use super::Asking;
use super::trino::{Request, check_count};
use crate::surfaces::callers::{REASON, is_kind, is_of};

/// The obligation to hold rows to a condition.
const ROW_FILTER: &str = "trino:row-filter";

/// The obligation to show an expression in the place of a column.
const COLUMN_MASK: &str = "trino:column-mask";

/// What stands in the place of a column.
#[derive(Debug, PartialEq, Eq)]
enum Mask {
    /// The column itself.
    None,
    /// A view expression.
    Expression(Json),
}

/// The conditions of a table's rows.
pub(super) async fn row_filters(asking: &Asking<'_>, input: Option<&Arc<Object>>) -> Result<Json, Wrong> {
    let Some(question) = question(input) else { return Ok(no_row()) };
    Ok(filters(&asking.decide(&question).await?).unwrap_or_else(no_row))
}

/// The mask of a column; `None` is undefined: the column itself.
pub(super) async fn column_mask(
    asking: &Asking<'_>,
    input: Option<&Arc<Object>>,
) -> Result<Option<Json>, Wrong> {
    let mask = match question(input) {
        Some(question) => mask(&asking.decide(&question).await?),
        None => hidden(),
    };
    Ok(match mask {
        Mask::None => None,
        Mask::Expression(expression) => Some(expression),
    })
}

/// The masks of several columns, each with its index.
///
/// # Errors
/// Nothing can be decided, or it cannot be told which columns are meant: an empty list would show all of them.
pub(super) async fn batch(
    asking: &Asking<'_>,
    input: Option<&Arc<Object>>,
    most: usize,
) -> Result<Json, Wrong> {
    let request = Request::read(input);
    let resources = request.as_ref().and_then(Request::resources);
    let (Some(request), Some(resources)) = (request, resources) else {
        return Err(Wrong::request("`input.action.filterResources` names no columns"));
    };
    check_count(resources.len(), most)?;
    let mut masks = Vec::new();
    for (index, resource) in resources.iter().enumerate() {
        let mask = match request.question(Some(resource)) {
            Some(question) => mask(&asking.decide(&question).await?),
            None => hidden(),
        };
        if let Mask::Expression(expression) = mask {
            masks.push(json!({ "index": index, "viewExpression": expression }));
        }
        // Others are served between two decisions.
        tokio::task::yield_now().await;
    }
    Ok(Json::Array(masks))
}

fn question(input: Option<&Arc<Object>>) -> Option<Question> {
    let request = Request::read(input)?;
    request.question(Some(&*request.resource()?))
}

fn no_row() -> Json {
    json!([{ "expression": "false" }])
}

fn hidden() -> Mask {
    Mask::Expression(json!({ "expression": "NULL" }))
}

/// The filters of a permit; `None` where it is none.
fn filters(verdict: &Verdict) -> Option<Json> {
    if !verdict.is_permit_for(|kind| is_kind(kind, REASON) || is_kind(kind, ROW_FILTER)) {
        return None;
    }
    let duties = verdict.obligations.iter().filter(|duty| is_of(duty, ROW_FILTER));
    let filters: Option<Vec<Json>> = duties.map(|duty| expression(&duty.properties)).collect();
    filters.map(Json::Array)
}

fn mask(verdict: &Verdict) -> Mask {
    if !verdict.is_permit_for(|kind| is_kind(kind, REASON) || is_kind(kind, COLUMN_MASK)) {
        return hidden();
    }
    let mut duties = verdict.obligations.iter().filter(|duty| is_of(duty, COLUMN_MASK));
    match (duties.next(), duties.next()) {
        (None, _) => Mask::None,
        (Some(duty), None) => expression(&duty.properties).map_or_else(hidden, Mask::Expression),
        // Of two masks neither is enough.
        (Some(_), Some(_)) => hidden(),
    }
}

/// `expression`, and `identity` where the expression is evaluated as somebody else.
fn expression(properties: &Value) -> Option<Json> {
    let properties = properties.as_object()?;
    let expression = properties.get("expression")?.as_text().filter(|text| !text.trim().is_empty())?;
    match properties.get("identity") {
        None => Some(json!({ "expression": expression })),
        Some(identity) => Some(json!({ "expression": expression, "identity": identity.as_text()? })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_common::decider::Decision;

    fn verdict(decision: &str, obligations: &str) -> Verdict {
        let text = format!(r#"{{"decision":"{decision}","obligations":[{obligations}]}}"#);
        Verdict::of_sapl(&Decision::from_json(text.as_bytes()).unwrap())
    }

    #[test]
    fn whatever_is_no_permit_shows_nothing() {
        let filter = r#"{"type":"trino:row-filter","expression":"a = 1"}"#;
        let masked =
            r#"{"type":"urn:durward:obligation:trino:column-mask","expression":"'x'","identity":"root"}"#;
        let permit = |obligations: &str| verdict("PERMIT", obligations);
        assert_eq!(filters(&permit("")), Some(json!([])));
        assert_eq!(filters(&permit(filter)), Some(json!([{ "expression": "a = 1" }])));
        assert_eq!(mask(&permit("")), Mask::None);
        assert_eq!(
            mask(&permit(masked)),
            Mask::Expression(json!({ "expression": "'x'", "identity": "root" }))
        );
        for decision in ["DENY", "INDETERMINATE", "NOT_APPLICABLE", "SUSPEND"] {
            assert_eq!(filters(&verdict(decision, filter)), None, "{decision}");
            assert_eq!(mask(&verdict(decision, masked)), hidden(), "{decision}");
        }
        for obligation in [
            r#""log""#,
            masked,
            r#"{"type":"trino:row-filter"}"#,
            r#"{"type":"trino:row-filter","expression":" "}"#,
        ] {
            assert_eq!(filters(&permit(obligation)), None, "{obligation}");
        }
        for obligations in
            [filter, r#"{"type":"trino:column-mask","expression":7}"#, &format!("{masked},{masked}")]
        {
            assert_eq!(mask(&permit(obligations)), hidden(), "{obligations}");
        }
    }
}
