//! Activation: authenticates a user by token, password or certificate, or as anonymous; then opens an upstream session.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use durward_identity::Moment;
use opcua_types::StatusCode;
use zeroize::Zeroizing;

use super::audit::{GateAuditEvent, GateAuditKind, GateCounters};
use super::core::{AcceptedToken, GateCore, GateSessionCell};
use super::exchange::{Exchange, kind_of};
use super::link::SessionLink;
use super::mediate::service::ServiceKind;
use super::names::NamespaceNames;
use super::nodes::SessionTable;
use super::renewal::TokenRenewal;
use super::rights::{CurrentUserRights, RightsSource};
use super::settings::JWT;
use super::upstream::told;
use super::users::UserClaim;
use crate::error::Error;
use crate::protocol::{self, ChannelId, NonceNumber};
use crate::session::{
    Activation, ActivationAttempt, ActiveSession, ClientInfo, CloseReason, SessionCall, SessionHandler,
    SessionInfo, UserIdentity,
};
use crate::token::{
    GrantsError, HasTokenFacts, RightEnd, TableRows, Thumbprint, TokenRefusal, TokenRights, TokenVerifier,
    VerifiedToken,
};

/// The user of a session. Another one at each activation.
pub(super) struct GateUser {
    pub(super) cell: Arc<GateSessionCell>,
    pub(super) channel: ChannelId,
    pub(super) source: RightsSource,
    pub(super) held: Option<AcceptedToken>,
    pub(super) info: Arc<ClientInfo>,
    /// The session's nonce since this user was taken.
    pub(super) activation: NonceNumber,
    pub(super) renewal: TokenRenewal,
}

impl GateUser {
    /// Whose rights; `None` for nobody in particular.
    pub(super) fn subject(&self) -> Option<&str> {
        self.held.as_ref().map(|held| &*held.facts.subject)
    }

    /// Has the token's table read by the indexes of the user's own session.
    pub(super) fn follow_names(&self, names: &NamespaceNames) {
        if let RightsSource::Token(rights) = &self.source {
            rights.set_rows(names.rows(&rights.table()));
        }
    }

    /// When the token ends that is in force.
    pub(super) fn expires(&self) -> Option<Moment> {
        match &self.source {
            RightsSource::Token(rights) => Some(rights.token().facts().expires),
            RightsSource::Anonymous => None,
        }
    }

    /// A token of this user's, as the machine sees it.
    pub(super) fn holding(&self, token: &Arc<VerifiedToken>) -> AcceptedToken {
        held(token, &self.cell)
    }

    fn identity(&self) -> protocol::ActivationIdentity<AcceptedToken> {
        match &self.held {
            Some(held) => protocol::ActivationIdentity::Token(held.clone()),
            None => protocol::ActivationIdentity::Anonymous,
        }
    }
}

/// What the gate keeps for a session that the session layer has activated. Dropped with it, or where its activation fails in the end.
pub(super) struct GateSession {
    core: Arc<GateCore>,
    cell: Arc<GateSessionCell>,
    link: Arc<SessionLink>,
}

