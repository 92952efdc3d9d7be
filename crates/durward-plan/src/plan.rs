//! From the formulas of all policies to a filter.

use std::fmt;

use durward_ir::combine::{Duties, Verdict};
use durward_ir::program::Program;
use durward_ir::question::Question;
use durward_ir::value::Value;

use crate::budget::PLAN_STEPS_MAX;
use crate::columns::{ColumnId, Columns, Nulls, Row, Scalar};
use crate::factor::{Factored, factored};
use crate::filter::{Filter, Order};
use crate::formula::{F, Formulas, Node, Test};
use crate::vote::{Ballot, Tag, Tags};

/// A filter has up to so many parts. No row is in one with more, and every row in the superset.
const FILTER_PARTS_MAX: u64 = 20_000;

/// The filters of all groups of rows have up to so many parts together.
const WRITTEN_PARTS_MAX: u64 = 2 * FILTER_PARTS_MAX;

/// A filter is up to so deep: databases read it, and have limits of their own. It is left out as one with too many parts is.
const FILTER_DEPTH_MAX: u32 = 100;

/// In one word, which rows a plan means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// All of them.
    All,
    /// None of them.
    None,
    /// Those in the filter.
    Filter,
}

impl Kind {
    /// Which rows are in a filter.
    pub(crate) fn of(filter: &Filter) -> Kind {
        match filter.constant() {
            Some(true) => Kind::All,
            Some(false) => Kind::None,
            None => Kind::Filter,
        }
    }

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::All => "all",
            Kind::None => "none",
            Kind::Filter => "filter",
        }
    }
}

/// Rows that are permitted with the same obligations.
#[derive(Clone, Debug)]
pub struct PermitGroup {
    /// The rows.
    pub filter: Filter,
    /// What goes along with the decision on each of them, each obligation once and in no particular order. Advice is here only
    /// where it is the same for all.
    pub duties: Duties,
}

/// Which rows are permitted.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the filter comes to.
    pub kind: Kind,
    /// Whether every row that is permitted is in the filter.
    pub exact: bool,
    /// Rows that are permitted, each with [`Plan::duties`] and no others. Every row in it is permitted, whether the plan is exact
    /// or not.
    pub filter: Filter,
    /// What goes along with the decision on every row of the filter.
    pub duties: Duties,
    /// Of a plan that is not exact: no row outside is permitted. Rows in it that are not in the filter are to be decided
    /// one by one.
    pub superset: Option<Filter>,
    /// All rows of which it is known that they are permitted, by what goes along with the decision; the filter is the first
    /// of them.
    pub groups: Vec<PermitGroup>,
    /// Why the plan is not exact: what could not be said of columns.
    pub reasons: Vec<String>,
}

/// What cannot be planned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlanError {
    /// What is known of all rows is neither an object nor undefined.
    NoObject,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::NoObject => {
                f.write_str("what is known of all rows must be an object, such as `{\"type\": \"record\"}`")
            }
        }
    }
}

impl std::error::Error for PlanError {}

/// Makes plans.
#[derive(Debug)]
pub struct Planner<'a> {
    /// The policies.
    pub program: &'a Program,
    /// What is known. The part that rows stand for is `fixed`, or an empty object.
    pub question: &'a Question<'a>,
    /// What rows hold.
    pub columns: &'a Columns,
    /// What is known of all rows: an object, or undefined.
    pub fixed: &'a Value,
}

