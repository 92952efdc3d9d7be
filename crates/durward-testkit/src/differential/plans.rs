//! Plans against decisions: random policies of both languages, random columns, and every one of some random rows.
//!
//! A row is in the filter only if the question about it is decided Permit, with the obligations of the plan, in whatever order; if the plan is
//! exact, exactly then; and a row outside of the superset is not permitted. What is compared is the plain evaluator's
//! decision about the whole subscription, and the plan of a decision point with everything that is computed ahead.

use std::collections::BTreeSet;
use std::fmt;

use durward_pdp::ir::combine::{Duties, Verdict, Vote};
use durward_pdp::ir::datatype::Decimal;
use durward_pdp::ir::path::Element;
use durward_pdp::ir::value::Object;
use durward_pdp::plan::{
    Cell, Collation, Column, ColumnId, ColumnType, Columns, Kind, Nulls, ObjectShape, Plan, Row, Scalar,
    Unlisted, about,
};
use durward_pdp::sapl::{Decision, Outcome, Subscription};
use durward_pdp::{Pdp, PdpBuilder, Value};

use super::text::ShrinkableText;
use super::{PolicyLanguage, SAPL, TestRandom, XACML, case};

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanCount {
    /// Sets of policies.
    pub sets: u64,
    /// Policies and rules in them.
    pub policies: u64,
    /// Plans.
    pub plans: u64,
    /// Those that are exact.
    pub exact: u64,
    /// Those that are a filter, rather than all rows or none.
    pub filters: u64,
    /// Rows whose decision was compared.
    pub rows: u64,
    /// Those that are permitted.
    pub permitted: u64,
}

impl PlanCount {
    fn add(&mut self, other: PlanCount) {
        self.sets += other.sets;
        self.policies += other.policies;
        self.plans += other.plans;
        self.exact += other.exact;
        self.filters += other.filters;
        self.rows += other.rows;
        self.permitted += other.permitted;
    }
}

/// A row of which the plan says something else than the decision.
#[derive(Clone, Debug)]
pub struct PlanDifference {
    /// Where the policies come from.
    pub origin: String,
    /// The policies, what was asked, the columns, the row.
    pub shown: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for PlanDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n{}", self.origin, self.message, self.shown)
    }
}

/// One random question about rows.
struct PlanQuestion {
    subscription: Subscription,
    fixed: Value,
    columns: Columns,
    /// Each with what it stands for.
    rows: Vec<(Row, Value)>,
    /// Whether a database may hold such rows; numbers of objects are larger.
    is_of_table: bool,
}

/// Makes a builder of documents.
type MakePdp<'m> = &'m dyn Fn(&[NamedText]) -> PdpBuilder;

/// A document by its name.
type NamedText = (String, ShrinkableText);

/// Questions about each set of policies, and rows for each.
const QUESTIONS_EACH: usize = 4;
const ROWS_EACH: usize = 30;

/// Compares plans of random policies, until there were so many policies and rules; shows every plan with its rows.
///
/// # Errors
/// The first row of which a plan says something else.
pub fn compare_plans(
    seed: u64,
    policies: u64,
    mut show: impl FnMut(&Plan, &Columns, &[Row]),
) -> Result<PlanCount, Box<PlanDifference>> {
    let mut total = PlanCount::default();
    let mut number = 0_u64;
    while total.policies < policies {
        let mut random = TestRandom::new(seed.wrapping_add(number.wrapping_mul(0x1_0000_0001)));
        let language = if number.is_multiple_of(2) { &SAPL } else { &XACML };
        let count = compare_set(&mut random, language, &mut show).map_err(|mut difference| {
            difference.origin = format!("random policies of {}, seed {seed}, set {number}", language.name);
            difference
        })?;
        total.add(count);
        number += 1;
    }
    Ok(total)
}

fn compare_set(
    random: &mut TestRandom,
    language: &PolicyLanguage,
    show: &mut dyn FnMut(&Plan, &Columns, &[Row]),
) -> Result<PlanCount, Box<PlanDifference>> {
    let documents = documents(random, language);
    let make =
        |documents: &[(String, ShrinkableText)]| case::builder(documents, &|builder: PdpBuilder| builder);
    let (Ok(plain), Ok(pdp)) = (make(&documents).plain().build(), make(&documents).build()) else {
        return Ok(PlanCount::default());
    };
    let info = pdp.snapshot();
    let policies = (info.policies + info.rules) as u64;
    let mut count = PlanCount { sets: 1, policies, ..PlanCount::default() };
    for _ in 0..QUESTIONS_EACH {
        let question = PlanQuestion::random(random, language);
        count.add(question.compare(&plain, &pdp, show).map_err(|message| {
            let smaller = question.smaller(&documents, &make);
            Box::new(PlanDifference {
                origin: String::new(),
                ..smaller.unwrap_or(question.difference(&documents, message))
            })
        })?);
    }
    Ok(count)
}

