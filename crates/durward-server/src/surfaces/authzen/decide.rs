//! One question, decided in the language of the tenant's policies, counted and recorded as the other surfaces do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use durward_pdp::ir::Value;
use durward_pdp::ir::path::Element;
use durward_pdp::ir::value::Object;
use durward_pdp::record::{Record, Recorded};
use durward_session::identity::session::User;
use durward_session::identity::user::Account;
use hyper::StatusCode;
use smol_str::SmolStr;

use super::question::{Entity, Question, Wrong};
use super::verdict::Verdict;
use super::{Ask, Surface};
use crate::access::auth::Identity;
use crate::access::subject::Shown;
use crate::access::subject::fence::SubjectError;
use crate::base::settings::StoredProperties;
use crate::decider::{Decision, Full, Once, Outcome, Subscription};
use crate::decision_log::{Account as LogAccount, Caller, Surface as Way};
use crate::surfaces::http::Call;

/// A request by somebody who may ask.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) surface: &'a Surface,
    pub(super) call: &'a Call,
    pub(super) ask: Ask,
    pub(super) identity: &'a Identity,
    /// How long the body was.
    pub(super) length: usize,
}

/// Which decisions the decision log gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logged {
    Each,
    /// Those that grant access: candidates of a search that are told.
    Permits,
}

impl Asking<'_> {
    /// The answer to one question.
    pub(super) async fn one(&self, question: Question) -> Result<String, Wrong> {
        let mut out = String::with_capacity(32);
        let context = question.context.clone();
        let verdict = self.decide(question, Logged::Each).await?;
        verdict.write(&self.surface.telling(context.as_deref()), &mut out);
        Ok(out)
    }

    /// Decides a question, after what is known of its entities was added.
    pub(super) async fn decide(&self, question: Question, recorded: Logged) -> Result<Verdict, Wrong> {
        let token = self.fenced(&question.subject)?;
        let question = self.known(question, token.is_some()).await?;
        if self.surface.is_asked_in_xacml(&self.identity.tenant) {
            return self.decide_xacml(&question, token, recorded).await;
        }
        self.decide_sapl(&question, token, recorded).await
    }

    /// The token that a subject is named by; without one, the caller must be one who may assert subjects.
    pub(super) fn fenced(&self, subject: &Entity) -> Result<Option<Shown>, Wrong> {
        let Some(kind) = self.surface.token_kind(&subject.kind) else {
            return if self.surface.fence.lets_assert(Some(self.identity)) {
                Ok(None)
            } else {
                Err(forbidden())
            };
        };
        if subject.properties.as_ref().is_some_and(|properties| !properties.is_empty()) {
            let message = format!(
                "a subject of the type `{kind}` is named by a token, and says nothing else: leave its properties out"
            );
            return Err(Wrong::request(message));
        }
        let token = subject.id.clone();
        Ok(Some(if kind == "jwt" { Shown::Jwt(token) } else { Shown::Session(token) }))
    }

    /// Whether the caller may ask about subjects of its choice.
    pub(super) fn check_may_assert(&self) -> Result<(), Wrong> {
        if self.surface.fence.lets_assert(Some(self.identity)) { Ok(()) } else { Err(forbidden()) }
    }

    /// The question with the properties that are known of its subject and its resource.
    async fn known(&self, question: Question, is_token: bool) -> Result<Question, Wrong> {
        if !self.surface.settings.has_entities() {
            return Ok(question);
        }
        let Question { mut subject, action, mut resource, context } = question;
        if !is_token {
            subject.properties = self.filled(&subject).await?;
        }
        resource.properties = self.filled(&resource).await?;
        Ok(Question { subject, action, resource, context })
    }

    async fn filled(&self, entity: &Entity) -> Result<Option<Arc<Object>>, Wrong> {
        let stored = self.stored(&entity.kind, &entity.id).await?;
        Ok(merged(self.surface.settings.stored_properties, entity.properties.as_ref(), stored.as_ref()))
    }

    /// What is known of an entity; `None` where nothing is known of such a one.
    pub(super) async fn stored(&self, kind: &str, id: &str) -> Result<Option<Arc<Object>>, Wrong> {
        let surface = self.surface;
        if let Some(properties) = surface.entities.of(&self.identity.tenant).get(kind, id) {
            return Ok(Some(Arc::clone(properties)));
        }
        let Some(users) = surface.users.as_ref().filter(|_| self.has_users(kind)) else { return Ok(None) };
        let Ok(user) = User::new(&surface.settings.users_realm, id) else { return Ok(None) };
        let account = users.active_account(&user).await.map_err(|_| {
            Wrong::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "what is known of a user cannot be said at the moment",
            )
        })?;
        Ok(account.as_ref().map(properties_of))
    }

    /// Whether users are entities of this type, for this caller.
    pub(super) fn has_users(&self, kind: &str) -> bool {
        let surface = self.surface;
        let is_type = surface.settings.users_type.as_deref() == Some(kind);
        is_type && surface.users.is_some() && self.identity.tenant == surface.default_tenant.as_str()
    }

    async fn decide_sapl(
        &self,
        question: &Question,
        token: Option<Shown>,
        recorded: Logged,
    ) -> Result<Verdict, Wrong> {
        let subject = token.map(|token| match token {
            Shown::Session(token) => Value::object([("session", Value::Text(token))]),
            Shown::Jwt(token) => Value::object([("jwt", Value::Text(token))]),
        });
        let surface = self.surface;
        let subscription = surface.mapping.subscription(question, subject);
        surface.fence.check(subscription.element(Element::Subject), self.identity).map_err(|error| {
            match error {
                SubjectError::Mixed | SubjectError::Bound => Wrong::request(error.to_string()),
                SubjectError::Asserted => forbidden(),
            }
        })?;
        let account = self.account().map(|account| account.asks_once(&subscription, self.length));
        let begun = Instant::now();
        let (decision, record) = self.decided(subscription).await?;
        let verdict = Verdict::of_sapl(&decision);
        let time = Some(begun.elapsed());
        surface.metrics.told(&decision, time);
        let is_told =
            recorded == Logged::Each || verdict.is_true(&surface.telling(question.context.as_deref()));
        if let Some(account) = account.filter(|_| is_told) {
            account.told(None, &decision, record, time);
        }
        Ok(verdict)
    }

    async fn decided(
        &self,
        subscription: Subscription,
    ) -> Result<(Arc<Decision>, Option<Arc<Record>>), Wrong> {
        let Some(decider) = self.surface.decider.get() else {
            return Err(Wrong::new(StatusCode::SERVICE_UNAVAILABLE, "nobody decides yet; try again"));
        };
        let tenant = &self.identity.tenant;
        Ok(match self.guarded(|| decider.decide_once(tenant, subscription)) {
            Ok(Ok(Once::Decided(decision))) => (Arc::new(decision), None),
            Ok(Ok(Once::Recorded(Recorded { decision, record }))) => (decision, Some(record)),
            Ok(Ok(Once::Waiting(mut decisions))) => {
                let decision = std::future::poll_fn(|task| decisions.poll_next(task)).await;
                (decision, decisions.record())
            }
            Ok(Err(Full)) => {
                self.surface.metrics.limit_hit("sapl.subscriptions");
                let message = "there is no room for a question that waits for attributes; try again";
                return Err(Wrong::new(StatusCode::SERVICE_UNAVAILABLE, message));
            }
            Err(Panicked) => {
                let record = Record::failed(0, "a mistake in durward");
                (Arc::new(Decision::plain(Outcome::Indeterminate)), Some(Arc::new(record)))
            }
        })
    }

    /// A mistake of ours costs one decision, not the process.
    pub(super) fn guarded<T>(&self, work: impl FnOnce() -> T) -> Result<T, Panicked> {
        catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
            self.surface.metrics.panics.inc();
            tracing::error!(request_id = %self.call.id, "a request ended in a panic; please report it");
            Panicked
        })
    }

    /// What keeps record of decisions, where somebody does.
    pub(super) fn account(&self) -> Option<LogAccount> {
        self.surface.recorder.account(|| self.caller())
    }

    /// Who asks, as the decision log has it.
    pub(super) fn caller(&self) -> Caller<'_> {
        Caller {
            surface: Way::Authzen,
            route: self.ask.as_str(),
            request_id: &self.call.id,
            client: Some(self.call.client),
            tenant: &self.identity.tenant,
            name: &self.identity.name,
            trace: &self.call.trace,
        }
    }
}

