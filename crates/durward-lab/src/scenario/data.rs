//! Tables that requests are filled with: CSV with a header, or an object in each line.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::ScenarioError;
use super::folder::ScenarioFolder;

/// The most cells that a table may have: what fits into memory beside 10,000 users.
const CELLS_MAX: usize = 50_000_000;

/// A table, and in which order its rows are taken.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// `.csv` with a header, or `.jsonl`: one object a line.
    pub file: PathBuf,
    /// Which row a request gets.
    #[serde(default)]
    pub order: DataOrder,
}

/// Which row of a table a request gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DataOrder {
    /// Each user keeps the row of their number; where there are fewer rows than users, some share one.
    #[default]
    User,
    /// Each turn of a user takes a row at random.
    Random,
    /// Each turn of a user takes the row behind that of the last; users begin at different rows.
    Next,
}

/// What a file of data holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataTable {
    /// Names of columns.
    pub columns: Vec<String>,
    /// Cells, as many a row as there are columns.
    pub rows: Vec<Vec<String>>,
}

impl DataSpec {
    /// Reads the table; `name` is for errors.
    ///
    /// # Errors
    /// A file that cannot be read, is of no kind that is known, or has no row.
    pub fn read(&self, name: &str, folder: &ScenarioFolder) -> Result<DataTable, ScenarioError> {
        let path = folder.join(&self.file);
        let key = format!("data.{name}");
        let wrong = |problem: String| ScenarioError::at(&key, format!("({}) {problem}", path.display()));
        let text = folder.read_text(&self.file).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let table = match path.extension().and_then(|end| end.to_str()) {
            Some("csv") => of_csv(&text),
            Some("jsonl" | "ndjson") => of_json_lines(&text),
            _ => Err("is neither `.csv` nor `.jsonl`".to_owned()),
        };
        let table = table.map_err(wrong)?;
        if table.rows.is_empty() {
            return Err(ScenarioError::at(&key, format!("({}) has no row", path.display())));
        }
        Ok(table)
    }
}

fn of_csv(text: &str) -> Result<DataTable, String> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::Headers).from_reader(text.as_bytes());
    let columns: Vec<String> =
        reader.headers().map_err(|error| error.to_string())?.iter().map(str::to_owned).collect();
    let mut rows = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| error.to_string())?;
        rows.push(row.iter().map(str::to_owned).collect());
        if rows.len() * columns.len() > CELLS_MAX {
            return Err(format!("has more than {CELLS_MAX} cells"));
        }
    }
    Ok(DataTable { columns, rows })
}

fn of_json_lines(text: &str) -> Result<DataTable, String> {
    let mut table = DataTable::default();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |problem: &str| format!("line {}: {problem}", number + 1);
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(line).map_err(|error| wrong(&error.to_string()))?;
        if table.columns.is_empty() {
            table.columns = object.keys().cloned().collect();
        }
        let cell = |column: &String| match object.get(column) {
            Some(serde_json::Value::String(text)) => Ok(text.clone()),
            Some(other) => Ok(other.to_string()),
            None => Err(wrong(&format!("has no `{column}`"))),
        };
        table.rows.push(table.columns.iter().map(cell).collect::<Result<_, _>>()?);
        if table.rows.len() * table.columns.len() > CELLS_MAX {
            return Err(format!("has more than {CELLS_MAX} cells"));
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_files_are_read() {
        let table = DataTable {
            columns: vec!["name".into(), "age".into()],
            rows: vec![vec!["an,na".into(), "3".into()], vec!["bob".into(), "4".into()]],
        };
        assert_eq!(of_csv("name, age\n\"an,na\",3\nbob,4\n").unwrap(), table);
        let lines = "{\"name\":\"an,na\",\"age\":3}\n\n{\"age\":4,\"name\":\"bob\"}\n";
        assert_eq!(of_json_lines(lines).unwrap(), table);
    }

    #[test]
    fn broken_files_are_told_with_their_line() {
        assert!(of_csv("a,b\n1\n").unwrap_err().contains("line: 2"));
        assert_eq!(of_json_lines("{\"a\":1}\n{\"b\":1}").unwrap_err(), "line 2: has no `a`");
        assert!(of_json_lines("x").unwrap_err().starts_with("line 1: "));
    }
}
