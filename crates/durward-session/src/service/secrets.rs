//! Secrets that a surface checks itself, such as those of OAuth clients: guesses at them are delayed and noted as guesses at
//! passwords are, and counted apart from those. A user's mistakes must not keep the application from its tokens, whose address both have.

use std::net::IpAddr;

use durward_identity::audit::{AuditEvent, Kind};
use durward_identity::login::CredentialKind;
use durward_identity::session::User;
use tokio::sync::oneshot;

use super::Service;
use super::turns::{AttemptPermit, AttemptQueue, AttemptRejected, Claimant};
use crate::Clock;
use crate::outcome::Refused;
use crate::settings::ServiceSettings;

/// Counts failures by name and by address, and says who has to wait.
pub struct SecretAttempts(AttemptQueue);

/// The permit for one attempt. Dropping it counts as a failure.
#[must_use = "an attempt that is dropped has failed"]
pub struct SecretAttempt(AttemptPermit);

impl SecretAttempts {
    /// Nobody has failed yet.
    pub fn new(settings: &ServiceSettings, clock: Clock) -> SecretAttempts {
        SecretAttempts(AttemptQueue::new(settings.throttle, settings.held_max, clock))
    }

    /// Waits until the secret of this name may be looked at.
    ///
    /// # Errors
    /// [`Refused::Delayed`] after failures, [`Refused::Crowded`] where too many are undecided.
    pub async fn begin(&self, name: &User, address: IpAddr) -> Result<SecretAttempt, Refused> {
        // A caller who goes drops this future, and leaves the queue by that.
        let (_here, mut gone) = oneshot::channel();
        let claimant = Claimant { proof: CredentialKind::Password, user: name, address, device: None };
        let turn = self.0.attempt(claimant, &mut gone).await;
        turn.map(SecretAttempt).map_err(|rejected| match rejected {
            AttemptRejected::Delayed { retry_after } => Refused::Delayed { retry_after },
            AttemptRejected::Crowded { retry_after } => Refused::Crowded { retry_after },
        })
    }
}

impl SecretAttempt {
    /// The secret was right.
    pub fn succeeded(mut self) {
        self.0.succeeded();
    }

    /// The secret was wrong.
    pub fn failed(mut self) {
        self.0.failed();
    }

    /// It could not be found out.
    pub fn undecided(mut self) {
        self.0.undecided();
    }
}

impl Service {
    /// Notes in the audit that the secret of this name was wrong.
    pub async fn audit_wrong_secret(&self, name: &User, address: IpAddr, detail: &str) {
        let event = AuditEvent::new(Kind::LoginFailed).by(name.subject()).detail(detail);
        self.record(event.address(&address.to_string())).await;
    }

    /// Notes that the secret of this name was not looked at. Many of these become few lines.
    pub async fn audit_refused_secret(&self, name: &User, address: IpAddr, why: &Refused, detail: &str) {
        let kind =
            if matches!(why, Refused::Delayed { .. }) { Kind::LoginDelayed } else { Kind::LoginTurnedAway };
        self.record_turned_away(address, AuditEvent::new(kind).by(name.subject()).detail(detail)).await;
    }
}
