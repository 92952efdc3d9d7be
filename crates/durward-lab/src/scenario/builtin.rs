//! Built-in steps: requests of protocols that many speak, so that a scenario need not know their paths.

use std::collections::BTreeMap;

use super::error::{ScenarioError, unknown_problem};
use super::step::{Capture, Expect, HoldFor, ScenarioStep};
use super::value::OneOrMany;
use super::{Scenario, error};

/// What `use` may name, with what `with` must and may say.
pub const BUILT_INS: &[(&str, &[&str], &[&str])] = &[
    ("durward-login", &["user", "password"], &["realm"]),
    ("durward-validate", &[], &[]),
    ("durward-logout", &[], &[]),
    ("openam-login", &["user", "password"], &["base"]),
    ("openam-validate", &[], &["base"]),
    ("openam-logout", &[], &["base"]),
    ("openam-json-login", &["user", "password"], &["base", "realm"]),
    ("openam-json-validate", &[], &["base", "realm"]),
    ("openam-json-logout", &[], &["base", "realm", "cookie"]),
    ("xacml", &["body"], &["path", "decision"]),
    ("sapl", &["body"], &["path", "decision"]),
    ("sapl-decide", &["body"], &["path", "decision"]),
    ("sapl-multi-decide", &["body"], &["path"]),
    ("sapl-multi-decide-all", &["body"], &["path"]),
    ("sapl-multi-decide-all-once", &["body"], &["path"]),
    ("sapl-rsocket-decide-once", &["body"], &["decision"]),
    ("sapl-rsocket-decide", &["body"], &["decision"]),
    ("sapl-rsocket-multi-decide", &["body"], &[]),
    ("sapl-rsocket-multi-decide-all", &["body"], &[]),
    ("sapl-rsocket-multi-decide-all-once", &["body"], &[]),
    ("authzen", &["body"], &["path", "decision"]),
];

impl Scenario {
    /// Fills in built-in steps.
    pub(super) fn expand(&mut self) -> Result<(), ScenarioError> {
        for step in &mut self.steps {
            let line = error::line_at(&self.text, step.span().start);
            step.get_mut().visit_mut(&mut expand).map_err(|error: ScenarioError| error.in_line(line))?;
        }
        Ok(())
    }
}

fn expand(step: &mut ScenarioStep) -> Result<(), ScenarioError> {
    let Some(name) = step.built_in.clone() else {
        let is_told = !step.with.is_empty();
        return if is_told { Err(ScenarioError::at("with", "needs a `use` beside it")) } else { Ok(()) };
    };
    let names: Vec<&str> = BUILT_INS.iter().map(|(name, _, _)| *name).collect();
    let Some((_, must, may)) = BUILT_INS.iter().find(|(known, _, _)| *known == name) else {
        return Err(ScenarioError::at(&name, unknown_problem(&name, &names)));
    };
    if let Some(key) = must.iter().find(|key| !step.with.contains_key(**key)) {
        return Err(ScenarioError::at(&name, format!("needs `with.{key}`")));
    }
    let allowed: Vec<&str> = must.iter().chain(*may).copied().collect();
    if let Some(key) = step.with.keys().find(|key| !allowed.contains(&key.as_str())) {
        let problem = unknown_problem(key, &allowed);
        return Err(ScenarioError::at(format!("with.{key}"), problem));
    }
    let built = build(&name, &StepArguments(&step.with))?;
    step.take_over(built);
    if step.name.is_empty() {
        step.name = name;
    }
    Ok(())
}

/// What a built-in step is told.
struct StepArguments<'w>(&'w BTreeMap<String, String>);

impl StepArguments<'_> {
    fn get(&self, key: &str, otherwise: &str) -> String {
        self.0.get(key).map_or(otherwise, String::as_str).to_owned()
    }

    /// A value with a filter behind each of its `${...}`, and written by it itself.
    fn url(&self, key: &str) -> Result<String, ScenarioError> {
        use super::template::{TemplateFilter, TemplatePart, TemplateReference, parse, written};
        let text = self.get(key, "");
        let parts =
            parse(&text).map_err(|problem| ScenarioError::at(format!("with.{key}"), problem.to_string()))?;
        let write = |part: TemplatePart| match part {
            TemplatePart::Text(text) => written(&text, TemplateFilter::Url),
            TemplatePart::Value(TemplateReference::Capture(name), _) => format!("${{{name}|url}}"),
            TemplatePart::Value(TemplateReference::Data(Some(table), column), _) => {
                format!("${{data.{table}.{column}|url}}")
            }
            TemplatePart::Value(TemplateReference::Data(None, column), _) => {
                format!("${{data.{column}|url}}")
            }
            TemplatePart::Value(TemplateReference::Vary(name), _) => format!("${{vary.{name}|url}}"),
            TemplatePart::Value(TemplateReference::Environment(name), _) => format!("${{env.{name}|url}}"),
            TemplatePart::Value(TemplateReference::File(path), _) => format!("${{file:{path}|url}}"),
            TemplatePart::Value(TemplateReference::User, _) => "${user}".to_owned(),
            TemplatePart::Value(TemplateReference::Request, _) => "${request}".to_owned(),
        };
        Ok(parts.into_iter().map(write).collect())
    }

    /// The path of the realm in OpenAM's newer calls.
    fn realm(&self) -> String {
        match self.get("realm", "/").trim_matches('/') {
            "" => String::new(),
            realm => format!("/{realm}"),
        }
    }
}

