//! The library `csv`: tables as comma separated values.
//!
//! Tables are read and written as Jackson, the library of the Java engine, does it with its usual settings: every line
//! is a row, empty ones too; spaces count except in the header; a quoted cell may go over lines.

use std::fmt::Write;

use durward_functions::argument::{array, text};
use durward_functions::document::{check_growing, check_input, made, not_json, unreadable};
use durward_functions::jvm;
use durward_functions::table::row;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::{LibraryFunction, Parameter};
use durward_ir::value::{Object, ObjectBuilder};
use durward_ir::{DataType, Value};
use smol_str::SmolStr;

/// Reads cells.
struct CsvCells<'a> {
    rest: &'a str,
    line: usize,
}

/// What comes behind a cell.
#[derive(PartialEq, Eq)]
enum AfterCell {
    Cell,
    Line,
    End,
}

impl<'a> CsvCells<'a> {
    /// The next cell, and what comes behind it.
    fn next(&mut self) -> Evaluated<(SmolStr, AfterCell)> {
        if self.rest.starts_with('"') {
            return self.quoted();
        }
        let end = self.rest.find([',', '\n', '\r']).unwrap_or(self.rest.len());
        let (cell, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        Ok((cell.into(), self.behind()?))
    }

    fn quoted(&mut self) -> Evaluated<(SmolStr, AfterCell)> {
        let mut cell = String::new();
        let mut rest = self.rest.strip_prefix('"').unwrap_or_default();
        loop {
            let Some((part, behind)) = rest.split_once('"') else {
                return Err(self.wrong("missing closing quote for value"));
            };
            cell.push_str(part);
            match behind.strip_prefix('"') {
                Some(behind) => {
                    cell.push('"');
                    rest = behind;
                }
                None => {
                    self.line += cell.matches('\n').count();
                    // Blanks between the quote and the end of the cell do not count.
                    let is_blank = |character| character <= ' ' && !matches!(character, '\n' | '\r');
                    self.rest = behind.trim_start_matches(is_blank);
                    return Ok((cell.into(), self.behind()?));
                }
            }
        }
    }

    /// Takes the comma or the line end behind a cell.
    fn behind(&mut self) -> Evaluated<AfterCell> {
        let line_end = ["\r\n", "\n", "\r"].iter().find_map(|end| self.rest.strip_prefix(end));
        if let Some(rest) = line_end {
            self.rest = rest;
            self.line += 1;
            return Ok(AfterCell::Line);
        }
        match self.rest.strip_prefix(',') {
            Some(rest) => {
                self.rest = rest;
                Ok(AfterCell::Cell)
            }
            None if self.rest.is_empty() => Ok(AfterCell::End),
            None => Err(self.wrong("a quoted cell must end with its quote")),
        }
    }

    fn wrong(&self, reason: &str) -> Box<Fault> {
        unreadable("CSV", format_args!("line {}: {reason}", self.line))
    }

    /// The names of the columns: the first line, without an empty last name.
    fn header(&mut self) -> Evaluated<Vec<SmolStr>> {
        let mut names = Vec::new();
        loop {
            let (name, behind) = self.next()?;
            names.push(SmolStr::from(jvm::trim(&name)));
            if behind != AfterCell::Cell {
                break;
            }
        }
        if names.len() > 1 && names.last().is_some_and(SmolStr::is_empty) {
            names.pop();
        }
        if names.len() == 1 && names.last().is_some_and(SmolStr::is_empty) {
            return Err(unreadable("CSV", "empty header line"));
        }
        Ok(names)
    }

    /// The next line as a row. It may have fewer cells than there are names, and a blank one more.
    fn row(&mut self, names: &[SmolStr]) -> Evaluated<Object> {
        let mut row = ObjectBuilder::with_capacity(names.len().min(16));
        let mut names_left = names.iter();
        loop {
            let (cell, behind) = self.next()?;
            match names_left.next() {
                Some(name) => row.insert(name.clone(), Value::Text(cell)),
                None if jvm::trim(&cell).is_empty() && behind != AfterCell::Cell => {}
                None => {
                    let reason = format!("too many entries: expected at most {}", names.len());
                    return Err(self.wrong(&reason));
                }
            }
            if behind != AfterCell::Cell {
                return Ok(row.finish());
            }
        }
    }
}

fn csv_to_val(arguments: &[Value]) -> Evaluated<Value> {
    let text = text(arguments, 0)?;
    check_input(text)?;
    let mut cells = CsvCells { rest: text, line: 1 };
    let names = cells.header()?;
    let mut rows = Vec::new();
    while !cells.rest.is_empty() {
        rows.push(Value::Object(cells.row(&names)?.into()));
    }
    Ok(Value::array(rows))
}

/// A text that a spreadsheet would take for a formula gets a quote before it.
fn without_formula(text: &str) -> SmolStr {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}").into() } else { text.into() }
}

