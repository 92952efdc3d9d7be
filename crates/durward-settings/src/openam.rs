//! `[openam]`: the REST calls of OpenAM, for clients and agents that were written for it.

use durward_net::url::Url;
use hyper::Uri;
use serde::{Deserialize, Serialize};

use super::ConfigError;
use super::openam_policies::{AskedIn, OpenamApplicationSettings};

/// Which sites' pages browsers send the cookie from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CookieSameSite {
    /// From pages of the same site only.
    Strict,
    /// Also when somebody follows a link to it.
    #[default]
    Lax,
    /// From any page, over TLS.
    None,
    /// As browsers think best: nothing is said, as OpenAM did.
    Unset,
}

impl CookieSameSite {
    /// The attribute's value.
    pub fn word(self) -> Option<&'static str> {
        match self {
            CookieSameSite::Strict => Some("Strict"),
            CookieSameSite::Lax => Some("Lax"),
            CookieSameSite::None => Some("None"),
            CookieSameSite::Unset => None,
        }
    }
}

/// The REST calls of OpenAM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpenamSettings {
    /// Whether they are answered. Default: false.
    pub on: bool,
    /// What their paths begin with. Default: `/openam`, as OpenAM is usually deployed.
    pub path: String,
    /// The name of the cookie and of the header that carry a token. Default: `iPlanetDirectoryPro`.
    pub cookie_name: String,
    /// The domain that the cookie is for. Default: empty, the host alone.
    pub cookie_domain: String,
    /// Whether browsers send the cookie over TLS only. Default: true.
    pub cookie_secure: bool,
    /// Whether the cookie is kept from scripts. Default: true.
    pub cookie_http_only: bool,
    /// Which sites' pages browsers send the cookie from. Default: `lax`.
    pub cookie_same_site: CookieSameSite,
    /// Where a login leads to, as its answer says. Default: `/openam/console`.
    pub success_url: String,
    /// The end of universal identifiers such as `id=demo,ou=user,dc=openam,dc=local`. Default: `dc=openam,dc=local`.
    pub root_suffix: String,
    /// Names of chains that clients ask for with `authIndexType=service`; all are the same login. Default: `ldapService`.
    pub services: Vec<String>,
    /// Names of modules that clients ask for with `authIndexType=module`; likewise. Default: `DataStore`, `LDAP`.
    pub modules: Vec<String>,
    /// Most bytes of one body. Default: 64 KiB.
    pub body_bytes_max: usize,
    /// Whether `/identity/...` logs in and validates, as OpenAM 11 did. Otherwise that is answered as newer ones do: not
    /// supported. Default: false, because the password stands in the query.
    pub danger_legacy_identity: bool,
    /// The group whose members may have policies evaluated, besides administrators: agents, as users. Default: none.
    pub policy_group: Option<String>,
    /// The addresses below which agents may be told that a session has ended, such as `https://app.example.org/agent/`. Nobody
    /// else is called. Default: none.
    pub notified: Vec<String>,
    /// The origins to which browsers may be sent beside this server's own and `https` of the cookie's domain, such as
    /// `https://app.example.org:8443`. Default: none.
    pub goto_origins: Vec<String>,
    /// Applications whose policies may be evaluated. Default: none.
    pub applications: Vec<OpenamApplicationSettings>,
}

impl Default for OpenamSettings {
    fn default() -> OpenamSettings {
        OpenamSettings {
            on: false,
            path: "/openam".to_owned(),
            cookie_name: "iPlanetDirectoryPro".to_owned(),
            cookie_domain: String::new(),
            cookie_secure: true,
            cookie_http_only: true,
            cookie_same_site: CookieSameSite::Lax,
            success_url: "/openam/console".to_owned(),
            root_suffix: "dc=openam,dc=local".to_owned(),
            services: vec!["ldapService".to_owned()],
            modules: vec!["DataStore".to_owned(), "LDAP".to_owned()],
            body_bytes_max: 64 * 1024,
            danger_legacy_identity: false,
            policy_group: None,
            notified: Vec::new(),
            goto_origins: Vec::new(),
            applications: Vec::new(),
        }
    }
}

