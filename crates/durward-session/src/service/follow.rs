//! Users that others change while the node runs (`durward users`, and other nodes where users are shared): who was disabled, removed or given another password loses their sessions, on all nodes; live decisions of everybody else who was changed are decided again.
//!
//! What was changed is taken in before a login, and twice a second. Taking it in and ending sessions is one step for logins: one that
//! was begun with the old password is over by then, or does not become a session; one with the new password is not ended with
//! the old ones.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use durward_identity::audit::{AuditEvent, Kind};
use durward_identity::passkey::Passkey;
use durward_identity::protocol::NodeEvent;
use durward_identity::session::{Refusal, SessionClaims, SessionId, User};
use durward_identity::user::{Account, ChangeOrigin, UserChange, UserStore};
use durward_identity::{Moment, Stamp};

use super::{Service, ServiceInner, of_session};
use crate::counters::Counter;
use crate::outcome::{Administrator, Failed, Who};

/// How often it is looked whether something was changed.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Who ends these sessions, for the audit.
const BY: &str = "durward users";

/// The same, where another node has heard of the change first.
const BY_OTHER_NODE: &str = "another node";

/// How many sessions are looked for at a time.
const SESSIONS_AT_ONCE: usize = 1_000;

/// What is yet to be done about users.
#[derive(Debug, Default)]
pub(super) struct PendingUserChanges {
    /// Whose sessions must end.
    users: Vec<User>,
    /// Whose earlier sessions must end.
    left: Vec<User>,
    /// The last complaint, which is not repeated.
    said: Option<String>,
}

/// Looks after changes for as long as there is the service.
pub(super) async fn keep(service: Weak<ServiceInner>) {
    while let Some(inner) = service.upgrade() {
        let service = Service(inner);
        if service.stores().is_empty() {
            return;
        }
        service.follow_users().await;
        let mut is_swept = service.is_swept();
        if !is_swept && service.outlook().lack.is_none() {
            is_swept = service.sweep().await;
            service.0.is_swept.store(is_swept, Ordering::Release);
        }
        let mut outlook = service.0.parts.outlook.clone();
        drop(service);
        let is_lacking = outlook.borrow().lack.is_some();
        let looks_again = tokio::time::sleep(LOOK_EVERY);
        if is_swept || !is_lacking {
            looks_again.await;
            continue;
        }
        // What was changed while the node did not run is due as soon as it knows its sessions.
        tokio::select! {
            () = looks_again => {}
            Ok(_) = outlook.wait_for(|outlook| outlook.lack.is_none()) => {}
        }
    }
}

impl Service {
    /// Takes in what others have changed, and ends sessions for it.
    pub(super) async fn follow_users(&self) {
        let stores: Vec<_> = self.stores().iter().filter(|store| store.is_behind()).cloned().collect();
        if stores.is_empty() && self.is_nothing_due() {
            return;
        }
        let _nobody_begins = self.0.beginning.write().await;
        for store in stores {
            let caught_up = tokio::task::spawn_blocking(move || store.catch_up()).await;
            match caught_up {
                Ok(Ok(changes)) => {
                    self.due().said = None;
                    for change in changes {
                        self.0.parts.listeners.tell_user(&change.user);
                        self.note_change(&change).await;
                        self.note_due(change);
                    }
                }
                Ok(Err(error)) => {
                    self.complain(&format!("cannot take in what was changed about users: {error}"))
                }
                Err(error) => {
                    self.complain(&format!("taking in what was changed about users failed: {error}"))
                }
            }
        }
        self.end_due().await;
    }

    /// Updates what is known of a user after another process changed the account.
    async fn note_change(&self, change: &UserChange) {
        let user = &change.user;
        let by = match change.origin {
            ChangeOrigin::Here => BY,
            ChangeOrigin::OtherNode => BY_OTHER_NODE,
        };
        let store = self.users(user.realm()).and_then(|users| users.store());
        let detail = match store.map(|store| store.account(user)) {
            Some(Ok(account)) => stands(account.as_ref()),
            Some(Err(_)) | None => "changed".to_owned(),
        };
        self.record(AuditEvent::new(Kind::UserChanged).of(user).by(by).detail(&detail)).await;
    }

    /// Notes whose sessions must end. Those of a user whom another node has changed are ended by that node, whichever they are; here only
    /// those that are left of the time before, so that nobody loses a session that began after.
    fn note_due(&self, change: UserChange) {
        if !change.ends_sessions {
            return;
        }
        match change.origin {
            ChangeOrigin::Here => self.due().users.push(change.user),
            ChangeOrigin::OtherNode => self.due().left.push(change.user),
        }
    }

    /// Whether an account that let a user in a moment ago still does.
    pub(super) fn still_holds(&self, account: &Account) -> bool {
        let store = self.users(&account.realm).and_then(|users| users.store());
        !account.disabled && store.is_none_or(|store| store.still_holds(account))
    }

    /// The stores that others may change, each once.
    pub(super) fn stores(&self) -> &[Arc<dyn UserStore>] {
        &self.0.stores
    }

    fn due(&self) -> std::sync::MutexGuard<'_, PendingUserChanges> {
        self.0.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_nothing_due(&self) -> bool {
        let due = self.due();
        due.users.is_empty() && due.left.is_empty()
    }

