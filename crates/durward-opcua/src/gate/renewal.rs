//! Users who came without a token: the gate has fetched one, and fetches the next before it ends, so that their sessions live on with their
//! subscriptions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durward_identity::Moment;
use opcua_types::StatusCode;
use zeroize::Zeroizing;

use super::audit::{GateAuditKind, GateCounters};
use super::core::GateCore;
use super::rights::RightsSource;
use super::service::{ActivationDenied, GateUser};
use super::users::DelegatedToken;
use crate::protocol::{GateEvent, GateRefusal};
use crate::token::HasTokenFacts as _;

/// A token is renewed when this part of its life has passed, and up to [`SPREAD_PERCENT`] later: users who came together do not ask together.
const DUE_PERCENT: u64 = 70;
const SPREAD_PERCENT: u64 = 10;
/// A renewal that failed is tried again after this part of what is left, and no sooner than after so long.
const AGAIN_PART: u32 = 4;
const AGAIN_MIN_MS: u64 = 1_000;

/// When a user's token is renewed, and by what.
#[derive(Default)]
pub(super) struct TokenRenewal(Mutex<Option<NextRenewal>>);

struct NextRenewal {
    refresh: Zeroizing<String>,
    due: Moment,
}

impl TokenRenewal {
    /// Renews a token that was taken now, where the service gave something to renew it by.
    pub(super) fn of(
        refresh: Option<Zeroizing<String>>,
        now: Moment,
        expires: Moment,
        user: u64,
    ) -> TokenRenewal {
        let next = refresh.map(|refresh| NextRenewal { refresh, due: due(now, expires, user) });
        TokenRenewal(Mutex::new(next))
    }

    fn next(&self) -> MutexGuard<'_, Option<NextRenewal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes it where it is due.
    fn take(&self, now: Moment) -> Option<Zeroizing<String>> {
        let mut next = self.next();
        let is_due = next.as_ref().is_some_and(|next| next.due <= now);
        next.take_if(|_| is_due).map(|next| next.refresh)
    }

    fn set(&self, refresh: Zeroizing<String>, due: Moment) {
        *self.next() = Some(NextRenewal { refresh, due });
    }
}

fn due(now: Moment, expires: Moment, user: u64) -> Moment {
    let percent = DUE_PERCENT + user % (SPREAD_PERCENT + 1);
    let left_ms = expires.ms().saturating_sub(now.ms());
    Moment::from_ms(now.ms().saturating_add(left_ms.saturating_mul(percent) / 100))
}

/// Whether the service has said that there will be no other token.
fn is_final(status: StatusCode) -> bool {
    [
        StatusCode::BadUserAccessDenied,
        StatusCode::BadIdentityTokenRejected,
        StatusCode::BadIdentityTokenInvalid,
        StatusCode::BadNotFound,
    ]
    .contains(&status)
}

impl GateCore {
    /// Begins to renew tokens that are due.
    pub(super) fn renew_due(self: &Arc<GateCore>, user: &Arc<GateUser>, now: Moment) {
        let Some(refresh) = user.renewal.take(now) else { return };
        let (core, user) = (Arc::clone(self), Arc::clone(user));
        tokio::spawn(async move {
            let Err(denied) = core.renew(&user, refresh.clone()).await else { return };
            let now = core.now();
            let expires = user.expires().unwrap_or_default();
            let reason =
                format!("the token of a user who came without one was not renewed: {}", denied.reason);
            tracing::warn!(subject = user.subject(), "{reason}");
            core.tell(now, Some(&user.cell), GateAuditKind::Note { text: &reason });
            if !is_final(denied.status) && expires > now {
                let left_ms = u64::try_from(expires.since(now).as_millis()).unwrap_or(u64::MAX);
                let wait_ms = (left_ms / u64::from(AGAIN_PART)).max(AGAIN_MIN_MS);
                user.renewal.set(refresh, Moment::from_ms(now.ms().saturating_add(wait_ms)));
            }
        });
    }

    async fn renew(&self, user: &GateUser, refresh: Zeroizing<String>) -> Result<(), ActivationDenied> {
        let users = self.settings.users.as_ref();
        let users = users.ok_or_else(|| {
            ActivationDenied::new(StatusCode::BadIdentityTokenRejected, "nobody fetches rights")
        })?;
        let fetched = users.renew(refresh, Arc::clone(&user.info)).await;
        let DelegatedToken { token, refresh } =
            fetched.map_err(|refusal| ActivationDenied::new(refusal.status, refusal.reason))?;
        let believed = self.verify_on_behalf(&token, &user.info).await?;
        if Some(believed.token.subject()) != user.subject() {
            return Err(ActivationDenied::new(StatusCode::BadIdentityTokenRejected, "it is of another user"));
        }
        let id = *user.cell.id.get().ok_or(GateRefusal::NoSession)?;
        let RightsSource::Token(rights) = &user.source else { return Err(GateRefusal::OtherUser.into()) };
        let held = user.holding(&believed.token);
        let (expires, name) = (held.facts().expires, held.token.id().to_owned());
        self.step(GateEvent::Renew { session: id, nonce: user.activation, token: held })?;
        let link = user.cell.link.get().ok_or(GateRefusal::NoSession)?;
        rights.renew(believed.token, link.names().rows(believed.table.rows.table()));
        link.rights_changed(self);
        let now = self.now();
        if let Some(refresh) = refresh {
            user.renewal.set(refresh, due(now, expires, user.cell.number));
        }
        GateCounters::count(&self.figures.activated);
        self.tell(now, Some(&user.cell), GateAuditKind::Renewed { token: &name });
        Ok(())
    }
}
