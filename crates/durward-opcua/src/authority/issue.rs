//! Issues a token: authenticates, decides, signs. Runs on threads that may compute and block.

use std::sync::Arc;
use std::time::{Duration, Instant};

use durward_identity::{Moment, SystemEntropy};
use opcua_types::{MessageSecurityMode, StatusCode};

use super::CallerUser;
use super::cache::{self, CachedDecision};
use super::decide::{RightsDecision, RightsQuestion, TokenClientApplication, TokenSubject};
use super::feed::NAME_BYTES_MAX;
use super::figures::{AuthorityAuditNote, RefusalReason};
use super::ledger::{LedgerAction, LedgerStep};
use super::service::AuthorizationServiceInner;
use super::subjects::SubjectRefusal;
use crate::protocol::{AuthorityEvent, IssueRefusal, TokenApplicant};
use crate::token::{
    GrantVerdict, Grants, IssueRequest, LIVE_FACTS_BYTES_MAX, LiveFacts, NodeTable, ROLES_MAX, TokenFacts,
};

/// How often a decision is made again because of a revocation in the meantime.
const DECISIONS_MAX: usize = 8;

/// The token request of a client.
pub(super) struct TokenWish {
    pub(super) user: CallerUser,
    pub(super) client: TokenClientApplication,
    pub(super) resource: String,
    /// The roles that are asked for; none means all that are due.
    pub(super) roles: Vec<String>,
}

/// A token, and what it was issued for.
pub(super) struct IssuedToken {
    pub(super) token: String,
    pub(super) issued: Moment,
    pub(super) expires: Moment,
    pub(super) subject: Arc<str>,
    pub(super) session: Option<Arc<str>>,
}

/// Why no token was issued: for the client, the counters, the log.
#[derive(Debug)]
pub(super) struct TokenRequestRefused {
    pub(super) status: StatusCode,
    pub(super) reason: RefusalReason,
    pub(super) words: String,
}

impl TokenRequestRefused {
    pub(super) fn new(
        status: StatusCode,
        reason: RefusalReason,
        words: impl Into<String>,
    ) -> TokenRequestRefused {
        TokenRequestRefused { status, reason, words: words.into() }
    }

    fn denied(words: &str) -> TokenRequestRefused {
        TokenRequestRefused::new(StatusCode::BadUserAccessDenied, RefusalReason::Denied, words)
    }

    fn busy() -> TokenRequestRefused {
        TokenRequestRefused::new(
            StatusCode::BadResourceUnavailable,
            RefusalReason::Busy,
            "too many decisions are under way: ask again",
        )
    }

    fn failed(words: impl Into<String>) -> TokenRequestRefused {
        TokenRequestRefused::new(StatusCode::BadResourceUnavailable, RefusalReason::Failed, words)
    }
}

impl From<SubjectRefusal> for TokenRequestRefused {
    fn from(refusal: SubjectRefusal) -> TokenRequestRefused {
        let (status, words) = match refusal {
            SubjectRefusal::Rejected => (
                StatusCode::BadIdentityTokenRejected,
                "the identity proves nothing: a wrong password, certificate or session",
            ),
            SubjectRefusal::Disabled => {
                (StatusCode::BadUserAccessDenied, "the user may not come in, or is not there any more")
            }
            SubjectRefusal::Unavailable => {
                return TokenRequestRefused::failed("the directory of users does not answer");
            }
        };
        TokenRequestRefused::new(status, RefusalReason::Identity, words)
    }
}

impl AuthorizationServiceInner {
    /// Issues a token, or says why not.
    pub(super) fn issue(&self, wish: &TokenWish) -> Result<IssuedToken, TokenRequestRefused> {
        let now = self.now();
        let known = self.subject(wish, now)?;
        let client = wish.client.thumbprint.to_string().into();
        let wanted =
            TokenApplicant { subject: Arc::clone(&known.name), session: known.session.clone(), client };
        let request = self.next_request();
        let step = self.ledger.step(now, AuthorityEvent::Ask { request, wanted });
        let issued = self.carry_out(wish, &known, step);
        if issued.is_err() {
            self.ledger.step(self.now(), AuthorityEvent::Withdrawn { request });
        }
        let (facts, decided) = issued?;
        self.sign(wish, &facts, known.ends, &decided)
    }