fn build(name: &str, told: &StepArguments<'_>) -> Result<ScenarioStep, ScenarioError> {
    let step = match name {
        "durward-login" => durward_login(told),
        "durward-validate" => validate(ScenarioStep {
            method: text("POST"),
            path: text("/v1/sessions/validate"),
            headers: headers(&[("Authorization", "Bearer ${token}")]),
            ..right_where("/valid", true.into())
        }),
        "durward-logout" => logout(ScenarioStep {
            method: text("POST"),
            path: text("/v1/sessions/logout"),
            headers: headers(&[("Authorization", "Bearer ${token}")]),
            ..ScenarioStep::default()
        }),
        "openam-login" | "openam-validate" | "openam-logout" => openam(name, told)?,
        "openam-json-login" | "openam-json-validate" | "openam-json-logout" => openam_json(name, told),
        _ => question(name, told),
    };
    Ok(step)
}

fn durward_login(told: &StepArguments<'_>) -> ScenarioStep {
    let mut body = toml::Table::new();
    for key in ["user", "password"] {
        body.insert(key.to_owned(), told.get(key, "").into());
    }
    if let Some(realm) = told.0.get("realm") {
        body.insert("realm".to_owned(), realm.clone().into());
    }
    login(
        ScenarioStep { path: text("/v1/login"), json: Some(body.into()), ..ScenarioStep::default() },
        Capture { json: text("/token"), ..Capture::default() },
    )
}

/// OpenAM 11 and before: everything in the query, answers of plain text.
fn openam(name: &str, told: &StepArguments<'_>) -> Result<ScenarioStep, ScenarioError> {
    let base = told.get("base", "/openam");
    let (user, password) = (told.url("user")?, told.url("password")?);
    let at =
        |path: String| ScenarioStep { method: text("POST"), path: Some(path), ..ScenarioStep::default() };
    Ok(match name {
        "openam-login" => login(
            at(format!("{base}/identity/authenticate?username={user}&password={password}")),
            Capture { regex: text(r"token\.id=(\S+)"), ..Capture::default() },
        ),
        "openam-validate" => validate(ScenarioStep {
            expect: Expect { contains: OneOrMany(vec!["boolean=true".to_owned()]), ..Expect::default() },
            ..at(format!("{base}/identity/isTokenValid?tokenid=${{token|url}}"))
        }),
        _ => logout(at(format!("{base}/identity/logout?subjectid=${{token|url}}"))),
    })
}

/// OpenAM 12 and later, and what came of it.
fn openam_json(name: &str, told: &StepArguments<'_>) -> ScenarioStep {
    let base = format!("{}/json{}", told.get("base", "/openam"), told.realm());
    let asks = |path: String, more: &[(&str, &str)]| {
        let mut all = headers(&[("Content-Type", "application/json")]);
        all.extend(headers(more));
        ScenarioStep {
            method: text("POST"),
            path: Some(path),
            headers: all,
            body: text("{}"),
            ..ScenarioStep::default()
        }
    };
    let version = ("Accept-API-Version", "resource=1.2");
    match name {
        "openam-json-login" => {
            let (user, password) = (told.get("user", ""), told.get("password", ""));
            let credentials = [
                ("X-OpenAM-Username", user.as_str()),
                ("X-OpenAM-Password", password.as_str()),
                ("Accept-API-Version", "resource=2.0"),
            ];
            let capture = Capture { json: text("/tokenId"), ..Capture::default() };
            login(asks(format!("{base}/authenticate"), &credentials), capture)
        }
        "openam-json-validate" => validate(ScenarioStep {
            expect: right_where("/valid", true.into()).expect,
            ..asks(format!("{base}/sessions?_action=validate&tokenId=${{token|url}}"), &[version])
        }),
        _ => {
            let cookie = told.get("cookie", "iPlanetDirectoryPro");
            logout(asks(format!("{base}/sessions?_action=logout"), &[version, (&cookie, "${token}")]))
        }
    }
}

