//! `[[identity.upstreams]]`: other OpenID providers at which users may log in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use durward_net::url::Url;
use serde::{Deserialize, Serialize};

use super::{ConfigError, IdentitySettings, OauthSettings};

/// The algorithms with public keys that ID tokens may be signed by.
const ALGORITHMS: [&str; 10] =
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];

/// The longest `id`, which is a part of an address.
const ID_LENGTH_MAX: usize = 32;

/// The attribute that keeps what names a user over SCIM.
const SCIM_ATTRIBUTE: &str = "scimId";

/// What properties of a session begin with that say what a provider said.
pub const PROPERTY: &str = "upstream.";

/// How this server shows its secret to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpstreamClientAuth {
    /// In the header (`client_secret_basic`).
    Basic,
    /// In the body (`client_secret_post`).
    Post,
    /// There is none.
    None,
}

/// By what an account of the provider that is not known yet becomes that of a local user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpstreamLinkBy {
    /// Nothing: only accounts that an administrator has linked, and users that are created for them.
    #[default]
    Subject,
    /// The user has the name that the provider says.
    UserName,
    /// The user has the e-mail address that the provider says it has verified.
    EmailVerified,
}

/// Another OpenID provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamSettings {
    /// What it is called in addresses.
    pub id: String,
    /// What users read. Default: the `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its issuer, letter by letter as its tokens say it.
    pub issuer: String,
    /// What this server is called there.
    pub client_id: String,
    /// The file with the secret. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret_path: Option<PathBuf>,
    /// How the secret is shown. Default: in the header, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_auth: Option<UpstreamClientAuth>,
    /// The certificates that it is held to, in PEM. Default: the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<PathBuf>,
    /// What is asked for.
    #[serde(default = "usual_scopes")]
    pub scopes: Vec<String>,
    /// How its tokens may be signed.
    #[serde(default = "usual_algorithms")]
    pub algorithms: Vec<String>,
    /// Whether it is also asked for claims at `userinfo`. Default: no.
    #[serde(default)]
    pub userinfo: bool,
    /// The realm of its users here.
    #[serde(default = "root")]
    pub realm: String,
    /// The claim with the name of the user here.
    #[serde(default = "usual_user_claim")]
    pub user_claim: String,
    /// Whether users are created at their first login. Default: no.
    #[serde(default)]
    pub create: bool,
    /// By what an account that is not linked yet is linked to a user. Default: by nothing.
    #[serde(default)]
    pub link_by: UpstreamLinkBy,
    /// Whether only accounts with a verified e-mail address are let in. Default: no.
    #[serde(default)]
    pub email_verified: bool,
    /// The domains of e-mail addresses that are let in. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub email_domains: Vec<String>,
    /// The values of the claim `hd` (Google) that are let in. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosted_domains: Vec<String>,
    /// The claim with groups there. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_claim: Option<String>,
    /// Groups there, each with the group here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, String>,
    /// Whether one of these may be the group of administrators. Default: no.
    #[serde(default)]
    pub danger_maps_administrators: bool,
    /// Attributes of users here, each with the claim that it is taken from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// The values of `acr` that count as a second step here. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub second_step_acr: Vec<String>,
    /// The values of `amr` that count as a second step here. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub second_step_amr: Vec<String>,
    /// Whether who logs out here is logged out there. Default: no.
    #[serde(default)]
    pub end_session: bool,
}

fn usual_scopes() -> Vec<String> {
    ["openid", "profile", "email"].map(str::to_owned).to_vec()
}

fn usual_algorithms() -> Vec<String> {
    ["RS256", "PS256", "ES256", "EdDSA"].map(str::to_owned).to_vec()
}

fn usual_user_claim() -> String {
    "preferred_username".to_owned()
}

fn root() -> String {
    "/".to_owned()
}

