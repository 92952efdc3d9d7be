//! Attacks on logins and sessions over HTTP, as data: the same are sent to a server in the process of a test, and to the program itself
//! (`crates/durward/tests/identity/attacks.rs`).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// A call that must come to nothing.
pub(crate) struct Attack {
    /// For whoever reads that one went through.
    pub(crate) name: String,
    pub(crate) path: &'static str,
    /// Shown as `Authorization: Bearer`, where there is one.
    pub(crate) token: String,
    pub(crate) body: Value,
    status: u16,
}

impl Attack {
    /// Whether an answer is the refusal that is due.
    pub(crate) fn is_refused(&self, status: u16, body: &str) -> bool {
        let gives = ["\"token\"", "\"valid\":true", "PERMIT"];
        status == self.status && !gives.iter().any(|one| body.contains(one))
    }
}

/// Whom somebody attacks: a user, and a token of a session of his that lives.
pub(crate) struct Victim<'a> {
    pub(crate) user: &'a str,
    pub(crate) password: &'a str,
    pub(crate) token: &'a str,
}

/// Names that would find the victim if they were taken for a pattern or a filter.
pub(crate) fn injections(user: &str) -> Vec<String> {
    let first = user.get(..1).unwrap_or_default();
    vec![
        "*".to_owned(),
        format!("{first}*"),
        format!("{user})(uid=*"),
        format!("*)(|(uid={user}"),
        format!("{user})(|(objectClass=*)"),
        format!("{user}\u{0}"),
        format!("{user}\\00"),
        format!("\\2a{user}"),
        format!("uid={user}"),
        "b".repeat(10_000),
    ]
}

/// All of them, where every text is a name of its own.
pub(crate) fn attacks(victim: &Victim<'_>) -> Vec<Attack> {
    let mut attacks = on_logins(victim);
    attacks.extend(tokens(victim.token).into_iter().flat_map(|token| on_sessions(&token)));
    attacks
}

fn on_logins(victim: &Victim<'_>) -> Vec<Attack> {
    let Victim { user, password, .. } = *victim;
    let login = |name: &str, body: Value, status| Attack {
        name: format!("login, {name:.40}"),
        path: "/v1/login",
        token: String::new(),
        body,
        status,
    };
    let mut attacks: Vec<Attack> = injections(user)
        .into_iter()
        .chain([user.to_uppercase(), format!(" {user}"), format!("{user} ")])
        .map(|name| login(&name, json!({ "user": name, "password": password }), 401))
        .collect();
    for realm in ["(a+)+$", &"/".repeat(10_000), "/../..", "/\u{0}", "//", "/%2f"] {
        attacks.push(login(realm, json!({ "user": user, "password": password, "realm": realm }), 400));
    }
    let long = |length| "p".repeat(length);
    for wrong in [String::new(), format!("{password}\u{0}"), format!("{password} "), long(10_000)] {
        attacks.push(login("another password", json!({ "user": user, "password": wrong }), 401));
    }
    attacks.push(login("1 MiB", json!({ "user": user, "password": long(1 << 20) }), 413));
    attacks.push(login("a list", json!({ "user": [user], "password": [password] }), 400));
    attacks.push(login("no password", json!({ "user": user }), 400));
    attacks
}

/// Tokens that are none: cut, lengthened, changed, put together, and those of others with the algorithm `none`.
fn tokens(token: &str) -> Vec<String> {
    let (head, tail) = token.split_at(token.len() / 2);
    let swapped = if head.ends_with('A') { "B" } else { "A" };
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = part(json!({ "sub": "root", "iss": "durward", "exp": 4_000_000_000_u64, "level": 9 }));
    let mut tokens = vec![
        token.get(..token.len() - 1).unwrap_or_default().to_owned(),
        token.get(1..).unwrap_or_default().to_owned(),
        format!("{token}A"),
        format!("{token}="),
        format!("{tail}{head}"),
        format!("{}{swapped}{tail}", head.get(..head.len() - 1).unwrap_or_default()),
        "A".repeat(token.len()),
        "A".repeat(12_000),
    ];
    for algorithm in ["none", "None", "HS256"] {
        let header = part(json!({ "alg": algorithm, "typ": "JWT" }));
        tokens.extend([format!("{header}.{claims}."), format!("{header}.{claims}.AAAA")]);
    }
    tokens
}

fn on_sessions(token: &str) -> Vec<Attack> {
    let call = |path, token: &str, body, status| Attack {
        name: format!("{path} with {token:.40}"),
        path,
        token: token.to_owned(),
        body,
        status,
    };
    let ask = |subject: Value| json!({ "subject": subject, "action": "read", "resource": "records" });
    let mut attacks = vec![
        call("/v1/sessions/validate", "", json!({ "token": token, "touch": false }), 200),
        call("/api/pdp/decide-once", "", ask(json!({ "session": token })), 200),
    ];
    for path in ["/v1/sessions/logout", "/v1/sessions/refresh", "/v1/admin/rotate", "/v1/admin/revoke"] {
        attacks.push(call(path, token, json!({}), 401));
    }
    attacks
}