    /// Does what the machine says until it says what to sign.
    fn carry_out(
        &self,
        wish: &TokenWish,
        known: &TokenSubject,
        mut step: LedgerStep,
    ) -> Result<(TokenFacts<Arc<str>>, Arc<CachedDecision>), TokenRequestRefused> {
        let mut last = None;
        for _ in 0..=DECISIONS_MAX {
            if !step.kept {
                return Err(TokenRequestRefused::failed(
                    "the store of the authorization service fails: see its log",
                ));
            }
            match (step.actions.pop(), last.take()) {
                (Some(LedgerAction::Decide { ticket, .. }), _) => {
                    let decided = self.decide(wish, known)?;
                    let granted_by = decided.grants_something.then(|| Arc::clone(&decided.policy));
                    step = self.ledger.step(self.now(), AuthorityEvent::Decided { ticket, granted_by });
                    last = Some(decided);
                }
                (Some(LedgerAction::Issue { facts, .. }), Some(decided)) => return Ok((facts, decided)),
                (Some(LedgerAction::Refuse { why: IssueRefusal::Denied, .. }), _) => {
                    return Err(TokenRequestRefused::denied("the policies grant nothing on this resource"));
                }
                (Some(LedgerAction::Refuse { why: IssueRefusal::Busy, .. }), _) => {
                    return Err(TokenRequestRefused::busy());
                }
                (_, _) => {
                    return Err(TokenRequestRefused::failed("the authorization service lost a request"));
                }
            }
        }
        Err(TokenRequestRefused::busy())
    }

    /// The facts about whom the wish is of, as they are now, with no more roles than were asked for.
    fn subject(&self, wish: &TokenWish, now: Moment) -> Result<TokenSubject, TokenRequestRefused> {
        let mut subject = self.parts.subjects.subject(&wish.user, &wish.client, now)?;
        if subject.name.is_empty() || subject.name.len() > NAME_BYTES_MAX {
            let words = format!("the subject's name has no or more than {NAME_BYTES_MAX} bytes");
            return Err(TokenRequestRefused::new(
                StatusCode::BadUserAccessDenied,
                RefusalReason::Identity,
                words,
            ));
        }
        if !wish.roles.is_empty() {
            subject.roles.retain(|role| wish.roles.iter().any(|asked| **asked == **role));
        }
        Ok(subject)
    }

    /// Decides, or finds that it was decided. Facts and table are read here and not before: a recall that comes earlier is known to them.
    fn decide(
        &self,
        wish: &TokenWish,
        known: &TokenSubject,
    ) -> Result<Arc<CachedDecision>, TokenRequestRefused> {
        let (now, generation) = (self.now(), self.cache.generation());
        let subject = self.subject(wish, now)?;
        if subject.name != known.name || subject.session != known.session {
            return Err(SubjectRefusal::Disabled.into());
        }
        let table = self.table(&wish.resource)?;
        let policy = self.parts.decider.policy_version();
        let key = cache::key(&subject, &wish.client, &wish.resource, table.version(), &policy, &wish.roles);
        if let Some(decided) = self.cache.find(&key, now) {
            self.figures.count_reused();
            return Ok(decided);
        }
        let question = RightsQuestion {
            subject: &subject,
            client: &wish.client,
            security_mode: MessageSecurityMode::SignAndEncrypt,
            resource: &wish.resource,
            table: &table,
            permissions: &self.settings.permissions,
            now,
        };
        let began = Instant::now();
        let decision = self.parts.decider.decide(&question);
        self.figures.count_decision(began.elapsed());
        let decision = decision.map_err(|error| {
            TokenRequestRefused::new(
                error.status(),
                RefusalReason::Failed,
                format!("no decision: {}", error.reason()),
            )
        })?;
        let reusable = decision.reusable.min(self.settings.decision_age_max);
        let mut decided = self.compact(decision, &table, &wish.roles);
        if decided.grants.asks_something() {
            decided.live = live_facts(&question, &decided.roles);
        }
        let decided = Arc::new(decided);
        if !reusable.is_zero() {
            self.cache.put(key, generation, now.plus(reusable), &decided);
        }
        Ok(decided)
    }

