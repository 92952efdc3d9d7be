//! The description of `/v1` (OpenAPI 3.1), made from one record for each operation. A test compares it with the router.

use serde_json::{Map, Value, json};

/// Whether a token must be shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    No,
    Yes,
    /// Or stands in the body.
    OrInBody,
}

/// Whether the body may be left out: everything in it may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needed {
    Yes,
    No,
}

/// One operation.
struct Operation {
    /// By which generated clients call it.
    id: &'static str,
    path: &'static str,
    method: &'static str,
    what: &'static str,
    shown: Shown,
    /// The body's schema, where there is one.
    body: Option<(&'static str, Needed)>,
    /// The schema of the answer; of one of the answers, where there are several.
    answers: &'static [&'static str],
    /// Statuses beside the usual ones.
    others: &'static [(&'static str, &'static str)],
}

const USER_FULL: (&str, &str) = ("409", "the user has as many sessions as he may");
const TOO_MANY: (&str, &str) =
    ("429", "too many failures, or undecided logins at once; `Retry-After` says when to try again");
const NO_SESSION: (&str, &str) = ("404", "there is no such session");
const NO_ADMINISTRATOR: (&str, &str) = (
    "403",
    "the session is no administrator's; or a cookie was shown, and the call is not known to be its user's doing",
);

const OPERATIONS: &[Operation] = &[
    Operation {
        id: "login",
        path: "/v1/login",
        method: "post",
        what: "Log in with a password",
        shown: Shown::No,
        body: Some(("Login", Needed::Yes)),
        answers: &["Granted"],
        others: &[("202", "the password was right; a code is wanted: see `Challenge`"), USER_FULL, TOO_MANY],
    },
    Operation {
        id: "answerCode",
        path: "/v1/login/code",
        method: "post",
        what: "Finish a login with a code of the second step, or a recovery code",
        shown: Shown::No,
        body: Some(("Code", Needed::Yes)),
        answers: &["Granted"],
        others: &[USER_FULL, TOO_MANY],
    },
    Operation {
        id: "validate",
        path: "/v1/sessions/validate",
        method: "post",
        what: "Whether a token's session lives; the token is shown, or stands in the body",
        shown: Shown::OrInBody,
        body: Some(("Validate", Needed::No)),
        answers: &["Valid"],
        others: &[],
    },
    Operation {
        id: "session",
        path: "/v1/session",
        method: "get",
        what: "The token's session, without counting as a use",
        shown: Shown::Yes,
        body: None,
        answers: &["Sessions"],
        others: &[],
    },
    Operation {
        id: "sessions",
        path: "/v1/sessions",
        method: "get",
        what: "All sessions of the token's user that this node knows of",
        shown: Shown::Yes,
        body: None,
        answers: &["Sessions"],
        others: &[],
    },
    Operation {
        id: "logout",
        path: "/v1/sessions/logout",
        method: "post",
        what: "End the token's session, another one of the same user, or all of them",
        shown: Shown::Yes,
        body: Some(("Logout", Needed::No)),
        answers: &["Done"],
        others: &[NO_SESSION],
    },
    Operation {
        id: "refresh",
        path: "/v1/sessions/refresh",
        method: "post",
        what: "Another token for the same session; it counts as a use",
        shown: Shown::Yes,
        body: None,
        answers: &["Granted"],
        others: &[NO_SESSION],
    },
    Operation {
        id: "stepUp",
        path: "/v1/sessions/step-up",
        method: "post",
        what: "Raise the session's level by a code of the second step",
        shown: Shown::Yes,
        body: Some(("StepUp", Needed::Yes)),
        answers: &["Granted"],
        others: &[
            (
                "403",
                "the code is wrong, or a cookie was shown, and the call is not known to be its user's doing",
            ),
            NO_SESSION,
            ("429", "too many failures; `Retry-After` says when to try again"),
        ],
    },
    Operation {
        id: "setProperties",
        path: "/v1/sessions/properties",
        method: "post",
        what: "Set or remove properties of the session; of another one (`of`), as an administrator, which is answered `Done`",
        shown: Shown::Yes,
        body: Some(("Properties", Needed::Yes)),
        answers: &["Granted", "Done"],
        others: &[
            (
                "403",
                "the property may not be set by users, the session is no administrator's, or a cookie was shown, and the call is not known to be its user's doing",
            ),
            NO_SESSION,
        ],
    },
    Operation {
        id: "adminSessions",
        path: "/v1/admin/sessions",
        method: "post",
        what: "The sessions of a user",
        shown: Shown::Yes,
        body: Some(("Whose", Needed::Yes)),
        answers: &["Sessions"],
        others: &[NO_ADMINISTRATOR],
    },
    Operation {
        id: "adminRevoke",
        path: "/v1/admin/revoke",
        method: "post",
        what: "End a session of a user, all of a user's, or everybody's",
        shown: Shown::Yes,
        body: Some(("Revoke", Needed::Yes)),
        answers: &["Done"],
        others: &[NO_ADMINISTRATOR, NO_SESSION],
    },
    Operation {
        id: "adminForgive",
        path: "/v1/admin/forgive",
        method: "post",
        what: "Let a user try again who has to wait after failures",
        shown: Shown::Yes,
        body: Some(("Whose", Needed::Yes)),
        answers: &["Done"],
        others: &[NO_ADMINISTRATOR],
    },
    Operation {
        id: "adminRotate",
        path: "/v1/admin/rotate",
        method: "post",
        what: "Take another key for tokens into use",
        shown: Shown::Yes,
        body: None,
        answers: &["Done"],
        others: &[NO_ADMINISTRATOR],
    },
];

