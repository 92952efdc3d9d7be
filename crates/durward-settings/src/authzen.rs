//! `[authzen]`: decisions for clients of the AuthZEN Authorization API 1.0, how their words become those of policies, and among what
//! a search looks.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{AuthzenEntitySettings, ConfigError, IdentitySettings};
use crate::is_tenant;

/// Most evaluations of one request: they are decided one after the other.
const EVALUATIONS_CAP: usize = 10_000;

/// How deep a template may nest.
const TEMPLATE_DEPTH_MAX: usize = 8;

/// Decisions for clients of AuthZEN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthzenSettings {
    /// Whether `/access/v1/...` is answered; `true` needs `[auth]`. Default: as `sapl.http`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<bool>,
    /// What the decision point is called (`policy_decision_point`): an `https` address without `?` and `#`. Default: none, and no
    /// metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// In which language policies are asked. Default: `auto`, in XACML where all policies of a tenant are XACML's.
    pub language: AuthzenLanguage,
    /// The same for tenants by name. Default: none.
    pub tenant_languages: BTreeMap<String, AuthzenLanguage>,
    /// What becomes of the parts of a request in a SAPL subscription.
    pub sapl: AuthzenSaplSettings,
    /// What becomes of them in an XACML request.
    pub xacml: AuthzenXacmlSettings,
    /// What an answer says beside `decision`. Default: `none`.
    pub reasons: AuthzenReasons,
    /// The types of obligations that every caller understands. Default: none.
    pub obligations: Vec<String>,
    /// Most bytes of one body. Default: 64 KiB.
    pub body_bytes_max: usize,
    /// Most evaluations of one request. Default: 1000.
    pub evaluations_max: usize,
    /// Most requests a second that are looked at, all callers together; 0 means any number. Default: 0.
    pub requests_per_second_max: u32,
    /// Where entities come from that searches look among. Default: none.
    pub entities: Vec<AuthzenEntitySettings>,
    /// Which properties count where a request has some of an entity that is known here. Default: `fill`.
    pub stored_properties: StoredProperties,
    /// Types of which there are entities that are not known here. Default: none.
    pub types_elsewhere: Vec<String>,
    /// The type that users of the built-in directory have as entities. Default: none, users are no entities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users_type: Option<String>,
    /// The realm whose users these are. Default: the root realm.
    pub users_realm: String,
    /// The actions that a search for actions looks among. Default: none.
    pub actions: Vec<AuthzenActionSettings>,
    /// Most candidates that one search decides. Default: 10000.
    pub search_candidates_max: usize,
    /// Most results of one answer to a search. Default: 1000.
    pub search_results_max: usize,
    /// Most entities. Default: 1000000.
    pub entities_max: usize,
    /// Most bytes of all files and rows of entities together. Default: 256 MiB.
    pub entities_bytes_max: usize,
}

/// In which language policies are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthzenLanguage {
    /// In XACML where all policies in force are XACML's, else in SAPL.
    #[default]
    Auto,
    /// As a SAPL subscription.
    Sapl,
    /// As an XACML request.
    Xacml,
}

/// What an answer says beside `decision`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthzenReasons {
    /// Nothing but obligations and advice.
    #[default]
    None,
    /// Also whether it was a deny, an error, or that no policy applies.
    Outcome,
}

/// Which properties of an entity count where both a request and the store have some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredProperties {
    /// Those of the request; stored ones are added.
    #[default]
    Fill,
    /// Stored ones; those of the request are added.
    Override,
}

/// The parts of a SAPL subscription, each a template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthzenSaplSettings {
    /// Default: an object of `type`, `id` and the properties.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Template>,
    /// Default: the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Template>,
    /// Default: an object of `type`, `id` and the properties.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<Template>,
    /// Default: an object of the context, and `action`, the properties of the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<Template>,
}

/// The attributes of an XACML request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthzenXacmlSettings {
    /// Attribute identifiers by paths, such as `subject.properties.role`. An empty one leaves the part out.
    pub names: BTreeMap<String, String>,
    /// Data types by paths, for texts that are no strings.
    pub types: BTreeMap<String, String>,
}

/// An action that can be found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthzenActionSettings {
    /// Its name.
    pub name: String,
    /// The types of resources that have it. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_types: Vec<String>,
}

/// What one part of a subscription is made of: a path into the request (`"subject.id"`), or an object of such parts, in which `"*"` stands
/// for all members of what its path leads to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub enum Template {
    /// What a path leads to.
    Path(String),
    /// An object.
    Object(BTreeMap<String, Template>),
}

/// A value that is no template.
#[derive(Clone, Copy, Debug)]
pub struct NoTemplate;

impl std::fmt::Display for NoTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("this is neither a path such as \"subject.id\" nor a table of names and paths")
    }
}

impl TryFrom<toml::Value> for Template {
    type Error = NoTemplate;

