//! A host behind sessions: who may log in, and what the session layer knows about a caller.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use opcua_types::{MessageSecurityMode, StatusCode};
use zeroize::Zeroizing;

use super::host::PlantHost;
use crate::authority::{CallerSessionId, CallerUser, MethodCaller};
use crate::crypto;
use crate::session::{
    ActivationAttempt, ActiveSession, ClientInfo, CloseReason, SessionCall, SessionHandler, SessionInfo,
    UserIdentity,
};

/// Authenticates a user.
pub trait UserLogin: Send + Sync + 'static {
    /// The user of an attempt. Signatures are verified, secrets decrypted.
    ///
    /// # Errors
    /// The status code that the client gets.
    fn login(
        &self,
        attempt: ActivationAttempt<'_, CallerUser>,
    ) -> impl Future<Output = Result<CallerUser, StatusCode>> + Send;

    /// Whether room is kept for the sessions of the application with this certificate (DER).
    fn is_preferred(&self, certificate: &[u8]) -> bool {
        let _ = certificate;
        false
    }

    /// A session was activated for the first time.
    fn opened(&self, caller: &MethodCaller) {
        let _ = caller;
    }

    /// Such a session has ended.
    fn closed(&self, caller: &MethodCaller) {
        let _ = caller;
    }
}

/// Names with passwords, and whether nobody in particular may come in: enough for a plant that stands behind a gate.
#[derive(Default)]
pub struct PasswordUsers {
    /// Whether anonymous sessions are allowed.
    pub anonymous: bool,
    /// Passwords by name.
    pub passwords: HashMap<String, Zeroizing<Vec<u8>>>,
}

impl UserLogin for PasswordUsers {
    async fn login(&self, attempt: ActivationAttempt<'_, CallerUser>) -> Result<CallerUser, StatusCode> {
        match attempt.identity {
            UserIdentity::Anonymous if self.anonymous => Ok(CallerUser::Anonymous),
            UserIdentity::UserName { name, password } => {
                let right = self.passwords.get(&name).is_some_and(|own| crypto::same(own, &password));
                if right {
                    Ok(CallerUser::Name(Arc::from(name)))
                } else {
                    Err(StatusCode::BadUserAccessDenied)
                }
            }
            UserIdentity::Anonymous | UserIdentity::Certificate(_) | UserIdentity::Issued { .. } => {
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

/// A host as a [`SessionHandler`].
pub struct HostService<L> {
    host: Arc<PlantHost>,
    login: L,
}

impl<L: UserLogin> HostService<L> {
    /// Puts a host behind sessions. Somebody must let time pass for it ([`PlantHost::run`]).
    pub fn new(host: Arc<PlantHost>, login: L) -> HostService<L> {
        HostService { host, login }
    }

    /// The host.
    pub fn host(&self) -> &Arc<PlantHost> {
        &self.host
    }
}

/// The facts about a caller.
fn caller(info: &SessionInfo, facts: &ClientFacts, user: &CallerUser) -> MethodCaller {
    MethodCaller {
        session: CallerSessionId(info.number),
        certificate: Some(Arc::clone(&facts.certificate)),
        application_uri: Arc::clone(&facts.application_uri),
        user: user.clone(),
        encrypted: facts.encrypted,
    }
}

impl<L: UserLogin> SessionHandler for HostService<L> {
    type User = CallerUser;
    type State = ClientFacts;

    fn is_preferred(&self, client: &ClientInfo) -> bool {
        self.login.is_preferred(client.certificate.der())
    }

    async fn authenticate(
        &self,
        attempt: ActivationAttempt<'_, CallerUser>,
    ) -> Result<CallerUser, StatusCode> {
        self.login.login(attempt).await
    }

    fn same_user(&self, current: &CallerUser, next: &CallerUser) -> bool {
        current == next
    }

    async fn opened(&self, session: &SessionInfo, user: &Arc<CallerUser>) -> Result<ClientFacts, StatusCode> {
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

    async fn answer(&self, call: SessionCall<HostService<L>>) -> Result<Bytes, StatusCode> {
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
        self.host.close_session(CallerSessionId(session.info().number), delete_subscriptions);
        self.login.closed(&caller(session.info(), session.state(), &session.user()));
    }
}
