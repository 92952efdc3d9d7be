//! The description of `/v1/plan`, which callers of `[auth]` ask, and no user by a session.

use serde_json::{Value, json};

/// Statuses beside 200.
const REFUSED: [(&str, &str); 7] = [
    ("400", "the body is not what is asked for, or names columns or a dialect that there are not"),
    ("401", "the credentials are not accepted"),
    ("403", "the caller may not say who the subject is"),
    ("408", "the body was not there in time"),
    ("413", "the body is too long"),
    ("429", "the caller asks too often"),
    ("503", "this node cannot say at the moment who the subject is, or makes as many plans as it may"),
];

/// Its path, and what can be done there.
pub(super) fn path() -> (&'static str, Value) {
    let plan = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/Plan" } } });
    let mut responses = json!({ "200": { "description": "Plan", "content": plan } });
    if let Value::Object(responses) = &mut responses {
        let refused = |(status, what): (&str, &str)| (status.to_owned(), json!({ "description": what }));
        responses.extend(REFUSED.map(refused));
    }
    let body = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/PlanQuestion" } } });
    let post = json!({
        "operationId": "plan",
        "summary": "Which rows of a table are permitted: a filter for a database. Not there unless `plan.columns` names columns",
        "security": [{ "caller": [] }, { "callerPassword": [] }],
        "requestBody": { "required": true, "content": body },
        "responses": responses,
    });
    ("/v1/plan", json!({ "post": post }))
}

/// How callers say who they are: as `[auth]` wants it.
pub(super) fn security() -> [(&'static str, Value); 2] {
    [
        ("caller", json!({ "type": "http", "scheme": "bearer" })),
        ("callerPassword", json!({ "type": "http", "scheme": "basic" })),
    ]
}

/// The question and the plan.
pub(super) fn schemas() -> [(&'static str, Value); 2] {
    let dialects = durward_pdp::plan::dialect::Dialect::ALL.map(|(name, _)| name);
    let any = json!({});
    let filter = json!({ "type": ["string", "object"] });
    let parameters = json!({ "type": "array", "items": any });
    let kind = json!({ "enum": ["all", "none", "filter"] });
    let part = json!({ "kind": kind, "filter": filter, "parameters": parameters });
    let question = json!({
        "type": "object",
        "properties": {
            "subject": any, "action": any, "resource": { "type": "object" }, "environment": any,
            "columns": { "type": "string" }, "dialect": { "enum": dialects },
        },
        "required": ["subject", "action", "resource", "columns"],
    });
    let plan = json!({
        "type": "object",
        "properties": {
            "kind": kind, "exact": { "type": "boolean" }, "filter": filter, "parameters": parameters,
            "superset": { "type": "object", "properties": part, "required": ["kind"] },
            "reasons": { "type": "array", "items": { "type": "string" } },
            "obligations": parameters, "advice": parameters,
        },
        "required": ["kind", "exact"],
    });
    [("PlanQuestion", question), ("Plan", plan)]
}