/// Random policies, without those that are refused.
fn documents(random: &mut TestRandom, language: &PolicyLanguage) -> Vec<(String, ShrinkableText)> {
    let mut documents = (language.policies)(random);
    let nothing: case::PdpExtras<'_> = &|builder: PdpBuilder| builder;
    if case::builder(&documents, nothing).plain().build().is_ok() {
        return documents;
    }
    let configuration: Vec<_> = documents.iter().filter(|one| one.0 == "pdp.json").cloned().collect();
    documents.retain(|one| {
        let alone: Vec<_> = configuration.iter().filter(|other| other.0 != one.0).cloned().collect();
        one.0 == "pdp.json"
            || case::builder(&[alone, vec![one.clone()]].concat(), nothing).plain().build().is_ok()
    });
    documents
}

impl PlanQuestion {
    fn random(random: &mut TestRandom, language: &PolicyLanguage) -> PlanQuestion {
        let question = PlanQuestion::of_columns(random, language);
        if random.percent(70) { question } else { question.of_objects(random) }
    }

    /// The same about objects that nobody declared columns for.
    fn of_objects(self, random: &mut TestRandom) -> PlanQuestion {
        let keys: Vec<_> = self.columns.all().iter().map(Column::shown).collect();
        let plain: Vec<_> = keys.iter().map(|_| random.percent(80)).collect();
        let objects: Vec<Object> = (0..ROWS_EACH)
            .map(|_| {
                let members = keys.iter().zip(self.columns.all()).zip(&plain);
                let value = |random: &mut TestRandom, column: &Column, is_plain: bool| match random.below(20)
                {
                    0 if !is_plain => Value::Null,
                    1 if !is_plain => Value::object([("v0", Value::number(1))]),
                    2 if !is_plain => scalar(random, ColumnType::Integer).value(),
                    3..6 => Value::Undefined,
                    _ => columns_value(random, column),
                };
                let members =
                    members.map(|((key, column), is_plain)| (key, value(random, column, *is_plain)));
                let members: Vec<_> = members.filter(|(_, value)| !value.is_undefined()).collect();
                members.into_iter().map(|(key, value)| (key.as_str(), value)).collect()
            })
            .collect();
        let mut shape = ObjectShape::default();
        objects.iter().for_each(|object| shape.add(object));
        let columns = shape.columns(Vec::new(), self.columns.unlisted(), |_| false).unwrap_or_default();
        let wanted: Vec<ColumnId> = (0..).map(ColumnId).take(columns.all().len()).collect();
        let row = |object: &Object| {
            let mut row = Row::default();
            columns.write_row(object, &wanted, &mut row).then(|| {
                let whole =
                    self.fixed.as_object().into_iter().flat_map(|fixed| fixed.iter()).chain(object.iter());
                let whole = whole.map(|(key, value)| (key.clone(), value.clone()));
                (row, Value::object(whole))
            })
        };
        let rows = objects.iter().filter_map(row).collect();
        PlanQuestion { columns, rows, is_of_table: false, ..self }
    }

    fn of_columns(random: &mut TestRandom, language: &PolicyLanguage) -> PlanQuestion {
        let of_sapl = language.name == "SAPL";
        let keys: &[&str] =
            if of_sapl { &["list", "kind", "owner"] } else { &["type", "size", "weight", "opened"] };
        let mut fixed = vec![("_", Value::number(0))];
        let mut columns = Vec::new();
        for key in keys {
            match random.below(10) {
                0 => {}
                1 => fixed.push((*key, scalar(random, ColumnType::Text).value())),
                _ => columns.push(column(random, key)),
            }
        }
        let fixed = if random.percent(80) { Value::object(fixed) } else { Value::Undefined };
        let unlisted = if random.percent(70) { Unlisted::Absent } else { Unlisted::Unknown };
        let columns = Columns::new(columns, unlisted).unwrap_or_default();
        let subscription = if of_sapl { sapl_subscription(random) } else { xacml_subscription(random) };
        let subscription = about(&subscription, Element::Resource, fixed.clone());
        let rows = (0..ROWS_EACH).map(|_| {
            let row = row(random, &columns);
            let resource = columns.resource(&fixed, &row);
            (row, resource)
        });
        let rows = rows.collect();
        PlanQuestion { subscription, fixed, columns, rows, is_of_table: true }
    }

    /// The decision about what a row stands for.
    fn decision(&self, pdp: &Pdp, resource: &Value) -> Decision {
        pdp.decide_once(&about(&self.subscription, Element::Resource, resource.clone()))
    }