fn val_to_csv(arguments: &[Value]) -> Evaluated<Value> {
    let rows = objects(array(arguments, 0)?)?;
    let Some(first) = rows.first() else { return Ok(Value::Text(SmolStr::default())) };
    if first.is_empty() {
        return Err(unwritable("there are no columns"));
    }
    let mut out = String::new();
    separated(&mut out, first.keys(), |out, name| push_text(out, name));
    out.push('\n');
    for row in &rows {
        write_row(&mut out, first, row)?;
        check_growing(&out)?;
    }
    made(out)
}

/// The elements, all of which must be objects, without formulas.
fn objects(values: &[Value]) -> Evaluated<Vec<Object>> {
    if !matches!(values.first(), None | Some(Value::Object(_))) {
        return Err(Fault::processing("CSV array must contain objects."));
    }
    let mut objects = Vec::with_capacity(values.len());
    for (at, value) in values.iter().enumerate() {
        let Value::Object(object) = value else {
            return Err(Fault::processing(format!("CSV array element at index {at} is not an object.")));
        };
        if let Some(reason) = not_json(value, 1) {
            return Err(unwritable(reason));
        }
        let cell = |value: &Value| match value {
            Value::Text(text) => Value::Text(without_formula(text)),
            other => other.clone(),
        };
        objects.push(object.iter().map(|(name, value)| (without_formula(name), cell(value))).collect());
    }
    Ok(objects)
}

fn unwritable(reason: &str) -> Box<Fault> {
    Fault::processing(format!("Failed to generate CSV: {reason}."))
}

fn separated<T>(out: &mut String, items: impl Iterator<Item = T>, mut write: impl FnMut(&mut String, T)) {
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(out, item);
    }
}

/// One line; none for an empty object.
fn write_row(out: &mut String, first: &Object, row: &Object) -> Evaluated<()> {
    if row.is_empty() {
        return Ok(());
    }
    if let Some(name) = row.keys().find(|name| !first.contains_key(name)) {
        return Err(unwritable(&format!("unknown column `{name}`")));
    }
    for value in row.values() {
        check_cell(value)?;
    }
    separated(out, first.keys(), |out, name| push_cell(out, row.get(name).unwrap_or(&Value::Null)));
    out.push('\n');
    Ok(())
}

/// A cell may hold a list, and nothing deeper.
fn check_cell(value: &Value) -> Evaluated<()> {
    let is_nested = |value: &Value| matches!(value.data_type(), DataType::Array | DataType::Object);
    let nested = match value {
        Value::Array(values) => values.iter().any(is_nested),
        other => is_nested(other),
    };
    if nested { Err(unwritable("a cell cannot hold objects or nested arrays")) } else { Ok(()) }
}

fn push_cell(out: &mut String, value: &Value) {
    match value {
        Value::Text(text) => push_text(out, text),
        Value::Array(values) => {
            let mut list = String::new();
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    list.push(';');
                }
                push_plain(&mut list, value);
            }
            push_text(out, &list);
        }
        other => push_plain(out, other),
    }
}

fn push_plain(out: &mut String, value: &Value) {
    if value.data_type() != DataType::Null {
        // Writing to a string cannot fail.
        let _ = write!(out, "{}", value.lexical());
    }
}

/// Texts longer than this are quoted without a look at them, as Jackson does it.
const UNQUOTED_LENGTH_MAX: usize = 24;

fn push_text(out: &mut String, text: &str) {
    let is_special = |character: char| character < '-' || character == '\\';
    if jvm::length(text) > UNQUOTED_LENGTH_MAX || text.contains(is_special) {
        // Writing to a string cannot fail.
        let _ = write!(out, "\"{}\"", text.replace('"', "\"\""));
    } else {
        out.push_str(text);
    }
}

/// The functions of the library `csv`, overloads one by one.
pub const FUNCTIONS: &[LibraryFunction] = &[
    row(
        "csv.csvToVal",
        &[Parameter::Text],
        csv_to_val,
        "The rows of a table as objects of texts, with the names of its first line.",
    ),
    row(
        "csv.valToCsv",
        &[Parameter::Array],
        val_to_csv,
        "Objects as a table with the names of the first; an error for names that one lacks.",
    ),
];

#[cfg(test)]
mod tests {
    use super::FUNCTIONS;
    use durward_functions::check::{CallExample, TestedLibrary, array, decimal, object, values};
    use durward_ir::Value;

    const LIBRARY: TestedLibrary = TestedLibrary(FUNCTIONS);

