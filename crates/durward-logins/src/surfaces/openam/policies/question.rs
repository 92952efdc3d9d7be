//! What an agent asks: an application, its resources, whom it is about, and under which circumstances.

use durward_common::access::subject::Shown;
use durward_settings::{OpenamApplicationSettings, OpenamSettings};
use hyper::StatusCode;
use serde_json::{Map, Value};
use smol_str::SmolStr;

use super::super::answers::Refusal;

/// How many resources one question may name.
const RESOURCES_MAX: usize = 64;

/// How many decisions one question may ask for: resources times actions.
const DECISIONS_MAX: usize = 512;

/// How many times a resource may be percent-encoded.
const DECODED_MAX: usize = 4;

/// Most bytes of the name of a resource.
const RESOURCE_BYTES_MAX: usize = 8192;

/// How many circumstances, or claims, there may be, and how many values each.
const NAMES_MAX: usize = 64;

/// The application that is meant where none is named, as OpenAM has it.
const DEFAULT_APPLICATION: &str = "iPlanetAMWebAgentService";

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// About resources by their names.
    Evaluate,
    /// About a resource and those below it.
    Tree,
}

impl Kind {
    pub(super) fn find(name: &str) -> Option<Kind> {
        let is = |kind: &Kind| kind.as_str().eq_ignore_ascii_case(name);
        [Kind::Evaluate, Kind::Tree].into_iter().find(is)
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Kind::Evaluate => "evaluate",
            Kind::Tree => "evaluateTree",
        }
    }
}

/// Whom a question is about.
pub(super) enum PolicySubject {
    /// Whoever shows this.
    Shown(Shown),
    /// What the agent says of them.
    Claims(Map<String, Value>),
    /// Nobody: it is there, and empty. Nothing is permitted.
    Nobody,
}

/// A question that was read.
pub(super) struct Question<'q> {
    pub(super) application: &'q OpenamApplicationSettings,
    pub(super) resources: Vec<String>,
    pub(super) subject: PolicySubject,
    pub(super) environment: Vec<(String, Vec<String>)>,
}

fn bad(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, message)
}

impl<'q> Question<'q> {
    /// Of the content of a request; the realm is that of the request, the token its caller's.
    ///
    /// # Errors
    /// There is no such application, or the content is no question.
    pub(super) fn read(
        settings: &'q OpenamSettings,
        (realm, token): (&str, &str),
        kind: Kind,
        content: &Value,
    ) -> Result<Question<'q>, Refusal> {
        let content =
            content.as_object().ok_or_else(|| bad("The content of the request is no JSON object"))?;
        let application = application(settings, realm, content)?;
        let resources = match kind {
            Kind::Evaluate => resources(content)?,
            Kind::Tree => tree(application, content)?,
        };
        if resources.len() * application.actions.len() > DECISIONS_MAX {
            return Err(bad(format!("At most {DECISIONS_MAX} decisions can be asked for at once")));
        }
        let subject = subject(content, token)?;
        Ok(Question { application, resources, subject, environment: environment(content)? })
    }

    /// Those that match a pattern of the application, each once. Servers may take a resource that goes up for another one than its text begins
    /// with: such a one is none of any application's, and nothing is permitted of it. OpenAM decides about the text.
    pub(super) fn resources_of_application(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for resource in &self.resources {
            let is_own = self.application.resources.iter().any(|pattern| matches(pattern, resource));
            if is_own && !goes_up(resource) && !found.contains(&resource.as_str()) {
                found.push(resource);
            }
        }
        found
    }
}

fn application<'q>(
    settings: &'q OpenamSettings,
    realm: &str,
    content: &Map<String, Value>,
) -> Result<&'q OpenamApplicationSettings, Refusal> {
    let name = match content.get("application") {
        None | Some(Value::Null) => DEFAULT_APPLICATION,
        Some(Value::String(name)) => name,
        Some(_) => return Err(bad("Invalid value application")),
    };
    let known =
        settings.applications.iter().find(|one| one.name == name && one.realm.eq_ignore_ascii_case(realm));
    known.ok_or_else(|| {
        Refusal::new(StatusCode::NOT_FOUND, format!("Application {name} not found in realm {realm}"))
    })
}

fn resource(value: &Value) -> Result<String, Refusal> {
    let text = value.as_str().filter(|text| !text.is_empty() && text.len() <= RESOURCE_BYTES_MAX);
    let text = text.filter(|text| !text.contains(char::is_control));
    text.map(str::to_owned).ok_or_else(|| bad("Invalid value resources"))
}

fn resources(content: &Map<String, Value>) -> Result<Vec<String>, Refusal> {
    let list = content.get("resources").and_then(Value::as_array);
    let list = list.filter(|list| (1..=RESOURCES_MAX).contains(&list.len()));
    list.ok_or_else(|| bad("Invalid value resources"))?.iter().map(resource).collect()
}

