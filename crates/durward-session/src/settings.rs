//! How a node works, beyond what its parts know themselves.

use std::time::Duration;

use durward_identity::login::{PoolSettings, ThrottleSettings};
use durward_identity::passkey::RelyingParty;
use durward_identity::protocol::NodeSettings;
use durward_identity::session::{Level, SessionSettings};

/// How long a login waits for others, unless the settings say otherwise: longer than hashing takes for some hundred
/// logins of one user, and as long as a server waits for a request.
const HELD_S_MAX: u64 = 10;

/// How long a device is known after the last login on it, unless the settings say otherwise.
const DEVICES_S_MAX: u64 = 30 * 24 * 3600;

/// When those who have a second step must take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SecondStepPolicy {
    /// At each login.
    #[default]
    AtLogin,
    /// When they want the higher level: a login without a code gives a session of the lower one.
    OnStepUp,
}

/// Passkeys, where users may have some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasskeySettings {
    /// Who this server is to authenticators.
    pub party: RelyingParty,
    /// Whether a passkey may be the only step of a login, without a name and a password.
    pub only_step: bool,
}

/// How a node works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceSettings {
    /// The mode, and how long the store is waited for.
    pub node: NodeSettings,
    /// How long sessions live and how many there may be.
    pub session: SessionSettings,
    /// Who has to wait before they try again.
    pub throttle: ThrottleSettings,
    /// How long a login waits for the result of others of the same user or address. Default: 10 seconds.
    pub held_max: Duration,
    /// How many passwords are hashed at once. [`crate::Embedded`] is made with it.
    pub pool: PoolSettings,
    /// The group whose members administer: those of the root realm `/` every realm, others their own. Default:
    /// `administrators`.
    pub administrators_group: String,
    /// The names of properties that the holder of a session may set on it; others only an administrator. Default: none, because
    /// policies may rely on properties.
    pub settable_properties: Vec<String>,
    /// The level of a session that began with a password. Default: 0.
    pub password_level: Level,
    /// The level of a session with a second step. Default: 1.
    pub second_step_level: Level,
    /// When the second step is asked for.
    pub second_step: SecondStepPolicy,
    /// How long somebody may take from the password to the code. Default: 2 minutes.
    pub challenge_lifetime: Duration,
    /// Passkeys. Default: none.
    pub passkeys: Option<PasskeySettings>,
    /// How old a password that is kept here may be before another one must be chosen. Default: however old.
    pub password_age_max: Option<Duration>,
}

impl Default for ServiceSettings {
    fn default() -> ServiceSettings {
        ServiceSettings {
            node: NodeSettings::default(),
            session: SessionSettings {
                devices_max: Duration::from_secs(DEVICES_S_MAX),
                ..SessionSettings::default()
            },
            throttle: ThrottleSettings::default(),
            held_max: Duration::from_secs(HELD_S_MAX),
            pool: PoolSettings::default(),
            administrators_group: "administrators".to_owned(),
            settable_properties: Vec::new(),
            password_level: Level(0),
            second_step_level: Level(1),
            second_step: SecondStepPolicy::default(),
            challenge_lifetime: Duration::from_secs(120),
            passkeys: None,
            password_age_max: None,
        }
    }
}
