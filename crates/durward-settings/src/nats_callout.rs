//! `[brokers.nats]`: logins of a NATS server's clients (auth callout).

use std::path::PathBuf;
use std::time::Duration;

use durward_session::identity::IdentityError;
use durward_session::nats::{NatsLogin, NatsSettings};
use serde::{Deserialize, Serialize};

use super::{ConfigError, NatsStoreSettings};

/// How servers of NATS are reached that have their clients' logins decided here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NatsCalloutSettings {
    /// Addresses such as `nats://10.0.0.1:4222`.
    pub servers: Vec<String>,
    /// The file with the seed of the account that signs answers (`auth_callout.issuer`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer_seed_path: Option<PathBuf>,
    /// The account that clients get into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// A file with a user's JWT and seed. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_path: Option<PathBuf>,
    /// The name of a user with a password, one of `auth_callout.auth_users`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The file with that password. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_path: Option<PathBuf>,
    /// Whether the connection must be under TLS. Default: no.
    pub tls: bool,
    /// The certificates that servers are held to, in PEM. Default: the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorities: Option<PathBuf>,
    /// Our own certificate, in PEM. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// Its key. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// How long deciding about one login may take. Default: 2 seconds, as the server waits.
    pub answer_time_ms_max: u64,
    /// How many logins are decided at once. Default: 64.
    pub logins_max: usize,
}

impl Default for NatsCalloutSettings {
    fn default() -> NatsCalloutSettings {
        NatsCalloutSettings {
            servers: Vec::new(),
            issuer_seed_path: None,
            account: None,
            credentials_path: None,
            user: None,
            password_path: None,
            tls: false,
            authorities: None,
            certificate: None,
            key: None,
            answer_time_ms_max: 2000,
            logins_max: 64,
        }
    }
}

impl NatsCalloutSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let wrong = |name: &str, message: &str| {
            Err(ConfigError::of_setting(&format!("brokers.nats{name}"), message.to_owned()))
        };
        if cfg!(not(feature = "nats")) {
            return wrong(
                "",
                "is set, and this durward was built without the feature `nats`; build it with `--features nats`, or with all: \
                 `--features full`",
            );
        }
        if self.issuer_seed_path.is_none() {
            return wrong(
                ".issuer_seed_path",
                "is not set: it is the file with the seed of `auth_callout.issuer`",
            );
        }
        let is_name = |name: &String| {
            !name.is_empty() && name.chars().all(|it| !it.is_whitespace() && !it.is_control())
        };
        if !self.account.as_ref().is_some_and(is_name) {
            return wrong(".account", "is not set: it is the account that clients get into");
        }
        if self.logins_max == 0 {
            return wrong(".logins_max", "is 0; the least is 1");
        }
        self.connection()
            .map(drop)
            .map_err(|error| ConfigError::of_setting("brokers.nats", format!("cannot be used: {error}")))
    }

    /// How to connect.
    ///
    /// # Errors
    /// What contradicts itself, or cannot be.
    pub fn connection(&self) -> Result<NatsSettings, IdentityError> {
        if self.user.is_none() && self.credentials_path.is_none() {
            return Err(IdentityError::new(
                "one of them is wanted: `credentials_path`, or `user` with `password_path`",
            ));
        }
        let store = NatsStoreSettings {
            servers: self.servers.clone(),
            credentials_path: self.credentials_path.clone(),
            user: self.user.clone(),
            password_path: self.password_path.clone(),
            tls: self.tls,
            authorities: self.authorities.clone(),
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            answer_time_ms_max: self.answer_time_ms_max,
            ..NatsStoreSettings::default()
        };
        let settings = store.store()?;
        match settings.login {
            NatsLogin::Password(..) | NatsLogin::Credentials(_) => Ok(settings),
            NatsLogin::Nobody | NatsLogin::Token(_) => Err(IdentityError::new("nobody would log in there")),
        }
    }

    /// How long deciding about one login may take.
    pub fn answer_time_max(&self) -> Duration {
        Duration::from_millis(self.answer_time_ms_max)
    }

    /// Every file that is named.
    pub(super) fn paths(&mut self) -> [&mut Option<PathBuf>; 6] {
        [
            &mut self.issuer_seed_path,
            &mut self.credentials_path,
            &mut self.password_path,
            &mut self.authorities,
            &mut self.certificate,
            &mut self.key,
        ]
    }

    pub(super) fn weaknesses(&self) -> Option<String> {
        let is_here = |server: &String| {
            server.contains("//127.") || server.contains("//localhost") || server.contains("//[::1]")
        };
        let is_plain =
            !self.tls && !self.servers.iter().all(|server| server.starts_with("tls://") || is_here(server));
        is_plain.then(|| {
            "`brokers.nats` is without TLS: passwords of clients can be read on the way; set `brokers.nats.tls`".to_owned()
        })
    }
}

#[cfg(all(test, feature = "nats"))]
mod tests {
    use super::super::Settings;

    #[test]
    fn what_is_wanted_is_named() {
        let read = |more: &str| {
            let text = format!("[brokers]\nauthenticated_elsewhere = true\n[brokers.nats]\n{more}");
            Settings::from_toml(&text, "t").map_err(|error| error.to_string())
        };
        let seed = "issuer_seed_path = 's'\n";
        let account = "account = 'APP'\n";
        let login = "user = 'durward'\npassword_path = 'p'\n";
        let servers = "servers = ['nats://a:4222']\n";
        for (text, words) in [
            (String::new(), "issuer_seed_path"),
            (seed.to_owned(), "brokers.nats.account"),
            (format!("{seed}account = 'A B'"), "brokers.nats.account"),
            (format!("{seed}{account}{servers}"), "one of them is wanted"),
            (format!("{seed}{account}{login}"), "`servers`"),
            (format!("{seed}{account}{login}{servers}logins_max = 0"), "logins_max"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        let settings = read(&format!("{seed}{account}{login}{servers}")).unwrap();
        assert!(settings.weaknesses().iter().any(|weakness| weakness.contains("brokers.nats")));
    }
}
