//! The columns that stand for parts of the resource, and rows of them.

use std::fmt;
use std::hash::{Hash, Hasher};

use durward_ir::datatype::Decimal;
use durward_ir::path::Element;
use durward_ir::value::{ObjectBuilder, Value};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// How many columns there may be.
pub(crate) const COLUMNS_MAX: usize = 1000;

/// The number of a column, in the order in which they are declared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ColumnId(pub u16);

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// Texts, in Unicode normalization form C.
    Text,
    /// True or false.
    Boolean,
    /// Whole numbers of 64 bits.
    Integer,
    /// Decimal numbers, exactly.
    Decimal,
    /// Binary floating point numbers of 64 bits, finite.
    Double,
}

/// What NULL means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Nulls {
    /// The column is never NULL.
    Never,
    /// NULL is an attribute that is not there: `undefined`, an empty bag.
    #[default]
    Absent,
    /// NULL is the value `null` of JSON; to policies of XACML an empty bag all the same.
    Null,
}

/// How the database compares texts of the column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Collation {
    /// Byte by byte, as policies do; spaces at the end count.
    Binary,
    /// In any other way: the filter then says that texts are to be compared byte by byte.
    #[default]
    Other,
}

/// What is known of attributes of the resource that no column stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unlisted {
    /// Nothing: the plan is right whatever they are.
    #[default]
    Unknown,
    /// They are not there.
    Absent,
}

/// One column.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name in the database; a name with its table in front is several names.
    #[serde(deserialize_with = "one_or_several")]
    pub name: Vec<SmolStr>,
    /// The keys that policies read it by, from the outermost; the column's name unless said otherwise. Policies of XACML read
    /// attributes that are one key.
    #[serde(default, deserialize_with = "one_or_several")]
    pub path: Vec<SmolStr>,
    /// What it holds.
    #[serde(rename = "type")]
    pub kind: ColumnType,
    /// What NULL means.
    #[serde(default)]
    pub nulls: Nulls,
    /// How texts are compared.
    #[serde(default)]
    pub collation: Collation,
    /// Whether it holds several values of its type: an array of JSON, none of whose elements is null.
    #[serde(default)]
    pub many: bool,
}

fn one_or_several<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<SmolStr>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        One(SmolStr),
        Several(Vec<SmolStr>),
    }
    Ok(match Names::deserialize(from)? {
        Names::One(name) => vec![name],
        Names::Several(names) => names,
    })
}

/// The columns of a table, or of whatever else has rows.
///
/// Deserializes from settings; [`Columns::checked`] is to be asked afterwards.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Columns {
    /// The columns.
    #[serde(default, rename = "column")]
    columns: Vec<Column>,
    /// What is known of other attributes.
    #[serde(default)]
    unlisted: Unlisted,
    /// What rows are.
    #[serde(default)]
    rows: Rows,
}

/// Which part of a question rows stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Rows {
    Subject,
    Action,
    #[default]
    Resource,
    Environment,
}

/// Columns that cannot be taken together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnError {
    /// The name of the column.
    pub column: String,
    /// What is wrong.
    pub message: &'static str,
}

impl fmt::Display for ColumnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column `{}`: {}", self.column, self.message)
    }
}

impl std::error::Error for ColumnError {}

impl Column {
    /// A column that is never NULL, of one value, compared byte by byte, and read by its own name.
    pub fn new(name: &str, kind: ColumnType) -> Column {
        Column {
            name: vec![name.into()],
            path: vec![name.into()],
            kind,
            nulls: Nulls::Never,
            collation: Collation::Binary,
            many: false,
        }
    }

    /// The same, where NULL means this.
    #[must_use]
    pub fn nulls(self, nulls: Nulls) -> Column {
        Column { nulls, ..self }
    }

    /// The same, compared so.
    #[must_use]
    pub fn collation(self, collation: Collation) -> Column {
        Column { collation, ..self }
    }

    /// The same, read by these keys.
    #[must_use]
    pub fn path<K: Into<SmolStr>>(self, keys: impl IntoIterator<Item = K>) -> Column {
        Column { path: keys.into_iter().map(Into::into).collect(), ..self }
    }

