//! What adapters of other decision points get wrong, by name: each a policy, some rows, and which of them are permitted.
//!
//! The rows are those of databases: NULL where an attribute is not there, texts that a database takes for the same, numbers
//! that a double does not tell apart. Decisions and plans are held to what is written here; what databases and libraries
//! make of the filters, `cargo xtask plans` looks at.

use durward_pdp::ir::datatype::Decimal;
use durward_pdp::plan::{
    Cell, Collation, Column, ColumnType, Columns, Nulls, Plan, Row, Scalar, Unlisted, about,
};
use durward_pdp::sapl::{Outcome, Subscription};
use durward_pdp::{Pdp, Value};

use durward_pdp::ir::path::Element;

/// One of them.
pub struct PlanCase {
    /// What is easily got wrong.
    pub name: &'static str,
    /// One policy of SAPL, or a set.
    policy: String,
    columns: Vec<Column>,
    unlisted: Unlisted,
    /// Rows of one column each, and whether they are permitted.
    rows: Vec<(Cell, bool)>,
    /// Whether the plan is exact.
    exact: bool,
}

fn text(text: &str) -> Cell {
    Cell::One(Scalar::Text(text.into()))
}

fn texts(texts: &[&str]) -> Cell {
    Cell::Many(texts.iter().map(|text| Scalar::Text((*text).into())).collect())
}

fn integer(number: i64) -> Cell {
    Cell::One(Scalar::Integer(number))
}

fn decimal(text: &str) -> Cell {
    Cell::One(Scalar::Decimal(Decimal::parse(text).unwrap_or(Decimal::ZERO)))
}

fn double(number: f64) -> Cell {
    Cell::One(Scalar::Double(number))
}

fn boolean(truth: bool) -> Cell {
    Cell::One(Scalar::Boolean(truth))
}

/// A policy that permits where this holds.
fn permit(condition: &str) -> String {
    format!("policy \"p\" permit {condition};")
}

fn column(name: &str, kind: ColumnType) -> Column {
    Column::new(name, kind).nulls(Nulls::Absent)
}

impl PlanCase {
    fn new<const N: usize>(
        name: &'static str,
        policy: String,
        column: Column,
        rows: [(Cell, bool); N],
    ) -> PlanCase {
        let columns = vec![column];
        PlanCase { name, policy, columns, unlisted: Unlisted::Absent, rows: rows.into(), exact: true }
    }

    /// What the plan and the decisions are, if they are what is written here; what is wrong otherwise.
    ///
    /// # Errors
    /// In words.
    pub fn check(&self) -> Result<(Plan, Columns, Vec<Row>), String> {
        let wrong = |message: String| format!("{}: {message}\n{}", self.name, self.policy);
        let columns =
            Columns::new(self.columns.clone(), self.unlisted).map_err(|error| wrong(error.to_string()))?;
        let built = Pdp::builder().policy("p.sapl", self.policy.clone()).build();
        let pdp = built.map_err(|errors| wrong(format!("{errors:?}")))?;
        let ada = Value::object([("id", Value::text("ada"))]);
        let asked = Subscription::new(ada, Value::text("read"), Value::Undefined, Value::Undefined);
        let plan = pdp.plan(&asked, &columns).map_err(|error| wrong(error.to_string()))?;
        if plan.exact != self.exact {
            return Err(wrong(format!("exact: {}, {:?}", plan.exact, plan.reasons)));
        }
        let mut rows = Vec::new();
        for (cell, is_permitted) in &self.rows {
            let row = Row(vec![cell.clone()]);
            let about_row = about(&asked, Element::Resource, columns.resource(&Value::Undefined, &row));
            let decided = pdp.decide_once(&about_row).outcome == Outcome::Permit;
            if decided != *is_permitted {
                return Err(wrong(format!("{cell:?} is decided: {decided}")));
            }
            let is_found = plan.matches(&row);
            if is_found != *is_permitted && (plan.exact || is_found || !plan.may_match(&row)) {
                return Err(wrong(format!("{cell:?} is in the filter: {is_found}\n{plan:#?}")));
            }
            rows.push(row);
        }
        Ok((plan, columns, rows))
    }
}

/// All of them.
pub fn plan_cases() -> Vec<PlanCase> {
    [nulls(), texts_and_patterns(), numbers(), lists(), sets()].into_iter().flatten().collect()
}

