//! What both ends of channels are told when they are set up.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use durward_identity::Moment;
use opcua_types::MessageSecurityMode;

use super::workers::Workers;
use crate::crypto::{OwnCertificate, SecurityPolicy};
use crate::error::Error;
use crate::wire::TransportLimits;

/// Says what time it is.
pub type Clock = Arc<dyn Fn() -> Moment + Send + Sync>;

/// What the owner of a certificate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerRole {
    /// It opened the channel.
    Client,
    /// It was connected to.
    Server,
    /// Somebody who signs that they are there (Part 4, 7.40.5): no application, so their certificate need not encrypt.
    User,
}

/// Says whether a peer's certificate is trusted. Asked on a worker thread, each time a channel is opened or renewed.
pub trait PeerTrust: Send + Sync {
    /// Checks a chain, the peer's own certificate first. The certificate must be one for that role. Two threads may check the same chain at the
    /// same time.
    ///
    /// # Errors
    /// The status code of the standard for what is wrong with it (`BadCertificateUntrusted`, `BadCertificateTimeInvalid`, ...).
    fn check(&self, chain: &[&[u8]], role: PeerRole, moment: Moment) -> Result<(), Error>;
}

/// A security policy and a mode that a server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecurityOffer {
    /// The policy.
    pub policy: SecurityPolicy,
    /// The mode.
    pub mode: MessageSecurityMode,
}

/// What channels of one application have in common.
#[derive(Clone)]
pub struct ChannelSettings {
    /// The application's certificate.
    pub own: OwnCertificate,
    /// Who is trusted.
    pub trust: Arc<dyn PeerTrust>,
    /// The clock.
    pub clock: Clock,
    /// Who does RSA.
    pub workers: Workers,
    /// Sizes of buffers and messages.
    pub limits: TransportLimits,
    /// From connecting to an open channel at most; each renewal as well.
    pub handshake_max: Duration,
    /// The shortest life of a security token.
    pub lifetime_min: Duration,
    /// The longest life of a security token, and what a client asks for.
    pub lifetime_max: Duration,
}

impl ChannelSettings {
    /// The usual: 10 s for a handshake, tokens that live for a minute to an hour.
    pub fn new(
        own: OwnCertificate,
        trust: Arc<dyn PeerTrust>,
        clock: Clock,
        workers: Workers,
    ) -> ChannelSettings {
        ChannelSettings {
            own,
            trust,
            clock,
            workers,
            limits: TransportLimits::DEFAULT,
            handshake_max: Duration::from_secs(10),
            lifetime_min: Duration::from_secs(60),
            lifetime_max: Duration::from_secs(3_600),
        }
    }
}

impl fmt::Debug for ChannelSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelSettings")
            .field("own", &self.own)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
