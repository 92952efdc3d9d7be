//! What depends on the row: which slots read columns, and which expressions read those.

use durward_ir::path::Element;
use durward_ir::program::{Expr, ExprId, SlotId, Slots, Structured};
use durward_ir::value::DataType;
use smol_str::SmolStr;

use super::Folding;
use crate::columns::{ColumnId, Columns, Unlisted};

/// What a slot reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SlotUse {
    /// What the question says.
    Known,
    /// A column.
    Column(ColumnId),
    /// Something in what a column holds.
    Inside(ColumnId),
    /// An object that has columns in it, by its path.
    Object(Box<[SmolStr]>),
    /// What nobody knows.
    Unknown,
}

/// The category of XACML that each part of a subscription is.
const CATEGORIES: [(Element, &str); 4] = [
    (Element::Subject, "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"),
    (Element::Action, "urn:oasis:names:tc:xacml:3.0:attribute-category:action"),
    (Element::Resource, "urn:oasis:names:tc:xacml:3.0:attribute-category:resource"),
    (Element::Environment, "urn:oasis:names:tc:xacml:3.0:attribute-category:environment"),
];

impl SlotUse {
    pub(super) fn of_all(slots: &Slots, columns: &Columns, fixed: &dyn Fn(&str) -> bool) -> Vec<SlotUse> {
        let of = |(slot, _): (SlotId, _)| SlotUse::of(slots, slots.origin(slot), columns, fixed);
        slots.names().map(of).collect()
    }

    fn of(slots: &Slots, slot: SlotId, columns: &Columns, fixed: &dyn Fn(&str) -> bool) -> SlotUse {
        if let Some(path) = slots.path(slot) {
            if path.element() != columns.element() {
                return SlotUse::Known;
            }
            return SlotUse::of_path(path.keys(), columns, fixed);
        }
        let name = slots.name(slot);
        let is_of_row =
            CATEGORIES.contains(&(columns.element(), name.category.as_str())) && name.issuer.is_none();
        if !is_of_row {
            return SlotUse::Known;
        }
        match SlotUse::of_path(std::slice::from_ref(&name.id), columns, fixed) {
            // An object is no value of XACML.
            SlotUse::Object(_) => SlotUse::Known,
            found @ (SlotUse::Known | SlotUse::Column(_) | SlotUse::Inside(_) | SlotUse::Unknown) => found,
        }
    }

    fn of_path(keys: &[SmolStr], columns: &Columns, fixed: &dyn Fn(&str) -> bool) -> SlotUse {
        for (id, column) in columns.numbered() {
            if column.path == keys {
                return SlotUse::Column(id);
            }
            if keys.starts_with(&column.path) {
                return SlotUse::Inside(id);
            }
        }
        let Some(first) = keys.first() else { return SlotUse::Object([].into()) };
        let has_columns = |keys: &[SmolStr]| columns.all().iter().any(|column| column.path.starts_with(keys));
        if has_columns(keys) {
            return SlotUse::Object(keys.into());
        }
        // An object with columns in it holds nothing else that is known.
        if !has_columns(std::slice::from_ref(first)) && fixed(first) {
            return SlotUse::Known;
        }
        match columns.unlisted() {
            Unlisted::Absent => SlotUse::Known,
            Unlisted::Unknown => SlotUse::Unknown,
        }
    }
}

impl Folding<'_> {
    /// What a slot reads.
    pub(super) fn slot_use(&self, slot: SlotId) -> SlotUse {
        self.slots.get(slot.0 as usize).cloned().unwrap_or(SlotUse::Unknown)
    }

    /// Whether an expression depends on the row, or on what only an attribute finder can say.
    pub(crate) fn depends(&mut self, id: ExprId) -> bool {
        if let Some(known) = self.depends.get(&id) {
            return *known;
        }
        let program = self.program;
        let expr = program.expr(id);
        let depends = match expr {
            Expr::Attribute { slot, .. } | Expr::Part(slot) | Expr::IsOneOf(slot, _) => {
                self.slot_use(*slot) != SlotUse::Known
            }
            Expr::Structured(Structured::Finder(_) | Structured::StandIn(..)) => true,
            Expr::Constant(_)
            | Expr::Failed(_)
            | Expr::Selector(_)
            | Expr::Call(..)
            | Expr::Lazy(..)
            | Expr::HigherOrder(..)
            | Expr::Contextual(..)
            | Expr::All(_)
            | Expr::Any(_)
            | Expr::Matches(..)
            | Expr::Match(_)
            | Expr::Structured(_) => parts(expr).into_iter().any(|part| self.depends(part)),
        };
        self.depends.insert(id, depends);
        depends
    }

    /// Whether evaluating an expression may call functions of libraries.
    pub(super) fn calls(&mut self, id: ExprId) -> bool {
        if let Some(known) = self.calls.get(&id) {
            return *known;
        }
        let program = self.program;
        let expr = program.expr(id);
        let is_call = matches!(expr, Expr::Structured(Structured::Call(..)));
        let calls = is_call || parts(expr).into_iter().any(|part| self.calls(part));
        self.calls.insert(id, calls);
        calls
    }
}

/// The expressions in an expression.
fn parts(expr: &Expr) -> Vec<ExprId> {
    match expr {
        Expr::Constant(_)
        | Expr::Failed(_)
        | Expr::Selector(_)
        | Expr::Attribute { .. }
        | Expr::Part(_)
        | Expr::IsOneOf(..) => Vec::new(),
        Expr::Call(_, parts)
        | Expr::Lazy(_, parts)
        | Expr::HigherOrder(_, _, parts)
        | Expr::Contextual(_, parts)
        | Expr::All(parts)
        | Expr::Any(parts) => parts.to_vec(),
        Expr::Matches(_, part) => vec![*part],
        Expr::Match(matching) => vec![matching.bag],
        Expr::Structured(structured) => {
            let mut parts = Vec::new();
            structured.parts(&mut |part, _| parts.push(part));
            parts
        }
    }
}

/// How SAPL sees what a column holds.
pub(super) fn plain_type(kind: crate::columns::ColumnType) -> DataType {
    match kind {
        crate::columns::ColumnType::Text => DataType::Text,
        crate::columns::ColumnType::Boolean => DataType::Boolean,
        crate::columns::ColumnType::Integer
        | crate::columns::ColumnType::Decimal
        | crate::columns::ColumnType::Double => DataType::Number,
    }
}