impl Drop for GateSession {
    fn drop(&mut self) {
        if let Some(id) = self.cell.id.get() {
            self.core.forget(*id);
        }
        self.link.close(true);
        self.core.figures.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Why an activation is refused.
pub(super) struct ActivationDenied {
    pub(super) status: StatusCode,
    pub(super) reason: String,
}

impl ActivationDenied {
    pub(super) fn new(status: StatusCode, reason: impl Into<String>) -> ActivationDenied {
        ActivationDenied { status, reason: reason.into() }
    }
}

impl From<TokenRefusal> for ActivationDenied {
    fn from(refusal: TokenRefusal) -> ActivationDenied {
        ActivationDenied::new(refusal.status(), refusal.to_string())
    }
}

impl From<protocol::GateRefusal> for ActivationDenied {
    fn from(refusal: protocol::GateRefusal) -> ActivationDenied {
        ActivationDenied::new(refusal.activation_status(), refusal.to_string())
    }
}

/// A token that was verified, and over which table it was made.
pub(super) struct TrustedToken {
    pub(super) token: Arc<VerifiedToken>,
    pub(super) table: Arc<SessionTable>,
    /// By what it is renewed, where the gate does.
    refresh: Option<Zeroizing<String>>,
}

fn held(token: &Arc<VerifiedToken>, cell: &GateSessionCell) -> AcceptedToken {
    let mut facts = token.facts().clone();
    facts.client = Arc::clone(&cell.client);
    AcceptedToken { token: Arc::clone(token), facts }
}

impl GateCore {
    /// The token of an attempt, verified off the connection's task; `None` for an anonymous user.
    async fn believe(
        &self,
        attempt: UserIdentity,
        info: &SessionInfo,
    ) -> Result<Option<TrustedToken>, ActivationDenied> {
        let client = Thumbprint::of(info.client.certificate.der());
        match attempt {
            UserIdentity::Anonymous => Ok(None),
            UserIdentity::Issued { token_type, token } if token_type == JWT => {
                self.verify(token, vec![client]).await.map(Some)
            }
            UserIdentity::Issued { .. } => Err(ActivationDenied::new(
                StatusCode::BadIdentityTokenInvalid,
                "only JSON Web Tokens are accepted",
            )),
            UserIdentity::UserName { name, password } => {
                self.fetch(UserClaim::Name { name, password }, info).await.map(Some)
            }
            UserIdentity::Certificate(certificate) => {
                self.fetch(UserClaim::Certificate(certificate), info).await.map(Some)
            }
        }
    }

    async fn fetch(&self, claim: UserClaim, info: &SessionInfo) -> Result<TrustedToken, ActivationDenied> {
        let users = self.settings.users.as_ref().ok_or_else(|| {
            ActivationDenied::new(
                StatusCode::BadIdentityTokenRejected,
                "users come with a token: nobody fetches rights for them",
            )
        })?;
        let fetched = users.fetch(claim, Arc::clone(&info.client)).await;
        let fetched = fetched.map_err(|refusal| ActivationDenied::new(refusal.status, refusal.reason))?;
        let believed = self.verify_on_behalf(&fetched.token, &info.client).await?;
        Ok(TrustedToken { refresh: fetched.refresh, ..believed })
    }

    /// Verifies a token that the gate has fetched for a user of this client.
    pub(super) async fn verify_on_behalf(
        &self,
        token: &str,
        client: &ClientInfo,
    ) -> Result<TrustedToken, ActivationDenied> {
        let client = Thumbprint::of(client.certificate.der());
        let own = Thumbprint::of(self.settings.channel.own.certificate().der());
        self.verify(Zeroizing::new(token.as_bytes().to_vec()), vec![client, own]).await
    }

    async fn verify(
        &self,
        token: Zeroizing<Vec<u8>>,
        clients: Vec<Thumbprint>,
    ) -> Result<TrustedToken, ActivationDenied> {
        let (verifier, tables) = (self.verifier.load_full(), self.tables.load_full());
        if !verifier.fits(token.len()) {
            return Err(TokenRefusal::TooLong.into());
        }
        let now = self.now();
        let verify = move || Ok(verify_over(&verifier, now, &token, &clients, &tables.in_force()));
        let verified = self.settings.channel.workers.compute(verify).await;
        let broken = |error: Error| ActivationDenied::new(error.status(), error.reason());
        verified.map_err(broken)?.map_err(ActivationDenied::from)
    }

    fn user(
        &self,
        cell: Arc<GateSessionCell>,
        channel: ChannelId,
        info: &SessionInfo,
        activation: NonceNumber,
        believed: Option<TrustedToken>,
    ) -> GateUser {
        let info = Arc::clone(&info.client);
        let Some(TrustedToken { token, table, refresh }) = believed else {
            let (source, renewal) = (RightsSource::Anonymous, TokenRenewal::default());
            return GateUser { cell, channel, source, held: None, info, activation, renewal };
        };
        let held = held(&token, &cell);
        let (watch, live) = (Arc::clone(&self.watch), self.settings.live.clone());
        let table = table.rows.table();
        // Before there is a session upstream, indexes mean nothing.
        let none: [&str; 0] = [];
        let rows = cell.link.get().map(|link| link.names().rows(table));
        let rows = rows.unwrap_or_else(|| Arc::new(TableRows::new(Arc::clone(table), &none)));
        let renewal = TokenRenewal::of(refresh, self.now(), held.facts.expires, cell.number);
        let rights = TokenRights::new(token, rows, watch, live);
        GateUser {
            cell,
            channel,
            source: RightsSource::Token(rights),
            held: Some(held),
            info,
            activation,
            renewal,
        }
    }

    /// Rights of a user, at this moment.
    pub(super) fn with_rights<T>(
        &self,
        user: &GateUser,
        is_delivery: bool,
        ask: impl FnOnce(&CurrentUserRights<'_>) -> T,
    ) -> T {
        self.now();
        let names = user.cell.link.get().map(|link| link.names());
        ask(&CurrentUserRights {
            flags: &user.cell.flags,
            source: &user.source,
            anonymous: names.as_ref().map(|names| &names.anonymous),
            shows_server_state: self.settings.shows_server_state,
            is_delivery,
        })
    }

    fn refused(&self, moment: Moment, info: &SessionInfo, denied: &ActivationDenied) -> StatusCode {
        GateCounters::count(&self.figures.refused);
        self.settings.audit.record(&GateAuditEvent {
            moment,
            session: info.number,
            client: &info.client.application_uri,
            subject: "",
            what: GateAuditKind::ActivationRefused { status: denied.status, reason: &denied.reason },
        });
        denied.status
    }

    fn accepted(&self, user: &GateUser) {
        GateCounters::count(&self.figures.activated);
        let now = self.watch.now();
        let token = user.held.as_ref().map_or("", |held| held.token.id());
        self.settings.audit.record(&GateAuditEvent {
            moment: now,
            session: user.cell.number,
            client: &user.cell.application,
            subject: user.subject().unwrap_or_default(),
            what: GateAuditKind::Activated { token },
        });
    }

    /// Ends a session whose token is signed with a key that was withdrawn. Asked again when a user is taken: the token was verified before.
    pub(super) fn end_without_key(&self, cell: &GateSessionCell) {
        let Some(user) = cell.user() else { return };
        let (RightsSource::Token(rights), Some(link)) = (&user.source, cell.link.get()) else { return };
        if !self.verifier.load().keys.has(rights.token().key()) {
            link.end("the key that signed the token was withdrawn: fetch a new token");
        }
    }

    async fn attempt(&self, attempt: ActivationAttempt<'_, GateUser>) -> Result<GateUser, ActivationDenied> {
        let (cell, again) = match attempt.activation {
            Activation::First => {
                let client = Thumbprint::of(attempt.session.client.certificate.der()).to_string();
                (Arc::new(GateSessionCell::new(attempt.session, client.into())), None)
            }
            // The session layer's number of the nonce: both count the activations that succeed, and of two over the same nonce take the same.
            Activation::Again { current } => {
                let cell = Arc::clone(&current.cell);
                let id = *cell.id.get().ok_or(protocol::GateRefusal::NoSession)?;
                (cell, Some((id, NonceNumber(attempt.nonce_number))))
            }
        };
        let channel = ChannelId(attempt.channel.id);
        let believed = self.believe(attempt.identity, attempt.session).await?;
        let activation = NonceNumber(attempt.nonce_number.wrapping_add(1));
        let user = self.user(cell, channel, attempt.session, activation, believed);
        if let Some((id, nonce)) = again {
            self.activate(&user.cell, id, channel, nonce, user.identity())?;
        }
        Ok(user)
    }

    async fn open(&self, user: &Arc<GateUser>) -> Result<GateSession, ActivationDenied> {
        let core = self
            .this
            .upgrade()
            .ok_or_else(|| ActivationDenied::new(StatusCode::BadShutdown, "the gate ends"))?;
        let cell = Arc::clone(&user.cell);
        let id = self.create(&cell, user.channel);
        // From here on the machine forgets the session if it does not come to be.
        let known = ActivationGuard { core: &core, id };
        let nonce = self.nonce(id).ok_or(protocol::GateRefusal::NoSession)?;
        self.activate(&cell, id, user.channel, nonce, user.identity())?;
        let unreachable = |error: Error| {
            ActivationDenied::new(
                told(error.status()),
                format!("no session with the server behind the gate: {error}"),
            )
        };
        let session = self.upstream.open().await.map_err(unreachable)?;
        let names = match self.read_names(&session).await {
            Ok(names) => names,
            Err(error) => {
                session.close(true).await;
                return Err(unreachable(error));
            }
        };
        user.follow_names(&names);
        let link = SessionLink::new(&core, id, &cell, session, names);
        if cell.id.set(id).is_err() || cell.link.set(Arc::clone(&link)).is_err() {
            link.close(true);
            return Err(protocol::GateRefusal::Nonce.into());
        }
        std::mem::forget(known);
        self.figures.sessions.fetch_add(1, Ordering::Relaxed);
        Ok(GateSession { core, cell, link })
    }
}

/// Forgets a session whose activation fails on the way.
struct ActivationGuard<'a> {
    core: &'a GateCore,
    id: protocol::GateSessionId,
}

impl Drop for ActivationGuard<'_> {
    fn drop(&mut self) {
        self.core.forget(self.id);
    }
}

/// Verifies a token for one of these certificates, over the first table that it was made over.
fn verify_over(
    verifier: &TokenVerifier,
    now: Moment,
    token: &[u8],
    clients: &[Thumbprint],
    tables: &[Arc<SessionTable>],
) -> Result<TrustedToken, TokenRefusal> {
    let mut refusal = TokenRefusal::Grants(GrantsError::OtherTable);
    for table in tables {
        for client in clients {
            refusal = match verifier.verify(now, token, *client, table.rows.table()) {
                Ok(token) => {
                    let (token, table) = (Arc::new(token), Arc::clone(table));
                    return Ok(TrustedToken { token, table, refresh: None });
                }
                // Another certificate, another table: these may still fit.
                Err(
                    refusal @ (TokenRefusal::OtherClient | TokenRefusal::Grants(GrantsError::OtherTable)),
                ) => refusal,
                Err(refusal) => return Err(refusal),
            };
        }
    }
    Err(refusal)
}

impl SessionHandler for GateCore {
    type User = GateUser;
    type State = GateSession;