/// The whole document; the cookie is called so.
pub(super) fn document(cookie_name: &str) -> Value {
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
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "cookie": { "type": "apiKey", "in": "cookie", "name": cookie_name },
            },
            "schemas": schemas(),
        },
    })
}

fn described(operation: &Operation) -> Value {
    let mut described = Map::new();
    described.insert("operationId".to_owned(), operation.id.into());
    described.insert("summary".to_owned(), operation.what.into());
    described.insert("responses".to_owned(), answers(operation));
    if let Some((body, needed)) = operation.body {
        let body = json!({ "required": needed == Needed::Yes, "content": content(reference(body)) });
        described.insert("requestBody".to_owned(), body);
    }
    let security = match operation.shown {
        Shown::No => json!([]),
        Shown::Yes => json!([{ "token": [] }, { "cookie": [] }]),
        Shown::OrInBody => json!([{ "token": [] }, { "cookie": [] }, {}]),
    };
    described.insert("security".to_owned(), security);
    Value::Object(described)
}

fn content(schema: Value) -> Value {
    json!({ "application/json": { "schema": schema } })
}

fn answers(operation: &Operation) -> Value {
    let schema = match operation.answers {
        [one] => reference(one),
        several => json!({ "oneOf": several.iter().map(|name| reference(name)).collect::<Vec<Value>>() }),
    };
    let mut answers = Map::new();
    let what = operation.answers.join(" or ");
    answers.insert("200".to_owned(), json!({ "description": what, "content": content(schema) }));
    for (status, what) in usual(operation).iter().chain(operation.others) {
        let body = match *status {
            "202" => content(reference("Challenge")),
            _ => json!({ "application/problem+json": { "schema": reference("Problem") } }),
        };
        // Refused before anything looks at what is asked for.
        let answer = match *status {
            "431" => json!({ "description": what }),
            _ => json!({ "description": what, "content": body }),
        };
        answers.insert((*status).to_owned(), answer);
    }
    Value::Object(answers)
}

/// Statuses that come from what kind of an operation it is.
fn usual(operation: &Operation) -> Vec<(&'static str, &'static str)> {
    let mut usual = vec![
        ("401", "the credentials or the token are not accepted"),
        ("431", "the header is too long; without a body"),
        ("503", "this node cannot do it at the moment; `Retry-After` says when to try again"),
    ];
    if operation.shown != Shown::No {
        usual.push(("403", "a cookie was shown, and the call is not known to be its user's doing"));
    }
    if operation.body.is_some() {
        usual.push(("400", "the body is not what is asked for"));
    }
    if operation.method == "post" {
        usual.extend([
            ("408", "the body was not there in time"),
            ("413", "the body is too long"),
            ("415", "the body is not JSON in UTF-8"),
        ]);
    }
    usual
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
            ("device?", t()),
        ]),
        "Code": object(&[
            ("challenge", t()), ("code", t()), ("cookie?", yes_or_no.clone()), ("device?", t()),
        ]),
        "Challenge": object(&[("challenge", t())]),
        "Granted": object(&[
            ("token", t()), ("session", t()), ("user", t()), ("realm", t()), ("level", number.clone()),
            ("ends", time.clone()), ("idle_s", number.clone()), ("groups?", texts.clone()),
            ("attributes?", json!({ "type": "object", "additionalProperties": texts })), ("device?", t()),
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
