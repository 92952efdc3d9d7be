//! `[doors]`: decisions for gateways, which ask before they pass a request on.

use std::collections::{BTreeMap, HashSet};

use hyper::header::HeaderName;
use serde::{Deserialize, Serialize};

use super::doors_path::PathTemplate;
use super::network::Network;
use super::{ConfigError, is_tenant};

/// What stands for the address that was asked for in `doors.login`.
pub const LOGIN_TARGET: &str = "{target}";

/// Properties that every resource has: no segment of a path takes their place.
const RESERVED: [&str; 6] = ["method", "scheme", "host", "path", "raw", "query"];

/// What is refused unless it is allowed, because a gateway, durward and the application could each read it in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoorAllow {
    /// `;` in the path.
    Semicolon,
    /// `//` in the path.
    DoubleSlash,
    /// `%2F` in the path.
    EncodedSlash,
    /// `%25` in the path, which may be decoded twice.
    EncodedPercent,
    /// `\` or `%5C` in the path.
    Backslash,
    /// Fields such as `X-HTTP-Method-Override` and `X-Original-URL`, by which applications take another method or path for the real one.
    OverrideHeaders,
}

/// What of a question a gateway may say by its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoorExtension {
    /// The name of the action.
    Action,
    /// The type of the resource.
    ResourceType,
    /// Whose policies decide.
    Tenant,
}

impl DoorExtension {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            DoorExtension::Action => "action",
            DoorExtension::ResourceType => "resource_type",
            DoorExtension::Tenant => "tenant",
        }
    }
}

/// What an identity header says of the subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DoorIdentity {
    /// The name of the user, or `sub` of a token.
    User,
    /// The realm of the user.
    Realm,
    /// Their groups.
    Groups,
    /// What names the session.
    Session,
    /// The level of the session.
    Level,
    /// The client that a token was given to.
    Client,
    /// The scopes of the token.
    Scopes,
    /// An attribute of the user.
    Attribute(String),
    /// A claim of a token of `[auth.jwt]`.
    Claim(String),
}

/// A text that names nothing of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoDoorIdentity(String);

impl std::fmt::Display for NoDoorIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "`{}` is none of `user`, `realm`, `groups`, `session`, `level`, `client`, `scopes`, `attributes.NAME` and `claims.NAME`",
            self.0
        )
    }
}

impl TryFrom<String> for DoorIdentity {
    type Error = NoDoorIdentity;

    fn try_from(text: String) -> Result<DoorIdentity, NoDoorIdentity> {
        Ok(match text.as_str() {
            "user" => DoorIdentity::User,
            "realm" => DoorIdentity::Realm,
            "groups" => DoorIdentity::Groups,
            "session" => DoorIdentity::Session,
            "level" => DoorIdentity::Level,
            "client" => DoorIdentity::Client,
            "scopes" => DoorIdentity::Scopes,
            other => match other.split_once('.') {
                Some(("attributes", name)) if !name.is_empty() => DoorIdentity::Attribute(name.to_owned()),
                Some(("claims", name)) if !name.is_empty() => DoorIdentity::Claim(name.to_owned()),
                Some(_) | None => return Err(NoDoorIdentity(text)),
            },
        })
    }
}

impl From<DoorIdentity> for String {
    fn from(identity: DoorIdentity) -> String {
        let word = match identity {
            DoorIdentity::User => "user",
            DoorIdentity::Realm => "realm",
            DoorIdentity::Groups => "groups",
            DoorIdentity::Session => "session",
            DoorIdentity::Level => "level",
            DoorIdentity::Client => "client",
            DoorIdentity::Scopes => "scopes",
            DoorIdentity::Attribute(name) => return format!("attributes.{name}"),
            DoorIdentity::Claim(name) => return format!("claims.{name}"),
        };
        word.to_owned()
    }
}