    fn results() -> Vec<CallExample<'static>> {
        vec![
            ("csv.csvToVal", values!["a,b\n1,2\n3,4\n"], Ok(r#"[{"a":"1","b":"2"},{"a":"3","b":"4"}]"#)),
            ("csv.csvToVal", values!["a,b\r1\r\n,2"], Ok(r#"[{"a":"1"},{"a":"","b":"2"}]"#)),
            ("csv.csvToVal", values!["a,b"], Ok("[]")),
            ("csv.csvToVal", values!["a,b\n\n1,2\n\n"], Ok(r#"[{"a":""},{"a":"1","b":"2"},{"a":""}]"#)),
            ("csv.csvToVal", values![" a , b \n 1 , 2 "], Ok(r#"[{"a":" 1 ","b":" 2 "}]"#)),
            (
                "csv.csvToVal",
                values!["\"a,\"\"b\"\"\"\t,c\n\"x\ny\" ,\"\""],
                Ok(r#"[{"a,\"b\"":"x\ny","c":""}]"#),
            ),
            ("csv.csvToVal", values!["a,b\nx\"y\", \"z\""], Ok(r#"[{"a":"x\"y\"","b":" \"z\""}]"#)),
            ("csv.csvToVal", values!["a,b\n1,2, \n3,4,"], Ok(r#"[{"a":"1","b":"2"},{"a":"3","b":"4"}]"#)),
            ("csv.csvToVal", values!["a,,\n1,2"], Ok(r#"[{"a":"1","":"2"}]"#)),
            ("csv.csvToVal", values!["a,a,b\n1,2,3"], Ok(r#"[{"a":"2","b":"3"}]"#)),
            ("csv.valToCsv", values![array![]], Ok(r#""""#)),
            (
                "csv.valToCsv",
                values![array![object! {"a": "x", "b": decimal("1.50")}, object! {"b": true}]],
                Ok(r#""a,b\nx,1.50\n,true\n""#),
            ),
            (
                "csv.valToCsv",
                values![array![object! {"a": Value::Null, "b": array![1, "x", Value::Null]}, object! {}]],
                Ok(r#""a,b\n,1;x;\n""#),
            ),
            (
                "csv.valToCsv",
                values![array![object! {"=a": "-1", "b": -1, "c": array!["=x"]}]],
                Ok(r#""\"'=a\",b,c\n\"'-1\",-1,=x\n""#),
            ),
            (
                "csv.valToCsv",
                values![array![object! {"a": "x y", "b": "x\"y", "c": "back\\slash", "d": "[/:.é😀]"}]],
                Ok(r#""a,b,c,d\n\"x y\",\"x\"\"y\",\"back\\slash\",[/:.é😀]\n""#),
            ),
            (
                "csv.valToCsv",
                values![array![
                    object! {"a": "aaaaaaaaaaaaaaaaaaaaaaaa"},
                    object! {"a": "aaaaaaaaaaaaaaaaaaaaaaaaa"}
                ]],
                Ok(r#""a\naaaaaaaaaaaaaaaaaaaaaaaa\n\"aaaaaaaaaaaaaaaaaaaaaaaaa\"\n""#),
            ),
        ]
    }

    #[test]
    fn tables_are_read_and_written_as_jackson_does() {
        let results = results();
        LIBRARY.rows(&results);
        LIBRARY.all_called(&results);
    }

    #[test]
    fn faults_tell_what_is_wrong_with_a_table() {
        LIBRARY.rows(&[
            ("csv.valToCsv", values![array!["x"]], Err("CSV array must contain objects.")),
            (
                "csv.valToCsv",
                values![array![object! {"a": 1}, 2]],
                Err("CSV array element at index 1 is not an object."),
            ),
            (
                "csv.csvToVal",
                values!["x".repeat(1_048_577).as_str()],
                Err("Input exceeds the maximum length of 1048576 characters."),
            ),
        ]);
        LIBRARY.faults(&[
            ("csv.csvToVal", values![""], "Failed to parse CSV: empty header"),
            ("csv.csvToVal", values![" ,\n1"], "Failed to parse CSV: empty header"),
            ("csv.csvToVal", values!["a,b\n1,2,3"], "Failed to parse CSV: line 2: too many entries"),
            ("csv.csvToVal", values!["a,b\n1,2,,"], "Failed to parse CSV: line 2: too many entries"),
            ("csv.csvToVal", values!["a\n\"x"], "Failed to parse CSV: line 2: missing closing quote"),
            ("csv.csvToVal", values!["a\n\"x\"y"], "Failed to parse CSV: line 2: a quoted cell"),
            ("csv.valToCsv", values![array![object! {}]], "Failed to generate CSV: there are no columns"),
            (
                "csv.valToCsv",
                values![array![object! {"a": 1}, object! {"b": 1}]],
                "Failed to generate CSV: unknown column `b`",
            ),
            (
                "csv.valToCsv",
                values![array![object! {"a": object! {}}]],
                "Failed to generate CSV: a cell cannot hold",
            ),
            (
                "csv.valToCsv",
                values![array![object! {"a": array![array![]]}]],
                "Failed to generate CSV: a cell cannot hold",
            ),
            (
                "csv.valToCsv",
                values![array![object! {"a": Value::Undefined}]],
                "Failed to generate CSV: Cannot marshall",
            ),
        ]);
    }
}
