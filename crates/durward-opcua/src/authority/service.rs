//! The authorization service: what it is set to, what it answers, what it recalls.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use durward_identity::Moment;
use durward_identity::jwt::SigningKeys;
use opcua_types::{ByteString, StatusCode};

use super::cache::DecisionCache;
use super::decide::RightsDecider;
use super::feed;
use super::figures::{AuthorityAudit, AuthorityAuditNote, AuthorityCounters, RefusalReason};
use super::identify::{self, PossessionProof, REQUESTOR_NONCE_BYTES_MIN, certificate_policy, client_of};
use super::issue::{IssuedToken, TokenRequestRefused, TokenWish};
use super::keep::AuthorityStore;
use super::lane::{CallCost, CallLane};
use super::ledger::{Ledger, LedgerAction};
use super::refresh::{RefreshGrant, RefreshRefusal, RefreshTokens};
use super::subjects::Subjects;
use super::tables::NodeTables;
use super::{
    AccessTokenRequest, Authority, CallerUser, FinishRequest, Identity, MethodCaller, NodeTableUpload,
    RefreshRequest, Reply, Resource, ServiceDescription, StartRequest, Tokens,
};
use crate::channel::{Clock, Workers};
use crate::crypto::nonce;
use crate::error::Error;
use crate::permission::Permission;
use crate::protocol::{AuthorityEvent, AuthorityTimings};
use crate::session::{PasswordAttempt, PasswordThrottle};
use crate::token::{CutoffTarget, NodeTable};
use crate::wire::datetime;

/// How far ahead of the clock a token may be dated when it is issued. Gates refuse tokens from further ahead
/// (`TOKEN_SKEW_DEFAULT`), and their clocks may be behind. Many revocations in a row date tokens ahead.
pub(super) const DATED_AHEAD_MAX: Duration = Duration::from_secs(2);

/// What an authorization service is set to.
#[derive(Clone, Debug)]
pub struct AuthorizationServiceSettings {
    /// Its ServiceUri: the issuer of its tokens.
    pub service_uri: String,
    /// Its certificate (DER): that of the server it is on.
    pub certificate: Vec<u8>,
    /// Lifetimes of tokens and cutoffs, interval of heartbeats.
    pub protocol: AuthorityTimings,
    /// How long after a login refresh tokens give new tokens. Zero: there are none.
    pub refresh_lifetime: Duration,
    /// What may be asked of each node.
    pub permissions: Vec<Permission>,
    /// How long a decision is used again at most, where the decision point allows it.
    pub decision_age_max: Duration,
}

impl AuthorizationServiceSettings {
    /// The usual: tokens for an hour, cutoffs for two, a heartbeat each second, refresh tokens for eight hours (a shift), decisions for a
    /// minute.
    pub fn new(
        service_uri: impl Into<String>,
        certificate: impl Into<Vec<u8>>,
    ) -> AuthorizationServiceSettings {
        let hour = Duration::from_secs(3_600);
        AuthorizationServiceSettings {
            service_uri: service_uri.into(),
            certificate: certificate.into(),
            protocol: AuthorityTimings {
                token_lifetime: hour,
                cutoff_lifetime: 2 * hour,
                heartbeat_interval: Duration::from_secs(1),
                dated_ahead_max: DATED_AHEAD_MAX,
            },
            refresh_lifetime: 8 * hour,
            permissions: Permission::ALL.to_vec(),
            decision_age_max: Duration::from_secs(60),
        }
    }
}

/// What a service is made of.
#[derive(Clone)]
pub struct AuthorizationServiceParts {
    /// Decides.
    pub decider: Arc<dyn RightsDecider>,
    /// Knows users.
    pub subjects: Arc<dyn Subjects>,
    /// Keeps what survives a restart.
    pub keep: Arc<dyn AuthorityStore>,
    /// Takes notes.
    pub audit: Arc<dyn AuthorityAudit>,
    /// The keys that sign tokens; replaced when they are rotated.
    pub keys: Arc<ArcSwap<SigningKeys>>,
    /// The clock.
    pub clock: Clock,
    /// Who decides and hashes passwords; not those of the channels, so that decisions do not hold up connections.
    pub workers: Workers,
}

