//! `[brokers]`: logins and permissions for message brokers.

use serde::{Deserialize, Serialize};

use super::{AuthSettings, CallerSettings, ConfigError, IdentitySettings, NatsCalloutSettings};

/// What brokers may ask.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BrokerSettings {
    /// Whether `/doors/rabbitmq/...` is answered. Default: false.
    pub rabbitmq: bool,
    /// Whether `/doors/emqx/...` is answered. Default: false.
    pub emqx: bool,
    /// The realm whose users log in at brokers, one of `identity.realms`. Default: the root realm.
    pub realm: String,
    /// Whether brokers are believed that they authenticated a user by other means, such as a certificate: when RabbitMQ asks about a login
    /// without a password, and when a broker asks about the topics of somebody who is not known here. Default: false.
    pub authenticated_elsewhere: bool,
    /// Which brokers may ask.
    pub callers: CallerSettings,
    /// Servers of NATS whose clients' logins are decided here. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nats: Option<NatsCalloutSettings>,
}

impl Default for BrokerSettings {
    fn default() -> BrokerSettings {
        BrokerSettings {
            rabbitmq: false,
            emqx: false,
            realm: "/".to_owned(),
            authenticated_elsewhere: false,
            callers: CallerSettings::default(),
            nats: None,
        }
    }
}

impl BrokerSettings {
    pub(super) fn check(&self, identity: &IdentitySettings, auth: &AuthSettings) -> Result<(), ConfigError> {
        let on = match (self.rabbitmq, self.emqx, &self.nats) {
            (true, _, _) => "brokers.rabbitmq",
            (false, true, _) => "brokers.emqx",
            (false, false, Some(_)) => "brokers.nats",
            (false, false, None) => return Ok(()),
        };
        if self.rabbitmq && self.callers.believes_nobody() {
            let message = "is set, and RabbitMQ sends no credentials: name its addresses in `brokers.callers.from`, or set \
                           `brokers.callers.client_certificates`";
            return Err(ConfigError::of_setting("brokers.rabbitmq", message.into()));
        }
        if !identity.is_on() && !self.authenticated_elsewhere {
            let message = "is set, and nobody can log in: name users with `[identity]`, or say that the broker authenticates them with \
                           `brokers.authenticated_elsewhere = true`";
            return Err(ConfigError::of_setting(on, message.into()));
        }
        if let Some(nats) = &self.nats {
            nats.check()?;
        }
        if self.rabbitmq || self.emqx { self.callers.check("brokers", on, auth) } else { Ok(()) }
    }

    pub(super) fn weaknesses(&self) -> Option<String> {
        self.nats.as_ref()?.weaknesses()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Settings;

    #[test]
    fn a_broker_that_nobody_can_use_is_refused() {
        let here = "callers.from = ['127.0.0.1']";
        for (text, words) in [
            ("rabbitmq = true".to_owned(), "sends no credentials"),
            (format!("rabbitmq = true, {here}"), "nobody can log in"),
            (
                "emqx = true, authenticated_elsewhere = true".to_owned(),
                "`brokers.emqx` is set, and nobody may ask",
            ),
        ] {
            let error = Settings::from_toml(&format!("brokers = {{ {text} }}"), "t").unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        let both =
            format!("brokers = {{ rabbitmq = true, emqx = true, authenticated_elsewhere = true, {here} }}");
        assert!(Settings::from_toml(&both, "t").is_ok());
    }
}
