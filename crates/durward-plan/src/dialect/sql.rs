//! Conditions of SQL. Values are bound, never written; a condition is true or false of every row, never unknown, so it means
//! the same under `NOT` and in a policy of row-level security.

use std::fmt::Write;

use super::DialectError;
use crate::columns::{Collation, Column, ColumnId, ColumnType, Columns, Nulls, Scalar};
use crate::filter::{Filter, Order, TextTest};

/// Whose SQL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Database {
    /// SQLite 3.38 and later, of databases in UTF-8.
    Sqlite,
    /// PostgreSQL 12 and later.
    Postgres,
    /// MariaDB 10.6 and later.
    Mariadb,
}

/// A condition, and what is bound to its places.
#[derive(Clone, PartialEq, Debug)]
pub struct SqlFilter {
    /// What follows `WHERE`. Places are `$1`, `$2`, .. in PostgreSQL and `?` elsewhere.
    pub text: String,
    /// What is bound to them, in order. Decimals are bound as texts, arrays as texts of JSON.
    pub parameters: Vec<Scalar>,
}

/// Lists that are longer are written as halves in brackets: SQLite counts every `AND` as a level, and has a thousand.
const LIST_MAX: usize = 40;

/// The columns of SQLite's `json_each`: in a query of it they come before those outside.
const JSON_EACH: [&str; 10] =
    ["key", "value", "type", "atom", "id", "parent", "fullkey", "path", "json", "root"];

/// What MariaDB's decimals hold: digits in front of the point, and behind it.
const DIGITS_MAX: (usize, i32) = (35, 30);

impl Filter {
    /// The filter as a condition of SQL.
    ///
    /// # Errors
    /// The database cannot compare so: SQLite has no decimal numbers.
    pub fn to_sql(&self, columns: &Columns, database: Database) -> Result<SqlFilter, DialectError> {
        let mut writer = SqlWriter::new(columns, database, Places::Bound);
        writer.filter(self)?;
        Ok(SqlFilter { text: writer.text, parameters: writer.parameters })
    }

    /// The same with values written as literals, for statements that take no parameters. Of PostgreSQL only: elsewhere what
    /// a literal means depends on settings.
    pub(super) fn to_sql_with_literals(
        &self,
        columns: &Columns,
        database: Database,
    ) -> Result<String, DialectError> {
        let mut writer = SqlWriter::new(columns, database, Places::Literal);
        writer.filter(self)?;
        Ok(writer.text)
    }
}

/// What stands in the place of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Places {
    Bound,
    Literal,
}

/// A name in quotes, with those in it doubled.
pub(super) fn quoted(name: &str, quote: char) -> String {
    let mut text = String::from(quote);
    for character in name.chars() {
        if character == quote {
            text.push(quote);
        }
        text.push(character);
    }
    text.push(quote);
    text
}

/// A text as a literal of PostgreSQL, whatever its settings say of backslashes.
fn literal(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\'', "''");
    format!("E'{text}'")
}

struct SqlWriter<'c> {
    columns: &'c Columns,
    database: Database,
    places: Places,
    text: String,
    parameters: Vec<Scalar>,
}

type Written = Result<(), DialectError>;

impl<'c> SqlWriter<'c> {
    fn new(columns: &'c Columns, database: Database, places: Places) -> SqlWriter<'c> {
        SqlWriter { columns, database, places, text: String::new(), parameters: Vec::new() }
    }

    fn column(&self, id: ColumnId) -> Result<&'c Column, DialectError> {
        self.columns.get(id).ok_or_else(|| DialectError::new("there is no such column"))
    }