/// A server that tokens are issued for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredResource {
    /// Its resource id: the audience of tokens, as a rule its ApplicationUri.
    pub id: String,
    /// The certificate (DER) of the gate in front of it. With one, tokens wait until the gate has published its nodes, and the gate hears
    /// of cutoffs. Without, tokens carry roles only: for servers of other vendors.
    pub certificate: Option<Vec<u8>>,
}

/// What is looked up for every call, without a lock.
#[derive(Default)]
pub(super) struct Registry {
    pub(super) resources: HashMap<String, Resource>,
    certificates: HashSet<Arc<[u8]>>,
}

impl Registry {
    fn new(resources: impl IntoIterator<Item = RegisteredResource>) -> Registry {
        let mut registry = Registry::default();
        for RegisteredResource { id, certificate } in resources {
            let certificate: Option<Arc<[u8]>> = certificate.map(Arc::from);
            registry.certificates.extend(certificate.clone());
            registry.resources.insert(id, Resource { certificate });
        }
        registry
    }
}

/// An authorization service. Clones are the same service.
#[derive(Clone)]
pub struct AuthorizationService {
    pub(super) inner: Arc<AuthorizationServiceInner>,
}

pub(super) struct AuthorizationServiceInner {
    pub(super) settings: AuthorizationServiceSettings,
    pub(super) parts: AuthorizationServiceParts,
    pub(super) ledger: Ledger,
    pub(super) cache: DecisionCache,
    pub(super) tables: NodeTables,
    pub(super) registry: ArcSwap<Registry>,
    pub(super) figures: Arc<AuthorityCounters>,
    /// The table of resources that have none.
    pub(super) no_nodes: Arc<NodeTable>,
    refresh: Mutex<RefreshTokens>,
    /// Passwords in calls. Those of sessions are counted by the session layer.
    pub(super) logins: Arc<PasswordThrottle>,
    requests: AtomicU64,
    pub(super) calls: CallLane,
    /// Calls with which gates follow: passwords and decisions of others do not hold them up.
    pub(super) gate_calls: CallLane,
}

impl AuthorizationService {
    /// Sets a service up, from what its store has.
    ///
    /// # Errors
    /// `BadConfigurationError`: the store cannot be read or written, a lifetime that makes no sense.
    pub fn new(
        settings: AuthorizationServiceSettings,
        parts: AuthorizationServiceParts,
        resources: impl IntoIterator<Item = RegisteredResource>,
    ) -> Result<AuthorizationService, Error> {
        check(&settings, &parts)?;
        let wrong = |words: String| Error::new(StatusCode::BadConfigurationError, words);
        let no_nodes = NodeTable::new([]).map_err(|error| wrong(error.to_string()))?;
        let ledger = Ledger::open(settings.protocol.clone(), Arc::clone(&parts.keep), (parts.clock)())?;
        let tables = NodeTables::default();
        let kept =
            parts.keep.tables().map_err(|error| wrong(format!("node tables cannot be read: {error}")))?;
        for (resource, packed) in kept {
            match NodeTable::read(&packed) {
                Ok(table) => tables.put(&resource, Arc::new(table)),
                Err(error) => {
                    tracing::warn!(resource, %error, "a kept node table is left out: its gate publishes it again")
                }
            }
        }
        let (calls, gate_calls) = (CallLane::of_clients(parts.workers.clone()), CallLane::of_gates());
        let logins = PasswordThrottle::new(Arc::clone(&parts.clock));
        let inner = AuthorizationServiceInner {
            settings,
            parts,
            ledger,
            tables,
            cache: DecisionCache::default(),
            registry: ArcSwap::from_pointee(Registry::new(resources)),
            figures: Arc::default(),
            no_nodes: Arc::new(no_nodes),
            refresh: Mutex::default(),
            logins,
            requests: AtomicU64::new(0),
            calls,
            gate_calls,
        };
        Ok(AuthorizationService { inner: Arc::new(inner) })
    }

