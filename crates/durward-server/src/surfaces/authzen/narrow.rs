//! What a plan says of the candidates of a search, before any of them is decided.
//!
//! Entities have whatever properties they have: what those of a type have in common makes the columns of the plan. Of a candidate that
//! is not as its type's columns say nothing is believed, and it is decided.

use std::sync::Arc;

use durward_common::access::subject::document::TOKENS;
use durward_common::entities::EntityTable;
use durward_common::question::{Entity, Logged, Question, SubjectBy, Wrong};
use durward_pdp::ir::Value;
use durward_pdp::ir::path::Element;
use durward_pdp::ir::value::Object;
use durward_pdp::plan::{
    Cell, Column, ColumnId, ColumnType, Columns, ObjectShape, Plan, Row, Scalar, Unlisted,
};
use durward_settings::StoredProperties;
use smol_str::SmolStr;

use super::decide::Asking;
use super::search::Open;

/// Of fewer candidates each is decided: that takes less time than a plan.
const CANDIDATES_MIN: usize = 200;

/// A plan that compares more often tells nothing sooner than a decision does.
const COMPARISONS_MAX: usize = 250;

/// The column of the id; the others are properties.
const ID: ColumnId = ColumnId(0);

/// What a plan says of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// It is permitted, and nothing goes along with that.
    Permitted,
    /// It is not permitted.
    NotPermitted,
    /// It is to be decided.
    Undecided,
}

/// A plan over the candidates of a search.
pub(super) struct Narrowed {
    plan: Plan,
    columns: Arc<Columns>,
    /// The properties that the plan looks at.
    wanted: Vec<ColumnId>,
    /// Of the candidate that is looked at.
    row: Row,
    comparisons: usize,
    /// Whether who is permitted is a result: nobody records decisions, and there are no obligations.
    is_enough: bool,
}

impl Narrowed {
    /// The plan, if one helps.
    ///
    /// # Errors
    /// What is known of an entity that the request names cannot be said at the moment, or too many plans are being made.
    pub(super) async fn of(
        asking: &Asking<'_>,
        open: &Open,
        context: Option<&Arc<Object>>,
        (table, kind): (&EntityTable, &SmolStr),
        after: Option<&str>,
    ) -> Result<Option<Narrowed>, Wrong> {
        let is_few = table.entities.after(kind, after).take(CANDIDATES_MIN).count() < CANDIDATES_MIN;
        let Some(shape) = table.shape(kind).filter(|_| !is_few) else { return Ok(None) };
        let Some((element, own, question)) = question(open, kind, context) else { return Ok(None) };
        let by = match element {
            Element::Resource => asking.fenced(&question.subject)?,
            Element::Subject | Element::Action | Element::Environment => SubjectBy::Caller,
        };
        if element == Element::Subject && may_be_token(own, shape) {
            return Ok(None);
        }
        let which = asking.surface.settings.stored_properties;
        let Some((known, columns)) = columns(which, kind, own, shape) else { return Ok(None) };
        let columns = Arc::new(columns.of(element));
        let question = asking.known(question, &by).await?;
        let asker = &asking.surface.asker;
        let plan = asker.plan(&asking.asked(Logged::Each), &question, &by, known, &columns).await?;
        let is_recorded = asker.is_recorded();
        Ok(plan.and_then(|plan| Narrowed::new(plan, columns, is_recorded)))
    }

    fn new(plan: Plan, columns: Arc<Columns>, is_recorded: bool) -> Option<Narrowed> {
        let mut wanted = plan.columns();
        let mut comparisons = 1 + plan.filter.weight();
        if let Some(superset) = &plan.superset {
            superset.columns(&mut |column| wanted.push(column));
            comparisons += superset.weight();
        }
        wanted.sort_unstable();
        wanted.dedup();
        wanted.retain(|column| *column != ID);
        let is_enough = plan.duties.obligations.is_empty() && !is_recorded;
        let row = Row::default();
        (comparisons <= COMPARISONS_MAX).then_some(Narrowed {
            plan,
            columns,
            wanted,
            row,
            comparisons,
            is_enough,
        })
    }

    /// How often a candidate is compared at most.
    pub(super) fn comparisons(&self) -> usize {
        self.comparisons
    }

    /// Looks at a candidate.
    pub(super) fn look(&mut self, id: &SmolStr, properties: &Object) -> Look {
        let cell = Cell::One(Scalar::Text(id.clone()));
        match self.row.0.first_mut() {
            Some(place) => *place = cell,
            None => self.row.0.push(cell),
        }
        if !self.columns.write_row(properties, &self.wanted, &mut self.row) {
            return Look::Undecided;
        }
        if self.plan.matches(&self.row) {
            return if self.is_enough { Look::Permitted } else { Look::Undecided };
        }
        if self.plan.may_match(&self.row) { Look::Undecided } else { Look::NotPermitted }
    }
}

/// The part that is open, what the request says of all its candidates, and the question with nobody in their place.
fn question<'o>(
    open: &'o Open,
    kind: &SmolStr,
    context: Option<&Arc<Object>>,
) -> Option<(Element, Option<&'o Arc<Object>>, Question)> {
    let nobody = || Entity { kind: kind.clone(), id: SmolStr::default(), properties: None };
    let context = context.cloned();
    Some(match open {
        Open::Subject { properties, action, resource, .. } => {
            let (action, resource) = (action.clone(), resource.clone());
            let question = Question { subject: nobody(), action, resource, context };
            (Element::Subject, properties.as_ref(), question)
        }
        Open::Resource { subject, action, properties, .. } => {
            let (subject, action) = (subject.clone(), action.clone());
            let question = Question { subject, action, resource: nobody(), context };
            (Element::Resource, properties.as_ref(), question)
        }
        Open::Action { .. } => return None,
    })
}

/// Whether a candidate may be taken for somebody who is named by a token.
fn may_be_token(own: Option<&Arc<Object>>, shape: &ObjectShape) -> bool {
    TOKENS.iter().any(|name| shape.has(name) || own.is_some_and(|own| own.contains_key(name)))
}

/// What is known of all candidates, and columns for the rest.
fn columns(
    which: StoredProperties,
    kind: &SmolStr,
    own: Option<&Arc<Object>>,
    shape: &ObjectShape,
) -> Option<(Value, Columns)> {
    // No property is the type or the id.
    let own = own.into_iter().flat_map(|own| own.iter()).filter(|(name, _)| !is_name(name));
    // Where a stored property counts more, and some of them have one, it is neither known nor a column.
    let is_known = |name: &str| which == StoredProperties::Fill || !shape.has(name);
    let (known, unknown): (Vec<_>, Vec<_>) = own.partition(|(name, _)| is_known(name));
    let unlisted = if unknown.is_empty() { Unlisted::Absent } else { Unlisted::Unknown };
    let is_said = |name: &str| known.iter().chain(&unknown).any(|(own, _)| own.as_str() == name);
    let id = vec![Column::new("id", ColumnType::Text)];
    let columns = shape.columns(id, unlisted, |name| is_name(name) || is_said(name))?;
    let known = known.iter().map(|(name, value)| ((*name).clone(), (*value).clone()));
    let kind = (SmolStr::new_static("type"), Value::Text(kind.clone()));
    Some((Value::object(std::iter::once(kind).chain(known)), columns))
}

fn is_name(name: &str) -> bool {
    name == "type" || name == "id"
}
