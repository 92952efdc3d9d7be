//! Asks for the rows, in one transaction that only reads.
//!
//! The database itself makes JSON of each row (`row_to_json`), so values are what it says they are: numbers with all their digits, times as
//! in ISO 8601, arrays as arrays. What is left for here is to look at the types of the columns before, since not each type has one JSON that
//! everybody means.

use std::collections::HashSet;
use std::iter;
use std::pin::pin;

use durward_entities::{EntityRows, EntityRowsBuilder, RowColumns};
use futures_util::TryStreamExt as _;
use tokio::time::timeout;
use tokio_postgres::types::{Kind, Type};
use tokio_postgres::{Client, Column};

use super::Source;
use super::words::{in_words, of_query};

/// What stands in front of the query when each row is asked for as JSON, and behind it.
const AS_JSON: [&str; 2] = ["SELECT row_to_json(entity.*)::text FROM (\n", "\n) AS entity"];

/// Types that are texts.
const TEXTS: [Type; 5] = [Type::TEXT, Type::VARCHAR, Type::BPCHAR, Type::NAME, Type::UUID];

/// Types that become texts.
const TIMES: [Type; 3] = [Type::DATE, Type::TIMESTAMP, Type::TIMESTAMPTZ];

/// Types that are numbers.
const NUMBERS: [Type; 6] = [Type::INT2, Type::INT4, Type::INT8, Type::FLOAT4, Type::FLOAT8, Type::NUMERIC];

/// Types that are JSON already.
const JSONS: [Type; 2] = [Type::JSON, Type::JSONB];

/// What values of a type become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Becomes {
    Text,
    Number,
    Other,
}

/// The rows as they are now.
///
/// # Errors
/// In words, with the database: it refuses the query or takes too long, columns of types that cannot be taken, rows that are no entities,
/// or more of them than may be.
pub(super) async fn read(source: &Source, client: &Client) -> Result<EntityRows, String> {
    // The database ends a query that takes too long, and says so; the rest is for one that does not answer any more.
    let time_max = source.query_time_max + source.connect_time_max;
    let read = timeout(time_max, read_patiently(source, client)).await;
    let read = read.unwrap_or_else(|_| Err("the server does not answer".to_owned()));
    read.map_err(|problem| format!("{}: {problem}", source.address.shown))
}

async fn read_patiently(source: &Source, client: &Client) -> Result<EntityRows, String> {
    let time_ms = source.query_time_max.as_millis();
    let begin = format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = {time_ms}; \
         SET LOCAL TimeZone = 'UTC'; SET LOCAL extra_float_digits = 1"
    );
    client.batch_execute(&begin).await.map_err(|error| in_words(&error))?;
    let query = source.query.trim_end_matches(|end: char| end.is_whitespace() || end == ';');
    // As it is, for its columns and for the places of mistakes; it is one statement then.
    let plain = client.prepare(query).await.map_err(|error| of_query(&error, query, ""))?;
    if !plain.params().is_empty() {
        return Err("`query` has parameters, and there are no values for them".to_owned());
    }
    let columns = row_columns(plain.columns(), source.kind.as_deref())?;
    let [before, behind] = AS_JSON;
    let wrong = |error: tokio_postgres::Error| of_query(&error, query, before);
    let statement = client.prepare(&format!("{before}{query}{behind}")).await.map_err(wrong)?;
    let rows = client.query_raw(&statement, iter::empty::<i32>()).await.map_err(wrong)?;
    let mut rows = pin!(rows);
    let mut builder = EntityRowsBuilder::new(&source.address.shown, columns, source.limits);
    while let Some(row) = rows.try_next().await.map_err(wrong)? {
        let text: &str = row.try_get(0).map_err(wrong)?;
        builder.add(text).map_err(|error| format!("row {}: {}", error.line, error.kind))?;
    }
    client.batch_execute("COMMIT").await.map_err(|error| in_words(&error))?;
    Ok(builder.finish())
}

/// What the columns mean.
///
/// # Errors
/// Columns that are missing, there twice, or of types that cannot be taken: each with a way out.
fn row_columns(columns: &[Column], kind: Option<&str>) -> Result<RowColumns, String> {
    let mut names = HashSet::new();
    if let Some(twice) = columns.iter().find(|column| !names.insert(column.name())) {
        return Err(format!("the column `{}` is there twice; give one another name with `AS`", twice.name()));
    }
    let keys: &[&str] = if kind.is_some() { &["id"] } else { &["type", "id"] };
    for key in keys {
        let column = columns.iter().find(|column| column.name() == *key);
        let column = column.ok_or_else(|| missing(key))?;
        if becomes(column.type_()) != Some(Becomes::Text) {
            return Err(format!(
                "the column `{key}` is of the type `{}`, and must be a text: write `{key}::text AS {key}`",
                column.type_()
            ));
        }
    }
    let others = || columns.iter().filter(|column| !keys.contains(&column.name()));
    let properties = others().find(|column| column.name() == "properties");
    if let Some(properties) = properties {
        check_properties(properties, others().find(|column| column.name() != "properties"))?;
    }
    let mut numbers = HashSet::new();
    for column in others() {
        match becomes(column.type_()) {
            None => return Err(unknown(column)),
            Some(Becomes::Number) => drop(numbers.insert(column.name().to_owned())),
            Some(Becomes::Text | Becomes::Other) => {}
        }
    }
    Ok(RowColumns { kind: kind.map(str::to_owned), has_properties: properties.is_some(), numbers })
}

fn missing(key: &str) -> String {
    let way_out = if key == "type" { ", or set `type` beside `query`" } else { "" };
    format!("there is no column `{key}`; name one with `AS {key}`{way_out}")
}

fn check_properties(properties: &Column, other: Option<&Column>) -> Result<(), String> {
    if !JSONS.contains(properties.type_()) {
        return Err(format!(
            "the column `properties` is of the type `{}`, and must be `json` or `jsonb`; give a property of this name another one",
            properties.type_()
        ));
    }
    other.map_or(Ok(()), |other| {
        Err(format!(
            "there are columns `properties` and `{}`; properties are in the one or in columns of their own",
            other.name()
        ))
    })
}

fn unknown(column: &Column) -> String {
    let name = column.name();
    format!(
        "the column `{name}` is of the type `{}`, which is not read; write `{name}::text AS {name}`",
        column.type_()
    )
}

/// What values of a type become; `None` where it cannot be taken. What an array becomes is what its items become, but no text.
fn becomes(of: &Type) -> Option<Becomes> {
    if let Kind::Domain(base) = of.kind() {
        return becomes(base);
    }
    if let Kind::Array(item) = of.kind() {
        return becomes(item).map(|item| if item == Becomes::Text { Becomes::Other } else { item });
    }
    if matches!(of.kind(), Kind::Enum(_)) || TEXTS.contains(of) {
        return Some(Becomes::Text);
    }
    if NUMBERS.contains(of) {
        return Some(Becomes::Number);
    }
    let is_other = TIMES.contains(of) || JSONS.contains(of) || *of == Type::BOOL;
    is_other.then_some(Becomes::Other)
}