    /// Replaces the list of resources.
    pub fn set_resources(&self, resources: impl IntoIterator<Item = RegisteredResource>) {
        self.inner.registry.store(Arc::new(Registry::new(resources)));
    }

    /// What is counted.
    pub fn figures(&self) -> &Arc<AuthorityCounters> {
        &self.inner.figures
    }

    /// Whether the store fails: no tokens are issued until it works again.
    pub fn is_store_failing(&self) -> bool {
        self.inner.ledger.is_failing()
    }

    /// The resources, ascending, each with the number of nodes that its gate has published: none where tokens wait for it. Resources without
    /// a gate have 0.
    pub fn resources(&self) -> Vec<(String, Option<usize>)> {
        let registry = self.inner.registry.load();
        let nodes = |id: &str, resource: &Resource| {
            let table = self.inner.tables.current(id).map(|table| table.len());
            table.or(resource.certificate.is_none().then_some(0))
        };
        let mut all: Vec<_> =
            registry.resources.iter().map(|(id, resource)| (id.clone(), nodes(id, resource))).collect();
        all.sort();
        all
    }

    /// Recalls all tokens of a target that were issued until now. To be called after the decision point, the directory or the trust list
    /// knows of the change. Gates hear of it within their publishing interval. May wait for the disk: in a task, use [`Self::revoke`].
    ///
    /// # Errors
    /// `BadResourceUnavailable`: gates were told, but a restart of the service would forget it. No tokens are issued, and the store is tried
    /// again, until it is kept.
    pub fn revoke_now(&self, target: CutoffTarget<Arc<str>>) -> Result<(), Error> {
        self.inner.revoke(target)
    }

    /// As [`Self::revoke_now`], from a task. Goes on where the future is dropped.
    ///
    /// # Errors
    /// As of [`Self::revoke_now`].
    pub async fn revoke(&self, target: CutoffTarget<Arc<str>>) -> Result<(), Error> {
        let inner = Arc::clone(&self.inner);
        let broken = |_| Error::new(StatusCode::BadShutdown, "the program ends");
        tokio::task::spawn_blocking(move || inner.revoke(target)).await.map_err(broken)?
    }

    /// Recalls the tokens that this version of the policies decided, because another one is in force.
    ///
    /// # Errors
    /// As of [`Self::revoke_now`].
    pub async fn policies_changed(&self, replaced: &str) -> Result<(), Error> {
        self.revoke(CutoffTarget::Policy(Arc::from(replaced))).await
    }

    /// Recalls the tokens of a durward session that has ended.
    ///
    /// # Errors
    /// As of [`Self::revoke_now`].
    pub async fn session_ended(&self, handle: &str) -> Result<(), Error> {
        self.revoke(CutoffTarget::Session(Arc::from(handle))).await
    }
}

fn check(settings: &AuthorizationServiceSettings, parts: &AuthorizationServiceParts) -> Result<(), Error> {
    let AuthorityTimings { token_lifetime, cutoff_lifetime, heartbeat_interval, dated_ahead_max } =
        settings.protocol;
    let most = parts.keys.load().lifetime_max();
    let words = if settings.service_uri.is_empty() {
        "the authorization service needs a ServiceUri".to_owned()
    } else if token_lifetime < Duration::from_secs(1) || token_lifetime > most {
        format!("tokens live for 1 s to {} s, as their keys allow", most.as_secs())
    } else if cutoff_lifetime < token_lifetime {
        "cutoffs must be kept for as long as tokens are served".to_owned()
    } else if heartbeat_interval.is_zero() {
        "the interval of heartbeats must not be zero".to_owned()
    } else if dated_ahead_max < DATED_AHEAD_MAX {
        format!(
            "tokens are dated up to {} s ahead of the clock: `dated_ahead_max` is at least that",
            DATED_AHEAD_MAX.as_secs()
        )
    } else {
        return Ok(());
    };
    Err(Error::new(StatusCode::BadConfigurationError, words))
}