    /// The same, of several values.
    #[must_use]
    pub fn many(self) -> Column {
        Column { many: true, ..self }
    }

    /// The name, for people.
    pub fn shown(&self) -> String {
        self.name.join(".")
    }
}

impl Columns {
    /// These columns stand for parts of the resource.
    ///
    /// # Errors
    /// Two of them cannot be told apart, or one has no name.
    pub fn new(columns: Vec<Column>, unlisted: Unlisted) -> Result<Columns, ColumnError> {
        Columns { columns, unlisted, rows: Rows::Resource }.checked()
    }

    /// The same columns, of whatever rows stand for.
    #[must_use]
    pub fn of(self, element: Element) -> Columns {
        let rows = match element {
            Element::Subject => Rows::Subject,
            Element::Action => Rows::Action,
            Element::Resource => Rows::Resource,
            Element::Environment => Rows::Environment,
        };
        Columns { rows, ..self }
    }

    /// The same, if columns can be told apart; a column without a path has its name for one.
    ///
    /// # Errors
    /// They cannot, or one has no name.
    pub fn checked(mut self) -> Result<Columns, ColumnError> {
        let failed = |column: &Column, message| Err(ColumnError { column: column.shown(), message });
        for column in &mut self.columns {
            if column.path.is_empty() {
                column.path.extend(column.name.last().cloned());
            }
        }
        for (at, column) in self.columns.iter().enumerate() {
            if column.name.is_empty() || column.name.iter().any(|name| name.is_empty() || name.contains('\0'))
            {
                return failed(column, "give it a name, without the character 0");
            }
            if at >= COLUMNS_MAX {
                return failed(column, "there are more than 1000 columns");
            }
            if column.many && !matches!(column.kind, ColumnType::Text | ColumnType::Integer) {
                return failed(column, "only texts and integers can be many");
            }
            for other in self.columns.iter().take(at) {
                if column.path.starts_with(&other.path) || other.path.starts_with(&column.path) {
                    return failed(column, "another column has its path, or a part of it");
                }
            }
        }
        Ok(self)
    }

    /// The columns, in their order.
    pub fn all(&self) -> &[Column] {
        &self.columns
    }

    /// The part of a question that rows stand for.
    pub fn element(&self) -> Element {
        match self.rows {
            Rows::Subject => Element::Subject,
            Rows::Action => Element::Action,
            Rows::Resource => Element::Resource,
            Rows::Environment => Element::Environment,
        }
    }

    /// What is known of attributes that no column stands for.
    pub fn unlisted(&self) -> Unlisted {
        self.unlisted
    }

    /// The column of this number, if there is one.
    pub fn get(&self, id: ColumnId) -> Option<&Column> {
        self.columns.get(usize::from(id.0))
    }

    pub(crate) fn numbered(&self) -> impl Iterator<Item = (ColumnId, &Column)> {
        (0..).map(ColumnId).zip(&self.columns)
    }

    /// What a row stands for in a question: `fixed`, which is an object or undefined, with the values of the row. This is
    /// what a plan is about: the row is in the filter if the question about this is decided Permit.
    pub fn resource(&self, fixed: &Value, row: &Row) -> Value {
        let mut root = Branch::default();
        for (id, column) in self.numbered() {
            root.insert(&column.path, column.value(row.get(id)));
        }
        root.object(fixed)
    }
}

/// Values on their way into an object.
#[derive(Default)]
struct Branch {
    leaves: Vec<(SmolStr, Value)>,
    branches: Vec<(SmolStr, Branch)>,
}

impl Branch {
    fn insert(&mut self, path: &[SmolStr], value: Value) {
        match path {
            [] => {}
            [last] => self.leaves.push((last.clone(), value)),
            [first, rest @ ..] => {
                if let Some((_, branch)) = self.branches.iter_mut().find(|(key, _)| key == first) {
                    return branch.insert(rest, value);
                }
                let mut branch = Branch::default();
                branch.insert(rest, value);
                self.branches.push((first.clone(), branch));
            }
        }
    }