/// A question about a decision.
fn question(name: &str, told: &StepArguments<'_>) -> ScenarioStep {
    if let Some(route) = name.strip_prefix("sapl-rsocket-") {
        let events = (!route.ends_with("-once")).then(HoldFor::default);
        let step = ScenarioStep {
            body: Some(told.get("body", "")),
            rsocket: text(route),
            events,
            ..ScenarioStep::default()
        };
        return decided(step, told, "/decision");
    }
    if let Some(route) = name.strip_prefix("sapl-") {
        let events = (!route.ends_with("-once")).then(HoldFor::default);
        let path = Some(told.get("path", &format!("/api/pdp/{route}")));
        let headers = headers(&[("Content-Type", "application/json")]);
        let step = ScenarioStep {
            path,
            headers,
            body: Some(told.get("body", "")),
            events,
            ..ScenarioStep::default()
        };
        return decided(step, told, "/decision");
    }
    let (path, media, pointer) = match name {
        "xacml" => ("/pdp", "application/xacml+json", "/Response/0/Decision"),
        "sapl" => ("/api/pdp/decide-once", "application/json", "/decision"),
        _ => ("/access/v1/evaluation", "application/json", "/decision"),
    };
    let step = ScenarioStep {
        path: Some(told.get("path", path)),
        headers: headers(&[("Content-Type", media)]),
        body: Some(told.get("body", "")),
        ..ScenarioStep::default()
    };
    decided(step, told, pointer)
}

/// A question whose right answer is the decision that `with.decision` names, where it does.
fn decided(mut step: ScenarioStep, told: &StepArguments<'_>, pointer: &str) -> ScenarioStep {
    if let Some(decision) = told.0.get("decision") {
        let value = match decision.as_str() {
            "true" => true.into(),
            "false" => false.into(),
            word => toml::Value::from(word),
        };
        step.expect = right_where(pointer, value).expect;
    }
    step
}

fn login(step: ScenarioStep, token: Capture) -> ScenarioStep {
    ScenarioStep { only_if: text("!token"), capture: BTreeMap::from([("token".to_owned(), token)]), ..step }
}

/// A token that is not valid any more is forgotten, so that its user logs in again.
fn validate(step: ScenarioStep) -> ScenarioStep {
    let forget_on_error = OneOrMany(vec!["token".to_owned()]);
    ScenarioStep { only_if: text("token"), forget_on_error, ..step }
}

fn logout(step: ScenarioStep) -> ScenarioStep {
    let token = OneOrMany(vec!["token".to_owned()]);
    ScenarioStep { only_if: text("token"), forget: token.clone(), forget_on_error: token, ..step }
}

fn right_where(pointer: &str, value: toml::Value) -> ScenarioStep {
    let json = BTreeMap::from([(pointer.to_owned(), value)]);
    ScenarioStep { expect: Expect { json, ..Expect::default() }, ..ScenarioStep::default() }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn headers(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

impl ScenarioStep {
    /// Takes from a built-in step what this one leaves open.
    fn take_over(&mut self, built: ScenarioStep) {
        fn keep<T>(own: &mut Option<T>, built: Option<T>) {
            *own = own.take().or(built);
        }
        fn keep_list<T>(own: &mut OneOrMany<T>, built: OneOrMany<T>) {
            if own.0.is_empty() {
                *own = built;
            }
        }
        keep(&mut self.method, built.method);
        keep(&mut self.path, built.path);
        if self.body.is_none() && self.body_file.is_none() && self.json.is_none() {
            (self.body, self.json) = (built.body, built.json);
        }
        for (name, value) in built.headers {
            self.headers.entry(name).or_insert(value);
        }
        for (name, capture) in built.capture {
            self.capture.entry(name).or_insert(capture);
        }
        for (pointer, value) in built.expect.json {
            self.expect.json.entry(pointer).or_insert(value);
        }
        keep_list(&mut self.expect.status, built.expect.status);
        keep_list(&mut self.expect.contains, built.expect.contains);
        keep_list(&mut self.forget, built.forget);
        keep_list(&mut self.forget_on_error, built.forget_on_error);
        keep(&mut self.only_if, built.only_if);
        keep(&mut self.events, built.events);
        keep(&mut self.rsocket, built.rsocket);
    }
}
