//! The description of `/v1` (OpenAPI 3.1), made from one record for each operation. A test compares it with the router.

mod plan;

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

const PASSWORD_OVER: (&str, &str) =
    ("403", "the password is right and must be changed, which is not possible here");
const NO_USER: (&str, &str) = ("404", "there is no such user");
const NOT_KEPT: (&str, &str) = ("409", "the realm's users are in a directory that is not changed here");
const HAS_STEP: (&str, &str) =
    ("409", "the user has a second step already, or none is kept here of the realm's users");
const BAD_PARAMETER: (&str, &str) = ("400", "a parameter is unknown, there twice or not what it must be");
const NO_PASSKEY: (&str, &str) = ("404", "there is no such passkey, or none are kept here");
const NO_PASSKEYS: (&str, &str) = ("409", "there are no passkeys here, or the user has none");
const WRONG_PASSKEY: (&str, &str) = (
    "403",
    "the passkey is not accepted; or a cookie was shown, and the call is not known to be its user's doing",
);
const WRONG_SECRET: (&str, &str) = (
    "403",
    "the password or the code is wrong; or a cookie was shown, and the call is not known to be its user's doing",
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
        others: &[
            (
                "202",
                "the password was right; a code is wanted (`Challenge`), or another password (`PasswordChange`)",
            ),
            PASSWORD_OVER,
            USER_FULL,
            TOO_MANY,
        ],
    },
    Operation {
        id: "answerCode",
        path: "/v1/login/code",
        method: "post",
        what: "Finish a login with a code of the second step, or a recovery code",
        shown: Shown::No,
        body: Some(("Code", Needed::Yes)),
        answers: &["Granted"],
        others: &[
            ("202", "the code was right; another password is wanted: see `PasswordChange`"),
            PASSWORD_OVER,
            USER_FULL,
            TOO_MANY,
        ],
    },
    Operation {
        id: "choosePassword",
        path: "/v1/login/password",
        method: "post",
        what: "Finish a login whose password must be changed; all sessions of the user from before end",
        shown: Shown::No,
        body: Some(("ChoosePassword", Needed::Yes)),
        answers: &["Granted"],
        others: &[PASSWORD_OVER, NO_USER, USER_FULL, TOO_MANY],
    },
    Operation {
        id: "beginPasskeyLogin",
        path: "/v1/login/passkey/begin",
        method: "post",
        what: "What to ask an authenticator for a login with a passkey alone, or for the second step of a login",
        shown: Shown::No,
        body: Some(("PasskeyBegin", Needed::No)),
        answers: &["PasskeyRequest"],
        others: &[NO_PASSKEYS],
    },
    Operation {
        id: "passkeyLogin",
        path: "/v1/login/passkey",
        method: "post",
        what: "Log in with a passkey, or finish a login with one",
        shown: Shown::No,
        body: Some(("PasskeyLogin", Needed::Yes)),
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
        id: "beginPasskeyStepUp",
        path: "/v1/sessions/step-up/passkey/begin",
        method: "post",
        what: "What to ask an authenticator to raise the session's level",
        shown: Shown::Yes,
        body: None,
        answers: &["PasskeyRequest"],
        others: &[NO_PASSKEYS],
    },
    Operation {
        id: "passkeyStepUp",
        path: "/v1/sessions/step-up/passkey",
        method: "post",
        what: "Raise the session's level by a passkey",
        shown: Shown::Yes,
        body: Some(("PasskeyAnswer", Needed::Yes)),
        answers: &["Granted"],
        others: &[WRONG_PASSKEY, NO_SESSION],
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
    Operation {
        id: "adminPasskeys",
        path: "/v1/admin/passkeys",
        method: "post",
        what: "The passkeys of a user, also of one in another directory",
        shown: Shown::Yes,
        body: Some(("Whose", Needed::Yes)),
        answers: &["Passkeys"],
        others: &[NO_ADMINISTRATOR, NOT_KEPT],
    },
    Operation {
        id: "adminRemovePasskeys",
        path: "/v1/admin/passkeys/remove",
        method: "post",
        what: "Remove a passkey of a user, or all of them; their sessions end",
        shown: Shown::Yes,
        body: Some(("LostPasskeys", Needed::Yes)),
        answers: &["Removed"],
        others: &[NO_ADMINISTRATOR, NO_PASSKEY, NOT_KEPT],
    },
    Operation {
        id: "adminSecondStep",
        path: "/v1/admin/second-step",
        method: "post",
        what: "Whether a user has a second step, also one in another directory",
        shown: Shown::Yes,
        body: Some(("Whose", Needed::Yes)),
        answers: &["SecondStep"],
        others: &[NO_ADMINISTRATOR, NOT_KEPT],
    },
    Operation {
        id: "adminRemoveSecondStep",
        path: "/v1/admin/second-step/remove",
        method: "post",
        what: "Remove the second step of a user, with its recovery codes; their sessions end",
        shown: Shown::Yes,
        body: Some(("Whose", Needed::Yes)),
        answers: &["Done"],
        others: &[
            NO_ADMINISTRATOR,
            ("409", "the user has no second step, or none is kept here of the realm's users"),
        ],
    },
    Operation {
        id: "listUsers",
        path: "/v1/users",
        method: "get",
        what: "The users of a realm, by name, page after page",
        shown: Shown::Yes,
        body: None,
        answers: &["Users"],
        others: &[BAD_PARAMETER, NO_ADMINISTRATOR, NOT_KEPT],
    },
    Operation {
        id: "createUser",
        path: "/v1/users",
        method: "post",
        what: "Create a user",
        shown: Shown::Yes,
        body: Some(("NewUser", Needed::Yes)),
        answers: &["User"],
        others: &[
            NO_ADMINISTRATOR,
            ("409", "there is a user of this name, or the realm's users are kept elsewhere"),
        ],
    },
    Operation {
        id: "readUser",
        path: "/v1/users/{user}",
        method: "get",
        what: "A user",
        shown: Shown::Yes,
        body: None,
        answers: &["User"],
        others: &[BAD_PARAMETER, NO_ADMINISTRATOR, NO_USER, NOT_KEPT],
    },
    Operation {
        id: "changeUser",
        path: "/v1/users/{user}",
        method: "patch",
        what: "Change a user; their sessions end if they are disabled, renamed, given another password or lose their second step",
        shown: Shown::Yes,
        body: Some(("UserChanges", Needed::Yes)),
        answers: &["User"],
        others: &[
            NO_ADMINISTRATOR,
            NO_USER,
            ("409", "there is a user of the new name, or the realm's users are kept elsewhere"),
        ],
    },
    Operation {
        id: "removeUser",
        path: "/v1/users/{user}",
        method: "delete",
        what: "Remove a user; their sessions end",
        shown: Shown::Yes,
        body: None,
        answers: &["Done"],
        others: &[BAD_PARAMETER, NO_ADMINISTRATOR, NO_USER, NOT_KEPT],
    },
    Operation {
        id: "makeResetLink",
        path: "/v1/users/{user}/reset",
        method: "post",
        what: "A link by which the user chooses a password, good once, for the administrator to hand over",
        shown: Shown::Yes,
        body: None,
        answers: &["ResetLink"],
        others: &[
            BAD_PARAMETER,
            NO_ADMINISTRATOR,
            ("404", "there is no such user, or none who may log in; or there are no links here"),
            NOT_KEPT,
        ],
    },
    Operation {
        id: "changeOwnPassword",
        path: "/v1/users/me/password",
        method: "post",
        what: "Give oneself another password; all sessions of the user end, also this one",
        shown: Shown::Yes,
        body: Some(("OwnPassword", Needed::Yes)),
        answers: &["Done"],
        others: &[WRONG_SECRET, NO_USER, NOT_KEPT, TOO_MANY],
    },
    Operation {
        id: "ownSecondStep",
        path: "/v1/users/me/second-step",
        method: "get",
        what: "Whether the token's user has a second step",
        shown: Shown::Yes,
        body: None,
        answers: &["SecondStep"],
        others: &[BAD_PARAMETER, NO_USER],
    },
    Operation {
        id: "enrolSecondStep",
        path: "/v1/users/me/second-step/enrol",
        method: "post",
        what: "Begin a second step: the secret for the user's device. It counts once it is confirmed",
        shown: Shown::Yes,
        body: Some(("Enrol", Needed::Yes)),
        answers: &["Enrolment"],
        others: &[WRONG_SECRET, HAS_STEP, TOO_MANY],
    },
    Operation {
        id: "confirmSecondStep",
        path: "/v1/users/me/second-step/confirm",
        method: "post",
        what: "Confirm a second step with a code of the device: the recovery codes, shown only now. All sessions of the user end",
        shown: Shown::Yes,
        body: Some(("Confirm", Needed::Yes)),
        answers: &["RecoveryCodes"],
        others: &[WRONG_SECRET, NO_USER, HAS_STEP, TOO_MANY],
    },
    Operation {
        id: "removeSecondStep",
        path: "/v1/users/me/second-step/remove",
        method: "post",
        what: "Remove the second step, with a code of it or a recovery code; all sessions of the user end",
        shown: Shown::Yes,
        body: Some(("StepUp", Needed::Yes)),
        answers: &["Done"],
        others: &[
            WRONG_SECRET,
            NO_USER,
            ("409", "the user has no second step, or none is kept here of the realm's users"),
            TOO_MANY,
        ],
    },
    Operation {
        id: "ownPasskeys",
        path: "/v1/users/me/passkeys",
        method: "get",
        what: "The passkeys of the token's user",
        shown: Shown::Yes,
        body: None,
        answers: &["Passkeys"],
        others: &[BAD_PARAMETER, NO_PASSKEY, NOT_KEPT],
    },
    Operation {
        id: "enrolPasskey",
        path: "/v1/users/me/passkeys/enrol",
        method: "post",
        what: "What to ask an authenticator for another passkey of the user, who knows the password",
        shown: Shown::Yes,
        body: Some(("Enrol", Needed::Yes)),
        answers: &["PasskeyRequest"],
        others: &[WRONG_SECRET, NO_PASSKEY, NOT_KEPT, TOO_MANY],
    },
    Operation {
        id: "confirmPasskey",
        path: "/v1/users/me/passkeys/confirm",
        method: "post",
        what: "Add the passkey that an authenticator has made; all sessions of the user end",
        shown: Shown::Yes,
        body: Some(("ConfirmPasskey", Needed::Yes)),
        answers: &["Passkey"],
        others: &[NO_PASSKEY, ("409", "the passkey is enrolled already, or the user is kept elsewhere")],
    },
    Operation {
        id: "renamePasskey",
        path: "/v1/users/me/passkeys/rename",
        method: "post",
        what: "Give a passkey another name",
        shown: Shown::Yes,
        body: Some(("RenamePasskey", Needed::Yes)),
        answers: &["Done"],
        others: &[NO_PASSKEY, NOT_KEPT],
    },
    Operation {
        id: "removePasskey",
        path: "/v1/users/me/passkeys/remove",
        method: "post",
        what: "Remove a passkey, knowing the password; all sessions of the user end",
        shown: Shown::Yes,
        body: Some(("RemovePasskey", Needed::Yes)),
        answers: &["Done"],
        others: &[WRONG_SECRET, NO_PASSKEY, NOT_KEPT, TOO_MANY],
    },
];