/// A resource, and those below it that the settings name: there is no list of all that policies may decide about.
fn tree(
    application: &OpenamApplicationSettings,
    content: &Map<String, Value>,
) -> Result<Vec<String>, Refusal> {
    let root = resource(content.get("resource").unwrap_or(&Value::Null))?;
    let prefix = format!("{}/", root.trim_end_matches('/'));
    let below = application
        .resources
        .iter()
        .filter(|known| !known.contains('*') && known.starts_with(&prefix) && known.as_str() != root);
    let mut all = vec![root.clone()];
    all.extend(below.take(RESOURCES_MAX).cloned());
    Ok(all)
}

/// Whom it is about: the caller, where nobody is named.
fn subject(content: &Map<String, Value>, token: &str) -> Result<PolicySubject, Refusal> {
    let Some(named) = content.get("subject") else {
        return Ok(PolicySubject::Shown(Shown::Session(SmolStr::from(token))));
    };
    let named = match named {
        Value::Null => return Ok(PolicySubject::Nobody),
        Value::Object(named) => named,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(bad("Invalid value subject"));
        }
    };
    // Whoever names a token is judged by it alone: a second one, or claims, could be another's.
    let mut members = named.iter();
    let subject = match (members.next(), members.next()) {
        (None, _) => return Ok(PolicySubject::Nobody),
        (Some(only), None) => only,
        (Some(_), Some(_)) => return Err(bad("Only one of ssoToken, jwt and claims may name the subject")),
    };
    match (subject.0.as_str(), subject.1) {
        ("ssoToken" | "jwt" | "claims", Value::Null) => Ok(PolicySubject::Nobody),
        ("ssoToken" | "jwt", Value::String(token)) if token.is_empty() => Ok(PolicySubject::Nobody),
        ("ssoToken", Value::String(token)) => Ok(PolicySubject::Shown(Shown::Session(token.into()))),
        ("jwt", Value::String(token)) => Ok(PolicySubject::Shown(Shown::Jwt(token.into()))),
        ("claims", Value::Object(claims)) if claims.is_empty() => Ok(PolicySubject::Nobody),
        ("claims", Value::Object(claims)) => {
            let is_token = |name: &String| ["session", "jwt"].contains(&name.as_str());
            if claims.len() > NAMES_MAX || claims.keys().any(is_token) {
                return Err(bad("Invalid value subject"));
            }
            Ok(PolicySubject::Claims(claims.clone()))
        }
        _ => Err(bad("Invalid value subject")),
    }
}

/// Names with lists of texts.
fn environment(content: &Map<String, Value>) -> Result<Vec<(String, Vec<String>)>, Refusal> {
    let wrong = || bad("Invalid value environment");
    let named = match content.get("environment") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(named)) if named.len() <= NAMES_MAX => named,
        Some(_) => return Err(wrong()),
    };
    let values = |(name, values): (&String, &Value)| {
        let values = values.as_array().filter(|values| values.len() <= NAMES_MAX).ok_or_else(wrong)?;
        let texts: Option<Vec<String>> =
            values.iter().map(|value| Some(value.as_str()?.to_owned())).collect();
        Ok((name.clone(), texts.ok_or_else(wrong)?))
    };
    named.iter().map(values).collect()
}

/// Whether there is a dot segment (RFC 3986, 3.3) in the path of a resource, however it is written: in per cent, also of that again, and between
/// backslashes. What is written in per cent more often than anybody does is taken for one.
fn goes_up(resource: &str) -> bool {
    let mut path = resource.split(['?', '#']).next().unwrap_or_default().to_owned();
    for _ in 0..DECODED_MAX {
        if has_dots(&path) {
            return true;
        }
        let decoded = decoded(&path);
        if decoded == path {
            return false;
        }
        path = decoded;
    }
    true
}

fn has_dots(path: &str) -> bool {
    // What stands behind `;` is a parameter of the segment.
    let mut segments = path.split(['/', '\\']).map(|segment| segment.split(';').next().unwrap_or_default());
    segments.any(|segment| segment == "." || segment == "..")
}

/// Without per cent where it stands for ASCII.
fn decoded(path: &str) -> String {
    let mut parts = path.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(u8::is_ascii);
        match code {
            Some(code) => {
                text.push(char::from(code));
                text.push_str(part.get(2..).unwrap_or_default());
            }
            None => {
                text.push('%');
                text.push_str(part);
            }
        }
    }
    text
}

/// Whether a resource is one of a pattern: `*` is any text, `-*-` any without a slash.
fn matches(pattern: &str, resource: &str) -> bool {
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut rest = pattern;
    while let Some(at) = rest.find('*') {
        let (before, behind) = (rest.get(..at).unwrap_or_default(), rest.get(at + 1..).unwrap_or_default());
        match (before.strip_suffix('-'), behind.strip_prefix('-')) {
            (Some(before), Some(behind)) => {
                parts.extend([Part::Text(before), Part::Segment]);
                rest = behind;
            }
            _ => {
                parts.extend([Part::Text(before), Part::Any]);
                rest = behind;
            }
        }
    }
    parts.push(Part::Text(rest));
    are_met(&parts, resource)
}

#[derive(Clone, Copy)]
enum Part<'p> {
    Text(&'p str),
    Any,
    Segment,
}