/// Decisions for gateways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DoorsSettings {
    /// Whether gateways are answered. Default: false.
    pub on: bool,
    /// The gateways, by their addresses: what they say of a request is believed. Default: this machine.
    pub proxies: Vec<Network>,
    /// What is let through to policies that is refused otherwise. Default: nothing.
    pub allow: Vec<DoorAllow>,
    /// Headers that tell the application who it is, and what each says. They are in every answer that lets a request pass. Default:
    /// `x-auth-user` and `x-auth-groups`.
    pub identity_headers: BTreeMap<String, DoorIdentity>,
    /// Headers that obligations may set where a gateway copies headers by their names. Default: none.
    pub headers: Vec<String>,
    /// Where browsers without a session are sent. `{target}` stands for the address that they wanted. Default: nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// Hosts that an obligation may send browsers to, besides the one that was asked for. Default: none.
    pub redirect_hosts: Vec<String>,
    /// What Envoy's routes may say of a question (`context_extensions`). Default: nothing.
    pub extensions: Vec<DoorExtension>,
    /// How long a decision may wait for attributes. Default: 5 seconds.
    pub decision_ms_max: u64,
    /// What requests ask for, by host, method and path. Default: everything is asked about by method and path.
    pub routes: Vec<DoorRouteSettings>,
}

/// Which requests ask for what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoorRouteSettings {
    /// The path.
    pub path: PathTemplate,
    /// The hosts, such as `papers.example.org` and `*.example.org`. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The methods. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
    /// The name of the action. Default: the method in small letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The type of the resource. Default: `http`.
    #[serde(default = "http")]
    pub resource_type: String,
    /// The id of the resource, in which names of the path stand in braces. Default: `{path}`.
    #[serde(default = "path")]
    pub resource_id: String,
    /// Whose policies decide. Default: `auth.default_tenant`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Whether policies are asked about whoever shows no session and no token. Default: false.
    #[serde(default)]
    pub anonymous: bool,
    /// What is let through here besides `doors.allow`. Default: nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<DoorAllow>,
}

fn http() -> String {
    "http".to_owned()
}

fn path() -> String {
    "{path}".to_owned()
}

impl Default for DoorsSettings {
    fn default() -> DoorsSettings {
        let identity_headers = [("x-auth-user", DoorIdentity::User), ("x-auth-groups", DoorIdentity::Groups)];
        DoorsSettings {
            on: false,
            proxies: ["127.0.0.0/8", "::1"].iter().filter_map(|network| network.parse().ok()).collect(),
            allow: Vec::new(),
            identity_headers: identity_headers.map(|(name, says)| (name.to_owned(), says)).into(),
            headers: Vec::new(),
            login: None,
            redirect_hosts: Vec::new(),
            extensions: Vec::new(),
            decision_ms_max: 5_000,
            routes: Vec::new(),
        }
    }
}

impl DoorsSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let wrong =
            |name: &str, message: String| Err(ConfigError::of_setting(&format!("doors.{name}"), message));
        if let Some(network) = self.proxies.iter().find(|network| network.is_everybody()) {
            return wrong(
                "proxies",
                format!("has `{network}`: clients could say what they ask for; name the gateways"),
            );
        }
        let mut names = HashSet::new();
        let listed = self.identity_headers.keys().map(|name| ("identity_headers", name));
        for (setting, name) in listed.chain(self.headers.iter().map(|name| ("headers", name))) {
            let Some(header) = passable(name) else {
                return wrong(setting, format!("has `{name}`, which no gateway may take over"));
            };
            if !names.insert(header.as_str().to_owned()) {
                return wrong(setting, format!("has `{name}`, which is there already"));
            }
        }
        if let Some(login) = &self.login {
            let is_web = ["https://", "http://", "/"].iter().any(|start| login.starts_with(start));
            let is_plain = login.bytes().all(|byte| byte.is_ascii_graphic()) && !login.starts_with("//");
            if !is_web || !is_plain || !login.contains(LOGIN_TARGET) {
                return wrong(
                    "login",
                    format!(
                        "is `{login}`; it is an address such as `https://id.example.org/openam/UI/Login?goto={{target}}`"
                    ),
                );
            }
        }
        if let Some(host) = self.redirect_hosts.iter().find(|host| !is_host(host)) {
            return wrong(
                "redirect_hosts",
                format!("has `{host}`, which is no host, such as `www.example.org`"),
            );
        }
        if self.decision_ms_max == 0 {
            return wrong("decision_ms_max", "is 0; the least is 1".to_owned());
        }
        self.routes.iter().try_for_each(DoorRouteSettings::check)
    }

    pub(super) fn weaknesses(&self) -> Option<String> {
        (self.on && self.identity_headers.is_empty()).then(|| {
            "`doors.identity_headers` is empty: a client's own header that names a user could reach an application".to_owned()
        })
    }
}

