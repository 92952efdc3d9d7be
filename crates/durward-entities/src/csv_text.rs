//! Entities of CSV.

use csv::{ErrorKind, ReaderBuilder, StringRecord};
use durward_ir::value::{ObjectBuilder, Value};
use smol_str::SmolStr;

use super::json_lines::json_value;
use super::{EntitiesBuilder, EntityError, EntityErrorKind, Place};

/// What the name of a column ends with whose cells are JSON.
const JSON: &str = ":json";

/// What a column holds.
enum Column {
    Type,
    Id,
    Text(SmolStr),
    Json(SmolStr),
}

pub(super) fn read(
    builder: &mut EntitiesBuilder,
    source: &str,
    text: &str,
    kind: Option<&str>,
) -> Result<(), EntityError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = ReaderBuilder::new().from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| wrong(source, &error))?.clone();
    let columns = columns(builder, &header, kind).map_err(|kind| EntityError {
        source: source.to_owned(),
        line: 1,
        kind,
    })?;
    let mut row = StringRecord::new();
    loop {
        match reader.read_record(&mut row) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => return Err(wrong(source, &error)),
        }
        let line = row.position().map_or(0, csv::Position::line);
        read_row(builder, &columns, &row, kind, Place { source, line })?;
    }
}

fn columns(
    builder: &mut EntitiesBuilder,
    header: &StringRecord,
    kind: Option<&str>,
) -> Result<Vec<Column>, EntityErrorKind> {
    let mut seen = Vec::new();
    let mut columns = Vec::new();
    for name in header {
        let (plain, is_json) = name.strip_suffix(JSON).map_or((name, false), |plain| (plain, true));
        if plain.is_empty() || seen.contains(&plain) {
            return Err(EntityErrorKind::Column(plain.to_owned()));
        }
        seen.push(plain);
        columns.push(match (plain, is_json) {
            ("id", false) => Column::Id,
            ("type", false) if kind.is_none() => Column::Type,
            (_, false) => Column::Text(builder.name(plain)),
            (_, true) => Column::Json(builder.name(plain)),
        });
    }
    if !columns.iter().any(|column| matches!(column, Column::Id)) {
        return Err(EntityErrorKind::Missing("id"));
    }
    if kind.is_none() && !columns.iter().any(|column| matches!(column, Column::Type)) {
        return Err(EntityErrorKind::Missing("type"));
    }
    Ok(columns)
}

fn read_row(
    builder: &mut EntitiesBuilder,
    columns: &[Column],
    row: &StringRecord,
    kind: Option<&str>,
    place: Place<'_>,
) -> Result<(), EntityError> {
    let (mut kind, mut id) = (kind.unwrap_or_default(), "");
    let mut properties = ObjectBuilder::new();
    for (column, cell) in columns.iter().zip(row) {
        match column {
            Column::Type => kind = cell,
            Column::Id => id = cell,
            Column::Text(_) | Column::Json(_) if cell.is_empty() => {}
            Column::Text(name) => properties.insert(name.clone(), Value::text(cell)),
            Column::Json(name) => {
                let value = json_value(cell).map_err(|kind| place.error(kind))?;
                properties.insert(name.clone(), value);
            }
        }
    }
    builder.add(kind, id, properties.finish(), place)
}

fn wrong(source: &str, error: &csv::Error) -> EntityError {
    let line = error.position().map_or(0, csv::Position::line);
    let reason = if let ErrorKind::UnequalLengths { expected_len, len, .. } = error.kind() {
        format!("the row has {len} cells, and there are {expected_len} columns")
    } else {
        error.to_string()
    };
    EntityError { source: source.to_owned(), line, kind: EntityErrorKind::Csv(reason) }
}