/// Which places of a resource can be reached by all parts so far, part after part: no pattern takes longer than its length times that of
/// the resource.
fn are_met(parts: &[Part<'_>], resource: &str) -> bool {
    let bytes = resource.as_bytes();
    let mut reached = vec![false; bytes.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    for part in parts {
        let mut next = vec![false; bytes.len() + 1];
        let mut is_within = false;
        for (at, place) in next.iter_mut().enumerate() {
            let is_reached = |at: usize| reached.get(at).copied().unwrap_or(false);
            match part {
                Part::Text(text) => {
                    let begins = at.checked_sub(text.len());
                    *place = begins.is_some_and(|begins| {
                        is_reached(begins) && bytes.get(begins..at) == Some(text.as_bytes())
                    });
                }
                Part::Any => {
                    is_within |= is_reached(at);
                    *place = is_within;
                }
                Part::Segment => {
                    let is_slash = at.checked_sub(1).and_then(|before| bytes.get(before)) == Some(&b'/');
                    is_within = (is_within && !is_slash) || is_reached(at);
                    *place = is_within;
                }
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patterns_are_matched_as_a_whole() {
        for (pattern, resource, is_met) in [
            ("*", "", true),
            ("*", "https://a/b?c", true),
            ("/records/*", "/records/7", true),
            ("/records/*", "/records", false),
            ("/records/*", "/x/records/7", false),
            ("*://*:*/*", "http://www.example.org:80/index.html", true),
            ("*://*:*/*", "/index.html", false),
            ("/a/-*-/c", "/a/b/c", true),
            ("/a/-*-/c", "/a/b/b/c", false),
            ("/a/-*-", "/a/b", true),
            ("/a/-*-", "/a/b/c", false),
            ("/a/-*-", "/a/", true),
            ("/a-*b", "/a-xb", true),
            ("/a", "/a", true),
            ("/a", "/ab", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, resource), is_met, "{pattern} {resource}");
        }
        assert!(!matches(&"*a".repeat(200), &"a".repeat(100)));
    }

    #[test]
    fn a_resource_that_goes_up_is_found_however_it_is_written() {
        for up in [
            "/records/../admin",
            "/records/./7",
            "..",
            "/records/..",
            "https://a.example:443/records/../admin?x",
            "/records/%2e%2e/admin",
            "/records/%2E./admin",
            "/records/%252e%252e/admin",
            "/records/%25252e./admin",
            "/records/%%32%65./admin",
            "/records/%252525252525",
            "/records/..%2fadmin",
            "/records/..%5Cadmin",
            "/records\\..\\admin",
            "/records/..;x=y/admin",
        ] {
            assert!(goes_up(up), "{up}");
        }
        for plain in
            ["/records/7", "/records/...", "/records/.well-known", "/a?x=/../b", "/a#/../b", "/a..b/c.", "*"]
        {
            assert!(!goes_up(plain), "{plain}");
        }
    }

    #[test]
    fn a_subject_is_named_once_and_what_names_nobody_is_not_the_caller() {
        let read = |content: Value| match subject(content.as_object().unwrap(), "own") {
            Ok(PolicySubject::Shown(Shown::Session(token))) => format!("session {token}"),
            Ok(PolicySubject::Shown(Shown::Jwt(token))) => format!("jwt {token}"),
            Ok(PolicySubject::Claims(claims)) => format!("claims {}", Value::from(claims)),
            Ok(PolicySubject::Nobody) => "nobody".to_owned(),
            Err(refusal) => refusal.status.as_u16().to_string(),
        };
        for (content, expected) in [
            (json!({}), "session own"),
            (json!({"subject": {"ssoToken": "t"}}), "session t"),
            (json!({"subject": {"jwt": "a.b.c"}}), "jwt a.b.c"),
            (json!({"subject": {"claims": {"sub": "demo"}}}), "claims {\"sub\":\"demo\"}"),
            (json!({"subject": null}), "nobody"),
            (json!({"subject": {}}), "nobody"),
            (json!({"subject": {"ssoToken": ""}}), "nobody"),
            (json!({"subject": {"ssoToken": null}}), "nobody"),
            (json!({"subject": {"claims": {}}}), "nobody"),
            (json!({"subject": {"ssoToken": "t", "jwt": "a.b.c"}}), "400"),
            (json!({"subject": {"ssoToken": "t", "claims": {"sub": "demo"}}}), "400"),
            (json!({"subject": {"ssoToken": "t", "other": 1}}), "400"),
            (json!({"subject": {"claims": {"session": "t"}}}), "400"),
            (json!({"subject": {"claims": {"jwt": "t", "sub": "x"}}}), "400"),
            (json!({"subject": {"ssoToken": 1}}), "400"),
            (json!({"subject": {"SSOTOKEN": "t"}}), "400"),
            (json!({"subject": "t"}), "400"),
            (json!({"subject": [{"ssoToken": "t"}]}), "400"),
        ] {
            assert_eq!(read(content.clone()), expected, "{content}");
        }
    }
}