impl UpstreamSettings {
    /// What users read.
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }

    /// How this server shows who it is.
    pub fn shows(&self) -> UpstreamClientAuth {
        let usual = match self.client_secret_path {
            Some(_) => UpstreamClientAuth::Basic,
            None => UpstreamClientAuth::None,
        };
        self.client_auth.unwrap_or(usual)
    }

    /// Every file that is named.
    pub(super) fn paths(&mut self) -> [&mut Option<PathBuf>; 2] {
        [&mut self.client_secret_path, &mut self.authorities]
    }

    fn check(&self, identity: &IdentitySettings) -> Result<(), String> {
        let is_id = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if !(1..=ID_LENGTH_MAX).contains(&self.id.len()) || !self.id.bytes().all(is_id) {
            return Err(format!(
                "has an `id` that is not of 1 to {ID_LENGTH_MAX} small letters, digits, `-` and `_`"
            ));
        }
        self.check_provider()?;
        self.check_mapping()?;
        self.check_users(identity)
    }

    fn check_provider(&self) -> Result<(), String> {
        if !is_guarded(&self.issuer) {
            return Err(format!(
                "has the `issuer` `{}`, which must be `https://...` without `?` and `#`, or `http` of this very machine \
                 (`127.0.0.1`, `[::1]`, `localhost`)",
                self.issuer
            ));
        }
        if self.client_id.is_empty() || !self.client_id.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
            return Err("has a `client_id` that is empty or has other than ASCII letters in it".to_owned());
        }
        match (self.shows(), &self.client_secret_path) {
            (UpstreamClientAuth::None, Some(_)) => {
                Err("has `client_auth = \"none\"`, and a `client_secret_path`")
            }
            (UpstreamClientAuth::Basic | UpstreamClientAuth::Post, None) => {
                Err("shows a secret by `client_auth`, and has no `client_secret_path`")
            }
            (_, _) => Ok(()),
        }?;
        if !self.scopes.iter().any(|scope| scope == "openid") {
            return Err("has no `openid` among its `scopes`: without it there is no ID token".to_owned());
        }
        if !self.scopes.iter().all(|scope| super::is_scope(scope)) {
            return Err("has a scope that is empty or has a blank, `\"` or `\\` in it".to_owned());
        }
        let unknown = self.algorithms.iter().find(|name| !ALGORITHMS.contains(&name.as_str()));
        match (unknown, self.algorithms.as_slice()) {
            (None, []) => Err("has no `algorithms`: no token would be good".to_owned()),
            (None, _) => Ok(()),
            (Some(name), _) => Err(format!(
                "has the algorithm `{name}`; there are {}: a shared secret signs nothing here",
                ALGORITHMS.map(|name| format!("`{name}`")).join(", ")
            )),
        }
    }

    fn check_mapping(&self) -> Result<(), String> {
        let is_wrong = |text: &String| text.is_empty() || text.contains('\0');
        let texts = self.attributes.iter().chain(&self.groups).flat_map(|(from, to)| [from, to]);
        let lists = [&self.hosted_domains, &self.second_step_acr, &self.second_step_amr];
        let named = [&self.user_claim].into_iter().chain(&self.groups_claim);
        if texts.chain(lists.into_iter().flatten()).chain(named).any(is_wrong) {
            return Err("names an empty claim, group, attribute or value".to_owned());
        }
        if self.attributes.contains_key(SCIM_ATTRIBUTE) {
            return Err(format!("sets the attribute `{SCIM_ATTRIBUTE}`, which is not its to set"));
        }
        if self.groups.is_empty() != self.groups_claim.is_none() {
            return Err(
                "`groups` and `groups_claim` need each other: a group there counts only under the name \
                        that it has here"
                    .to_owned(),
            );
        }
        let is_domain = |domain: &String| {
            !domain.is_empty() && !domain.contains('@') && *domain == domain.to_ascii_lowercase()
        };
        if !self.email_domains.iter().all(is_domain) {
            return Err("has an entry in `email_domains` that is no domain in small letters".to_owned());
        }
        Ok(())
    }

    fn check_users(&self, identity: &IdentitySettings) -> Result<(), String> {
        let administrators = &identity.administrators_group;
        if !self.danger_maps_administrators && self.groups.values().any(|group| group == administrators) {
            return Err(format!(
                "makes administrators of a group there (`{administrators}` among its `groups`): say \
                 `danger_maps_administrators = true` if that is meant"
            ));
        }
        let is_kept = identity.users.is_some() && identity.realms.contains(&self.realm);
        let is_elsewhere = identity.ldap.iter().any(|ldap| ldap.realms.contains(&self.realm));
        if !is_kept && !is_elsewhere {
            return Err(format!("is for the realm `{}`, and there is no such realm", self.realm));
        }
        let changes_users = self.create || !self.groups.is_empty() || !self.attributes.is_empty();
        if !is_kept && (changes_users || self.link_by != UpstreamLinkBy::UserName) {
            return Err(format!(
                "is for the realm `{}`, whose users are in a directory that is not changed here: it needs \
                 `link_by = \"user-name\"`, and no `create`, `groups` and `attributes`",
                self.realm
            ));
        }
        Ok(())
    }
}