    /// A condition that may stand anywhere.
    fn filter(&mut self, filter: &Filter) -> Written {
        match filter {
            Filter::Constant(truth) => self.text.push_str(if *truth { "1 = 1" } else { "1 = 0" }),
            Filter::All(parts) => self.list(parts, " AND ")?,
            Filter::Any(parts) => self.list(parts, " OR ")?,
            Filter::Null { column, is_null } => {
                let column = self.column(*column)?;
                self.name(column);
                self.text.push_str(if *is_null { " IS NULL" } else { " IS NOT NULL" });
            }
            Filter::Compare { column, order, value } => {
                let column = self.column(*column)?;
                self.definite(&[column], |writer| writer.compared(column, *order, value))?;
            }
            Filter::In { column, values, is_in } => {
                let column = self.column(*column)?;
                self.definite(&[column], |writer| writer.one_of(column, values, *is_in))?;
            }
            Filter::Text { column, test, part, is_there } => {
                let column = self.column(*column)?;
                self.definite(&[column], |writer| writer.has_part(column, *test, part, *is_there))?;
            }
            Filter::Columns { first, order, second } => {
                let (first, second) = (self.column(*first)?, self.column(*second)?);
                self.definite(&[first, second], |writer| {
                    writer.bytes(first);
                    writer.text.push_str(sign(*order));
                    writer.bytes(second);
                    Ok(())
                })?;
            }
            Filter::Holds { column, value, is_held } => {
                let column = self.column(*column)?;
                self.definite(&[column], |writer| writer.holds(column, value, *is_held))?;
            }
            Filter::Filled { column, is_filled } => {
                let column = self.column(*column)?;
                self.definite(&[column], |writer| {
                    writer.text.push_str(match writer.database {
                        Database::Sqlite => "json_array_length(",
                        Database::Postgres => "jsonb_array_length(",
                        Database::Mariadb => "JSON_LENGTH(",
                    });
                    writer.name(column);
                    writer.text.push_str(if *is_filled { ") > 0" } else { ") = 0" });
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    fn list(&mut self, parts: &[Filter], word: &str) -> Written {
        self.text.push('(');
        if parts.len() > LIST_MAX {
            let (first, second) = parts.split_at(parts.len() / 2);
            self.list(first, word)?;
            self.text.push_str(word);
            self.list(second, word)?;
        } else {
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    self.text.push_str(word);
                }
                self.filter(part)?;
            }
        }
        self.text.push(')');
        Ok(())
    }

    /// What would be unknown where a column is NULL, made false.
    fn definite(&mut self, columns: &[&Column], write: impl FnOnce(&mut Self) -> Written) -> Written {
        let may_be_null: Vec<&&Column> =
            columns.iter().filter(|column| column.nulls != Nulls::Never).collect();
        if may_be_null.is_empty() {
            return write(self);
        }
        self.text.push('(');
        for column in may_be_null {
            self.name(column);
            self.text.push_str(" IS NOT NULL AND ");
        }
        write(self)?;
        self.text.push(')');
        Ok(())
    }

    fn name(&mut self, column: &Column) {
        let quote = match self.database {
            Database::Sqlite | Database::Postgres => '"',
            Database::Mariadb => '`',
        };
        for (at, name) in column.name.iter().enumerate() {
            if at > 0 {
                self.text.push('.');
            }
            self.text.push_str(&quoted(name, quote));
        }
    }

    /// The column, such that its texts are compared byte by byte.
    fn bytes(&mut self, column: &Column) {
        if column.kind != ColumnType::Text || column.collation == Collation::Binary {
            return self.name(column);
        }
        match self.database {
            Database::Sqlite => {
                self.name(column);
                self.text.push_str(" COLLATE BINARY");
            }
            Database::Postgres => {
                self.name(column);
                self.text.push_str(" COLLATE \"C\"");
            }
            Database::Mariadb => {
                self.text.push_str("CONVERT(");
                self.name(column);
                self.text.push_str(" USING utf8mb4) COLLATE utf8mb4_nopad_bin");
            }
        }
    }

    /// A place for a value of the column's type.
    fn place(&mut self, kind: ColumnType, value: Scalar) -> Written {
        check_read_exactly(&value)?;
        let place = match (self.database, kind) {
            (Database::Postgres, kind) => {
                let of = match kind {
                    ColumnType::Text => "text",
                    ColumnType::Boolean => "boolean",
                    ColumnType::Integer => "bigint",
                    ColumnType::Decimal => "numeric",
                    ColumnType::Double => "double precision",
                };
                self.typed_place(value, of);
                return Ok(());
            }
            (Database::Sqlite, ColumnType::Decimal) => {
                return Err(DialectError::new(
                    "SQLite has no decimal numbers: declare the column as `double` or `integer`",
                ));
            }
            (Database::Mariadb, ColumnType::Decimal) => "CAST(? AS DECIMAL(65,30))",
            (Database::Mariadb, ColumnType::Double) => "CAST(? AS DOUBLE)",
            (Database::Sqlite | Database::Mariadb, _) => "?",
        };
        self.text.push_str(place);
        self.parameters.push(value);
        Ok(())
    }

    /// A place in PostgreSQL, for a value of this type.
    fn typed_place(&mut self, value: Scalar, of: &str) {
        // Writing to a string cannot fail.
        let _ = match self.places {
            Places::Bound => write!(self.text, "${}::{of}", self.parameters.len() + 1),
            Places::Literal => write!(self.text, "{}::{of}", literal(&value.value().lexical())),
        };
        self.parameters.push(value);
    }

    fn compared(&mut self, column: &Column, order: Order, value: &Scalar) -> Written {
        if let (Database::Postgres, Scalar::Text(text)) = (self.database, value)
            && let Some((before, _)) = text.split_once('\0')
        {
            return self.compared_without_zero(column, order, before);
        }
        if let (Database::Mariadb, Scalar::Decimal(decimal)) = (self.database, value) {
            let digits = decimal.to_plain().split('.').next().map_or(0, str::len);
            if digits > DIGITS_MAX.0 || decimal.scale() > DIGITS_MAX.1 {
                return Err(DialectError::new(format!(
                    "MariaDB has no decimal number `{}`",
                    decimal.to_plain()
                )));
            }
        }
        // Texts that are the same byte by byte are the same in every other way: an index may find them.
        let is_other = column.kind == ColumnType::Text && column.collation == Collation::Other;
        if order == Order::Equal && is_other && self.database != Database::Sqlite {
            self.text.push('(');
            self.name(column);
            self.text.push_str(" = ");
            self.place(column.kind, value.clone())?;
            self.text.push_str(" AND ");
            self.bytes(column);
            self.text.push_str(" = ");
            self.place(column.kind, value.clone())?;
            self.text.push(')');
            return Ok(());
        }
        self.bytes(column);
        self.text.push_str(sign(order));
        self.place(column.kind, value.clone())
    }

    /// PostgreSQL has no texts with the character 0 in them, and takes none. Its texts compare with one that goes on so as
    /// with what stands before it.
    fn compared_without_zero(&mut self, column: &Column, order: Order, before: &str) -> Written {
        let order = match order {
            Order::Equal => {
                self.text.push_str("1 = 0");
                return Ok(());
            }
            Order::NotEqual => {
                self.text.push_str("1 = 1");
                return Ok(());
            }
            Order::Less | Order::LessOrEqual => Order::LessOrEqual,
            Order::Greater | Order::GreaterOrEqual => Order::Greater,
        };
        self.compared(column, order, &Scalar::Text(before.into()))
    }

    fn one_of(&mut self, column: &Column, values: &[Scalar], is_in: bool) -> Written {
        let is_there = |value: &&Scalar| {
            self.database != Database::Postgres || value.as_text().is_none_or(|text| !text.contains('\0'))
        };
        let values: Vec<&Scalar> = values.iter().filter(is_there).collect();
        if values.is_empty() {
            self.text.push_str(if is_in { "1 = 0" } else { "1 = 1" });
            return Ok(());
        }
        let is_other = column.kind == ColumnType::Text && column.collation == Collation::Other;
        let both = is_other && is_in && self.database != Database::Sqlite;
        if both {
            self.text.push('(');
            self.name(column);
            self.values_of(column, &values, true)?;
            self.text.push_str(" AND ");
        }
        self.bytes(column);
        self.values_of(column, &values, is_in)?;
        if both {
            self.text.push(')');
        }
        Ok(())
    }

    fn values_of(&mut self, column: &Column, values: &[&Scalar], is_in: bool) -> Written {
        self.text.push_str(if is_in { " IN (" } else { " NOT IN (" });
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                self.text.push_str(", ");
            }
            self.place(column.kind, (*value).clone())?;
        }
        self.text.push(')');
        Ok(())
    }

    fn has_part(&mut self, column: &Column, test: TextTest, part: &str, is_there: bool) -> Written {
        if self.database == Database::Postgres && part.contains('\0') {
            self.text.push_str(if is_there { "1 = 0" } else { "1 = 1" });
            return Ok(());
        }
        if !is_there {
            self.text.push_str("NOT (");
        }
        match self.database {
            Database::Sqlite => self.has_bytes(column, test, part)?,
            Database::Postgres | Database::Mariadb => self.has_characters(column, test, part)?,
        }
        if !is_there {
            self.text.push(')');
        }
        Ok(())
    }

    /// SQLite's functions on texts stop at the character 0; those on octets do not, but give NULL of none.
    fn has_bytes(&mut self, column: &Column, test: TextTest, part: &str) -> Written {
        let octets = part.len();
        self.text.push_str(match test {
            TextTest::Begins | TextTest::Ends => "coalesce(substr(CAST(",
            TextTest::Contains => "coalesce(instr(CAST(",
        });
        self.name(column);
        // Writing to a string cannot fail.
        let _ = match test {
            TextTest::Begins => write!(self.text, " AS BLOB), 1, {octets}) = CAST("),
            TextTest::Ends => write!(self.text, " AS BLOB), -{octets}) = CAST("),
            TextTest::Contains => write!(self.text, " AS BLOB), CAST("),
        };
        self.place(ColumnType::Text, Scalar::Text(part.into()))?;
        self.text.push_str(match test {
            TextTest::Begins | TextTest::Ends => " AS BLOB), 0)",
            TextTest::Contains => " AS BLOB)) > 0, 0)",
        });
        Ok(())
    }

    fn has_characters(&mut self, column: &Column, test: TextTest, part: &str) -> Written {
        let part_place = Scalar::Text(part.into());
        let characters = part.chars().count();
        match (test, self.database) {
            (TextTest::Begins | TextTest::Ends, _) => {
                self.text.push_str(if test == TextTest::Begins { "LEFT(" } else { "RIGHT(" });
                self.bytes(column);
                let _ = write!(self.text, ", {characters}) = ");
                self.place(ColumnType::Text, part_place)
            }
            (TextTest::Contains, Database::Postgres) => {
                self.text.push_str("strpos(");
                self.bytes(column);
                self.text.push_str(", ");
                self.place(ColumnType::Text, part_place)?;
                self.text.push_str(") > 0");
                Ok(())
            }
            (TextTest::Contains, Database::Mariadb | Database::Sqlite) => {
                self.text.push_str("LOCATE(");
                self.place(ColumnType::Text, part_place)?;
                self.text.push_str(", ");
                self.bytes(column);
                self.text.push_str(") > 0");
                Ok(())
            }
        }
    }

    /// Columns of many hold arrays of JSON; in PostgreSQL they are of the type `jsonb`.
    fn holds(&mut self, column: &Column, value: &Scalar, is_held: bool) -> Written {
        if self.database == Database::Postgres && value.as_text().is_some_and(|text| text.contains('\0')) {
            self.text.push_str(if is_held { "1 = 0" } else { "1 = 1" });
            return Ok(());
        }
        if !is_held {
            self.text.push_str("NOT ");
        }
        match self.database {
            Database::Postgres => {
                self.text.push('(');
                self.name(column);
                let array = serde_json::Value::Array(vec![value.to_json()]).to_string();
                self.text.push_str(" @> ");
                self.typed_place(Scalar::Text(array.into()), "jsonb");
                self.text.push(')');
                Ok(())
            }
            Database::Sqlite => {
                if let [name] = column.name.as_slice()
                    && JSON_EACH.contains(&name.to_ascii_lowercase().as_str())
                {
                    return Err(DialectError::new(format!(
                        "SQLite looks for `{name}` in `json_each` first: name the table too, as in `name = [\"t\", \"{name}\"]`"
                    )));
                }
                let of = if column.kind == ColumnType::Text { "text" } else { "integer" };
                self.text.push_str("EXISTS (SELECT 1 FROM json_each(");
                self.name(column);
                let _ = write!(self.text, ") AS held WHERE held.type = '{of}' AND held.value = ");
                self.place(column.kind, value.clone())?;
                self.text.push(')');
                Ok(())
            }
            Database::Mariadb => {
                self.text.push_str("JSON_CONTAINS(");
                self.name(column);
                self.text.push_str(", ");
                self.place(ColumnType::Text, Scalar::Text(value.to_json().to_string().into()))?;
                self.text.push(')');
                Ok(())
            }
        }
    }
}

/// Numbers below are read as 0, rounded or refused, depending on the database, its version and the machine.
pub(super) fn check_read_exactly(value: &Scalar) -> Written {
    match value {
        Scalar::Double(double) if double.is_subnormal() => {
            Err(DialectError::new(format!("databases do not read numbers as small as `{double:e}` exactly")))
        }
        Scalar::Text(_)
        | Scalar::Boolean(_)
        | Scalar::Integer(_)
        | Scalar::Decimal(_)
        | Scalar::Double(_) => Ok(()),
    }
}

fn sign(order: Order) -> &'static str {
    match order {
        Order::Equal => " = ",
        Order::NotEqual => " <> ",
        Order::Less => " < ",
        Order::LessOrEqual => " <= ",
        Order::Greater => " > ",
        Order::GreaterOrEqual => " >= ",
    }
}
