//! `[[openam.applications]]`: what may be asked at OpenAM's `/json/policies`, and in whose words the decision point is asked.

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// Most actions of one application: each is a decision of its own.
const ACTIONS_MAX: usize = 32;

/// In which language the decision point is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskedIn {
    /// A subscription of SAPL for each action and resource.
    #[default]
    Sapl,
    /// A request of XACML with all of them.
    Xacml,
}

/// An application whose policies agents have evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpenamApplicationSettings {
    /// Its name, as agents say it. Default: `iPlanetAMWebAgentService`, as theirs.
    pub name: String,
    /// The realm whose policies it has. Default: the root realm.
    pub realm: String,
    /// The actions that are decided about. Default: `GET` and `POST`.
    pub actions: Vec<String>,
    /// Its resources: addresses or paths, in which `*` stands for any text, and `-*-` for any without a slash. Those that match
    /// none have no actions. Default: all.
    pub resources: Vec<String>,
    /// In which language the decision point is asked. Default: `sapl`.
    pub ask: AskedIn,
    /// Whose policies decide, where the decision point has several tenants. Default: `auth.default_tenant`.
    pub tenant: Option<String>,
}

impl Default for OpenamApplicationSettings {
    fn default() -> OpenamApplicationSettings {
        OpenamApplicationSettings {
            name: "iPlanetAMWebAgentService".to_owned(),
            realm: "/".to_owned(),
            actions: vec!["GET".to_owned(), "POST".to_owned()],
            resources: vec!["*".to_owned()],
            ask: AskedIn::Sapl,
            tenant: None,
        }
    }
}

impl OpenamApplicationSettings {
    pub(super) fn check_all(all: &[OpenamApplicationSettings]) -> Result<(), ConfigError> {
        let wrong = |name: &str, message: String| {
            Err(ConfigError::of_setting(&format!("openam.applications.{name}"), message))
        };
        for (at, one) in all.iter().enumerate() {
            let is_same = |other: &OpenamApplicationSettings| {
                other.name == one.name && other.realm.eq_ignore_ascii_case(&one.realm)
            };
            if one.name.is_empty() {
                return wrong("name", "is empty".to_owned());
            }
            if all.iter().take(at).any(is_same) {
                return wrong("name", format!("is `{}` twice in the realm `{}`", one.name, one.realm));
            }
            if !one.realm.starts_with('/') {
                return wrong("realm", format!("is `{}`; a realm begins with `/`", one.realm));
            }
            if one.actions.is_empty() || one.actions.len() > ACTIONS_MAX {
                return wrong("actions", format!("must have 1 to {ACTIONS_MAX} names"));
            }
            let has_twice = |list: &[String]| {
                list.iter().enumerate().any(|(at, one)| list.iter().take(at).any(|other| other == one))
            };
            if has_twice(&one.actions) {
                return wrong("actions", "names one twice".to_owned());
            }
            if one.resources.is_empty() {
                return wrong("resources", "is empty: `[\"*\"]` are all".to_owned());
            }
            if one.tenant.is_some() && one.ask == AskedIn::Xacml {
                return wrong("tenant", "is for `ask = \"sapl\"`: XACML has no tenants".to_owned());
            }
        }
        Ok(())
    }
}
