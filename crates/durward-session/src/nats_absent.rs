//! A build without the feature `nats`: settings of the store are read and looked at, and no store is made of them.

#[path = "nats/settings.rs"]
mod settings;

use std::sync::Arc;

use durward_identity::IdentityError;
use durward_identity::protocol::Mode;
use durward_identity::user::Directory;
use tokio::sync::mpsc;

pub use self::settings::{NatsLogin, NatsSettings, Retention, SERVERS_MAX, STREAM_NAME_LENGTH_MAX};
use crate::Clock;
use crate::store::{NodeLink, SessionStore, StoreCommand, StoreTask};
use crate::users::{UserExchange, UsersLink};

/// Has no values.
#[derive(Debug)]
pub enum Nats {}

impl Nats {
    /// # Errors
    /// Always: a node that is told to share its sessions must not start without being able to.
    pub fn new(_: NatsSettings, _: &[u8; 32], _: Retention, _: Clock) -> Result<Nats, IdentityError> {
        Err(IdentityError::new(
            "`[identity.nats]` is set, and this durward was built without the feature `nats`; build it with \
             `--features nats`, or with all: `--features full`",
        ))
    }
}

impl SessionStore for Nats {
    fn name(&self) -> &'static str {
        match *self {}
    }

    fn run(self: Box<Self>, _: mpsc::Receiver<StoreCommand>, _: NodeLink) -> StoreTask {
        match *self {}
    }
}

/// Has no values.
#[derive(Debug)]
pub enum NatsUsers {}

impl NatsUsers {
    /// # Errors
    /// Always, as of [`Nats::new`].
    pub fn new(
        _: NatsSettings,
        _: &[u8; 32],
        _: Mode,
        _: &Arc<Directory>,
    ) -> Result<NatsUsers, IdentityError> {
        Err(IdentityError::new(
            "`[identity.nats]` is set, and this durward was built without the feature `nats`",
        ))
    }
}

impl UserExchange for NatsUsers {
    fn run(self: Box<Self>, _: UsersLink) -> StoreTask {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_identity::protocol::NodeSettings;
    use durward_identity::session::SessionSettings;

    #[test]
    fn no_store_is_made_and_the_feature_is_named() {
        let retention = Retention::of(&NodeSettings::default(), &SessionSettings::default());
        let clock: Clock = Arc::new(|| durward_identity::Moment::from_ms(0));
        let made = Nats::new(NatsSettings::default(), &[0; 32], retention, clock);
        assert!(made.unwrap_err().to_string().contains("--features nats"));
    }
}