fn nulls() -> Vec<PlanCase> {
    let status = || column("status", ColumnType::Text);
    let owner = || column("owner", ColumnType::Text);
    vec![
        PlanCase::new(
            "NULL under NOT is selected",
            permit("!(resource.status == \"closed\")"),
            status(),
            [(text("open"), true), (text("closed"), false), (Cell::Null, true)],
        ),
        PlanCase::new(
            "NULL under two NOTs is not selected",
            permit("!(!(resource.status == \"open\"))"),
            status(),
            [(text("open"), true), (text("closed"), false), (Cell::Null, false)],
        ),
        PlanCase::new(
            "NULL is unequal to a value",
            permit("resource.status != \"closed\""),
            status(),
            [(text("open"), true), (text("closed"), false), (Cell::Null, true)],
        ),
        PlanCase::new(
            "what is absent is not null",
            permit("resource.owner == null"),
            owner(),
            [(text("ada"), false), (Cell::Null, false)],
        ),
        PlanCase::new(
            "null is null",
            permit("resource.owner == null"),
            owner().nulls(Nulls::Null),
            [(text("ada"), false), (Cell::Null, true)],
        ),
        PlanCase::new(
            "what is absent is unequal to null",
            permit("resource.owner != null"),
            owner(),
            [(text("ada"), true), (Cell::Null, true)],
        ),
        PlanCase::new(
            "null is not unequal to null",
            permit("resource.owner != null"),
            owner().nulls(Nulls::Null),
            [(text("ada"), true), (Cell::Null, false)],
        ),
        PlanCase::new(
            "an attribute that may be absent is asked for, not taken for granted",
            permit("resource.owner != undefined"),
            owner(),
            [(text(""), true), (Cell::Null, false)],
        ),
        PlanCase::new(
            "an error is no permit, whichever way it is negated",
            permit("!(resource.level < 3)"),
            column("level", ColumnType::Integer),
            [(integer(2), false), (integer(3), true), (Cell::Null, false)],
        ),
        PlanCase::new(
            "a boolean that is absent is an error",
            permit("!resource.sealed"),
            column("sealed", ColumnType::Boolean),
            [(boolean(true), false), (boolean(false), true), (Cell::Null, false)],
        ),
    ]
}

fn texts_and_patterns() -> Vec<PlanCase> {
    let title = || column("title", ColumnType::Text);
    let signs = "50%_[a]\\";
    let of = |name, function: &str, part: &str, rows: [(Cell, bool); 6]| {
        let part = part.replace('\\', "\\\\");
        PlanCase::new(name, permit(&format!("string.{function}(resource.title, \"{part}\")")), title(), rows)
    };
    vec![
        of(
            "signs of LIKE mean themselves",
            "contains",
            signs,
            [
                (text("up to 50%_[a]\\ off"), true),
                (text("up to 50%x[a]\\ off"), false),
                (text("up to 50 and _[a]\\ off"), false),
                (text("up to 50%_a\\ off"), false),
                (text("UP TO 50%_[A]\\ OFF"), false),
                (text(signs), true),
            ],
        ),
        of(
            "signs of LIKE mean themselves at the beginning",
            "startsWith",
            "_%",
            [
                (text("_%"), true),
                (text("_%x"), true),
                (text("x_%"), false),
                (text("ab"), false),
                (text(""), false),
                (text("__%"), false),
            ],
        ),
        of(
            "an end is an end, also before a line break",
            "endsWith",
            "ä",
            [
                (text("ä"), true),
                (text("xä"), true),
                (text("ä\n"), false),
                (text("Ä"), false),
                (text("a"), false),
                (text("äx"), false),
            ],
        ),
        PlanCase::new(
            "case, spaces and accents count",
            permit("resource.owner == subject.id"),
            column("owner", ColumnType::Text).collation(Collation::Other),
            [
                (text("ada"), true),
                (text("ADA"), false),
                (text("ada "), false),
                (text("adá"), false),
                (Cell::Null, false),
            ],
        ),
        PlanCase::new(
            "case and spaces count in a list, and where it is negated",
            permit("!(resource.owner in [\"ada\", \"bob\"])"),
            column("owner", ColumnType::Text).collation(Collation::Other),
            [(text("ada"), false), (text("ADA"), true), (text("bob "), true), (text("bob"), false)],
        ),
        PlanCase::new(
            "a text is never a part of a statement",
            permit("resource.owner == \"o'brien\\\" \\\\ -- ; $1 ? %s :x\""),
            column("owner", ColumnType::Text),
            [(text("o'brien\" \\ -- ; $1 ? %s :x"), true), (text("o'brien"), false), (text("ada"), false)],
        ),
    ]
}