impl Planner<'_> {
    /// Folds the policies with what is known.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn plan(&self) -> Result<Plan, PlanError> {
        if self.fixed.as_object().is_none() && !self.fixed.is_undefined() {
            return Err(PlanError::NoObject);
        }
        let mut ballot = Ballot::new(self.program, self.question, self.columns, self.fixed);
        let votes = ballot.votes(self.program.root());
        let mut permits = Permits::default();
        let mut may = Vec::new();
        for (outcome, interval) in votes.iter() {
            if outcome.verdict == Verdict::Permit {
                may.push(interval.may);
                permits.add(outcome.tag, interval.must, &ballot.tags);
            }
        }
        let superset = ballot.folding.formulas.any(may);
        Ok(self.finished(&mut ballot, permits, superset))
    }

    fn finished(&self, ballot: &mut Ballot<'_>, permits: Permits, superset: F) -> Plan {
        let mut reasons: Vec<String> = std::mem::take(&mut ballot.folding.reasons).into_iter().collect();
        let mut groups: Vec<(F, Duties)> = Vec::new();
        let mut has_others = permits.varies;
        for group in permits.groups {
            let duties = group.duties(&ballot.tags);
            let must = ballot.folding.formulas.any(group.musts);
            if must == F::FALSE {
                continue;
            }
            // What stands for the resource is no filter's affair.
            if duties.resource.is_some() {
                has_others = true;
            } else if duties.obligations.is_empty() && duties.advice.is_empty() {
                groups.insert(0, (must, duties));
            } else {
                groups.push((must, duties));
            }
        }
        if ballot.is_spent() {
            return Plan::too_costly();
        }
        has_others |= groups.len() > 1;
        let formulas = &ballot.folding.formulas;
        let mut writer = Writer { formulas, columns: self.columns, weight: 0, is_too_large: false };
        let first = groups.first().map_or(F::FALSE, |(must, _)| *must);
        let written: Vec<PermitGroup> = groups
            .into_iter()
            .map(|(must, duties)| PermitGroup { filter: writer.lower_bound(must), duties })
            .collect();
        let (filter, duties) = match written.first() {
            Some(group) => (group.filter.clone(), group.duties.clone()),
            None => (Filter::Constant(false), Duties::default()),
        };
        let exact = first == superset && !writer.is_too_large;
        if writer.is_too_large {
            reasons.push(format!("the filter has more than {FILTER_PARTS_MAX} parts, or is too deep"));
        }
        if !exact && has_others {
            reasons.push("obligations or transformations depend on the row".to_owned());
        }
        let superset = (!exact).then(|| writer.upper_bound(superset));
        let kind = Kind::of(&filter);
        if exact {
            reasons.clear();
        }
        Plan { kind, exact, filter, duties, superset, groups: written, reasons }
    }
}

impl Plan {
    /// What is left of a plan that took too many steps: of no row it is known whether it is permitted.
    fn too_costly() -> Plan {
        Plan {
            kind: Kind::None,
            exact: false,
            filter: Filter::Constant(false),
            duties: Duties::default(),
            superset: Some(Filter::Constant(true)),
            groups: Vec::new(),
            reasons: vec![format!("the plan takes more than {PLAN_STEPS_MAX} steps")],
        }
    }

    /// Whether a row is in the filter.
    pub fn matches(&self, row: &Row) -> bool {
        self.filter.matches(row)
    }

    /// Whether a row may be permitted though it is not in the filter: it is to be decided by itself.
    pub fn may_match(&self, row: &Row) -> bool {
        self.superset.as_ref().is_some_and(|superset| superset.matches(row)) && !self.matches(row)
    }

    /// The columns that the filter looks at, each once.
    pub fn columns(&self) -> Vec<ColumnId> {
        let mut columns = Vec::new();
        self.filter.columns(&mut |column| columns.push(column));
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

/// Where rows are permitted, by what goes along.
#[derive(Default)]
struct Permits {
    groups: Vec<PermitParts>,
    varies: bool,
}

/// Where rows are permitted that whoever enforces has to do the same for.
struct PermitParts {
    musts: Vec<F>,
    tag: Tag,
    /// Advice may be left out, and is where it differs.
    is_advice_left_out: bool,
}

impl PermitParts {
    fn duties(&self, tags: &Tags) -> Duties {
        let mut duties = tags.duties(self.tag).unwrap_or_default();
        if self.is_advice_left_out {
            duties.advice.clear();
        }
        duties
    }
}

impl Permits {
    fn add(&mut self, tag: Tag, must: F, tags: &Tags) {
        if tag.varies() {
            self.varies = true;
            return;
        }
        match self.groups.iter_mut().find(|other| tags.bind_alike(other.tag, tag)) {
            Some(group) => {
                group.is_advice_left_out |= !tags.advise_alike(group.tag, tag);
                group.musts.push(must);
            }
            None => self.groups.push(PermitParts { musts: vec![must], tag, is_advice_left_out: false }),
        }
    }
}

/// Writes formulas as filters.
struct Writer<'f> {
    formulas: &'f Formulas,
    columns: &'f Columns,
    /// Of all that was written: later groups must not cost more than the first.
    weight: u64,
    is_too_large: bool,
}

impl Writer<'_> {
    /// The filter, or one that nothing is in.
    fn lower_bound(&mut self, f: F) -> Filter {
        let weight = self.weight.saturating_add(self.formulas.weight(f));
        if self.is_large(f) || weight > WRITTEN_PARTS_MAX {
            self.is_too_large = true;
            return Filter::Constant(false);
        }
        self.weight = weight;
        self.filter(f, &[])
    }

