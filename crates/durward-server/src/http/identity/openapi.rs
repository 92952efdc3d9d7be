//! The description of `/v1` (OpenAPI 3.1), made from one record for each operation. A test compares it with the router.

use serde_json::{Map, Value, json};

/// One operation.
struct Operation {
    path: &'static str,
    method: &'static str,
    what: &'static str,
    /// Whether a token must be shown.
    is_shown: bool,
    /// The body's schema, where there is one.
    body: Option<&'static str>,
    answer: &'static str,
    /// Statuses beside 200, 400, 401, 415 and 503.
    others: &'static [(&'static str, &'static str)],
}

const ADMIN: &[(&str, &str)] =
    &[("403", "the session is no administrator's"), ("404", "there is no such session")];

const OPERATIONS: &[Operation] = &[
    Operation {
        path: "/v1/login",
        method: "post",
        what: "Log in with a password",
        is_shown: false,
        body: Some("Login"),
        answer: "Granted",
        others: &[
            ("202", "the password was right; a code is wanted: see `Challenge`"),
            ("409", "the user has as many sessions as he may"),
            ("429", "too many failures, or undecided logins at once; `Retry-After` says when to try again"),
        ],
    },
    Operation {
        path: "/v1/login/code",
        method: "post",
        what: "Finish a login with a code of the second step, or a recovery code",
        is_shown: false,
        body: Some("Code"),
        answer: "Granted",
        others: &[(
            "429",
            "too many failures, or undecided logins at once; `Retry-After` says when to try again",
        )],
    },
    Operation {
        path: "/v1/sessions/validate",
        method: "post",
        what: "Whether a token's session lives; the token is shown, or stands in the body",
        is_shown: true,
        body: Some("Validate"),
        answer: "Valid",
        others: &[],
    },
    Operation {
        path: "/v1/session",
        method: "get",
        what: "The token's session, without counting as a use",
        is_shown: true,
        body: None,
        answer: "Sessions",
        others: &[],
    },
    Operation {
        path: "/v1/sessions",
        method: "get",
        what: "All sessions of the token's user that this node knows of",
        is_shown: true,
        body: None,
        answer: "Sessions",
        others: &[],
    },
    Operation {
        path: "/v1/sessions/logout",
        method: "post",
        what: "End the token's session, another one of the same user, or all of them",
        is_shown: true,
        body: Some("Logout"),
        answer: "Done",
        others: &[("404", "there is no such session")],
    },
    Operation {
        path: "/v1/sessions/refresh",
        method: "post",
        what: "Another token for the same session; it counts as a use",
        is_shown: true,
        body: None,
        answer: "Granted",
        others: &[],
    },
    Operation {
        path: "/v1/sessions/step-up",
        method: "post",
        what: "Raise the session's level by a code of the second step",
        is_shown: true,
        body: Some("StepUp"),
        answer: "Granted",
        others: &[("403", "the code is wrong"), ("429", "too many failures")],
    },
    Operation {
        path: "/v1/sessions/properties",
        method: "post",
        what: "Set or remove properties of the session; of another one, as an administrator",
        is_shown: true,
        body: Some("Properties"),
        answer: "Granted",
        others: ADMIN,
    },
    Operation {
        path: "/v1/admin/sessions",
        method: "post",
        what: "The sessions of a user",
        is_shown: true,
        body: Some("Whose"),
        answer: "Sessions",
        others: ADMIN,
    },
    Operation {
        path: "/v1/admin/revoke",
        method: "post",
        what: "End a session of a user, all of a user's, or everybody's",
        is_shown: true,
        body: Some("Revoke"),
        answer: "Done",
        others: ADMIN,
    },
    Operation {
        path: "/v1/admin/forgive",
        method: "post",
        what: "Let a user try again who has to wait after failures",
        is_shown: true,
        body: Some("Whose"),
        answer: "Done",
        others: ADMIN,
    },
    Operation {
        path: "/v1/admin/rotate",
        method: "post",
        what: "Take another key for tokens into use",
        is_shown: true,
        body: None,
        answer: "Done",
        others: ADMIN,
    },
];