impl AuthorizationServiceInner {
    pub(super) fn now(&self) -> Moment {
        (self.parts.clock)()
    }

    /// Whether the certificate (DER) is that of a gate.
    pub(super) fn is_gate(&self, certificate: &[u8]) -> bool {
        self.registry.load().certificates.contains(certificate)
    }

    pub(super) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    fn revoke(&self, target: CutoffTarget<Arc<str>>) -> Result<(), Error> {
        let now = self.now();
        self.cache.clear();
        self.with_refresh(|tokens| tokens.recall(&target));
        let kept = self.ledger.recall(now, target.clone());
        self.figures.count_cutoff();
        self.parts.audit.note(now, &AuthorityAuditNote::Recalled { target: &target, kept });
        let words = "tokens were recalled, but the store did not take it: it is tried again";
        if kept { Ok(()) } else { Err(Error::new(StatusCode::BadResourceUnavailable, words)) }
    }

    pub(super) fn refused(&self, application: &str, resource: &str, refused: &TokenRequestRefused) {
        let TokenRequestRefused { reason, words, .. } = refused;
        self.figures.count_refused(*reason);
        self.parts
            .audit
            .note(self.now(), &AuthorityAuditNote::Refused { application, resource, reason: *reason, words });
    }

    fn with_refresh<T>(&self, change: impl FnOnce(&mut RefreshTokens) -> T) -> T {
        change(&mut self.refresh.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn start(request: &StartRequest) -> Result<ByteString, TokenRequestRefused> {
        if certificate_policy(&request.policy_id).is_none() {
            return Ok(ByteString::null());
        }
        if request.requestor_data.as_ref().len() < REQUESTOR_NONCE_BYTES_MIN {
            let words = format!(
                "for a certificate, RequestorData are {REQUESTOR_NONCE_BYTES_MIN} random bytes or more"
            );
            return Err(TokenRequestRefused::new(
                StatusCode::BadInvalidArgument,
                RefusalReason::Identity,
                words,
            ));
        }
        let failed = |error: Error| {
            TokenRequestRefused::new(
                StatusCode::BadResourceUnavailable,
                RefusalReason::Failed,
                error.reason().to_owned(),
            )
        };
        Ok(ByteString::from(nonce().map_err(failed)?.to_vec()))
    }

    /// As [`Self::identify`], with a password whose turn it is.
    fn identify_in_turn(
        &self,
        mut guess: Option<PasswordAttempt>,
        caller: &MethodCaller,
        identity: &Identity,
        proof: Option<&PossessionProof<'_>>,
        now: Moment,
    ) -> Result<CallerUser, TokenRequestRefused> {
        if let Some(guess) = &mut guess {
            guess.begin();
        }
        let user = self.identify(caller, identity, proof, now);
        if let Some(guess) = guess {
            guess.end(&user.as_ref().map_err(|refused| refused.status));
        }
        user
    }

    fn finish(
        &self,
        caller: &MethodCaller,
        request: FinishRequest,
        guess: Option<PasswordAttempt>,
        now: Moment,
    ) -> Result<(Tokens, Moment), TokenRequestRefused> {
        let FinishRequest { started, service_data, requested_roles, identity, signature } = request;
        let proof = PossessionProof {
            policy_id: &started.policy_id,
            service_data: &service_data,
            signature: &signature,
        };
        let user = self.identify_in_turn(guess, caller, &identity, Some(&proof), now)?;
        let wish = TokenWish {
            user,
            client: client_of(caller)?,
            resource: started.resource_id,
            roles: requested_roles,
        };
        let generation = self.cache.generation();
        let issued = self.issue(&wish)?;
        let ends = now.plus(self.settings.refresh_lifetime);
        Ok(self.with_refresh_token(wish, issued, ends, None, generation))
    }

    fn renew(
        &self,
        caller: &MethodCaller,
        request: &RefreshRequest,
        now: Moment,
    ) -> Result<(Tokens, Moment), TokenRequestRefused> {
        let client = client_of(caller)?;
        let RefreshRequest { resource_id, refresh_token } = request;
        let taken =
            self.with_refresh(|tokens| tokens.take(refresh_token, client.thumbprint, resource_id, now));
        let (renewal, family) = taken.map_err(|why| {
            let (reason, words) = match why {
                RefreshRefusal::Unknown => {
                    (RefusalReason::Stale, "the refresh token is unknown, has ended, or is for another client or resource")
                }
                RefreshRefusal::Repeated => (
                    RefusalReason::Repeated,
                    "the refresh token was used already: it may be stolen, and those that followed it are dropped",
                ),
            };
            TokenRequestRefused::new(StatusCode::BadIdentityTokenRejected, reason, words)
        })?;
        let RefreshGrant { user, resource, roles, ends, .. } = renewal;
        let wish = TokenWish { user, client, resource, roles };
        let generation = self.cache.generation();
        let issued = self.issue(&wish).inspect_err(|refused| match refused.reason {
            // It is not the client's fault: the token counts for the next try.
            RefusalReason::NoTable | RefusalReason::Busy | RefusalReason::Failed => {
                self.with_refresh(|tokens| tokens.give_back(refresh_token));
            }
            RefusalReason::UnknownResource
            | RefusalReason::Identity
            | RefusalReason::Stale
            | RefusalReason::Repeated
            | RefusalReason::Denied => {}
        })?;
        Ok(self.with_refresh_token(wish, issued, ends, Some(family), generation))
    }

    /// Adds a refresh token, but where something was recalled since that generation: it might be one that the recall should have ended.
    fn with_refresh_token(
        &self,
        wish: TokenWish,
        issued: IssuedToken,
        ends: Moment,
        after: Option<u64>,
        generation: u64,
    ) -> (Tokens, Moment) {
        let IssuedToken { token, issued, expires, subject, session } = issued;
        let TokenWish { user, client, resource, roles } = wish;
        let renewal =
            RefreshGrant { user, subject, session, client: client.thumbprint, resource, roles, ends };
        let given = self.with_refresh(|tokens| {
            // A recall counts the generation first and then waits for this lock.
            if self.cache.generation() == generation {
                tokens.give(renewal, after, self.now())
            } else {
                Ok(None)
            }
        });
        let refresh_token = given.unwrap_or_else(|error| {
            tracing::warn!(%error, "no refresh token is given");
            None
        });
        let tokens = Tokens {
            access_token: token,
            access_token_expiry: datetime(expires),
            refresh_token_expiry: if refresh_token.is_some() {
                datetime(ends)
            } else {
                opcua_types::DateTime::null()
            },
            refresh_token: refresh_token.unwrap_or_default(),
        };
        (tokens, issued)
    }

    fn take_table(&self, resource: &str, packed: &[u8]) -> Result<(), TokenRequestRefused> {
        let table = NodeTable::read(packed).map_err(|error| {
            TokenRequestRefused::new(
                StatusCode::BadInvalidArgument,
                RefusalReason::NoTable,
                error.to_string(),
            )
        })?;
        if self.tables.is_current(resource, table.version()) {
            return Ok(());
        }
        let nodes = table.len();
        self.tables.put(resource, Arc::new(table));
        self.figures.count_table();
        if let Err(error) = self.parts.keep.keep_table(resource, packed) {
            tracing::warn!(resource, %error, "a node table is not kept: after a restart its gate must publish it again");
        }
        self.parts.audit.note(self.now(), &AuthorityAuditNote::TablePublished { resource, nodes });
        Ok(())
    }

    fn snapshot(&self, question: u64) -> Result<ByteString, TokenRequestRefused> {
        let step = self.ledger.step(self.now(), AuthorityEvent::AskCutoffs { gate: (), question });
        let answer = step.actions.into_iter().find_map(|action| match action {
            LedgerAction::Answer((), message) => Some(ByteString::from(feed::encode(&message))),
            LedgerAction::Store(_)
            | LedgerAction::Decide { .. }
            | LedgerAction::Issue { .. }
            | LedgerAction::Refuse { .. }
            | LedgerAction::Publish(_) => None,
        });
        answer.ok_or_else(|| {
            TokenRequestRefused::new(
                StatusCode::BadInternalError,
                RefusalReason::Failed,
                "there is no snapshot",
            )
        })
    }
}

impl Authority for AuthorizationService {
    fn describe(&self) -> ServiceDescription {
        let AuthorizationServiceSettings { service_uri, certificate, .. } = &self.inner.settings;
        ServiceDescription {
            service_uri: service_uri.clone(),
            service_certificate: certificate.clone(),
            user_token_policies: identify::policies(),
        }
    }

    fn resource(&self, resource_id: &str) -> Option<Resource> {
        let found = self.inner.registry.load().resources.get(resource_id).cloned();
        if found.is_none() {
            self.inner.figures.count_refused(RefusalReason::UnknownResource);
        }
        found
    }

    fn request_access_token(
        &self,
        caller: &MethodCaller,
        request: AccessTokenRequest,
        now: Moment,
    ) -> Reply<String> {
        let (service, caller) = (self.clone(), caller.clone());
        Box::pin(async move {
            let AccessTokenRequest { identity, resource_id } = request;
            let guess = service.begin_login(&caller, &identity, &resource_id).await?;
            let (owned, resource) = (caller.clone(), resource_id.clone());
            let takes = CallCost::with(guess.as_ref());
            let issued = service.reply_in_time(takes, &caller, &resource_id, move |inner| {
                let user = inner.identify_in_turn(guess, &owned, &identity, None, now)?;
                let client = client_of(&owned)?;
                let issued = inner.issue(&TokenWish { user, client, resource, roles: Vec::new() })?;
                Ok((issued.token, issued.issued))
            });
            issued.await
        })
    }

    fn start_request_token(
        &self,
        caller: &MethodCaller,
        request: &StartRequest,
        _now: Moment,
    ) -> Reply<ByteString> {
        let owned = request.clone();
        self.reply(caller, &request.resource_id, move |_| AuthorizationServiceInner::start(&owned))
    }

    fn finish_request_token(
        &self,
        caller: &MethodCaller,
        request: FinishRequest,
        now: Moment,
    ) -> Reply<Tokens> {
        let (service, caller) = (self.clone(), caller.clone());
        Box::pin(async move {
            let resource = request.started.resource_id.clone();
            let guess = service.begin_login(&caller, &request.identity, &resource).await?;
            let owned = caller.clone();
            let takes = CallCost::with(guess.as_ref());
            let finished = service.reply_in_time(takes, &caller, &resource, move |inner| {
                inner.finish(&owned, request, guess, now)
            });
            finished.await
        })
    }

    fn refresh_token(&self, caller: &MethodCaller, request: RefreshRequest, now: Moment) -> Reply<Tokens> {
        let (owned, resource) = (caller.clone(), request.resource_id.clone());
        self.reply_in_time(CallCost::Little, caller, &resource, move |inner| {
            inner.renew(&owned, &request, now)
        })
    }

    fn publish_node_table(&self, caller: &MethodCaller, table: NodeTableUpload, _now: Moment) -> Reply<()> {
        let resource = table.resource_id.clone();
        self.reply_to_gate(caller, &resource, move |inner| {
            inner.take_table(&table.resource_id, table.table.as_ref())
        })
    }

    fn ask_cutoffs(&self, caller: &MethodCaller, question: u64, _now: Moment) -> Reply<ByteString> {
        self.reply_to_gate(caller, "", move |inner| inner.snapshot(question))
    }

    fn may_follow(&self, caller: &MethodCaller) -> bool {
        caller.certificate.as_ref().is_some_and(|certificate| self.inner.is_gate(certificate))
    }
}