impl OpenamSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let wrong = |name: &str, message: &str| Err(ConfigError::of_setting(name, message.to_owned()));
        let is_path = self.path.starts_with('/') && !self.path.ends_with('/');
        if !is_path || !self.path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return wrong("openam.path", "must begin with `/` and not end with it, such as `/openam`");
        }
        let is_token =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if self.cookie_name.is_empty() || !is_token(&self.cookie_name) {
            return wrong("openam.cookie_name", "must be letters, digits, `-`, `_` and `.`");
        }
        if !is_token(&self.cookie_domain) {
            return wrong("openam.cookie_domain", "must be a domain, such as `example.org`, or empty");
        }
        if self.cookie_same_site == CookieSameSite::None && !self.cookie_secure {
            let message = "is `none`, which browsers take only with `openam.cookie_secure = true`";
            return wrong("openam.cookie_same_site", message);
        }
        if self.body_bytes_max == 0 {
            return wrong("openam.body_bytes_max", "must be more than 0");
        }
        if self.policy_group.as_ref().is_some_and(String::is_empty) {
            return wrong("openam.policy_group", "is empty: leave it out where administrators alone may ask");
        }
        if let Some(error) = self.notified.iter().find_map(|text| wrong_with_notified(text)) {
            return wrong("openam.notified", &error);
        }
        if let Some(text) = self.goto_origins.iter().find(|text| WebOrigin::read_alone(text).is_none()) {
            let message = format!(
                "has `{text}`: an origin is `https://` or `http://`, a host, and a port where it is not the usual one"
            );
            return wrong("openam.goto_origins", &message);
        }
        OpenamApplicationSettings::check_all(&self.applications)
    }

    /// Whether an application has SAPL's policies asked.
    pub fn asks_sapl(&self) -> bool {
        self.on && self.applications.iter().any(|application| application.ask == AskedIn::Sapl)
    }

    pub(super) fn weaknesses(&self) -> Vec<String> {
        let mut weak = Vec::new();
        if self.danger_legacy_identity {
            weak.push(
                "`openam.danger_legacy_identity` takes passwords in queries, which end in the logs of proxies"
                    .to_owned(),
            );
        }
        if !self.cookie_secure {
            weak.push("`openam.cookie_secure` is off: browsers send session tokens without TLS".to_owned());
        }
        if self.cookie_same_site == CookieSameSite::None {
            weak.push(
                "`openam.cookie_same_site` is `none`: browsers send session tokens with requests of any site's pages"
                    .to_owned(),
            );
        }
        weak
    }
}

/// Where pages come from: what browsers keep apart (RFC 6454).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebOrigin {
    /// Whether it is `https`, or else `http`.
    pub is_https: bool,
    /// In lower case.
    pub host: String,
    /// The port, that of the scheme where none is named.
    pub port: u16,
}

impl WebOrigin {
    /// The origin of an address; nothing for what is no address of the web, or names a user.
    pub fn read(address: &str) -> Option<WebOrigin> {
        let address: Uri = address.parse().ok()?;
        let is_https = match address.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let authority = address.authority().filter(|authority| !authority.as_str().contains('@'))?;
        let host = authority.host();
        let port = match authority.as_str().strip_prefix(host)? {
            "" => Some(if is_https { 443 } else { 80 }),
            rest => {
                let digits = rest.strip_prefix(':')?;
                digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
            }
        };
        Some(WebOrigin { is_https, host: host.to_ascii_lowercase(), port: port? })
    }

    /// The same of a text that is nothing else.
    fn read_alone(text: &str) -> Option<WebOrigin> {
        let is_alone = text.split_once("://").is_some_and(|(_, rest)| !rest.contains(['/', '?', '#']));
        WebOrigin::read(text).filter(|origin| is_alone && !origin.host.is_empty())
    }
}

/// What is the matter with an address below which agents are told.
fn wrong_with_notified(text: &str) -> Option<String> {
    let is_web = ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
    if !is_web || text.contains(['?', '#']) {
        return Some(format!(
            "has `{text}`: it must begin with `https://` or `http://`, without `?` and `#`"
        ));
    }
    Url::read(text).err().map(|error| format!("has `{text}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_scheme_a_host_and_a_port() {
        let read = |text: &str| {
            WebOrigin::read(text).map(|WebOrigin { is_https, host, port }| (is_https, host, port))
        };
        assert_eq!(read("https://A.example/x?y"), Some((true, "a.example".to_owned(), 443)));
        assert_eq!(read("http://a.example:8080"), Some((false, "a.example".to_owned(), 8080)));
        assert_eq!(read("http://[::1]:80/"), Some((false, "[::1]".to_owned(), 80)));
        for none in [
            "",
            "/",
            "a.example",
            "ftp://a.example",
            "https://a@b.example/",
            "https://a.example:x/",
            "https://a.example:/",
            "https://a.example:99999/",
            "https://a.example:+443/",
        ] {
            assert_eq!(read(none), None, "{none}");
        }
        let told = |origin: &str| {
            let goto_origins = vec![origin.to_owned()];
            OpenamSettings { goto_origins, ..OpenamSettings::default() }.check().is_err()
        };
        assert!(!told("https://a.example") && !told("http://a.example:8080"));
        for wrong in
            ["https://a.example/", "https://a.example/x", "a.example", "https://*.example?", "", "https://"]
        {
            assert!(told(wrong), "{wrong}");
        }
    }
}