    /// The nodes that a token for this resource speaks of.
    fn table(&self, resource: &str) -> Result<Arc<NodeTable>, TokenRequestRefused> {
        let registry = self.registry.load();
        let Some(registered) = registry.resources.get(resource) else {
            let words = format!("the resource `{resource}` is not registered");
            return Err(TokenRequestRefused::new(
                StatusCode::BadNotFound,
                RefusalReason::UnknownResource,
                words,
            ));
        };
        match self.tables.current(resource) {
            Some(table) => Ok(table),
            None if registered.certificate.is_none() => Ok(Arc::clone(&self.no_nodes)),
            None => Err(TokenRequestRefused::new(
                StatusCode::BadResourceUnavailable,
                RefusalReason::NoTable,
                "the gate of this resource has not published its nodes yet: is it running?",
            )),
        }
    }

    fn compact(&self, decision: RightsDecision, table: &NodeTable, asked: &[String]) -> CachedDecision {
        let mut grants = Grants::none(table);
        let mut verdicts = decision.verdicts.into_iter();
        let mut grants_something = false;
        for row in 0..table.len() as u32 {
            for (permission, verdict) in self.settings.permissions.iter().zip(verdicts.by_ref()) {
                match verdict {
                    GrantVerdict::Granted | GrantVerdict::Ask => {
                        grants.set(row, *permission, verdict);
                        grants_something = true;
                    }
                    GrantVerdict::Refused => {}
                }
            }
        }
        let mut roles = decision.roles;
        roles.retain(|role| asked.is_empty() || asked.iter().any(|asked| **asked == **role));
        if roles.len() > ROLES_MAX {
            tracing::warn!("a decision has {} roles; a token carries the first {ROLES_MAX}", roles.len());
            roles.truncate(ROLES_MAX);
        }
        grants_something |= !roles.is_empty();
        let RightsDecision { policy, lifetime, .. } = decision;
        CachedDecision { grants, roles, policy, lifetime, grants_something, live: None }
    }

    fn sign(
        &self,
        wish: &TokenWish,
        facts: &TokenFacts<Arc<str>>,
        session_ends: Option<Moment>,
        decided: &CachedDecision,
    ) -> Result<IssuedToken, TokenRequestRefused> {
        let ends = session_ends.map_or(facts.expires, |ends| ends.min(facts.expires));
        let lifetime = decided.lifetime.min(ends.since(facts.issued));
        if lifetime < Duration::from_secs(1) {
            return Err(TokenRequestRefused::denied(
                "the decision, or the session, holds for less than a second",
            ));
        }
        let roles: Vec<&str> = decided.roles.iter().map(|role| &**role).collect();
        let issue = IssueRequest {
            issuer: &self.settings.service_uri,
            subject: &facts.subject,
            resource: &wish.resource,
            lifetime,
            client: wish.client.thumbprint,
            roles: &roles,
            session: facts.session.as_deref(),
            policy: &facts.policy,
            grants: &decided.grants,
            live: decided.live.as_ref(),
        };
        let token = issue.sign(&self.parts.keys.load(), facts.issued, &SystemEntropy).map_err(|error| {
            TokenRequestRefused::new(
                StatusCode::BadEncodingLimitsExceeded,
                RefusalReason::Failed,
                error.to_string(),
            )
        })?;
        let expires = facts.issued.plus(Duration::from_secs(lifetime.as_secs()));
        self.figures.count_issued();
        let note = AuthorityAuditNote::Issued {
            subject: &facts.subject,
            resource: &wish.resource,
            client: &facts.client,
            policy: &facts.policy,
            expires,
        };
        self.parts.audit.note(self.now(), &note);
        let (subject, session) = (Arc::clone(&facts.subject), facts.session.clone());
        Ok(IssuedToken { token, issued: facts.issued, expires, subject, session })
    }
}

/// What the gate has to know of the subject to decide as this question was decided; `None` where a token cannot say all of it.
fn live_facts(question: &RightsQuestion<'_>, roles: &[Arc<str>]) -> Option<LiveFacts> {
    let (subject, client) = (question.subject, question.client);
    let facts = LiveFacts {
        kind: subject.kind.name().to_owned(),
        attributes: subject.attributes.clone(),
        application_uri: client.application_uri.to_string(),
        certificate_subject: client.certificate_subject.to_string(),
        security_mode: format!("{:?}", question.security_mode),
    };
    let bytes = facts.to_json().to_string().len();
    if *roles == subject.roles && bytes <= LIVE_FACTS_BYTES_MAX {
        return Some(facts);
    }
    tracing::warn!(
        subject = &*subject.name,
        bytes,
        "a token cannot carry what is known of the subject, so its gate refuses what depends on live values: the user has too many \
         attributes or roles"
    );
    None
}