    /// The filter, or one that everything is in.
    fn upper_bound(&self, f: F) -> Filter {
        if self.is_large(f) { Filter::Constant(true) } else { self.filter(f, &[]) }
    }

    fn is_large(&self, f: F) -> bool {
        self.formulas.weight(f) > FILTER_PARTS_MAX || self.formulas.depth(f) > FILTER_DEPTH_MAX
    }

    /// Where columns of `present`, each there once and in order, are certainly not NULL, or it does not matter.
    fn filter(&self, f: F, present: &[ColumnId]) -> Filter {
        match self.formulas.node(f) {
            Node::Constant(truth) => Filter::Constant(*truth),
            Node::Literal(number, is_positive) => match self.formulas.test_of(*number) {
                Some(test) => self.literal(test, *is_positive, present),
                None => Filter::Constant(false),
            },
            Node::All(parts) => self.all(parts, None, present),
            Node::Any(parts) => self.any(parts, present),
        }
    }

    fn literal_of(&self, f: F) -> Option<(&Test, bool)> {
        match self.formulas.node(f) {
            Node::Literal(number, is_positive) => Some((self.formulas.test_of(*number)?, *is_positive)),
            Node::Constant(_) | Node::All(_) | Node::Any(_) => None,
        }
    }

    /// All of these, and a column that holds one of some values.
    fn all(&self, parts: &[F], held: Option<(ColumnId, Vec<Scalar>)>, present: &[ColumnId]) -> Filter {
        let literals = parts.iter().filter_map(|part| self.literal_of(*part));
        let mut known = present.to_vec();
        // What a comparison that is false of NULL says to be none; of two columns that differ, either may be.
        let mut said: Vec<ColumnId> = held.iter().map(|(column, _)| *column).collect();
        for (test, is_positive) in literals {
            let mut asked = Vec::with_capacity(2);
            columns_of(test, &mut |column| asked.push(column));
            if is_positive {
                known.extend_from_slice(&asked);
            }
            if !matches!(test, Test::Present(_)) && (is_positive || asked.len() == 1) {
                said.extend(asked);
            }
        }
        known.extend(held.iter().map(|(column, _)| *column));
        let (known, said) = (once(known), once(said));
        let mut written = Vec::with_capacity(parts.len());
        let mut unequal: Vec<(ColumnId, Vec<Scalar>)> = Vec::new();
        for part in parts {
            match self.literal_of(*part) {
                Some((Test::Present(column), true)) if said.binary_search(column).is_ok() => {}
                Some((Test::Equal(column, value), false)) if !matches!(value, Scalar::Boolean(_)) => {
                    collect(&mut unequal, *column, value);
                }
                _ => written.push(self.filter(*part, &known)),
            }
        }
        if let Some((column, values)) = held {
            written.push(one_or_several(column, values, true));
        }
        for (column, values) in unequal {
            let other = one_or_several(column, values, false);
            written.push(self.or_null(&[column], other, &known));
        }
        junction(written, true)
    }

    fn any(&self, parts: &[F], present: &[ColumnId]) -> Filter {
        let mut known = present.to_vec();
        for part in parts {
            // Where it is NULL, all of this holds.
            if let Some((Test::Present(column), false)) = self.literal_of(*part) {
                known.push(*column);
            }
        }
        let known = once(known);
        let mut written = Vec::with_capacity(parts.len());
        let mut equal: Vec<(ColumnId, Vec<Scalar>)> = Vec::new();
        let (alike, others) = factored(self.formulas, parts);
        for part in others {
            match self.literal_of(part) {
                Some((Test::Equal(column, value), true)) => collect(&mut equal, *column, value),
                _ => written.push(self.filter(part, &known)),
            }
        }
        for Factored { column, values, common } in alike {
            written.push(self.all(&common, Some((column, values)), &known));
        }
        for (column, values) in equal {
            written.push(one_or_several(column, values, true));
        }
        junction(written, false)
    }