/// The whole document.
pub(super) fn document() -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let mut one = Map::new();
        one.insert(operation.method.to_owned(), described(operation));
        paths.insert(operation.path.to_owned(), Value::Object(one));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "durward: users and sessions",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Log in, validate, log out. Errors are problem documents (RFC 9457).",
        },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas(),
        },
    })
}

fn described(operation: &Operation) -> Value {
    let content = |name: &str| json!({ "application/json": { "schema": reference(name) } });
    let problem = json!({ "application/problem+json": { "schema": reference("Problem") } });
    let mut answers = Map::new();
    answers.insert(
        "200".into(),
        json!({ "description": operation.answer, "content": content(operation.answer) }),
    );
    let usual = [
        ("400", "the body is not what is asked for"),
        ("401", "the credentials or the token are not accepted"),
        ("415", "the body is not JSON"),
        ("503", "this node cannot do it at the moment; `Retry-After` says when to try again"),
    ];
    for (status, what) in usual.iter().chain(operation.others) {
        let content = if *status == "202" { content("Challenge") } else { problem.clone() };
        answers.insert((*status).to_owned(), json!({ "description": what, "content": content }));
    }
    let mut described = Map::new();
    described.insert("summary".to_owned(), operation.what.into());
    described.insert("responses".to_owned(), Value::Object(answers));
    if let Some(body) = operation.body {
        described.insert("requestBody".to_owned(), json!({ "content": content(body) }));
    }
    if operation.is_shown {
        described.insert("security".to_owned(), json!([{ "token": [] }]));
    }
    Value::Object(described)
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// An object with these members; names with a `?` may be left out.
fn object(members: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> =
        members.iter().map(|(name, kind)| (name.trim_end_matches('?').to_owned(), kind.clone())).collect();
    let required: Vec<&str> =
        members.iter().map(|(name, _)| *name).filter(|name| !name.ends_with('?')).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn schemas() -> Value {
    let (text, number, yes_or_no) =
        (json!({ "type": "string" }), json!({ "type": "integer" }), json!({ "type": "boolean" }));
    let time = json!({ "type": "string", "format": "date-time" });
    let texts = json!({ "type": "array", "items": text });
    let t = || text.clone();
    let session = object(&[
        ("session", t()),
        ("began", time.clone()),
        ("used", time.clone()),
        ("ends", time.clone()),
        ("idle_s", number.clone()),
        ("level", number.clone()),
        ("properties?", json!({ "type": "object", "additionalProperties": text })),
    ]);
    let changes = json!({ "type": "object", "additionalProperties": { "type": ["string", "null"] } });
    let other = object(&[("realm", t()), ("user", t()), ("session", t())]);
    json!({
        "Login": object(&[
            ("user", t()), ("password", t()), ("realm?", t()), ("code?", t()), ("cookie?", yes_or_no.clone()),
        ]),
        "Code": object(&[("challenge", t()), ("code", t()), ("cookie?", yes_or_no.clone())]),
        "Challenge": object(&[("challenge", t())]),
        "Granted": object(&[
            ("token", t()), ("session", t()), ("user", t()), ("realm", t()), ("level", number.clone()),
            ("ends", time.clone()), ("idle_s", number.clone()), ("groups?", texts.clone()),
            ("attributes?", json!({ "type": "object", "additionalProperties": texts })),
        ]),
        "Validate": object(&[("token?", t()), ("touch?", yes_or_no.clone())]),
        "Valid": object(&[
            ("valid", yes_or_no.clone()), ("user?", t()), ("realm?", t()), ("session?", t()),
            ("level?", number.clone()), ("ends?", time),
        ]),
        "Sessions": object(&[
            ("user", t()), ("realm", t()), ("sessions", json!({ "type": "array", "items": session })),
        ]),
        "Logout": object(&[("session?", t()), ("all?", yes_or_no.clone())]),
        "StepUp": object(&[("code", t())]),
        "Properties": object(&[("properties", changes), ("of?", other)]),
        "Whose": object(&[("user", t()), ("realm?", t())]),
        "Revoke": object(&[("user?", t()), ("realm?", t()), ("session?", t()), ("everybody?", yes_or_no.clone())]),
        "Done": object(&[("done", yes_or_no)]),
        "Problem": object(&[("type", t()), ("title", t()), ("status", number), ("detail", t())]),
    })
}
