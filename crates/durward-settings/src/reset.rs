//! `[identity.reset]`: links by which users choose a password that they have forgotten.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{ConfigError, IdentitySettings, OauthSettings};

/// The longest time for which a link is good: a day.
const LIFETIME_S_MAX: u64 = 24 * 3600;

/// The longest time that a hook may take.
const HOOK_TIME_MS_MAX: u64 = 120_000;

/// Links by which users choose a password. Durward sends no mail: a hook hands them over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResetSettings {
    /// Where links lead: the address of `/oauth2/reset` as browsers reach it. Default: none, there are no links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The program that hands a link over, and its arguments: it reads JSON from its standard input. Default: none.
    pub command: Vec<String>,
    /// The address that hands a link over: JSON is posted to it. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// The file with the secret by which what is posted is signed. Default: none; needed with `webhook`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_secret_path: Option<PathBuf>,
    /// How long a link is good. Default: half an hour.
    pub lifetime_s: u64,
    /// The attributes of users with their address of e-mail; the first that a user has counts. Default: `email`, `mail`.
    pub email_attributes: Vec<String>,
    /// How many links a user is sent in an hour. Default: 3.
    pub user_requests_max: u32,
    /// How many links are asked for from an address in an hour. Default: 20.
    pub address_requests_max: u32,
    /// How many links wait for the hook; beyond it, asking is refused. Default: 256.
    pub queue_max: usize,
    /// How many links are handed over at once. Default: 4.
    pub hooks_max: usize,
    /// How long the hook may take. Default: 10 seconds.
    pub hook_time_ms_max: u64,
}

impl Default for ResetSettings {
    fn default() -> ResetSettings {
        ResetSettings {
            link: None,
            command: Vec::new(),
            webhook: None,
            webhook_secret_path: None,
            lifetime_s: 1800,
            email_attributes: ["email", "mail"].map(str::to_owned).to_vec(),
            user_requests_max: 3,
            address_requests_max: 20,
            queue_max: 256,
            hooks_max: 4,
            hook_time_ms_max: 10_000,
        }
    }
}

impl ResetSettings {
    /// Whether there are links at all.
    pub fn is_on(&self) -> bool {
        self.link.is_some()
    }

    /// Whether users can ask for them: a hook hands them over.
    pub fn has_hook(&self) -> bool {
        self.is_on() && (!self.command.is_empty() || self.webhook.is_some())
    }

    /// The address that a user follows.
    pub fn link_with(&self, token: &str) -> String {
        // What was sealed has no character that an address could not have.
        format!("{}?token={token}", self.link.as_deref().unwrap_or_default())
    }

    /// Every file that is named.
    pub(super) fn paths(&mut self) -> [&mut Option<PathBuf>; 1] {
        [&mut self.webhook_secret_path]
    }

    pub(super) fn check(
        &self,
        identity: &IdentitySettings,
        oauth: &OauthSettings,
    ) -> Result<(), ConfigError> {
        let wrong = |name: &str, message: &str| {
            Err(ConfigError::of_setting(&format!("identity.reset.{name}"), message.to_owned()))
        };
        let Some(link) = &self.link else {
            return match (self.command.is_empty(), &self.webhook) {
                (true, None) => Ok(()),
                (_, _) => wrong("link", "is missing: it is where the links lead that the hook hands over"),
            };
        };
        if !is_address(link) || link.contains(['?', '#']) {
            return wrong(
                "link",
                "must be `https://` and the address of `/oauth2/reset`, such as `https://id.example.org/oauth2/reset`; \
                 `http://` only to this machine",
            );
        }
        if !oauth.is_on() {
            return wrong("link", "needs the login pages: set `oauth.issuer`");
        }
        if identity.users.is_none() {
            return wrong("link", "is for users of `identity.users`, and there is no such file");
        }
        if !self.command.is_empty() && self.webhook.is_some() {
            return wrong("webhook", "is set, and so is `command`: one of them hands links over");
        }
        if self.command.first().is_some_and(String::is_empty) {
            return wrong("command", "begins with an empty word; it must be the name of a program");
        }
        if self.webhook.as_ref().is_some_and(|webhook| !is_address(webhook)) {
            return wrong(
                "webhook",
                "must be `https://...`; `http://` only to this machine: it is told links",
            );
        }
        if self.webhook.is_some() != self.webhook_secret_path.is_some() {
            return wrong("webhook_secret_path", "goes together with `webhook`");
        }
        if self.lifetime_s == 0 || self.lifetime_s > LIFETIME_S_MAX {
            return wrong(
                "lifetime_s",
                "must be 1 to 86400: a link that is good for longer waits for a thief",
            );
        }
        if self.hook_time_ms_max == 0 || self.hook_time_ms_max > HOOK_TIME_MS_MAX {
            return wrong("hook_time_ms_max", "must be 1 to 120000");
        }
        let positive = [
            ("user_requests_max", self.user_requests_max as usize),
            ("address_requests_max", self.address_requests_max as usize),
            ("queue_max", self.queue_max),
            ("hooks_max", self.hooks_max),
        ];
        match positive.into_iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => wrong(name, "is 0; the least is 1"),
            None => Ok(()),
        }
    }
}

/// Whether secrets may be sent there: over TLS, or to this very machine.
fn is_address(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'<' | b'>');
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() || host.contains('@') || !text.bytes().all(is_plain) {
        return false;
    }
    let is_local =
        |name: &&str| host.strip_prefix(*name).is_some_and(|port| port.is_empty() || port.starts_with(':'));
    scheme == "https" || scheme == "http" && ["127.0.0.1", "[::1]", "localhost"].iter().any(is_local)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), String> {
        let reset = toml::from_str::<ResetSettings>(text).unwrap();
        let identity = IdentitySettings { users: Some("users".into()), ..IdentitySettings::default() };
        let oauth = OauthSettings { issuer: Some("https://id".to_owned()), ..OauthSettings::default() };
        reset.check(&identity, &oauth).map_err(|error| error.to_string())
    }

    #[test]
    fn what_goes_together_comes_together() {
        let link = "link = 'https://id.example.org/oauth2/reset'\n";
        for good in [
            "",
            link,
            &format!("{link}command = ['/usr/local/bin/reset-mail']"),
            &format!("{link}webhook = 'https://mail.example.org/reset'\nwebhook_secret_path = 'key'"),
            &format!("{link}webhook = 'http://127.0.0.1:8080/'\nwebhook_secret_path = 'key'"),
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (wrong, of) in [
            ("command = ['x']".to_owned(), "link"),
            ("link = 'http://id.example.org/oauth2/reset'".to_owned(), "link"),
            ("link = 'https://id.example.org/oauth2/reset?x=1'".to_owned(), "link"),
            ("link = 'https://a@id.example.org/'".to_owned(), "link"),
            (format!("{link}webhook = 'https://mail.example.org/'"), "webhook_secret_path"),
            (format!("{link}webhook_secret_path = 'key'"), "webhook_secret_path"),
            (format!("{link}webhook = 'http://mail.example.org/'\nwebhook_secret_path = 'key'"), "webhook"),
            (format!("{link}webhook = 'https://a'\nwebhook_secret_path = 'key'\ncommand = ['x']"), "webhook"),
            (format!("{link}command = ['']"), "command"),
            (format!("{link}lifetime_s = 0"), "lifetime_s"),
            (format!("{link}lifetime_s = 1000000"), "lifetime_s"),
            (format!("{link}queue_max = 0"), "queue_max"),
        ] {
            let error = check(&wrong).unwrap_err();
            assert!(error.contains(&format!("identity.reset.{of}")), "{wrong}: {error}");
        }
    }
}