    fn object(self, fixed: &Value) -> Value {
        let mut object = ObjectBuilder::with_capacity(self.leaves.len());
        let own = |key: &SmolStr| {
            self.leaves.iter().any(|(leaf, _)| leaf == key)
                || self.branches.iter().any(|(branch, _)| branch == key)
        };
        for (key, value) in fixed.as_object().iter().flat_map(|fixed| fixed.iter()) {
            if !own(key) {
                object.insert(key.clone(), value.clone());
            }
        }
        for (key, value) in self.leaves {
            if !value.is_undefined() {
                object.insert(key, value);
            }
        }
        for (key, branch) in self.branches {
            let value = branch.object(&Value::Undefined);
            object.insert(key, value);
        }
        Value::Object(object.finish().into())
    }
}

impl Column {
    /// What policies see of a cell.
    fn value(&self, cell: &Cell) -> Value {
        match cell {
            Cell::One(scalar) => scalar.value(),
            Cell::Many(scalars) => Value::array(scalars.iter().map(Scalar::value)),
            Cell::Null => match self.nulls {
                Nulls::Absent | Nulls::Never => Value::Undefined,
                Nulls::Null => Value::Null,
            },
        }
    }
}

/// One value, as a database has it.
#[derive(Clone, Debug)]
pub enum Scalar {
    /// Of [`ColumnType::Text`].
    Text(SmolStr),
    /// Of [`ColumnType::Boolean`].
    Boolean(bool),
    /// Of [`ColumnType::Integer`].
    Integer(i64),
    /// Of [`ColumnType::Decimal`].
    Decimal(Decimal),
    /// Of [`ColumnType::Double`].
    Double(f64),
}

impl Scalar {
    /// What policies see.
    pub fn value(&self) -> Value {
        match self {
            Scalar::Text(text) => Value::Text(text.clone()),
            Scalar::Boolean(boolean) => Value::Boolean(*boolean),
            Scalar::Integer(integer) => Value::number(*integer),
            Scalar::Decimal(decimal) => Value::Number(decimal.clone().interned()),
            Scalar::Double(double) => Decimal::from_f64(*double).map_or(Value::Undefined, Value::number),
        }
    }

    /// As JSON; numbers that JSON's readers would round are texts.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Scalar::Text(text) => text.as_str().into(),
            Scalar::Boolean(boolean) => (*boolean).into(),
            Scalar::Integer(integer) => (*integer).into(),
            Scalar::Decimal(decimal) => decimal.to_plain().into(),
            Scalar::Double(double) => (*double).into(),
        }
    }

    /// How it stands to another one of the same type.
    pub(crate) fn order(&self, other: &Scalar) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Scalar::Text(a), Scalar::Text(b)) => Some(a.as_str().cmp(b.as_str())),
            (Scalar::Boolean(a), Scalar::Boolean(b)) => Some(a.cmp(b)),
            (Scalar::Integer(a), Scalar::Integer(b)) => Some(a.cmp(b)),
            (Scalar::Decimal(a), Scalar::Decimal(b)) => Some(a.cmp(b)),
            (Scalar::Double(a), Scalar::Double(b)) => a.partial_cmp(b),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Scalar::Text(text) = self { Some(text) } else { None }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        self.order(other) == Some(std::cmp::Ordering::Equal)
    }
}

/// Doubles are finite.
impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Scalar::Text(text) => text.hash(state),
            Scalar::Boolean(boolean) => boolean.hash(state),
            Scalar::Integer(integer) => integer.hash(state),
            Scalar::Decimal(decimal) => decimal.hash(state),
            // Both zeros are equal.
            Scalar::Double(double) => (double + 0.0).to_bits().hash(state),
        }
    }
}

/// What a row holds in one column.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// NULL.
    Null,
    /// One value, of the column's type.
    One(Scalar),
    /// Several values.
    Many(Vec<Scalar>),
}

/// The cells of one row, in the order of the columns; what is missing at the end is NULL.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Row(pub Vec<Cell>);

impl Row {
    /// The cell of a column.
    pub fn get(&self, id: ColumnId) -> &Cell {
        self.0.get(usize::from(id.0)).unwrap_or(&Cell::Null)
    }
}