    fn try_from(value: toml::Value) -> Result<Template, NoTemplate> {
        match value {
            toml::Value::String(path) => Ok(Template::Path(path)),
            toml::Value::Table(table) => {
                let member = |(name, value)| Ok((name, Template::try_from(value)?));
                table.into_iter().map(member).collect::<Result<_, _>>().map(Template::Object)
            }
            toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_) => Err(NoTemplate),
        }
    }
}

impl From<Template> for toml::Value {
    fn from(template: Template) -> toml::Value {
        match template {
            Template::Path(path) => toml::Value::String(path),
            Template::Object(members) => toml::Value::Table(
                members.into_iter().map(|(name, member)| (name, toml::Value::from(member))).collect(),
            ),
        }
    }
}

impl Default for AuthzenSettings {
    fn default() -> AuthzenSettings {
        AuthzenSettings {
            on: None,
            url: None,
            language: AuthzenLanguage::Auto,
            tenant_languages: BTreeMap::new(),
            sapl: AuthzenSaplSettings::default(),
            xacml: AuthzenXacmlSettings::default(),
            reasons: AuthzenReasons::None,
            obligations: Vec::new(),
            body_bytes_max: 64 * 1024,
            evaluations_max: 1_000,
            requests_per_second_max: 0,
            entities: Vec::new(),
            stored_properties: StoredProperties::Fill,
            types_elsewhere: Vec::new(),
            users_type: None,
            users_realm: "/".to_owned(),
            actions: Vec::new(),
            search_candidates_max: 10_000,
            search_results_max: 1_000,
            entities_max: 1_000_000,
            entities_bytes_max: 256 * 1024 * 1024,
        }
    }
}

impl AuthzenSettings {
    pub(super) fn check(&self, identity: &IdentitySettings) -> Result<(), ConfigError> {
        let wrong =
            |name: &str, message: String| Err(ConfigError::of_setting(&format!("authzen.{name}"), message));
        if let Some(url) = self.url.as_ref().filter(|url| !is_url(url)) {
            let message =
                "an address such as `https://pdp.example.org`, without `?`, `#` and a slash at its end";
            return wrong("url", format!("is `{url}`; it must be {message}"));
        }
        if let Some(tenant) = self.tenant_languages.keys().find(|tenant| !is_tenant(tenant)) {
            return wrong("tenant_languages", format!("names `{tenant}`, which can be no tenant"));
        }
        self.sapl.check()?;
        self.xacml.check()?;
        self.check_limits()?;
        for entities in &self.entities {
            entities.check()?;
        }
        if self.users_type.is_some()
            && (identity.users.is_none() || !identity.realms.contains(&self.users_realm))
        {
            let message = "is set, and `authzen.users_realm` is not a realm of the users' file: see `identity.users` and \
                           `identity.realms`";
            return wrong("users_type", message.to_owned());
        }
        let mut names = BTreeSet::new();
        match self.actions.iter().find(|action| action.name.is_empty() || !names.insert(&action.name)) {
            Some(action) => wrong("actions", format!("has `{}` twice, or an empty name", action.name)),
            None => Ok(()),
        }
    }

    fn check_limits(&self) -> Result<(), ConfigError> {
        let limits = [
            ("body_bytes_max", self.body_bytes_max, usize::MAX),
            ("evaluations_max", self.evaluations_max, EVALUATIONS_CAP),
            ("search_candidates_max", self.search_candidates_max, usize::MAX),
            ("search_results_max", self.search_results_max, usize::MAX),
            ("entities_max", self.entities_max, usize::MAX),
            ("entities_bytes_max", self.entities_bytes_max, usize::MAX),
        ];
        for (name, value, most) in limits {
            let message = match value {
                0 => "is 0; the least is 1".to_owned(),
                value if value > most => format!("is {value}; the most is {most}"),
                _ => continue,
            };
            return Err(ConfigError::of_setting(&format!("authzen.{name}"), message));
        }
        Ok(())
    }

    /// The language that a tenant's policies are asked in.
    #[inline]
    pub fn language_of(&self, tenant: &str) -> AuthzenLanguage {
        self.tenant_languages.get(tenant).copied().unwrap_or(self.language)
    }

    /// What is allowed but weak.
    pub(super) fn weaknesses(&self) -> Option<String> {
        let is_weak = self.entities.iter().any(AuthzenEntitySettings::is_plain);
        is_weak.then(|| {
            "`authzen.entities.danger_plain_text` is set: entities and passwords for a database go over a network in plain text"
                .to_owned()
        })
    }

    /// Whether a search can find anything.
    #[inline]
    pub fn has_entities(&self) -> bool {
        !self.entities.is_empty() || self.users_type.is_some()
    }
}

impl AuthzenSaplSettings {
    /// Whether nothing is set.
    pub fn is_default(&self) -> bool {
        *self == AuthzenSaplSettings::default()
    }

