//! Searches: which subjects may do something, what somebody may do it with, and which actions they may take.
//!
//! Candidates come one after the other in the order of their ids, until the page is full, enough of them were decided, or there are no more.
//! Each is decided as an evaluation would decide it, but those of which a plan says ahead whether they are permitted (`narrow`).

use std::sync::Arc;

use durward_common::access::subject::document;
use durward_common::question::{Action, Entity, Question, Wrong};
use durward_pdp::ir::value::{Object, write_json_text};
use durward_session::Administrator;
use durward_session::identity::user::Account;
use hyper::StatusCode;
use smol_str::SmolStr;

use super::decide::{Asking, Logged, merged};
use super::narrow::{Look, Narrowed};
use super::page::{Cursor, PageAsked};
use super::parts::{PartName, Parts, action, body};

/// After so many decisions others are served.
const DECISIONS_AT_ONCE: usize = 32;

/// Comparing so often takes about as long as a decision does.
const COMPARISONS_A_DECISION: usize = 1000;

/// So many users are fetched at once.
const USERS_AT_ONCE: usize = 256;

/// What is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Searched {
    Subject,
    Resource,
    Action,
}

/// The question of a search, with one part open.
pub(super) enum Open {
    Subject { kind: SmolStr, properties: Option<Arc<Object>>, action: Action, resource: Entity },
    Resource { subject: Entity, action: Action, kind: SmolStr, properties: Option<Arc<Object>> },
    Action { subject: Entity, resource: Entity },
}

/// A search, and what was found so far.
struct Search<'a, 'q> {
    asking: &'a Asking<'q>,
    open: Open,
    context: Option<Arc<Object>>,
    results_max: usize,
    /// How many candidates may still be decided.
    candidates_left: usize,
    /// How often candidates may still be compared with what a plan says.
    comparisons_left: usize,
    results: Vec<SmolStr>,
    /// The last candidate that was looked at, and of which source.
    last: Option<(u8, SmolStr)>,
}

/// Whether a search goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    On,
    /// There may be more, on the next page.
    Full,
}

/// Where candidates come from, in their order.
const STORE: u8 = 0;
const USERS: u8 = 1;

/// Answers a search.
pub(super) async fn answer(asking: &Asking<'_>, searched: Searched, text: &[u8]) -> Result<String, Wrong> {
    let settings = &asking.surface.settings;
    let request = body(text)?;
    let parts = Parts::read(&request)?;
    let context = parts.context.clone();
    let open = Open::of(searched, parts)?;
    let page = asking.surface.pages.read(asking, &request)?;
    if searched == Searched::Action && settings.actions.is_empty()
        || searched != Searched::Action && !settings.has_entities()
    {
        let message =
            "there is nothing to search among: see `[[authzen.entities]]` and `[[authzen.actions]]`";
        return Err(Wrong::new(StatusCode::NOT_FOUND, message));
    }
    match &open {
        // It is the caller who says whose rights are looked at.
        Open::Subject { .. } => asking.check_may_assert()?,
        Open::Resource { subject, .. } | Open::Action { subject, .. } => drop(asking.fenced(subject)?),
    }
    let mut search = Search {
        asking,
        open,
        context,
        results_max: page.limit.unwrap_or(usize::MAX).min(settings.search_results_max),
        candidates_left: settings.search_candidates_max,
        comparisons_left: settings.search_candidates_max.saturating_mul(COMPARISONS_A_DECISION),
        results: Vec::new(),
        last: None,
    };
    let flow = match search.knows_all().await? {
        true => search.candidates(page.begins.as_ref()).await?,
        // Of whom nothing is known, nothing is found.
        false => Flow::On,
    };
    search.write(&page, flow)
}

impl Open {
    fn of(searched: Searched, parts: Parts) -> Result<Open, Wrong> {
        let Parts { subject, action: act, resource, .. } = parts;
        Ok(match searched {
            Searched::Subject => {
                let (kind, properties) = PartName::Subject.searched(subject)?;
                let (action, resource) = (action(act)?, PartName::Resource.entity(resource)?);
                Open::Subject { kind, properties, action, resource }
            }
            Searched::Resource => {
                let (subject, action) = (PartName::Subject.entity(subject)?, action(act)?);
                let (kind, properties) = PartName::Resource.searched(resource)?;
                Open::Resource { subject, action, kind, properties }
            }
            Searched::Action => Open::Action {
                subject: PartName::Subject.entity(subject)?,
                resource: PartName::Resource.entity(resource)?,
            },
        })
    }
}