impl DoorRouteSettings {
    fn check(&self) -> Result<(), ConfigError> {
        let wrong = |name: &str, message: String| {
            Err(ConfigError::of_setting(&format!("doors.routes.{name}"), message))
        };
        if let Some(host) = self.hosts.iter().find(|host| !is_host(host.strip_prefix("*.").unwrap_or(host))) {
            return wrong(
                "hosts",
                format!("has `{host}`; a host is `papers.example.org` or `*.example.org`"),
            );
        }
        if let Some(method) = self.methods.iter().find(|method| !is_method(method)) {
            return wrong("methods", format!("has `{method}`; a method is in capitals, such as `GET`"));
        }
        if self.action.as_ref().is_some_and(String::is_empty) || self.resource_type.is_empty() {
            return wrong("action", "is empty, or `resource_type` is".to_owned());
        }
        if let Some(name) = self.path.names().find(|name| RESERVED.contains(name)) {
            return wrong(
                "path",
                format!("names a segment `{name}`, which the resource has already; choose another name"),
            );
        }
        if let Some(name) = names_in(&self.resource_id).find(|name| !self.gives(name)) {
            return wrong(
                "resource_id",
                format!("has `{{{name}}}`, which `{}` does not name", String::from(self.path.clone())),
            );
        }
        match &self.tenant {
            Some(tenant) if !is_tenant(tenant) => {
                wrong("tenant", format!("is `{tenant}`, which can be no tenant"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn gives(&self, name: &str) -> bool {
        matches!(name, "path" | "host" | "method") || self.path.names().any(|given| given == name)
    }
}

/// The names in braces.
fn names_in(template: &str) -> impl Iterator<Item = &str> {
    template.split('{').skip(1).map(|rest| rest.split('}').next().unwrap_or_default())
}

/// A method as HTTP has them.
#[inline]
pub fn is_method(method: &str) -> bool {
    (1..=32).contains(&method.len()) && method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
}

/// A host in small letters, without a port.
fn is_host(host: &str) -> bool {
    !host.is_empty()
        && !host.starts_with('.')
        && host
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._:[]".contains(&byte))
}

/// A header that a gateway may set for an application, or remove: none that is about the connection, the length of a body, or the host, and none
/// of durward's own.
#[inline]
pub fn passable(name: &str) -> Option<HeaderName> {
    const KEPT: [&str; 14] = [
        "connection",
        "content-encoding",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
    ];
    let header = HeaderName::from_bytes(name.as_bytes()).ok()?;
    let is_kept = KEPT.contains(&header.as_str()) || header.as_str().starts_with("x-durward-");
    (!is_kept).then_some(header)
}

#[cfg(test)]
mod tests {
    use super::super::Settings;

    #[test]
    fn settings_that_would_let_clients_in_are_refused() {
        let wrong = |text: &str| Settings::from_toml(text, "t").unwrap_err().to_string();
        for (text, words) in [
            ("doors.proxies = ['0.0.0.0/0']", "clients could say"),
            ("doors.headers = ['Transfer-Encoding']", "no gateway may take over"),
            ("doors.headers = ['X-Durward-Set']", "no gateway may take over"),
            ("doors.headers = ['x-auth-user']", "there already"),
            ("doors.login = 'javascript:alert({target})'", "it is an address"),
            ("doors.login = '//evil.example/{target}'", "it is an address"),
            ("doors.login = 'https://id.example.org/'", "it is an address"),
            ("doors.redirect_hosts = ['https://a.example']", "no host"),
            ("doors.identity_headers.X = 'name'", "is none of `user`"),
            ("[[doors.routes]]\npath = 'a'", "begins with `/`"),
            ("[[doors.routes]]\npath = '/a'\nmethods = ['get']", "in capitals"),
            ("[[doors.routes]]\npath = '/{a}'\nresource_id = '{b}'", "does not name"),
            ("[[doors.routes]]\npath = '/{path}'", "the resource has already"),
            ("[[doors.routes]]\npath = '/a'\nhosts = ['EXAMPLE.org']", "a host is"),
            ("[[doors.routes]]\npath = '/a'\nallow = ['dots']", "`semicolon`"),
            ("[[doors.routes]]\nmethods = ['GET']", "`path` is missing"),
        ] {
            assert!(wrong(text).contains(words), "{text}: {}", wrong(text));
        }
        let good = "[[doors.routes]]\npath = '/papers/{id}/**'\nhosts = ['*.example.org']\nresource_id = '{host}:{id}'";
        assert!(Settings::from_toml(good, "t").is_ok());
    }
}