    fn complain(&self, message: &str) {
        if self.due().said.replace(message.to_owned()).as_deref() != Some(message) {
            tracing::error!("{message}");
        }
    }

    /// Ends the sessions of a user who was changed here; what cannot be ended now is tried again.
    pub(super) async fn end_for(&self, by: &Administrator, user: User) {
        match self.revoke_user(by, &user).await {
            // Ended here, and on its way to the others.
            Ok(()) | Err(Failed::Unknown) => {}
            Err(error) => {
                self.complain(&format!("cannot end the sessions of {user}, who was changed: {error}"));
                self.due().users.push(user);
            }
        }
    }

    /// Ends what must end; what cannot be ended now is tried again.
    async fn end_due(&self) {
        let users: HashSet<User> = std::mem::take(&mut self.due().users).into_iter().collect();
        let left: HashSet<User> = std::mem::take(&mut self.due().left).into_iter().collect();
        for user in left {
            if !self.end_left(&user).await {
                self.complain(&format!("cannot end the sessions of {user}, who was changed on another node"));
                self.due().left.push(user);
            }
        }
        let by = Administrator::operator(BY);
        for user in users {
            self.end_for(&by, user).await;
        }
    }

    /// Ends the sessions of a user that began before they were changed. Whether all of them are.
    async fn end_left(&self, user: &User) -> bool {
        for name in self.names_of(user).await {
            for session in self.0.parts.sessions.list(&name) {
                if self.must_be_over(&name, session.stamp.moment())
                    && !matches!(
                        self.end_swept(&name, session.id, session.ends).await,
                        Ok(()) | Err(Failed::Unknown | Failed::NoSession)
                    )
                {
                    return false;
                }
            }
        }
        true
    }

    #[inline]
    fn is_swept(&self) -> bool {
        self.0.is_swept.load(Ordering::Acquire)
    }

    /// What a token says, unless its session is one of those that [`Service::sweep`] has yet to end.
    #[inline]
    pub(super) fn unless_due<'b>(&self, claims: SessionClaims<'b>) -> Result<SessionClaims<'b>, Refusal> {
        if self.is_swept() {
            return Ok(claims);
        }
        let who = Who::of(&claims)?;
        if self.must_be_over(&who.user, who.stamp.moment()) { Err(Refusal::Revoked) } else { Ok(claims) }
    }

    /// Whether a change of the account must end what began then: a session of the user, or what was given to a device.
    pub(super) fn must_be_over(&self, user: &User, began: Moment) -> bool {
        let store = self.users(user.realm()).and_then(|users| users.store());
        store.is_some_and(|store| store.must_be_over(user, began))
    }

    /// Whether a session that is known is to be ended as soon as it can be.
    pub(super) fn is_due(&self, user: &User, began: Stamp) -> bool {
        !self.is_swept() && self.must_be_over(user, began.moment())
    }

    /// Ends sessions whose users were changed while this node did not run. Whether all of them are.
    async fn sweep(&self) -> bool {
        loop {
            let found = self
                .0
                .parts
                .sessions
                .some(SESSIONS_AT_ONCE, |user, session| self.must_be_over(user, session.stamp.moment()));
            for (user, session) in &found {
                let done = self.end_swept(user, session.id, session.ends).await;
                if !matches!(done, Ok(()) | Err(Failed::Unknown)) {
                    return false;
                }
            }
            if found.len() < SESSIONS_AT_ONCE {
                return true;
            }
        }
    }

    async fn end_swept(
        &self,
        user: &User,
        id: SessionId,
        ends: durward_identity::Moment,
    ) -> Result<(), Failed> {
        let whose = user.clone();
        let done = self.done(|ask| NodeEvent::Logout { ask, user: whose, id, ends }).await;
        if matches!(done, Ok(()) | Err(Failed::Unknown)) {
            self.count(Counter::Revoked);
            let event = of_session(AuditEvent::new(Kind::Revoked), user, id).by(BY);
            self.record(event.detail("the user was changed")).await;
        }
        done
    }
}

/// How it stands with a user, for the audit.
pub(super) fn stands(account: Option<&Account>) -> String {
    let Some(account) = account else { return "removed".to_owned() };
    let standing = if account.disabled { "disabled" } else { "may log in" };
    let mut step = account.second_step.as_ref().map_or("", |_| ", second step").to_owned();
    if !account.passkeys.is_empty() {
        let names: Vec<String> = account.passkeys.iter().map(Passkey::reference).collect();
        step = format!("{step}, passkeys: {}", names.join(" "));
    }
    let groups = account.groups.join(" ");
    let groups = if groups.is_empty() { groups } else { format!(", groups: {groups}") };
    let mark = if account.must_change_password { ", must change the password" } else { "" };
    let mut links = String::new();
    for link in &account.links {
        links.push_str(&format!(", linked to {} of {}", link.subject, link.issuer));
    }
    format!("{standing}{step}{mark}{groups}{links}")
}

/// Of these directories, those that others may change, each once.
pub(super) fn stores_of<'d>(
    directories: impl Iterator<Item = &'d Arc<dyn crate::UserDirectory>>,
) -> Vec<Arc<dyn UserStore>> {
    let mut stores: Vec<Arc<dyn UserStore>> = Vec::new();
    for store in directories.filter_map(|directory| directory.store()) {
        if !stores.iter().any(|known| Arc::ptr_eq(known, &store)) {
            stores.push(store);
        }
    }
    stores
}