/// Something panicked, and that was told.
#[derive(Debug)]
pub(super) struct Panicked;

fn forbidden() -> Wrong {
    let message = "a subject is named by a token here, with the type `session` or `jwt` and the token as its id, and this caller may \
                   not assert who it is; see `identity.subjects_asserted_by`";
    Wrong::new(StatusCode::FORBIDDEN, message)
}

/// The properties of both; where both have one, the setting says which counts.
pub(super) fn merged(
    which: StoredProperties,
    own: Option<&Arc<Object>>,
    stored: Option<&Arc<Object>>,
) -> Option<Arc<Object>> {
    let (own, stored) = match (own, stored) {
        (own, None) => return own.cloned(),
        (None, Some(stored)) => return Some(Arc::clone(stored)),
        (Some(own), Some(stored)) => (own, stored),
    };
    let (first, second) = match which {
        StoredProperties::Fill => (own, stored),
        StoredProperties::Override => (stored, own),
    };
    let of = |object: &Arc<Object>| {
        object.iter().map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>()
    };
    let more = of(second).into_iter().filter(|(name, _)| !first.contains_key(name));
    Some(Arc::new(of(first).into_iter().chain(more).collect()))
}

/// What is known of a user: groups, attributes and the realm.
pub(super) fn properties_of(account: &Account) -> Arc<Object> {
    let texts = |texts: &[String]| Value::array(texts.iter().map(Value::text));
    let attributes =
        account.attributes.iter().map(|(name, values)| (SmolStr::from(name.as_str()), texts(values)));
    Arc::new(
        [
            ("realm", Value::text(&account.realm)),
            ("groups", texts(&account.groups)),
            ("attributes", Value::object(attributes)),
        ]
        .into_iter()
        .collect(),
    )
}
