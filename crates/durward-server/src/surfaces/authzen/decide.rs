//! One question of AuthZEN: who may ask it, what is known of its entities, and the decision.

use std::sync::Arc;

use durward_common::access::auth::Identity;
use durward_common::access::subject::{Shown, document};
use durward_common::decision_log::Surface as Way;
use durward_common::question::{
    Asked, Counted, Entity, Logged as AskedLogged, Question, SubjectBy, Verdict, Wrong,
};
use durward_common::surfaces::http::Call;
use durward_pdp::ir::value::Object;
use durward_session::identity::session::User;
use durward_settings::StoredProperties;
use hyper::StatusCode;

use super::{Ask, Surface};

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
        self.surface.telling(context.as_deref()).write(&verdict, &mut out);
        Ok(out)
    }

    /// Decides a question, after what is known of its entities was added.
    pub(super) async fn decide(&self, question: Question, recorded: Logged) -> Result<Verdict, Wrong> {
        let by = self.fenced(&question.subject)?;
        let question = self.known(question, &by).await?;
        let telling = self.surface.telling(question.context.as_deref());
        let is_true = |verdict: &Verdict| telling.is_true(verdict);
        let asked = self.asked(match recorded {
            Logged::Each => AskedLogged::Each,
            Logged::Permits => AskedLogged::If(&is_true),
        });
        self.surface.asker.decide(&asked, &question, &by).await
    }

    /// Who asks, and by which way.
    pub(super) fn asked<'l>(&'l self, logged: AskedLogged<'l>) -> Asked<'l> {
        Asked {
            caller: self.identity,
            client: Some(self.call.client),
            request_id: &self.call.id,
            trace: &self.call.trace,
            surface: Way::Authzen,
            route: self.ask.as_str(),
            length: self.length,
            logged,
            counted: Counted::BySurface,
        }
    }

    /// By what a subject is named: a token, or the word of a caller who must be one who may assert subjects.
    pub(super) fn fenced(&self, subject: &Entity) -> Result<SubjectBy, Wrong> {
        let Some(kind) = self.surface.asker.token_kind(&subject.kind) else {
            return self.check_may_assert().map(|()| SubjectBy::Caller);
        };
        if subject.properties.as_ref().is_some_and(|properties| !properties.is_empty()) {
            let message = format!(
                "a subject of the type `{kind}` is named by a token, and says nothing else: leave its properties out"
            );
            return Err(Wrong::request(message));
        }
        let token = subject.id.clone();
        Ok(SubjectBy::Token(if kind == "jwt" { Shown::Jwt(token) } else { Shown::Session(token) }))
    }

    /// Whether the caller may ask about subjects of its choice.
    pub(super) fn check_may_assert(&self) -> Result<(), Wrong> {
        if self.surface.asker.lets_assert(self.identity) { Ok(()) } else { Err(Wrong::asserted()) }
    }

    /// The question with the properties that are known of its subject and its resource.
    pub(super) async fn known(&self, question: Question, by: &SubjectBy) -> Result<Question, Wrong> {
        if !self.surface.settings.has_entities() {
            return Ok(question);
        }
        let Question { mut subject, action, mut resource, context } = question;
        if matches!(by, SubjectBy::Caller) {
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
        Ok(account.as_ref().map(document::of_account))
    }

    /// Whether users are entities of this type, for this caller.
    pub(super) fn has_users(&self, kind: &str) -> bool {
        let surface = self.surface;
        let is_type = surface.settings.users_type.as_deref() == Some(kind);
        is_type && surface.users.is_some() && self.identity.tenant == surface.default_tenant.as_str()
    }
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