    fn compare(
        &self,
        plain: &Pdp,
        pdp: &Pdp,
        show: &mut dyn FnMut(&Plan, &Columns, &[Row]),
    ) -> Result<PlanCount, String> {
        let mut count = PlanCount::default();
        for planning in [pdp, plain] {
            let plan = planning.plan(&self.subscription, &self.columns).map_err(|error| error.to_string())?;
            count.plans += 1;
            count.exact += u64::from(plan.exact);
            count.filters += u64::from(plan.kind == Kind::Filter);
            for (row, resource) in &self.rows {
                let decision = self.decision(plain, resource);
                count.rows += 1;
                count.permitted += u64::from(decision.outcome == Outcome::Permit);
                check(&plan, row, &decision).map_err(|message| {
                    format!("{message}\nrow {row:?}\n{}\n{plan:#?}", decision.to_json())
                })?;
            }
            if self.is_of_table {
                let rows: Vec<Row> = self.rows.iter().map(|(row, _)| row.clone()).collect();
                show(&plan, &self.columns, &rows);
            }
        }
        Ok(count)
    }

    /// The same with as few policies as still show it.
    fn smaller(&self, documents: &[(String, ShrinkableText)], make: MakePdp<'_>) -> Option<PlanDifference> {
        let fails = |documents: &[(String, ShrinkableText)]| {
            let (plain, pdp) = (make(documents).plain().build().ok()?, make(documents).build().ok()?);
            self.compare(&plain, &pdp, &mut |_, _, _| {}).err()
        };
        let mut documents = documents.to_vec();
        let mut message = fails(&documents)?;
        let mut is_smaller = true;
        while is_smaller {
            is_smaller = false;
            let mut number = 0;
            loop {
                let parts: usize = documents.iter().map(|(_, text)| text.parts()).sum();
                if number >= parts + documents.len() {
                    break;
                }
                let without = without(&documents, number);
                match fails(&without) {
                    Some(found) => {
                        (documents, message, is_smaller) = (without, found, true);
                    }
                    None => number += 1,
                }
            }
        }
        Some(self.difference(&documents, message))
    }

    fn difference(&self, documents: &[(String, ShrinkableText)], message: String) -> PlanDifference {
        let mut shown = String::new();
        for (name, text) in documents {
            shown += &format!("--- {name}\n{text}\n");
        }
        for element in Element::ALL {
            shown += &format!("{}: {}\n", element.as_str(), self.subscription.element(element).to_json());
        }
        shown += &format!("{:#?}", self.columns);
        PlanDifference { origin: String::new(), shown, message }
    }
}

fn without(documents: &[(String, ShrinkableText)], number: usize) -> Vec<(String, ShrinkableText)> {
    let mut documents = documents.to_vec();
    if number < documents.len() {
        documents.remove(number);
        return documents;
    }
    let mut number = number - documents.len();
    for (_, text) in &mut documents {
        if number < text.parts() {
            *text = text.without(number);
            break;
        }
        number -= text.parts();
    }
    documents
}

/// Whether the plan is right about the row.
fn check(plan: &Plan, row: &Row, decision: &Decision) -> Result<(), String> {
    let is_permitted = decision.outcome == Outcome::Permit;
    let is_in = plan.matches(row);
    for group in &plan.groups {
        if group.filter.matches(row) {
            if !is_permitted {
                return Err("a row that is not permitted is in a group".to_owned());
            }
            same_obligations(&group.duties, decision)?;
        }
    }
    match (is_in, is_permitted) {
        (true, false) => Err("a row that is not permitted is in the filter".to_owned()),
        (false, true) if plan.exact => {
            Err("the plan is exact, and a row that is permitted is not in it".to_owned())
        }
        (false, true) if plan.superset.as_ref().is_none_or(|superset| !superset.matches(row)) => {
            Err("a row that is permitted is not in the superset".to_owned())
        }
        (true, true) if plan.superset.as_ref().is_some_and(|superset| !superset.matches(row)) => {
            Err("a row of the filter is not in the superset".to_owned())
        }
        (true, true) => same_obligations(&plan.duties, decision),
        (false, _) => Ok(()),
    }
}

/// Whether both ask for the same. A decision names an obligation as often as policies ask for it, in their order; a plan names it once.
fn same_obligations(duties: &Duties, decision: &Decision) -> Result<(), String> {
    let promised = Vote { duties: Some(Box::new(duties.clone())), ..Vote::plain(Verdict::Permit) };
    let promised = Decision::from(promised);
    let shown = |decision: &Decision| {
        let obligations: BTreeSet<String> = decision.obligations().map(|one| one.to_json()).collect();
        format!("{obligations:?} {:?}", decision.resource().map(Value::to_json))
    };
    let named = promised.obligations().len();
    let different = promised.obligations().map(|one| one.to_json()).collect::<BTreeSet<String>>().len();
    if named != different {
        return Err("the plan names an obligation twice".to_owned());
    }
    let advice: BTreeSet<String> = promised.advice().map(|one| one.to_json()).collect();
    let given: BTreeSet<String> = decision.advice().map(|one| one.to_json()).collect();
    if shown(&promised) != shown(decision) || !(advice.is_empty() || advice == given) {
        return Err(format!("the plan promises {} and {advice:?}", shown(&promised)));
    }
    Ok(())
}