/// The whole document; the cookie is called so.
pub fn document(cookie_name: &str) -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let methods = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Value::Object(methods) = methods {
            methods.insert(operation.method.to_owned(), described(operation));
        }
    }
    let named = |(name, value): (&str, Value)| (name.to_owned(), value);
    let mut schemas = schemas();
    if let Value::Object(schemas) = &mut schemas {
        schemas.extend(plan::schemas().map(named));
    }
    let (plan, described) = plan::path();
    paths.insert(plan.to_owned(), described);
    let token = json!({ "type": "http", "scheme": "bearer" });
    let cookie = json!({ "type": "apiKey", "in": "cookie", "name": cookie_name });
    let security = [("token", token), ("cookie", cookie)].into_iter().chain(plan::security());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "durward: users and sessions",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Log in, validate, log out. Errors are problem documents (RFC 9457).",
        },
        "paths": paths,
        "components": {
            "securitySchemes": security.map(named).collect::<Map<_, _>>(),
            "schemas": schemas,
        },
    })
}

fn described(operation: &Operation) -> Value {
    let mut described = Map::new();
    described.insert("operationId".to_owned(), operation.id.into());
    described.insert("summary".to_owned(), operation.what.into());
    let parameters = parameters(operation);
    if !parameters.is_empty() {
        described.insert("parameters".to_owned(), parameters.into());
    }
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

/// What stands in the path and in the query.
fn parameters(operation: &Operation) -> Vec<Value> {
    let parameter = |name: &str, place: &str, kind: &str, what: &str| {
        json!({
            "name": name, "in": place, "required": place == "path", "description": what, "schema": { "type": kind },
        })
    };
    let realm = parameter("realm", "query", "string", "the realm; `/` where it is left out");
    match operation.path {
        "/v1/users/{user}" | "/v1/users/{user}/reset" => {
            vec![parameter("user", "path", "string", "the user's name"), realm]
        }
        "/v1/users" if operation.method == "get" => vec![
            realm,
            parameter(
                "limit",
                "query",
                "integer",
                "how many users a page has, 1 to 1000; 100 where it is left out",
            ),
            parameter("cursor", "query", "string", "the `next` of the page before"),
            parameter("group", "query", "string", "only members of this group"),
        ],
        _ => Vec::new(),
    }
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
    let status = if operation.id == "createUser" { "201" } else { "200" };
    answers.insert(status.to_owned(), json!({ "description": what, "content": content(schema) }));
    for (status, what) in usual(operation).iter().chain(operation.others) {
        let body = match *status {
            "202" if operation.id == "answerCode" => content(reference("PasswordChange")),
            "202" => content(json!({ "oneOf": [reference("Challenge"), reference("PasswordChange")] })),
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
    if operation.method == "post" || operation.body.is_some() {
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
    let attributes = json!({ "type": "object", "additionalProperties": texts });
    let link = object(&[("issuer", t()), ("subject", t())]);
    let links = json!({ "type": "array", "items": link });
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
        "PasswordChange": object(&[
            ("password_change", t()),
            ("rules", object(&[("length_min", number.clone()), ("refuses_breached", yes_or_no.clone())])),
        ]),
        "ChoosePassword": object(&[
            ("password_change", t()), ("new_password", t()), ("cookie?", yes_or_no.clone()), ("device?", t()),
        ]),
        "ResetLink": object(&[("link", t()), ("until", t())]),
        "Granted": object(&[
            ("token", t()), ("session", t()), ("user", t()), ("realm", t()), ("level", number.clone()),
            ("ends", time.clone()), ("idle_s", number.clone()), ("groups?", texts.clone()),
            ("attributes?", json!({ "type": "object", "additionalProperties": texts })), ("device?", t()),
        ]),
        "Validate": object(&[("token?", t()), ("touch?", yes_or_no.clone())]),
        "Valid": object(&[
            ("valid", yes_or_no.clone()), ("user?", t()), ("realm?", t()), ("session?", t()),
            ("level?", number.clone()), ("ends?", time.clone()),
        ]),
        "Sessions": object(&[
            ("user", t()), ("realm", t()), ("sessions", json!({ "type": "array", "items": session })),
        ]),
        "Logout": object(&[("session?", t()), ("all?", yes_or_no.clone())]),
        "StepUp": object(&[("code", t()), ("device?", t())]),
        "Properties": object(&[("properties", changes), ("of?", other)]),
        "Whose": object(&[("user", t()), ("realm?", t())]),
        "Revoke": object(&[("user?", t()), ("realm?", t()), ("session?", t()), ("everybody?", yes_or_no.clone())]),
        "User": object(&[
            ("user", t()), ("realm", t()), ("disabled", yes_or_no.clone()), ("has_password", yes_or_no.clone()),
            ("second_step", yes_or_no.clone()), ("passkeys?", number.clone()),
            ("must_change_password", yes_or_no.clone()), ("groups", texts.clone()), ("attributes", attributes.clone()),
            ("links?", links.clone()),
        ]),
        "Users": object(&[
            ("users", json!({ "type": "array", "items": reference("User") })), ("next?", t()),
        ]),
        "NewUser": object(&[
            ("user", t()), ("realm?", t()), ("password?", t()), ("disabled?", yes_or_no.clone()),
            ("must_change_password?", yes_or_no.clone()), ("groups?", texts.clone()), ("attributes?", attributes),
            ("links?", links.clone()),
        ]),
        "UserChanges": object(&[
            ("user?", t()), ("password?", t()), ("disabled?", yes_or_no.clone()),
            ("must_change_password?", yes_or_no.clone()), ("groups?", texts.clone()),
            ("add_groups?", texts.clone()), ("remove_groups?", texts.clone()),
            ("attributes?", json!({
                "type": "object", "additionalProperties": { "type": ["array", "null"], "items": text },
            })),
            ("second_step?", json!({ "const": false })), ("links?", links),
        ]),
        "OwnPassword": object(&[("old_password", t()), ("new_password", t()), ("code?", t()), ("device?", t())]),
        "SecondStep": object(&[("second_step", yes_or_no.clone()), ("recovery_codes_left", number.clone())]),
        "Enrol": object(&[("password", t()), ("device?", t())]),
        "Enrolment": object(&[("enrolment", t()), ("secret", t()), ("uri", t()), ("until", t())]),
        "Confirm": object(&[("enrolment", t()), ("code", t()), ("device?", t())]),
        "RecoveryCodes": object(&[("recovery_codes", texts)]),
        "PasskeyBegin": object(&[("challenge?", t())]),
        "PasskeyRequest": object(&[("ticket", t()), ("public_key", json!({ "type": "object" })), ("until", time.clone())]),
        "PasskeyLogin": object(&[
            ("ticket", t()), ("credential", json!({ "type": "object" })), ("cookie?", yes_or_no.clone()), ("device?", t()),
        ]),
        "PasskeyAnswer": object(&[("ticket", t()), ("credential", json!({ "type": "object" }))]),
        "ConfirmPasskey": object(&[("ticket", t()), ("credential", json!({ "type": "object" })), ("name", t())]),
        "RenamePasskey": object(&[("id", t()), ("name", t())]),
        "RemovePasskey": object(&[("id", t()), ("password", t()), ("device?", t())]),
        "LostPasskeys": object(&[("user", t()), ("realm?", t()), ("id?", t())]),
        "Removed": object(&[("removed", number.clone())]),
        "Passkey": object(&[
            ("id", t()), ("name", t()), ("added", time), ("algorithm", t()), ("synced", yes_or_no.clone()),
        ]),
        "Passkeys": object(&[("passkeys", json!({ "type": "array", "items": reference("Passkey") }))]),
        "Done": object(&[("done", yes_or_no)]),
        "Problem": object(&[("type", t()), ("title", t()), ("status", number), ("detail", t()), ("trace_id?", t())]),
    })
}