impl Search<'_, '_> {
    /// Whether the entities that the request names are known: of others there are no results (Authorization API 1.0, 8).
    async fn knows_all(&self) -> Result<bool, Wrong> {
        let named = match &self.open {
            Open::Subject { resource, .. } => [Some(resource), None],
            Open::Resource { subject, .. } => [Some(subject), None],
            Open::Action { subject, resource } => [Some(subject), Some(resource)],
        };
        for entity in named.into_iter().flatten() {
            if !self.knows(entity).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn knows(&self, entity: &Entity) -> Result<bool, Wrong> {
        let surface = self.asking.surface;
        let is_elsewhere = surface.settings.types_elsewhere.iter().any(|kind| *kind == entity.kind);
        // Who is named by a token is known by that.
        if is_elsewhere || surface.asker.token_kind(&entity.kind).is_some() {
            return Ok(true);
        }
        Ok(self.asking.stored(&entity.kind, &entity.id).await?.is_some())
    }

    /// Looks at candidates, source by source.
    async fn candidates(&mut self, begins: Option<&Cursor>) -> Result<Flow, Wrong> {
        let (source, after) =
            begins.map_or((STORE, None), |cursor| (cursor.source, Some(cursor.after.as_str())));
        let kind = match &self.open {
            Open::Subject { kind, .. } | Open::Resource { kind, .. } => kind.clone(),
            Open::Action { .. } => return self.actions(after).await,
        };
        if source == STORE && self.stored(&kind, after).await? == Flow::Full {
            return Ok(Flow::Full);
        }
        if !self.asking.has_users(&kind) {
            return Ok(Flow::On);
        }
        self.users(&kind, after.filter(|_| source == USERS)).await
    }

    async fn stored(&mut self, kind: &SmolStr, after: Option<&str>) -> Result<Flow, Wrong> {
        // Whatever is put in its place meanwhile, this search goes on among these.
        let table = self.asking.surface.entities.table(&self.asking.identity.tenant);
        let mut narrowed =
            Narrowed::of(self.asking, &self.open, self.context.as_ref(), (&*table, kind), after).await?;
        let mut passed_over: Option<&SmolStr> = None;
        for (id, properties) in table.entities.after(kind, after) {
            let comparisons = narrowed.as_ref().map(Narrowed::comparisons);
            if let Some(comparisons) = comparisons
                && !self.may_compare(comparisons).await
            {
                return Ok(self.full_behind(passed_over));
            }
            let look = narrowed.as_mut().map_or(Look::Undecided, |narrowed| narrowed.look(id, properties));
            if look == Look::NotPermitted {
                passed_over = Some(id);
                continue;
            }
            if self.is_full() {
                return Ok(self.full_behind(passed_over));
            }
            passed_over = None;
            match look {
                Look::Permitted => self.found(id),
                Look::Undecided | Look::NotPermitted => self.entity(STORE, id, properties).await?,
            }
        }
        Ok(Flow::On)
    }

    /// Whether a further candidate may be compared so often. Others are served now and then.
    async fn may_compare(&mut self, comparisons: usize) -> bool {
        let at_once = DECISIONS_AT_ONCE * COMPARISONS_A_DECISION;
        let before = self.comparisons_left / at_once;
        let Some(left) = self.comparisons_left.checked_sub(comparisons) else { return false };
        self.comparisons_left = left;
        if left / at_once != before {
            tokio::task::yield_now().await;
        }
        true
    }

    /// The page is full; the next one begins behind the last candidate of which it is known that it is no result.
    fn full_behind(&mut self, passed_over: Option<&SmolStr>) -> Flow {
        if let Some(id) = passed_over {
            self.last = Some((STORE, id.clone()));
        }
        Flow::Full
    }

    /// A candidate that is a result without being decided.
    fn found(&mut self, id: &SmolStr) {
        self.asking.surface.asker.told_permit();
        self.results.push(id.clone());
        self.last = Some((STORE, id.clone()));
        self.candidates_left -= 1;
    }

    /// Users of the built-in directory, but those that are stored entities as well.
    async fn users(&mut self, kind: &SmolStr, after: Option<&str>) -> Result<Flow, Wrong> {
        let mut after = after.unwrap_or_default().to_owned();
        loop {
            let users = self.next_users(&after).await?;
            let Some(last) = users.last() else { return Ok(Flow::On) };
            after.clone_from(&last.subject);
            for account in users {
                if self.is_full() {
                    return Ok(Flow::Full);
                }
                let id = SmolStr::from(account.subject.as_str());
                let tenant = &self.asking.identity.tenant;
                if self.asking.surface.entities.of(tenant).get(kind, &id).is_none() {
                    self.entity(USERS, &id, &document::of_account(&account)).await?;
                }
            }
        }
    }

    async fn next_users(&self, after: &str) -> Result<Vec<Account>, Wrong> {
        let surface = self.asking.surface;
        let Some(service) = &surface.users else { return Ok(Vec::new()) };
        let realm = &surface.settings.users_realm;
        let by = Administrator::program("authzen", realm);
        let behind = after.to_owned();
        let is_wanted = move |account: &Account| !account.disabled && account.subject > behind;
        let page = service.accounts().list(&by, realm, (0, USERS_AT_ONCE), is_wanted).await;
        page.map(|page| page.accounts).map_err(|error| {
            tracing::warn!(%error, "users cannot be searched among");
            Wrong::new(StatusCode::SERVICE_UNAVAILABLE, "users cannot be listed at the moment")
        })
    }

    async fn actions(&mut self, after: Option<&str>) -> Result<Flow, Wrong> {
        let Open::Action { subject, resource } = &self.open else { return Ok(Flow::On) };
        let (subject, resource) = (subject.clone(), resource.clone());
        let actions = self.asking.surface.settings.actions.iter();
        let is_of_type =
            |types: &[String]| types.is_empty() || types.iter().any(|kind| *kind == resource.kind);
        let actions = actions.filter(|action| is_of_type(&action.resource_types));
        let mut names: Vec<&str> = actions.map(|action| action.name.as_str()).collect();
        names.sort_unstable();
        for name in names.into_iter().filter(|name| after.is_none_or(|after| *name > after)) {
            if self.is_full() {
                return Ok(Flow::Full);
            }
            let action = Action { name: name.into(), properties: None };
            self.decide(STORE, &name.into(), subject.clone(), action, resource.clone()).await?;
        }
        Ok(Flow::On)
    }

    /// Whether no further candidate is decided for this page.
    fn is_full(&self) -> bool {
        self.candidates_left == 0 || self.results.len() >= self.results_max
    }

    async fn entity(&mut self, source: u8, id: &SmolStr, stored: &Arc<Object>) -> Result<(), Wrong> {
        let which = self.asking.surface.settings.stored_properties;
        let made = |kind: &SmolStr, own: &Option<Arc<Object>>| Entity {
            kind: kind.clone(),
            id: id.clone(),
            properties: merged(which, own.as_ref(), Some(stored)),
        };
        let (subject, action, resource) = match &self.open {
            Open::Subject { kind, properties, action, resource } => {
                (made(kind, properties), action.clone(), resource.clone())
            }
            Open::Resource { subject, action, kind, properties } => {
                (subject.clone(), action.clone(), made(kind, properties))
            }
            Open::Action { .. } => return Ok(()),
        };
        self.decide(source, id, subject, action, resource).await
    }

    async fn decide(
        &mut self,
        source: u8,
        id: &SmolStr,
        subject: Entity,
        action: Action,
        resource: Entity,
    ) -> Result<(), Wrong> {
        let context = self.context.clone();
        let question = Question { subject, action, resource, context };
        match self.asking.decide(question, Logged::Permits).await {
            Ok(verdict) if self.asking.surface.telling(self.context.as_deref()).is_true(&verdict) => {
                self.results.push(id.clone());
            }
            Ok(_) => {}
            // An evaluation of this candidate would be refused as well: it is no result, and keeps others from being none.
            Err(wrong) if wrong.status == StatusCode::BAD_REQUEST => {
                tracing::debug!(request_id = %self.asking.call.id, ?id, reason = ?wrong.message, "a candidate cannot be decided");
            }
            Err(wrong) => return Err(wrong),
        }
        self.last = Some((source, id.clone()));
        self.candidates_left -= 1;
        if self.candidates_left.is_multiple_of(DECISIONS_AT_ONCE) {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// The answer, the page first.
    fn write(&self, page: &PageAsked, flow: Flow) -> Result<String, Wrong> {
        let token = match (flow, &self.last) {
            (Flow::Full, Some((source, after))) => self.asking.surface.pages.token(page, *source, after)?,
            (Flow::Full | Flow::On, _) => String::new(),
        };
        let mut out = String::with_capacity(64 * (self.results.len() + 1));
        out.push('{');
        if page.is_asked || !token.is_empty() {
            out.push_str("\"page\":{\"next_token\":");
            write_json_text(&token, &mut out);
            out.push_str(&format!(",\"count\":{}}},", self.results.len()));
        }
        out.push_str("\"results\":[");
        for (at, id) in self.results.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            self.write_result(id, &mut out);
        }
        out.push_str("]}");
        Ok(out)
    }

    fn write_result(&self, id: &str, out: &mut String) {
        match &self.open {
            Open::Subject { kind, .. } | Open::Resource { kind, .. } => {
                out.push_str("{\"type\":");
                write_json_text(kind, out);
                out.push_str(",\"id\":");
            }
            Open::Action { .. } => out.push_str("{\"name\":"),
        }
        write_json_text(id, out);
        out.push('}');
    }
}