    fn check(&self) -> Result<(), ConfigError> {
        let parts = [
            ("subject", &self.subject),
            ("action", &self.action),
            ("resource", &self.resource),
            ("environment", &self.environment),
        ];
        for (name, template) in parts {
            let Some(template) = template else { continue };
            template
                .check(0)
                .map_err(|message| ConfigError::of_setting(&format!("authzen.sapl.{name}"), message))?;
        }
        Ok(())
    }
}

impl Template {
    fn check(&self, depth: usize) -> Result<(), String> {
        if depth > TEMPLATE_DEPTH_MAX {
            return Err(format!("nests deeper than {TEMPLATE_DEPTH_MAX}"));
        }
        match self {
            Template::Path(path) => check_path(path),
            Template::Object(members) => members.iter().try_for_each(|(name, member)| {
                if name == "*" && !matches!(member, Template::Path(_)) {
                    return Err("has a table behind `*`; a path belongs there".to_owned());
                }
                member.check(depth + 1)
            }),
        }
    }
}

impl AuthzenXacmlSettings {
    fn check(&self) -> Result<(), ConfigError> {
        for (name, paths) in [("names", &self.names), ("types", &self.types)] {
            for path in paths.keys() {
                let wrong = |message| ConfigError::of_setting(&format!("authzen.xacml.{name}"), message);
                check_path(path).map_err(wrong)?;
                if !is_leaf(path) {
                    let message = format!(
                        "names `{path}`; attributes are made of `type`, `id`, `name`, of each property and of each member of \
                         `context`"
                    );
                    return Err(wrong(message));
                }
            }
        }
        for (path, name) in &self.types {
            if durward_pdp::DataType::from_short_name(name).is_none() {
                let message = format!("has `{name}` for `{path}`; it is no data type, such as `dateTime`");
                return Err(ConfigError::of_setting("authzen.xacml.types", message));
            }
        }
        Ok(())
    }
}

/// Whether a path leads to something that becomes one attribute.
fn is_leaf(path: &str) -> bool {
    let parts: Vec<&str> = path.splitn(3, '.').collect();
    matches!(
        parts.as_slice(),
        ["subject" | "resource", "type" | "id"]
            | ["action", "name"]
            | ["subject" | "action" | "resource", "properties", _]
    ) || path.strip_prefix("context.").is_some_and(|name| !name.is_empty())
}

/// A path begins at a part of the request and goes on with names of members.
fn check_path(path: &str) -> Result<(), String> {
    let mut parts = path.split('.');
    let first = parts.next().unwrap_or_default();
    let second = parts.next();
    let is_known = matches!(
        (first, second),
        ("subject" | "resource", None | Some("type" | "id" | "properties"))
            | ("action", None | Some("name" | "properties"))
            | ("context", _)
    );
    if !is_known || path.split('.').any(str::is_empty) {
        return Err(format!(
            "has the path `{path}`; a path is `subject`, `action`, `resource` or `context`, with the names of members behind it, such \
             as `subject.id`, `action.name`, `resource.properties.owner`"
        ));
    }
    Ok(())
}

fn is_url(url: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'"' | b'\\' | b'@');
    url.strip_prefix("https://").is_some_and(|rest| {
        !rest.is_empty() && !rest.starts_with('/') && !rest.ends_with('/') && rest.bytes().all(is_plain)
    })
}

#[cfg(test)]
mod tests {
    use super::super::Settings;

    #[test]
    fn templates_are_paths_or_tables_of_them() {
        let text = "[authzen.sapl]\naction = 'action.name'\nsubject = { user = 'subject.id', '*' = 'subject.properties' }";
        let settings = Settings::from_toml(text, "t").unwrap();
        assert!(!settings.authzen.sapl.is_default());
        let written = toml::to_string(&settings).unwrap();
        assert_eq!(Settings::from_toml(&written, "t").unwrap(), settings);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, words) in [
            ("authzen.sapl.subject = 7", "neither a path such as"),
            ("authzen.sapl.subject = 'subjct.id'", "has the path `subjct.id`"),
            ("authzen.sapl.subject = 'subject.role'", "has the path `subject.role`"),
            ("authzen.sapl.subject = 'subject.properties.'", "has the path"),
            ("authzen.sapl.subject = { '*' = { a = 'context' } }", "a path belongs there"),
            ("authzen.xacml.names = { 'subject.properties' = 'x' }", "attributes are made of"),
            ("authzen.xacml.types = { 'context.at' = 'datetime' }", "it is no data type"),
            ("authzen.url = 'http://pdp.example.org'", "`authzen.url` is"),
            ("authzen.url = 'https://pdp.example.org/?a'", "`authzen.url` is"),
            ("authzen.users_type = 'user'", "`authzen.users_type` is set"),
            ("authzen.actions = [{ name = 'a' }, { name = 'a' }]", "`authzen.actions` has `a` twice"),
            ("authzen.evaluations_max = 0", "the least is 1"),
            ("authzen.evaluations_max = 10001", "the most is 10000"),
            ("authzen.language = 'rego'", "`rego` is none of `auto`, `sapl`, `xacml`"),
        ] {
            let error = Settings::from_toml(text, "t").unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