    /// What is false of NULL, or NULL.
    fn or_null(&self, columns: &[ColumnId], other: Filter, present: &[ColumnId]) -> Filter {
        let may_be_null = |column: &&ColumnId| {
            present.binary_search(column).is_err()
                && self.columns.get(**column).is_none_or(|column| column.nulls != Nulls::Never)
        };
        let nulls = columns.iter().filter(may_be_null);
        let mut parts: Vec<Filter> =
            nulls.map(|column| Filter::Null { column: *column, is_null: true }).collect();
        parts.push(other);
        junction(parts, false)
    }

    fn literal(&self, test: &Test, is_positive: bool, present: &[ColumnId]) -> Filter {
        let other = match test {
            Test::Present(column) => return Filter::Null { column: *column, is_null: !is_positive },
            Test::Equal(column, Scalar::Boolean(value)) => Filter::Compare {
                column: *column,
                order: Order::Equal,
                value: Scalar::Boolean(*value == is_positive),
            },
            Test::Equal(column, value) => {
                let order = if is_positive { Order::Equal } else { Order::NotEqual };
                Filter::Compare { column: *column, order, value: value.clone() }
            }
            Test::Less(column, value) => {
                let order = if is_positive { Order::Less } else { Order::GreaterOrEqual };
                Filter::Compare { column: *column, order, value: value.clone() }
            }
            Test::LessOrEqual(column, value) => {
                let order = if is_positive { Order::LessOrEqual } else { Order::Greater };
                Filter::Compare { column: *column, order, value: value.clone() }
            }
            Test::Text(column, test, part) => {
                Filter::Text { column: *column, test: *test, part: part.clone(), is_there: is_positive }
            }
            Test::Same(first, second) => {
                let order = if is_positive { Order::Equal } else { Order::NotEqual };
                Filter::Columns { first: *first, order, second: *second }
            }
            Test::Smaller(first, second) => {
                let order = if is_positive { Order::Less } else { Order::GreaterOrEqual };
                Filter::Columns { first: *first, order, second: *second }
            }
            Test::Holds(column, value) => {
                Filter::Holds { column: *column, value: value.clone(), is_held: is_positive }
            }
            Test::Filled(column) => Filter::Filled { column: *column, is_filled: is_positive },
        };
        if is_positive {
            return other;
        }
        let mut columns = Vec::new();
        columns_of(test, &mut |column| columns.push(column));
        self.or_null(&columns, other, present)
    }
}

/// Each once, in order.
fn once(mut columns: Vec<ColumnId>) -> Vec<ColumnId> {
    columns.sort_unstable();
    columns.dedup();
    columns
}

fn columns_of(test: &Test, show: &mut dyn FnMut(ColumnId)) {
    match test {
        Test::Present(column)
        | Test::Equal(column, _)
        | Test::Less(column, _)
        | Test::LessOrEqual(column, _)
        | Test::Text(column, ..)
        | Test::Holds(column, _)
        | Test::Filled(column) => show(*column),
        Test::Same(first, second) | Test::Smaller(first, second) => {
            show(*first);
            show(*second);
        }
    }
}

fn collect(groups: &mut Vec<(ColumnId, Vec<Scalar>)>, column: ColumnId, value: &Scalar) {
    match groups.iter_mut().find(|(other, _)| *other == column) {
        Some((_, values)) => values.push(value.clone()),
        None => groups.push((column, vec![value.clone()])),
    }
}

fn one_or_several(column: ColumnId, mut values: Vec<Scalar>, is_in: bool) -> Filter {
    if values.len() > 1 {
        return Filter::In { column, values, is_in };
    }
    let order = if is_in { Order::Equal } else { Order::NotEqual };
    match values.pop() {
        Some(value) => Filter::Compare { column, order, value },
        None => Filter::Constant(!is_in),
    }
}

fn junction(mut parts: Vec<Filter>, is_all: bool) -> Filter {
    if parts.len() > 1 {
        return if is_all { Filter::All(parts) } else { Filter::Any(parts) };
    }
    parts.pop().unwrap_or(Filter::Constant(is_all))
}
