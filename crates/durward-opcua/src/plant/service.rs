//! A host behind sessions: who may log in, and what the session layer knows about a caller.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use opcua_types::{MessageSecurityMode, StatusCode};
use zeroize::Zeroizing;

use super::host::Host;
use crate::authority::{Caller, SessionId, User};
use crate::crypto;
use crate::session::{ActiveSession, Attempt, Call, ClientInfo, CloseReason, Identity, Service, SessionInfo};

/// Says who a user is.
pub trait Login: Send + Sync + 'static {
    /// The user of an attempt. Signatures are verified, secrets decrypted.
    ///
    /// # Errors
    /// The status code that the client gets.
    fn login(&self, attempt: Attempt<'_, User>) -> impl Future<Output = Result<User, StatusCode>> + Send;

    /// Whether room is kept for the sessions of the application with this certificate (DER).
    fn is_preferred(&self, certificate: &[u8]) -> bool {
        let _ = certificate;
        false
    }

    /// A session was activated for the first time.
    fn opened(&self, caller: &Caller) {
        let _ = caller;
    }

    /// Such a session has ended.
    fn closed(&self, caller: &Caller) {
        let _ = caller;
    }
}

/// Names with passwords, and whether nobody in particular may come in: enough for a plant that stands behind a gate.
#[derive(Default)]
pub struct Users {
    /// Whether anonymous sessions are allowed.
    pub anonymous: bool,
    /// Passwords by name.
    pub passwords: HashMap<String, Zeroizing<Vec<u8>>>,
}

impl Login for Users {
    async fn login(&self, attempt: Attempt<'_, User>) -> Result<User, StatusCode> {
        match attempt.identity {
            Identity::Anonymous if self.anonymous => Ok(User::Anonymous),
            Identity::UserName { name, password } => {
                let right = self.passwords.get(&name).is_some_and(|own| crypto::same(own, &password));
                if right { Ok(User::Name(Arc::from(name))) } else { Err(StatusCode::BadUserAccessDenied) }
            }
            Identity::Anonymous | Identity::Certificate(_) | Identity::Issued { .. } => {
                Err(StatusCode::BadIdentityTokenRejected)
            }
        }
    }
}

/// What does not change about the callers of a session.
pub struct ClientFacts {
    certificate: Arc<[u8]>,
    application_uri: Arc<str>,
    encrypted: bool,
}

/// A host as a [`Service`].
pub struct HostService<L> {
    host: Arc<Host>,
    login: L,
}

impl<L: Login> HostService<L> {
    /// Puts a host behind sessions. Somebody must let time pass for it ([`Host::run`]).
    pub fn new(host: Arc<Host>, login: L) -> HostService<L> {
        HostService { host, login }
    }

    /// The host.
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }
}

/// The facts about a caller.
fn caller(info: &SessionInfo, facts: &ClientFacts, user: &User) -> Caller {
    Caller {
        session: SessionId(info.number),
        certificate: Some(Arc::clone(&facts.certificate)),
        application_uri: Arc::clone(&facts.application_uri),
        user: user.clone(),
        encrypted: facts.encrypted,
    }
}

impl<L: Login> Service for HostService<L> {
    type User = User;
    type State = ClientFacts;

    fn is_preferred(&self, client: &ClientInfo) -> bool {
        self.login.is_preferred(client.certificate.der())
    }

    async fn authenticate(&self, attempt: Attempt<'_, User>) -> Result<User, StatusCode> {
        self.login.login(attempt).await
    }

    fn same_user(&self, current: &User, next: &User) -> bool {
        current == next
    }

    async fn opened(&self, session: &SessionInfo, user: &Arc<User>) -> Result<ClientFacts, StatusCode> {
        let facts = ClientFacts {
            certificate: Arc::from(session.client.certificate.der()),
            application_uri: Arc::from(session.client.application_uri.as_str()),
            encrypted: session.security_mode == MessageSecurityMode::SignAndEncrypt,
        };
        self.login.opened(&caller(session, &facts, user));
        Ok(facts)
    }

    fn user_changed(&self, session: &Arc<ActiveSession<HostService<L>>>) {
        self.host.change_user(&caller(session.info(), session.state(), &session.user()));
    }

    async fn answer(&self, call: Call<HostService<L>>) -> Result<Bytes, StatusCode> {
        let caller = caller(call.session.info(), call.session.state(), &call.user);
        self.host.answer(&caller, call.request.type_id, &call.body).await.map(Bytes::from)
    }

    fn closed(&self, session: &Arc<ActiveSession<HostService<L>>>, reason: CloseReason) {
        let delete_subscriptions = match reason {
            CloseReason::Client { delete_subscriptions } => delete_subscriptions,
            // A client that lost its connection may come back for them, until their lifetime is over (Part 4, 5.14.1).
            CloseReason::Timeout => false,
            CloseReason::Service | CloseReason::Shutdown => true,
        };
        self.host.close_session(SessionId(session.info().number), delete_subscriptions);
        self.login.closed(&caller(session.info(), session.state(), &session.user()));
    }
}