fn column(random: &mut TestRandom, key: &str) -> Column {
    let usual = match key {
        "size" => ColumnType::Integer,
        "weight" => ColumnType::Double,
        _ => ColumnType::Text,
    };
    let kind = if random.percent(70) {
        usual
    } else {
        random.of(&[
            ColumnType::Text,
            ColumnType::Boolean,
            ColumnType::Integer,
            ColumnType::Decimal,
            ColumnType::Double,
        ])
    };
    let column = Column::new(key, kind)
        .nulls(random.of(&[Nulls::Never, Nulls::Absent, Nulls::Absent, Nulls::Null]))
        .collation(random.of(&[Collation::Binary, Collation::Other]));
    let may_be_many = matches!(kind, ColumnType::Text | ColumnType::Integer);
    if may_be_many && random.percent(25) { column.many() } else { column }
}

/// What a member of an object holds that is like a column.
fn columns_value(random: &mut TestRandom, column: &Column) -> Value {
    if !column.many {
        return scalar(random, column.kind).value();
    }
    let count = random.below(4);
    Value::array((0..count).map(|_| scalar(random, column.kind).value()))
}

fn row(random: &mut TestRandom, columns: &Columns) -> Row {
    let mut cells = Vec::new();
    for column in columns.all() {
        let is_null = column.nulls != Nulls::Never && random.percent(25);
        cells.push(match (is_null, column.many) {
            (true, _) => Cell::Null,
            (false, false) => Cell::One(scalar(random, column.kind)),
            (false, true) => {
                let count = random.below(4);
                Cell::Many((0..count).map(|_| scalar(random, column.kind)).collect())
            }
        });
    }
    Row(cells)
}

fn scalar(random: &mut TestRandom, kind: ColumnType) -> Scalar {
    match kind {
        ColumnType::Text => Scalar::Text(
            random
                .of(&[
                    "v0", "v1", "v2", "v3", "v4", "v9", "v0v1", "v0\nv1", "", "V1", "v1 ", "null", "é", "7",
                ])
                .into(),
        ),
        ColumnType::Boolean => Scalar::Boolean(random.percent(50)),
        ColumnType::Integer => Scalar::Integer(random.of(&[
            -2,
            -1,
            0,
            1,
            2,
            3,
            4,
            7,
            8,
            i64::MAX,
            i64::MIN,
            1 << 53,
            (1 << 53) + 1,
        ])),
        ColumnType::Decimal => Scalar::Decimal(
            Decimal::parse(random.of(&[
                "-1.5",
                "0",
                "2.5",
                "3",
                "3.00",
                // A double does not tell it from the one before.
                "3.00000000000000000001",
                "7",
                "0.1",
                "1e20",
                "1e2",
            ]))
            .unwrap_or(Decimal::ZERO),
        ),
        ColumnType::Double => Scalar::Double(random.of(&[
            -1.5,
            0.0,
            -0.0,
            0.5,
            1.5,
            2.5,
            3.0,
            3.5,
            7.0,
            1e20,
            0.1,
            0.300_000_000_000_000_04,
            1e300,
        ])),
    }
}

fn sapl_subscription(random: &mut TestRandom) -> Subscription {
    let text = super::sapl::subscription(random).to_string();
    Subscription::from_json(text.as_bytes()).unwrap_or_else(|_| {
        Subscription::new(Value::text("v0"), Value::text("v1"), Value::Undefined, Value::Undefined)
    })
}

fn xacml_subscription(random: &mut TestRandom) -> Subscription {
    let mut subject = Vec::new();
    for key in ["role", "department"] {
        match random.below(4) {
            0 => {}
            1 => subject.push((key, Value::array([text(random), text(random)]))),
            _ => subject.push((key, text(random))),
        }
    }
    if random.percent(80) {
        subject.push(("level", Value::number(random.below(6) as i64)));
    }
    let action = if random.percent(80) { Value::object([("id", text(random))]) } else { Value::Undefined };
    Subscription::new(Value::object(subject), action, Value::Undefined, Value::Undefined)
}

fn text(random: &mut TestRandom) -> Value {
    let number = random.below(6);
    Value::text(format!("v{number}"))
}