fn numbers() -> Vec<PlanCase> {
    vec![
        PlanCase::new(
            "a constant may stand first",
            permit("3 > resource.level"),
            column("level", ColumnType::Integer),
            [(integer(1), true), (integer(3), false), (integer(5), false), (Cell::Null, false)],
        ),
        PlanCase::new(
            "a decimal is no double",
            permit("resource.amount <= 0.3"),
            column("amount", ColumnType::Decimal),
            [(decimal("0.3"), true), (decimal("0.30000000000000001"), false), (decimal("0.2"), true)],
        ),
        PlanCase::new(
            "a whole number of a decimal column is no double",
            permit("resource.amount <= 3"),
            column("amount", ColumnType::Decimal),
            [(decimal("3"), true), (decimal("3.00000000000000000001"), false), (decimal("-1"), true)],
        ),
        PlanCase::new(
            "a double is compared as the number that it is",
            permit("resource.weight <= 0.5"),
            column("weight", ColumnType::Double),
            [(double(0.5), true), (double(0.500_000_000_000_000_1), false), (double(-0.0), true)],
        ),
        PlanCase::new(
            "whole numbers that doubles do not tell apart",
            permit("resource.count == 9007199254740992"),
            column("count", ColumnType::Integer),
            [(integer(1 << 53), true), (integer((1 << 53) + 1), false), (integer((1 << 53) - 1), false)],
        ),
        PlanCase::new(
            "a number is no text",
            permit("resource.count == \"7\""),
            column("count", ColumnType::Integer),
            [(integer(7), false), (Cell::Null, false)],
        ),
        PlanCase::new(
            "a text is no number",
            permit("resource.count == 7"),
            column("count", ColumnType::Text),
            [(text("7"), false), (text("7.0"), false)],
        ),
    ]
}

/// A list of texts as SAPL writes it.
fn list(count: usize) -> String {
    let texts: Vec<String> = (0..count).map(|number| format!("\"v{number}\"")).collect();
    format!("[{}]", texts.join(", "))
}

fn lists() -> Vec<PlanCase> {
    let owner = || column("owner", ColumnType::Text);
    let of = |name, count| {
        let rows = [
            (text("v0"), count > 0),
            (text("v9"), count > 9),
            (text("v10"), count > 10),
            (Cell::Null, false),
        ];
        PlanCase::new(name, permit(&format!("resource.owner in {}", list(count))), owner(), rows)
    };
    let without = |name, count| {
        let rows = [(text("v0"), count == 0), (text("v9"), count <= 9), (text("v10"), count <= 10)];
        PlanCase::new(name, permit(&format!("!(resource.owner in {})", list(count))), owner(), rows)
    };
    let tags = || column("tags", ColumnType::Text).many();
    vec![
        of("a list of none", 0),
        of("a list of one", 1),
        of("a list of ten", 10),
        of("a list of eleven", 11),
        of("a list of a thousand", 1000),
        without("not in a list of none", 0),
        without("not in a list of ten", 10),
        without("not in a list of eleven", 11),
        PlanCase::new(
            "one of several values",
            permit("\"red\" in resource.tags"),
            tags(),
            [
                (texts(&["red"]), true),
                (texts(&["blue", "red"]), true),
                (texts(&["RED", "re"]), false),
                (texts(&[]), false),
            ],
        ),
        PlanCase::new(
            "none of several values",
            permit("!(\"red\" in resource.tags)"),
            tags().nulls(Nulls::Never),
            [
                (texts(&["red"]), false),
                (texts(&["blue", "red"]), false),
                (texts(&["RED"]), true),
                (texts(&[]), true),
            ],
        ),
    ]
}

fn sets() -> Vec<PlanCase> {
    let level = || column("level", ColumnType::Integer);
    let set = |algorithm: &str, policies: &str| format!("set \"s\" {algorithm}\n{policies}");
    vec![
        PlanCase {
            unlisted: Unlisted::Unknown,
            exact: false,
            ..PlanCase::new(
                "a deny without a column leaves no row",
                set("priority deny or deny", "policy \"p\" permit policy \"d\" deny resource.sealed;"),
                level(),
                [(integer(1), false), (integer(2), false)],
            )
        },
        PlanCase::new(
            "an error of a deny is a deny",
            set("priority deny or deny", "policy \"p\" permit policy \"d\" deny resource.level > 3;"),
            level(),
            [(integer(3), true), (integer(4), false), (Cell::Null, false)],
        ),
        PlanCase::new(
            "the first that applies, and none behind an error",
            set(
                "first or deny errors propagate",
                "policy \"a\" permit resource.level > 7; policy \"b\" deny resource.level > 3; policy \"c\" permit",
            ),
            level(),
            [(integer(8), true), (integer(4), false), (integer(3), true), (Cell::Null, false)],
        ),
        PlanCase::new(
            "a filter of nothing is no filter",
            set("priority permit or deny", "policy \"d\" deny"),
            level(),
            [(integer(1), false), (Cell::Null, false)],
        ),
        PlanCase::new(
            "a filter of everything says so",
            set("priority permit or permit", "policy \"d\" deny action == \"write\";"),
            level(),
            [(integer(1), true), (Cell::Null, true)],
        ),
    ]
}