/// Whether nobody on the way can read and change what is said there. Nobody is on the way within this machine.
pub fn is_guarded(address: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'"' | b'\\' | b'@');
    let Ok(url) = Url::read(address) else { return false };
    let is_local = ["127.0.0.1", "::1", "localhost"].contains(&url.endpoint.host.as_str());
    let is_web = address.starts_with("https://") || (address.starts_with("http://") && is_local);
    is_web && address.bytes().all(is_plain)
}

/// Checks all of them.
///
/// # Errors
/// The first mistake, with its provider.
pub(super) fn check(identity: &IdentitySettings, oauth: &OauthSettings) -> Result<(), ConfigError> {
    let upstreams = &identity.upstreams;
    if !identity.password_form && upstreams.is_empty() {
        let message = "is off, and there is no provider in `[[identity.upstreams]]`: nobody could log in";
        return Err(ConfigError::of_setting("identity.password_form", message.to_owned()));
    }
    if upstreams.is_empty() {
        return Ok(());
    }
    if oauth.issuer.is_none() {
        let message = "are there, and no `oauth.issuer`, below which browsers would come back".to_owned();
        return Err(ConfigError::of_setting("identity.upstreams", message));
    }
    if let Some(name) = identity.settable_properties.iter().find(|name| name.starts_with(PROPERTY)) {
        let message = format!("has `{name}`: what begins with `{PROPERTY}` is what providers have said");
        return Err(ConfigError::of_setting("identity.settable_properties", message));
    }
    let mut ids = BTreeSet::new();
    for upstream in upstreams {
        let name = format!("identity.upstreams.{}", upstream.id);
        upstream.check(identity).map_err(|message| ConfigError::of_setting(&name, message))?;
        if !ids.insert(&upstream.id) {
            return Err(ConfigError::of_setting(&name, "is there twice".to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::Settings;

    fn read(more: &str) -> Result<Settings, String> {
        let text = format!(
            "[identity]\nusers = 'users'\n[oauth]\nissuer = 'https://id.example'\n\
             [[identity.upstreams]]\nid = 'corp'\n{more}"
        );
        Settings::from_toml(&text, "t").map_err(|error| error.to_string())
    }

    const PROVIDER: &str = "issuer = 'https://idp.example'\nclient_id = 'durward'\n";

    #[test]
    fn a_provider_needs_an_issuer_and_a_client_and_no_more() {
        let settings = read(PROVIDER).unwrap();
        let upstream = &settings.identity.upstreams[0];
        assert_eq!((upstream.shown_name(), upstream.realm.as_str()), ("corp", "/"));
        assert!(!upstream.create && settings.identity.password_form);
    }

    #[test]
    fn what_would_be_no_provider_stops_the_start() {
        for (more, words) in [
            ("issuer = 'http://idp.example'\nclient_id = 'd'", "`https://...`"),
            ("issuer = 'http://127.0.0.1.evil.example'\nclient_id = 'd'", "`https://...`"),
            ("issuer = 'http://127.0.0.1@evil.example'\nclient_id = 'd'", "`https://...`"),
            ("issuer = 'https://idp.example?x'\nclient_id = 'd'", "`https://...`"),
            ("issuer = 'idp.example'\nclient_id = 'd'", "`https://...`"),
            ("issuer = 'https://idp.example'\nclient_id = ''", "`client_id`"),
        ] {
            let said = read(more).unwrap_err();
            assert!(said.starts_with("t: `identity.upstreams.corp` ") && said.contains(words), "{said}");
        }
        for (more, words) in [
            ("algorithms = ['HS256']", "`HS256`"),
            ("algorithms = ['none']", "`none`"),
            ("algorithms = []", "no `algorithms`"),
            ("scopes = ['profile']", "`openid`"),
            ("client_auth = 'basic'", "no `client_secret_path`"),
            ("client_auth = 'none'\nclient_secret_path = 's'", "`client_secret_path`"),
            ("realm = '/sales'", "no such realm"),
            ("groups_claim = 'groups'", "need each other"),
            ("groups_claim = 'groups'\ngroups = { it = 'administrators' }", "danger_maps_administrators"),
            ("attributes = { scimId = 'sub' }", "scimId"),
            ("attributes = { mail = '' }", "empty claim"),
            ("email_domains = ['Example.org']", "email_domains"),
            ("email_domains = ['a@example.org']", "email_domains"),
            ("link_by = 'email'", "is none of `subject`, `user-name`, `email-verified`"),
        ] {
            let said = read(&format!("{PROVIDER}{more}")).unwrap_err();
            assert!(said.contains(words), "{more}: {said}");
        }
        let administrators =
            "groups_claim = 'groups'\ngroups = { it = 'administrators' }\ndanger_maps_administrators = true";
        assert!(read(&format!("{PROVIDER}{administrators}")).is_ok());
        let twice = read(&format!("{PROVIDER}[[identity.upstreams]]\nid = 'corp'\n{PROVIDER}")).unwrap_err();
        assert!(twice.contains("is there twice"), "{twice}");
    }

    #[test]
    fn providers_belong_to_an_issuer_and_users() {
        let said = |text: &str| Settings::from_toml(text, "t").unwrap_err().to_string();
        let users = "identity.users = 'users'\n";
        let upstream = format!("[[identity.upstreams]]\nid = 'corp'\n{PROVIDER}");
        assert!(said(&format!("{users}{upstream}")).contains("`oauth.issuer`"));
        let nobody = "oauth.issuer = 'https://id.example'\n";
        assert!(said(&format!("{nobody}{upstream}")).contains("identity.upstreams"));
        let form =
            "identity.users = 'users'\nidentity.password_form = false\noauth.issuer = 'https://id.example'\n";
        assert!(said(form).contains("identity.password_form"));
        let settable = format!("identity.settable_properties = ['upstream.sid']\n{users}{nobody}{upstream}");
        assert!(said(&settable).contains("upstream.sid"));
    }

    #[test]
    fn users_of_a_directory_elsewhere_are_known_by_their_names_alone() {
        let text = |more: &str| {
            format!(
                "oauth.issuer = 'https://id.example'\n[[identity.ldap]]\nservers = ['ldaps://a']\nbase = 'dc=x'\n\
                 [[identity.upstreams]]\nid = 'corp'\n{PROVIDER}{more}"
            )
        };
        assert!(Settings::from_toml(&text("link_by = 'user-name'"), "t").is_ok());
        for more in ["", "link_by = 'email-verified'", "link_by = 'user-name'\ncreate = true"] {
            let said = Settings::from_toml(&text(more), "t").unwrap_err().to_string();
            assert!(said.contains("link_by = \"user-name\""), "{said}");
        }
    }
}
