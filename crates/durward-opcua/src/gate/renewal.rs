//! Users who came without a token: the gate has fetched one, and fetches the next before it ends, so that their sessions live on with their
//! subscriptions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durward_identity::Moment;
use opcua_types::StatusCode;
use zeroize::Zeroizing;

use super::audit::{Figures, Happening};
use super::core::Core;
use super::rights::Source;
use super::service::{Denied, User};
use super::users::OnBehalf;
use crate::protocol::{GateEvent, Refusal};
use crate::token::Bearer as _;

/// A token is renewed when this part of its life has passed, and up to [`SPREAD_PERCENT`] later: users who came together do not ask together.
const DUE_PERCENT: u64 = 70;
const SPREAD_PERCENT: u64 = 10;
/// A renewal that failed is tried again after this part of what is left, and no sooner than after so long.
const AGAIN_PART: u32 = 4;
const AGAIN_MIN_MS: u64 = 1_000;

/// When a user's token is renewed, and by what.
#[derive(Default)]
pub(super) struct Renewal(Mutex<Option<Next>>);

struct Next {
    refresh: Zeroizing<String>,
    due: Moment,
}

impl Renewal {
    /// Renews a token that was taken now, where the service gave something to renew it by.
    pub(super) fn of(refresh: Option<Zeroizing<String>>, now: Moment, expires: Moment, user: u64) -> Renewal {
        let next = refresh.map(|refresh| Next { refresh, due: due(now, expires, user) });
        Renewal(Mutex::new(next))
    }

    fn next(&self) -> MutexGuard<'_, Option<Next>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes it where it is due.
    fn take(&self, now: Moment) -> Option<Zeroizing<String>> {
        let mut next = self.next();
        let is_due = next.as_ref().is_some_and(|next| next.due <= now);
        next.take_if(|_| is_due).map(|next| next.refresh)
    }

    fn set(&self, refresh: Zeroizing<String>, due: Moment) {
        *self.next() = Some(Next { refresh, due });
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

impl Core {
    /// Begins to renew tokens that are due.
    pub(super) fn renew_due(self: &Arc<Core>, user: &Arc<User>, now: Moment) {
        let Some(refresh) = user.renewal.take(now) else { return };
        let (core, user) = (Arc::clone(self), Arc::clone(user));
        tokio::spawn(async move {
            let Err(denied) = core.renew(&user, refresh.clone()).await else { return };
            let now = core.now();
            let expires = user.expires().unwrap_or_default();
            let reason =
                format!("the token of a user who came without one was not renewed: {}", denied.reason);
            tracing::warn!(subject = user.subject(), "{reason}");
            core.tell(now, Some(&user.cell), Happening::Note { text: &reason });
            if !is_final(denied.status) && expires > now {
                let left_ms = u64::try_from(expires.since(now).as_millis()).unwrap_or(u64::MAX);
                let wait_ms = (left_ms / u64::from(AGAIN_PART)).max(AGAIN_MIN_MS);
                user.renewal.set(refresh, Moment::from_ms(now.ms().saturating_add(wait_ms)));
            }
        });
    }

    async fn renew(&self, user: &User, refresh: Zeroizing<String>) -> Result<(), Denied> {
        let users = self.settings.users.as_ref();
        let users = users
            .ok_or_else(|| Denied::new(StatusCode::BadIdentityTokenRejected, "nobody fetches rights"))?;
        let fetched = users.renew(refresh, Arc::clone(&user.info)).await;
        let OnBehalf { token, refresh } =
            fetched.map_err(|refusal| Denied::new(refusal.status, refusal.reason))?;
        let believed = self.verify_on_behalf(&token, &user.info).await?;
        if Some(believed.token.subject()) != user.subject() {
            return Err(Denied::new(StatusCode::BadIdentityTokenRejected, "it is of another user"));
        }
        let id = *user.cell.id.get().ok_or(Refusal::NoSession)?;
        let Source::Token(rights) = &user.source else { return Err(Refusal::OtherUser.into()) };
        let held = user.holding(&believed.token);
        let (expires, name) = (held.facts().expires, held.token.id().to_owned());
        self.step(GateEvent::Renew { session: id, nonce: user.activation, token: held })?;
        let link = user.cell.link.get().ok_or(Refusal::NoSession)?;
        rights.renew(believed.token, link.names().rows(believed.table.rows.table()));
        link.rights_changed(self);
        let now = self.now();
        if let Some(refresh) = refresh {
            user.renewal.set(refresh, due(now, expires, user.cell.number));
        }
        Figures::count(&self.figures.activated);
        self.tell(now, Some(&user.cell), Happening::Renewed { token: &name });
        Ok(())
    }
}