    async fn authenticate(&self, attempt: ActivationAttempt<'_, GateUser>) -> Result<GateUser, StatusCode> {
        let (moment, info) = (attempt.moment, attempt.session);
        self.attempt(attempt).await.map_err(|denied| self.refused(moment, info, &denied))
    }

    fn same_user(&self, current: &GateUser, next: &GateUser) -> bool {
        // The machine has ruled on it already, and takes one whose token has ended for nobody in particular.
        next.subject().is_none() || current.subject() == next.subject()
    }

    async fn opened(&self, session: &SessionInfo, user: &Arc<GateUser>) -> Result<GateSession, StatusCode> {
        let state = self.open(user).await;
        let state = state.map_err(|denied| self.refused(self.watch.now(), session, &denied))?;
        user.cell.set_user(user);
        self.accepted(user);
        self.end_without_key(&user.cell);
        Ok(state)
    }

    fn user_changed(&self, session: &Arc<ActiveSession<GateCore>>) {
        let user = session.user();
        user.cell.set_user(&user);
        self.accepted(&user);
        self.end_without_key(&user.cell);
        session.state().link.rights_changed(self);
    }

    async fn answer(&self, call: SessionCall<GateCore>) -> Result<Bytes, StatusCode> {
        GateCounters::count(&self.figures.requests);
        let service =
            ServiceKind::of_request(call.request.type_id).ok_or(StatusCode::BadServiceUnsupported)?;
        let cell = &call.user.cell;
        cell.active.get_or_init(|| Arc::downgrade(&call.session));
        if cell.flags.ended.load(Ordering::Acquire) {
            // It ended before its first request came: nobody could close it.
            call.session.close();
            return Err(StatusCode::BadSessionClosed);
        }
        let now = self.now();
        let id = cell.id.get().copied().ok_or(StatusCode::BadSessionIdInvalid)?;
        let mut admitted = self.admit(now, id, call.user.channel, kind_of(service));
        if admitted == Err(protocol::GateRefusal::Ended(RightEnd::Expired)) {
            // Time has passed since the last tick: what becomes of the session is decided now.
            let _ = self.step(protocol::GateEvent::Tick);
            admitted = self.admit(now, id, call.user.channel, kind_of(service));
        }
        if let Err(refusal) = admitted {
            self.figures.refuse(service);
            let (status, reason) = (refusal.status(), refusal.to_string());
            self.tell(now, Some(cell), GateAuditKind::RequestRefused { service, status, reason: &reason });
            if refusal == protocol::GateRefusal::NoSession {
                call.session.close();
            }
            return Err(status);
        }
        let exchange = Exchange::new(Arc::clone(&call.session.state().link), service, call);
        let answer = exchange.run(self).await;
        if answer.is_err() {
            self.figures.refuse(service);
        }
        answer
    }

    fn closed(&self, session: &Arc<ActiveSession<GateCore>>, reason: CloseReason) {
        let state = session.state();
        let keeps =
            matches!(reason, CloseReason::Client { delete_subscriptions: false } | CloseReason::Timeout);
        let is_lost = state.cell.flags.ended.load(Ordering::Acquire);
        if keeps && !is_lost {
            self.orphan(&state.cell, &state.link);
        }
        if let Some(id) = state.cell.id.get() {
            self.disown(*id);
            self.forget(*id);
        }
        state.link.close(!keeps || is_lost);
    }

    fn channel_closed(&self, channel: u32) {
        let _ = self.step(protocol::GateEvent::ChannelClosed(ChannelId(channel)));
    }
}
